# SPDX-License-Identifier: MIT
"""Nothing of the dead lands on the living: whoever is granted a lock knows that no write of its last holder follows.

A lock of an open file (F_OFD_SETLK) lives as long as the file, and the file as long as any write that was made
through it can reach the disk: after its caller was killed, and after it was told ETIMEDOUT.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from errno import EAGAIN, ETIMEDOUT

import pytest
from disks import setting
from programs import compile_program
from rig import CALL_LIMIT_S, Rig, results, uring_results
from shared_guest import FileGuest, Setup
from waiting import until

from chario_lab.guest import faults
from chario_lab.guest.job import Job
from chario_lab.guest.spec import Blkdebug, Namespace, Nvme, Throttle

BYTES = 64 << 10
HELD, STALLS = 0, 1
WRITERS = int(os.environ.get("WRITERS", "30"))
WRITES_PER_S = 200
DRIVES = (Nvme("held", (Namespace(64, backing=Blkdebug()),)), Nvme("stalls", (Namespace(64, backing=Throttle()),)))
SETUP = Setup(drives=DRIVES)

# How a write is made: a step of fault_io, or options of fault_uring.
CALLS = {
    "pwrite": (f"write,0,{BYTES}",),
    "ioctl": (f"transfer,0,{BYTES}",),
    "own queue": ("own-queue", f"write,0,{BYTES}"),
}
RINGS = {
    "io_uring": (),
    "registered file": ("registered",),
    "registered memory": ("fixed",),
    "polled": ("iopoll",),
    "command": ("command",),
    "polled command": ("command", "iopoll"),
}


@pytest.fixture
def rig(keeper: FileGuest, request: pytest.FixtureRequest) -> Iterator[Rig]:
    """The guest, for one test, with drives that work."""
    rig = keeper.get(request)
    yield rig
    faults.resume(rig.guest, HELD)
    faults.let_go(rig.guest, STALLS)
    faults.set_limits(rig.guest, STALLS, 1, {"iops-write": 0})


def start(rig: Rig, disk: str, way: str, deadline_ms: int) -> Job:
    """Lock the file and begin to write in some way."""
    if way in RINGS:
        return rig.start_uring(disk, 1, BYTES, f"deadline={deadline_ms}", "write", "lock", *RINGS[way])
    return rig.start(disk, f"deadline,{deadline_ms}", "lock", *CALLS[way])


def wait_posted(rig: Rig, disk: str, commands: int) -> None:
    """Return when the drive has been given as many writes."""
    until(lambda: rig.counters(disk)["write_commands"] == commands, "nothing has been written")


@pytest.mark.parametrize("way", [*CALLS, *RINGS])
def test_a_write_of_a_killed_process_keeps_its_lock(rig: Rig, way: str) -> None:
    """The lock is refused while the drive has the write, and granted when it has ended."""
    disk = rig.disk(HELD)
    faults.hold(rig.guest, HELD, event="write_aio")
    job = start(rig, disk, way, 200000)
    wait_posted(rig, disk, 1)
    job.kill()
    assert job.wait().rc == -9
    assert rig.calls(disk, "lock")[0] == ("lock", -EAGAIN)
    faults.resume(rig.guest, HELD)
    assert rig.calls(disk, "take", "fill,7,0,4096", "write,0,4096")[0] == ("take", 0)
    assert rig.calls(disk, "read,0,4096", "match,7,0,4096")[1] == ("match", 1)
    rig.wait_unpinned()


@pytest.mark.parametrize("way", [*CALLS, *RINGS])
def test_a_write_that_is_late_keeps_its_lock(rig: Rig, way: str) -> None:
    """Its caller was told ETIMEDOUT and has ended: the lock is granted when the drive has been reset."""
    disk = rig.disk(STALLS)
    faults.stall(rig.guest, STALLS)
    assert rig.call(disk, f"read,0,{BYTES}") == BYTES
    done = start(rig, disk, way, 300).wait()
    if way in RINGS:
        assert uring_results(done) == {-ETIMEDOUT: 1}
    else:
        assert results(done)[-2][1] == -ETIMEDOUT
    faults.let_go(rig.guest, STALLS)
    assert rig.call(disk, "take") == 0
    assert rig.show(disk, "state") != "live" or rig.counters(disk)["resets"] == 1
    rig.wait_reset(disk)
    assert rig.call(disk, f"write,0,{BYTES}") == BYTES


def test_what_a_file_of_any_size_has_gathered_keeps_its_lock(rig: Rig) -> None:
    """Bytes that write() has taken are written while the file is open; a process that is killed sees that through."""
    disk = rig.disk(HELD)
    faults.hold(rig.guest, HELD, event="write_aio")
    job = rig.start(disk, "any-size", "lock", "fill,5,0,96", "write,100,96", "await,/run/never")
    wait_posted(rig, disk, 1)
    job.kill()
    assert rig.calls(disk, "lock")[0] == ("lock", -EAGAIN)
    faults.resume(rig.guest, HELD)
    assert rig.calls(disk, "take", "any-size", "read,100,96", "match,5,0,96")[3] == ("match", 1)


def test_what_is_gathered_keeps_the_file_open(rig: Rig) -> None:
    """It was taken after the last close of a descriptor, by a ring that ends before it is written."""
    disk = rig.disk(HELD)
    with setting(rig.guest, disk, "any_size", 1):
        assert rig.uring(disk, 1, 96, "write", "registered", "close") == {96: 1}
    until(lambda: rig.counters(disk)["write_commands"] == 1, "what was gathered has not been written")
    assert rig.guest.must(f"head -c 4096 {disk} | head -c 96 | tr -d '\\245' | wc -c").strip() == "0"


def test_settle_waits_for_late_writes_of_the_file(rig: Rig) -> None:
    """Within its deadline, of these bytes, and of no other file; afterwards the lock may be given back."""
    disk = rig.disk(STALLS)
    faults.stall(rig.guest, STALLS)
    assert rig.call(disk, f"read,0,{BYTES}") == BYTES
    job = rig.start(disk, "settle,0,65536,1", "deadline,300", f"write,0,{BYTES}", "settle,65536,65536,1",
                    "settle,0,65536,0", "settle,0,65536,1", "stats", "settle,0,18446744073709551615,0")  # fmt: skip
    values = [value for _, value in results(job.wait())]
    assert values == [0, 0, -ETIMEDOUT, 0, 0, 0, 0, 0, 0]
    assert rig.counters(disk)["resets"] == 1


def make_slow(rig: Rig) -> str:
    """A disk that takes a moment for each write, so that who is killed has some in flight."""
    disk = rig.disk(STALLS)
    faults.set_limits(rig.guest, STALLS, 1, {"iops-write": WRITES_PER_S})
    return disk


def succeed(rig: Rig, store: str, way: str) -> None:
    """Writers of a store that are killed, one after the other, and what each finds."""
    seed = random.randrange(1 << 32)
    print(f"successors {store} {seed} {WRITERS} {way}")
    program = rig.guest.push(compile_program("successors"))
    result = rig.guest.run([program, store, str(seed), str(WRITERS), way], timeout_s=CALL_LIMIT_S + WRITERS)
    assert result.check().stdout.startswith(f"{WRITERS} writers, "), result.describe()
    print(result.stdout)


@pytest.mark.parametrize("way", ["calls", "ring", "threads"])
def test_successors_of_killed_writers(rig: Rig, way: str) -> None:
    """On a character disk nothing that was durable is replaced by what is older; WRITERS says how many are killed."""
    succeed(rig, make_slow(rig), way)
