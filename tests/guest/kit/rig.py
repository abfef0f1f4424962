# SPDX-License-Identifier: MIT
"""A guest as most tests of faults have it: its drives, calls made in it, and what its kernel shows.

Each test binds the drives it needs afresh, so counters begin at zero and no
test depends on another.

On the debug kernel a process takes longer to start than most calls take to
run, so that the scripts here leave to the shell what it can do itself.
"""

from collections.abc import Sequence
from contextlib import suppress

from disks import KIB, counters, folder
from programs import compile_program

from chario_lab.guest import faults, leaks
from chario_lab.guest.devices import PCI, bdf, bind, nodes, unbind
from chario_lab.guest.job import Job, Result
from chario_lab.guest.session import Guest
from chario_lab.waiting import SETTLE_LIMIT_S, until

# Guests are slow and hosts are busy: nothing here is about speed.
PATIENCE = "deadline_ms=200000"
ADMIN_TIMEOUT_MS = 5000
CALL_LIMIT_S = 240
# What a script of buffers has answered, see Rig.play_buffers().
ANSWERS = "/run/answers"
# A user who may do nothing but what the node of a disk lets everybody do, see Rig.open_to_all().
NOBODY = ("setpriv", "--reuid=65534", "--clear-groups")

# Whether a task has begun to take a drive away, and waits.
WAITS_TO_UNBIND = r"cat /proc/[0-9]*/stack 2>/dev/null | grep -q ' remove+.*\[chario\]'"

Calls = list[tuple[str, int]]


class Rig:
    """A guest with the module, and the calls that tests make in it.

    `began` is where the kernel log was when the test began.
    """

    def __init__(self, guest: Guest) -> None:
        self.guest = guest
        self.began = -1
        self._met: set[str] = set()
        self.fault_io = guest.push(compile_program("fault_io"))
        self.fault_uring = guest.push(compile_program("fault_uring"))
        self.buffers = guest.push(compile_program("buffers"))
        self._addresses: dict[int, str] = {}

    def begin(self) -> None:
        """A test begins: the files at which the one before has met its scripts are gone."""
        self.began = self.guest.log_mark()
        self.remove(*self._met)
        self._met.clear()

    # Drives

    def address(self, drive: int) -> str:
        """PCI address of a drive; it stays the same when the drive is plugged in again."""
        if drive not in self._addresses:
            self._addresses[drive] = bdf(self.guest, drive)
        return self._addresses[drive]

    def disks(self, drive: int) -> list[str]:
        """Bind a drive afresh; its device nodes."""
        return self.take(self.address(drive))

    def disk(self, drive: int) -> str:
        """Bind a drive afresh; the device node of its first namespace."""
        return self.disks(drive)[0]

    def take(self, address: str) -> list[str]:
        """Bind the device at an address afresh; its device nodes, lowest namespace first.

        Raises with what the kernel said when it is refused.
        """
        bind(self.guest, address)
        return nodes(self.guest, address)

    def release(self, address: str) -> str:
        """Take the device at an address from its driver; what is left of its binding: nothing, it should be."""
        return self.guest.must(
            f"cd {PCI}/devices/{address} || exit 1\n"
            f"[ ! -e driver ] || echo {address} >driver/unbind || exit 1\n"
            "echo >driver_override\n"
            "for left in driver chario; do [ ! -e $left ] || echo $left; done\n"
            "grep chario /proc/interrupts /proc/iomem; :",
            timeout_s=SETTLE_LIMIT_S,
        )

    def unbind(self, drive: int) -> None:
        """Take a drive from its driver."""
        unbind(self.guest, self.address(drive))

    def pull(self, drive: int) -> None:
        """Surprise removal of a drive."""
        pull(self.guest, drive)

    def stall(self, drive: int, disk: str, bytes_per_s: int = 1024) -> None:
        """Have a drive answer no more; what passes is the first request, which is made here."""
        faults.stall(self.guest, drive, bytes_per_s=bytes_per_s)
        assert self.call(disk, f"read,0,{64 * KIB}") == 64 * KIB

    def stalled(self, drive: int, age_ms: int | None = None) -> str:
        """Bind a drive afresh and have it answer no more; its disk, which is recovered when requests have this age."""
        disk = self.disk(drive)
        if age_ms is not None:
            self.set(disk, "recovery_age_ms", age_ms)
        self.stall(drive, disk)
        return disk

    def open_to_all(self, disk: str) -> str:
        """Let everybody read and write a disk; it."""
        self.guest.must(f"chmod 666 {disk}")
        return disk

    # Calls

    def start(self, disk: str, *steps: str, user: Sequence[str] = ()) -> Job:
        """Begin a script of calls on a disk, see src/fault_io.c; as root, or as NOBODY."""
        return self.guest.start([*user, self.fault_io, disk, *steps], timeout_s=CALL_LIMIT_S)

    def calls(self, disk: str, *steps: str, user: Sequence[str] = ()) -> Calls:
        """Run a script to its end: the name and result of each step."""
        return results(self.start(disk, *steps, user=user).wait())

    def call(self, disk: str, step: str) -> int:
        """One call; what it returned or -errno."""
        return self.calls(disk, step)[0][1]

    def start_uring(self, disk: str, depth: int, size_bytes: int, *options: str) -> Job:
        """Begin reads through io_uring, see src/fault_uring.c."""
        command = [self.fault_uring, disk, str(depth), str(size_bytes), *options]
        return self.guest.start(command, timeout_s=CALL_LIMIT_S)

    def uring(self, disk: str, depth: int, size_bytes: int, *options: str) -> dict[int, int]:
        """Reads through io_uring to their end: how many came to which result."""
        return uring_results(self.start_uring(disk, depth, size_bytes, *options).wait())

    def start_buffers(self, disk: str, *lines: str, user: Sequence[str] = ()) -> Job:
        """Begin a script of buffers and transfers on a disk, see src/buffers.c."""
        return self.guest.start([*user, self.buffers, disk], CALL_LIMIT_S, stdin="\n".join(lines) + "\n")

    def play_buffers(self, disk: str, *lines: str) -> Job:
        """The same, with its answers in a file; it has come to its first `wait` when this returns."""
        # The answers of an earlier script would be taken for those of this one.
        self.guest.must(f"rm -f {ANSWERS}; cat >/run/script", stdin="\n".join(lines) + "\n")
        job = self.guest.start(f"{self.buffers} {disk} </run/script >{ANSWERS}", 2 * CALL_LIMIT_S)
        before = next(place for place, line in enumerate(lines) if line.startswith("wait "))
        until(lambda: len(self.answers()) == before, "the script does not come to its wait")
        return job

    def answers(self) -> list[str]:
        """What that script has answered so far."""
        return self.guest.run(f"cat {ANSWERS}").stdout.split()

    # What the kernel shows

    def show(self, disk: str, attribute: str) -> str:
        """An attribute of a disk."""
        return self.guest.files.value(f"{folder(disk)}/{attribute}")

    def set(self, disk: str, attribute: str, value: object) -> None:
        """Change an attribute of a disk."""
        self.guest.files.write(f"{folder(disk)}/{attribute}", value)

    def set_admin_timeout(self, ms: int = ADMIN_TIMEOUT_MS) -> None:
        """Have the driver wait so long for admin commands; binding a healthy drive needs the whole time."""
        self.guest.files.write("/sys/module/chario/parameters/admin_timeout_ms", ms)

    def counters(self, disk: str) -> dict[str, int]:
        """All counters of a disk."""
        return counters(self.guest, disk)

    def said(self, since: int) -> str:
        """The kernel log since a mark."""
        return "\n".join(self.guest.kernel_log(since))

    def wait_said(self, since: int, words: str) -> None:
        """Return when the kernel log has some words, since a mark."""
        until(lambda: words in self.said(since), f"the log does not say: {words}")

    def pinned_pages(self) -> int:
        """Pages that somebody has pinned for a device."""
        return leaks.pinned_pages(self.guest)

    # Meeting points

    def touch(self, path: str) -> None:
        """Let a script go on from its `await`."""
        self._met.add(path)
        self.guest.files.touch(path)

    def remove(self, *paths: str) -> None:
        """Remove the files of meeting points, as many as there are, before they are used again in a test."""
        for path in paths:
            with suppress(FileNotFoundError):
                self.guest.files.remove(path)

    def wait_file(self, path: str) -> None:
        """Return when a script has come to its `touch`."""
        self._met.add(path)
        until(lambda: self.guest.files.exists(path), f"{path} did not appear")

    def wait_state(self, disk: str, state: str) -> None:
        """Return when a disk is live, recovering or dead."""
        until(lambda: self.show(disk, "state") == state, f"{disk} did not become {state}")

    def wait_reset(self, disk: str, count: int = 1) -> None:
        """Return when the drive of a disk has been reset so often, and is live again.

        The calls that a reset repeats may return before it has been counted and the state has changed.
        """
        until(lambda: self.counters(disk)["resets"] >= count, "the drive was not reset")
        self.wait_state(disk, "live")

    def wait_unpinned(self) -> None:
        """Return when no page is pinned any more."""
        until(lambda: self.pinned_pages() == 0, "pages stay pinned")


def pull(guest: Guest, drive: int) -> None:
    """Surprise removal, with the processors stopped for that moment.

    QEMU crashes when one of them is about to ring a doorbell of the drive.
    """
    guest.qmp("stop")
    faults.pull(guest, drive)
    guest.qmp("cont")


def unbinding(address: str) -> str:
    """The command that takes the device at an address from the module."""
    return f"echo {address} >{PCI}/drivers/chario/unbind"


def results(result: Result) -> Calls:
    """What fault_io printed; raises when it did not come to its end."""
    lines = [line.split() for line in result.check().stdout.splitlines()]
    return [(name, int(value)) for name, value in lines]


def uring_results(result: Result) -> dict[int, int]:
    """What fault_uring printed."""
    return {int(value): int(count) for value, count in (line.split() for line in result.check().stdout.splitlines())}
