# SPDX-License-Identifier: MIT
"""Isolation: while urgent calls go on, the drive has a few block commands at most, and the block side goes on."""

import pytest
from block_side import enable
from rig import CALL_LIMIT_S, Rig, results
from shared_guest import Setup

from chario_lab.guest.job import Job
from chario_lab.guest.spec import Namespace, NullCo, Nvme

pytestmark = [
    pytest.mark.area("kernel/queue/isolation", "kernel/front/block/"), pytest.mark.kernels("6.12-rt"),
    pytest.mark.cpus(2), pytest.mark.slow,
]  # fmt: skip

OWN, SHARED = range(2)
MANY = 10_000
# Commands take so long that those of the block side pile up.
SLOW = NullCo(latency_us=200)
DRIVES = (Nvme("own", (Namespace(256, backing=SLOW),)), Nvme("shared", (Namespace(256, backing=SLOW),), max_ioqpairs=4))
SETUP = Setup(drives=DRIVES)


def begin(rig: Rig, drive: int) -> str:
    """A disk with a block disk."""
    disk = rig.disk(drive)
    enable(rig.guest, disk)
    return disk


def saturate(rig: Rig, disk: str, seconds: int) -> Job:
    """Keep many requests in flight on the block disk."""
    job = f"fio --name=s --filename={disk}b --rw=randread --bs=4k --ioengine=libaio --direct=1 --iodepth=64"
    job += " --numjobs=2 --thread"
    return rig.guest.start(f"{job} --time_based --runtime={seconds} --group_reporting --minimal", CALL_LIMIT_S)


def block_reads(rig: Rig, disk: str) -> int:
    """Reads that the block disk has served."""
    return int(rig.guest.files.value(f"/sys/block/{disk[5:]}b/stat").split()[0])


@pytest.mark.parametrize(("drive", "depth"), [(OWN, 0), (OWN, 1), (OWN, 4), (SHARED, 1)])
def test_urgent_calls_find_few_block_commands(rig: Rig, drive: int, depth: int) -> None:
    """Each of many urgent reads; with none allowed one is let through now and then.  Nobody is stopped."""
    disk = begin(rig, drive)
    rig.set(disk, "isolation_depth", depth)
    rig.set(disk, "isolation_ms", 1000)
    job = saturate(rig, disk, 200)
    # What the drive had before the first of them is not taken back.
    first = ("deadline,200000", "urgent", "times,200,0,4096", "touch,/run/settled", "await,/run/go")
    calls = rig.start(disk, *first, f"times,{MANY},0,4096")
    rig.wait_file("/run/settled")
    rig.set(disk, "isolation_worst", 0)
    before = block_reads(rig, disk)
    rig.touch("/run/go")
    assert dict(results(calls.wait()))["times"] == MANY
    worst, others = int(rig.show(disk, "isolation_worst")), block_reads(rig, disk) - before
    job.stop()
    rig.unbind(drive)
    assert min(depth, 1) <= worst <= max(depth, 1)
    assert others > 0


def test_without_urgent_files_nothing_is_held(rig: Rig) -> None:
    """The block side has all that it wants."""
    disk = begin(rig, OWN)
    rig.set(disk, "isolation_depth", 0)
    job = saturate(rig, disk, 2)
    assert rig.calls(disk, "times,100,0,4096")[0][1] == 100
    job.wait().check()
    assert rig.show(disk, "isolation_worst") == "0" and block_reads(rig, disk) > 1000
    rig.unbind(OWN)
