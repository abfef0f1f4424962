# SPDX-License-Identifier: MIT
"""How many CPUs this machine has meanwhile, and how fast their clock may be: what is written to its sysfs."""

from contextlib import suppress
from dataclasses import dataclass

from chario_lab.target.need import Need
from chario_lab.target.target import Target, TargetError

CPUS = "/sys/devices/system/cpu"
ONLINE = f"{CPUS}/online"
POLICIES = f"{CPUS}/cpufreq/policy*"
# What the limit of a clock is set to: files beside it, in kHz.
SLOWEST, FASTEST = "cpuinfo_min_freq", "cpuinfo_max_freq"


def cpus_online(count: int) -> Need:
    """The first CPUs, and no other."""
    numbers = "0" if count == 1 else f"0-{count - 1}"
    return Need(f"test $(cat {ONLINE}) = {numbers}", f"{count} CPU{'s' * (count > 1)}, all others off line")


def clock_limited(limit: str) -> Need:
    """All clocks are bounded by their slowest, or none is: a driver may take a limit and have another one."""
    compare = "-le" if limit == SLOWEST else "-gt"
    bounded = f"test $(cat $policy/scaling_max_freq) {compare} $(cat $policy/{SLOWEST})"
    return Need(
        f"ls {POLICIES} && for policy in {POLICIES}; do {bounded} || exit 1; done",
        "a clock of the CPUs that Linux's cpufreq sets",
    )


def attempt(target: Target, path: str, text: str) -> None:
    """Write to a file where that is allowed; what the cases then need tells whether it was."""
    with suppress(TargetError):
        target.write(path, text)


@dataclass(frozen=True)
class KeepCpus:
    """Takes all CPUs but the first `count` off line; a CPU that cannot go stays, and what is on line is the answer.

    A program could be pinned instead, but the kernel's threads, interrupts and the drive's queues would still have
    all CPUs.
    """

    count: int

    def __call__(self, target: Target) -> str:
        """The CPUs that are on line then."""
        for path in target.must(f"ls -d {CPUS}/cpu[0-9]*/online 2>/dev/null; :").split():
            number = int(path.split("/")[-2].removeprefix("cpu"))
            if number >= self.count and target.read(path).strip() == "1":
                attempt(target, path, "0")
        return target.read(ONLINE).strip()


@dataclass(frozen=True)
class LimitClock:
    """Bounds the clock of all CPUs by the slowest or the fastest that they have."""

    limit: str

    def __call__(self, target: Target) -> str | None:
        """The limits then, in kHz; None where nothing sets a clock."""
        policies = target.must(f"ls -d {POLICIES} 2>/dev/null; :").split()
        for policy in policies:
            attempt(target, f"{policy}/scaling_max_freq", target.read(f"{policy}/{self.limit}").strip())
        return " ".join(target.read(f"{policy}/scaling_max_freq").strip() for policy in policies) or None
