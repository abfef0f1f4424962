# SPDX-License-Identifier: MIT
"""Callers who want an answer sooner than the drive has one are told so, and disturb nobody else.

They may do nothing but read and write the disk.
"""

from errno import ETIMEDOUT

import pytest
from rig import NOBODY, Rig
from shared_guest import Setup, throttled_rig

from chario_lab.guest import faults
from chario_lab.guest.spec import Namespace, NullCo, Nvme, Throttle

pytestmark = [
    pytest.mark.area("kernel/drive/", "kernel/back/nvme/", "kernel/queue/origin"), pytest.mark.kernels("debug"),
    pytest.mark.slow,
]  # fmt: skip

SLOW, STALLS = 0, 1
BLOCK, KIB, MIB = 4096, 1024, 1 << 20
CALLS, MAX_ORPHANS = 40, 32
FOR_EVER_MS = 3_600_000
DRIVES = (
    # Well, and slower than some callers want.
    Nvme("slow", (Namespace(64, BLOCK, backing=NullCo(latency_us=200_000)),)),
    Nvme("stalls", (Namespace(64, BLOCK, backing=Throttle()),)),
)
SETUP = Setup(drives=DRIVES)
rig = throttled_rig(STALLS)
READS = [f"read,{BLOCK * i},{BLOCK}" for i in range(CALLS)]
# Long enough to hand a command over on a slow machine.
SHORT = "deadline,50"


def stalled(rig: Rig, age_ms: int) -> str:
    """A disk whose drive does not answer any more, and has that age before it is recovered."""
    return rig.open_to_all(rig.stalled(STALLS, age_ms))


def end(rig: Rig, disk: str) -> None:
    """The drive lets go of what it has, by a reset at the latest."""
    faults.let_go(rig.guest, STALLS)
    rig.set(disk, "recovery_age_ms", 0)
    rig.wait_unpinned()


def test_a_drive_that_is_well_is_left_alone(rig: Rig) -> None:
    """Deadlines of 1 ms, and a drive that takes 200: each caller is told, nothing is aborted, the log is silent."""
    disk = rig.open_to_all(rig.disk(SLOW))
    mark = rig.guest.log_mark()
    told = rig.calls(disk, "deadline,1", *READS, user=NOBODY)[1:-1]
    assert set(told) == {("read", -ETIMEDOUT)}
    assert rig.call(disk, f"read,0,{BLOCK}") == BLOCK
    counters = rig.counters(disk)
    assert (counters["aborts"], counters["resets"]) == (0, 0)
    # A busy machine may say things of its own.
    assert "chario" not in rig.said(mark)


def test_the_age_of_recovery(rig: Rig) -> None:
    """The caller is told at his deadline; nothing is done about the drive before that age, which root can change."""
    disk = stalled(rig, FOR_EVER_MS)
    assert rig.calls(disk, "deadline,100", f"read,0,{BLOCK}", user=NOBODY)[1] == ("read", -ETIMEDOUT)
    bound_ms = int(rig.show(disk, "recovery_bound_ms"))
    assert rig.counters(disk)["aborts"] == 0
    rig.set(disk, "recovery_age_ms", 0)
    assert int(rig.show(disk, "recovery_bound_ms")) == bound_ms - FOR_EVER_MS
    end(rig, disk)


def test_no_file_leaves_more_than_that(rig: Rig) -> None:
    """With so many requests left behind, its calls get no command any more; other files do."""
    disk = stalled(rig, FOR_EVER_MS)
    before = rig.counters(disk)["read_commands"]
    told = rig.calls(disk, SHORT, *READS, user=NOBODY)[1:-1]
    assert told == [("read", -ETIMEDOUT)] * CALLS
    assert rig.counters(disk)["read_commands"] - before == MAX_ORPHANS
    assert rig.calls(disk, SHORT, f"read,0,{BLOCK}", user=NOBODY)[1] == ("read", -ETIMEDOUT)
    assert rig.counters(disk)["read_commands"] - before == MAX_ORPHANS + 1
    end(rig, disk)


def test_large_calls_leave_no_more_than_small_ones(rig: Rig) -> None:
    """What is counted is commands: one call has as many as a file may leave, and few get in before that."""
    disk = stalled(rig, FOR_EVER_MS)
    before = rig.counters(disk)["write_commands"]
    calls = [f"fill,1,0,{4 * MIB}", "deadline,20", *[f"write,{4 * MIB * i},{4 * MIB}" for i in range(8)]]
    assert rig.calls(disk, *calls, user=NOBODY)[2:-1] == [("write", -ETIMEDOUT)] * 8
    assert MAX_ORPHANS <= rig.counters(disk)["write_commands"] - before < 2 * MAX_ORPHANS
    end(rig, disk)


def test_parts_of_blocks_leave_no_more_than_whole_ones(rig: Rig) -> None:
    """Each write of a part begins with a read of its block, which the drive keeps."""
    disk = stalled(rig, FOR_EVER_MS)
    before = rig.counters(disk)["read_commands"]
    writes = [f"write,{2 * BLOCK * i},100" for i in range(2 * CALLS)]
    told = rig.calls(disk, "any-size", SHORT, *writes, user=NOBODY)[2:-1]
    assert set(told) <= {("write", -ETIMEDOUT), ("write", 100)}
    assert rig.counters(disk)["read_commands"] - before == MAX_ORPHANS
    end(rig, disk)


def test_a_file_is_served_again_when_its_requests_have_ended(rig: Rig) -> None:
    """Its call that had to wait for that goes on by itself."""
    disk = stalled(rig, FOR_EVER_MS)
    job = rig.start(disk, SHORT, *READS, "touch,/tmp/full", "deadline,200000", f"read,0,{BLOCK}", user=NOBODY)
    rig.wait_file("/tmp/full")
    faults.let_go(rig.guest, STALLS)
    assert rig.show(disk, "state") == "live"
    assert job.wait().check().stdout.splitlines()[-2] == f"read {BLOCK}"


@pytest.mark.parametrize("value", ["-1", "3600001", "soon"])
def test_ages_that_there_are_not(rig: Rig, value: str) -> None:
    """They are refused, and the age stays."""
    disk = rig.disk(STALLS)
    before = rig.show(disk, "recovery_age_ms")
    with pytest.raises(OSError, match="Invalid argument"):
        rig.set(disk, "recovery_age_ms", value)
    assert rig.show(disk, "recovery_age_ms") == before
