# SPDX-License-Identifier: MIT
"""Two disks under siege, see src/siege.c: what anybody reads is right, whatever is done to callers and drives.

While processes move data in every way, and are killed, the host has the drives stall, fail, be unbound and bound, and
a processor go and come.  SIEGE_SECONDS says for how long, SIEGE_LEAST how many successes each way has to have at
least; each run draws its own seed, and SIEGE_SEED=N makes the same choices again.

What one drive has in the memory of the other is besieged by itself, and the drive is not reset meanwhile: QEMU keeps
such requests over a reset and then crashes.  (They wait for its only bounce buffer, where a reset does not see them.)
"""

import json
import os
import random
import time
from collections.abc import Callable

import pytest
from disks import HIDDEN
from programs import compile_program
from rig import Rig
from shared_guest import Setup

from chario_lab.guest import faults
from chario_lab.guest.devices import nodes
from chario_lab.guest.job import Job
from chario_lab.guest.qtest import QTestError
from chario_lab.guest.spec import Namespace, Nvme, Throttle
from chario_lab.kernel import DEBUG
from chario_lab.waiting import SETTLE_LIMIT_S, until

pytestmark = [pytest.mark.area("kernel/drive/", "kernel/request/"), pytest.mark.kernels("debug"), pytest.mark.cpus(2)]

SECONDS = int(os.environ.get("SIEGE_SECONDS") or 0)
LEAST = int(os.environ.get("SIEGE_LEAST", "0"))
FEW, FEW_DEBUG = 20, 2
SEED = int(os.environ.get("SIEGE_SEED") or random.getrandbits(32))
LIMIT_S = 20 * SECONDS + 1800
ADMIN_TIMEOUT_MS = 60_000
DRIVES = (
    Nvme("inside", (Namespace(64, 4096, backing=Throttle()),), cmb_mib=16),
    Nvme("plain", (Namespace(64, 512, backing=Throttle()),)),
)
# Chunks of a call are few commands, and a drive is recovered soon.
SETUP = Setup(
    drives=DRIVES,
    parameters=f"peer_to_peer=1 windows={HIDDEN:#x}+4M recovery_age_ms=1000 chunk_kib=128",
    append=f"memmap=16M${HIDDEN:#x}",
    qtest=True,
    alone=True,
)
# Without SIEGE_SECONDS: long enough to see each way succeed.
SHORT_SECONDS = 5
# Things that have to coincide with others: a short siege may pass without one.
RARE = {"late-page", "gone", "no-page", "not-landed", "undefined"}
INSIDE, PLAIN = range(2)
FOR_EVER_MS = 3_600_000
# What not every kernel has.
OPTIONAL = {"kinds dma-buf": "/dev/udmabuf", "memories late": "/proc/sys/vm/unprivileged_userfaultfd"}
SECOND_PROCESSOR = "/sys/devices/system/cpu/cpu1/online"


class Siege:
    """What the host does to the drives and processors, one thing at a time."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        # A drive that is held up, on a host that is busy, is slow and not broken.
        rig.set_admin_timeout(ADMIN_TIMEOUT_MS)
        for drive in range(len(DRIVES)):
            rig.disks(drive)
        self.random = random.Random(SEED)
        self.done: dict[str, int] = {}
        self.actions: tuple[tuple[Callable[[int], None], tuple[int, ...]], ...] = (
            (self.stall, (INSIDE, PLAIN)),
            (self.slow_down, (INSIDE, PLAIN)),
            (self.slow_down, (INSIDE, PLAIN)),
            (self.fail, (INSIDE, PLAIN)),
            (self.rebind, (INSIDE, PLAIN)),
            (self.switch_processor, (INSIDE,)),
        )

    def spare(self, drive: int) -> None:
        """Do nothing that has this drive reset: neither faults, nor recoveries."""
        self.actions = ((self.rebind, tuple({INSIDE, PLAIN} - {drive})), (self.switch_processor, (drive,)))
        for each in range(len(DRIVES)):
            self.rig.set(nodes(self.rig.guest, self.rig.address(each))[0], "recovery_age_ms", FOR_EVER_MS)

    def start(self, seconds: int, peers: bool) -> Job:
        """Begin."""
        guest = self.rig.guest
        program = guest.push(compile_program("siege"))
        # Debugging of DMA takes two commands of one call for overlapping, where they meet in the same cache line.
        step = 64 if guest.spec.kernel == DEBUG else 4
        guest.must("modprobe -q udmabuf; :")
        addresses = (self.rig.address(drive) for drive in range(len(DRIVES)))
        words = [program, SEED, seconds, least(self.rig), step, HIDDEN, int(peers), *addresses]
        print(f"SIEGE_SEED={SEED} {' '.join(map(str, words))}", flush=True)
        return guest.start([str(word) for word in words], timeout_s=LIMIT_S)

    def state(self, drive: int) -> str:
        """Of its disk."""
        node = nodes(self.rig.guest, self.rig.address(drive))[0]
        return self.rig.show(node, "state")

    def pause(self, longest_s: float) -> None:
        """Let things go on."""
        time.sleep(self.random.uniform(0, longest_s))

    def stall(self, drive: int) -> None:
        """The drive answers next to nothing for a while."""
        faults.stall(self.rig.guest, drive)
        self.pause(2)
        faults.let_go(self.rig.guest, drive)

    def slow_down(self, drive: int) -> None:
        """It takes a few requests a second for a while, or a few writes, which reads overtake."""
        what = self.random.choice(("iops-write", "iops-write", "iops-total"))
        faults.set_limits(self.rig.guest, drive, 1, {what: self.random.choice((5, 20, 50, 200))})
        self.pause(3)
        faults.set_limits(self.rig.guest, drive, 1, {what: 0})

    def fail(self, drive: int) -> None:
        """Its controller fails, and is reset."""
        try:
            faults.fail_controller(self.rig.guest, drive, stopped=True)
        except QTestError:
            if self.rig.guest.process.poll() is None:
                raise
            raise self.rig.guest.death() from None

    def rebind(self, drive: int) -> None:
        """It goes and comes back."""
        self.rig.unbind(drive)
        self.pause(0.5)
        self.rig.disks(drive)

    def switch_processor(self, drive: int) -> None:
        """The second processor goes and comes back."""
        del drive
        for online in (0, 1):
            # While no ring is made, see src/siege/rings.c.
            self.rig.guest.must(f"flock /run/siege -c 'echo {online} >{SECOND_PROCESSOR}'", SETTLE_LIMIT_S)
            self.pause(1)

    def go_on(self) -> None:
        """One thing of it; a drive that was given up is bound again."""
        for dead in (drive for drive in range(len(DRIVES)) if self.state(drive) == "dead"):
            self.rebind(dead)
            self.done["given_up"] = self.done.get("given_up", 0) + 1
        action, drives = self.random.choice(self.actions)
        action(self.random.choice(drives))
        self.done[action.__name__] = self.done.get(action.__name__, 0) + 1
        self.pause(1.5)


def least(rig: Rig) -> int:
    """Successes that each way has to have."""
    return LEAST or (FEW_DEBUG if rig.guest.spec.kernel == DEBUG else FEW)


def finish(rig: Rig, job: Job, siege: Siege, without: set[str]) -> None:
    """Every way, kind of buffer and kind of memory has its successes but some, and nothing was wrong."""
    report = json.loads(job.wait().check().stdout)
    print(f"{json.dumps(report, indent=1)}\n{siege.done}", flush=True)
    without |= {name for name, path in OPTIONAL.items() if rig.guest.run(f"test -e {path}").rc != 0}
    counts = {f"{group} {name}": count for group in ("ways", "kinds", "memories", "modes")
              for name, count in report[group].items()}  # fmt: skip
    assert {name for name, count in counts.items() if count < least(rig)} <= {"memories guarded"} | without
    assert [name for name, count in report["events"].items() if not count and name not in RARE] == []
    until(lambda: rig.pinned_pages() == 0, "pages stay pinned")


@pytest.mark.skipif(not SECONDS, reason="a siege is the long tier's; SIEGE_SECONDS=60 asks for a short one")
@pytest.mark.timeout(LIMIT_S + 600)
def test_everything_at_once(rig: Rig) -> None:
    """All that the host can do."""
    siege = Siege(rig)
    job = siege.start(SECONDS, peers=False)
    while not job.poll():
        siege.go_on()
    finish(rig, job, siege, {"kinds peer"})


@pytest.mark.smoke
@pytest.mark.timeout(LIMIT_S + 600)
def test_memory_of_the_other_drive(rig: Rig) -> None:
    """The drive that has it goes and comes, where there is time for that; the one that reaches it does not."""
    siege = Siege(rig)
    siege.spare(PLAIN)
    job = siege.start(SECONDS or SHORT_SECONDS, peers=True)
    while not job.poll():
        if SECONDS:
            siege.go_on()
        else:
            siege.pause(1)
    finish(rig, job, siege, set())
