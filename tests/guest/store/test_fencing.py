# SPDX-License-Identifier: MIT
"""Nothing of the dead lands on the living: whoever is granted a lock knows that no write of its last holder follows.

A lock of an open file (F_OFD_SETLK) lives as long as the file, and the file as long as any write that was made
through it can reach the disk: after its caller was killed, and after it was told ETIMEDOUT.
"""

import os
import random
import time
from collections.abc import Iterator
from errno import EAGAIN, ETIMEDOUT

import pytest
from disks import setting
from programs import BUILD, compile_program
from python_calls import start_script
from rig import CALL_LIMIT_S, Rig, results, uring_results
from shared_guest import FileGuest, Setup

from chario_lab.guest import faults
from chario_lab.guest.devices import bind, find_block
from chario_lab.guest.job import Job
from chario_lab.guest.spec import Blkdebug, Namespace, Nvme, Throttle
from chario_lab.kernel import DEBUG
from chario_lab.waiting import until

pytestmark = [
    pytest.mark.area("kernel/queue/origin", "lib/src/store/fence", "kernel/front/", "kernel/queue/edge"),
    pytest.mark.kernels("6.12"), pytest.mark.cpus(2), pytest.mark.slow,
]  # fmt: skip

BYTES = 64 << 10
HELD, STALLS = 0, 1
# Of each way to write and each medium.
WRITERS = int(os.environ.get("WRITERS", "10"))
WRITES_PER_S = (20, 100, 200, 1000)
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
    for limit in ("iops-write", "iops-total"):
        faults.set_limits(rig.guest, STALLS, 1, {limit: 0})


def start(rig: Rig, disk: str, way: str, deadline_ms: int) -> Job:
    """Lock the file and begin to write in some way."""
    if way in RINGS:
        return rig.start_uring(disk, 1, BYTES, f"deadline={deadline_ms}", "write", "lock", *RINGS[way])
    return rig.start(disk, f"deadline,{deadline_ms}", "lock", *CALLS[way])


def kill_writer(rig: Rig, disk: str, job: Job, ends_at_once: bool = True) -> None:
    """Kill a program whose write the drive holds: its lock is refused until the drive goes on."""
    until(lambda: rig.counters(disk)["write_commands"] == 1, "nothing has been written")
    job.kill()
    assert not ends_at_once or job.wait().rc == -9
    assert rig.calls(disk, "lock")[0] == ("lock", -EAGAIN)
    faults.resume(rig.guest, HELD)


@pytest.mark.smoke
@pytest.mark.parametrize("way", [*CALLS, *RINGS])
def test_a_write_of_a_killed_process_keeps_its_lock(rig: Rig, way: str) -> None:
    """The lock is refused while the drive has the write, and granted when it has ended."""
    disk = rig.disk(HELD)
    faults.hold(rig.guest, HELD, event="write_aio")
    kill_writer(rig, disk, start(rig, disk, way, 200000))
    assert rig.calls(disk, "take", "fill,7,0,4096", "write,0,4096")[0] == ("take", 0)
    assert rig.calls(disk, "read,0,4096", "match,7,0,4096")[1] == ("match", 1)
    rig.wait_unpinned()


@pytest.mark.parametrize("way", [*CALLS, *RINGS])
def test_a_write_that_is_late_keeps_its_lock(rig: Rig, way: str) -> None:
    """Its caller was told ETIMEDOUT and has ended: the lock is granted when the drive has been reset."""
    disk = rig.stalled(STALLS)
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
    kill_writer(rig, disk, job, ends_at_once=False)
    assert rig.calls(disk, "take", "any-size", "read,100,96", "match,5,0,96")[3] == ("match", 1)


def test_what_is_gathered_keeps_the_file_open(rig: Rig) -> None:
    """It was taken after the last close of a descriptor, by a ring that ends before it is written."""
    disk = rig.disk(HELD)
    with setting(rig.guest, disk, "any_size", 1):
        assert rig.uring(disk, 1, 96, "write", "registered", "close") == {96: 1}
    until(lambda: rig.counters(disk)["write_commands"] == 1, "what was gathered has not been written")
    assert rig.guest.must(f"head -c 4096 {disk} | head -c 96 | tr -d '\\245' | wc -c").strip() == "0"


# Each has a byte that is written a second later, and may take an hour for it.
MANY = """
import resource, time
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
fds = [disk() for i in range(300)]
for fd in fds:
    fcntl.ioctl(fd, 0xC403, struct.pack("=IIQII", 24, 0, 3600 * 10**9, 0, 1))
    os.pwrite(fd, b"x", 9)
open("/run/many", "w").close()
time.sleep(1000)
"""


def test_what_one_drive_holds_up_holds_up_no_other(rig: Rig) -> None:
    """300 files of a drive that stands still: locks of another drive's files are given back all the same."""
    stalls, disk = rig.disk(STALLS), rig.disk(HELD)
    many = start_script(rig.guest, stalls, MANY)
    rig.wait_file("/run/many")
    faults.set_limits(rig.guest, STALLS, 1, {"iops-total": 1})
    waiting = "cat /proc/[0-9]*/stack | grep -c write_left_lying"
    until(lambda: int(rig.guest.run(waiting).stdout) >= 200, "what was gathered is not written")
    faults.hold(rig.guest, HELD, event="write_aio")
    kill_writer(rig, disk, start(rig, disk, "pwrite", 200000))
    until(lambda: rig.calls(disk, "lock")[0] == ("lock", 0), "the lock waits for the other drive")
    assert int(rig.guest.run(waiting).stdout) >= 200
    many.kill()


def test_settle_waits_for_late_writes_of_the_file(rig: Rig) -> None:
    """Within its deadline, of these bytes, and of no other file; afterwards the lock may be given back."""
    disk = rig.stalled(STALLS)
    job = rig.start(disk, "settle,0,65536,1", "deadline,300", f"write,0,{BYTES}", "settle,65536,65536,1",
                    "settle,0,65536,0", "settle,0,65536,1", "stats", "settle,0,18446744073709551615,0")  # fmt: skip
    values = [value for _, value in results(job.wait())]
    assert values == [0, 0, -ETIMEDOUT, 0, 0, 0, 0, 0, 0]
    assert rig.counters(disk)["resets"] == 1


def plain_device(rig: Rig) -> str:
    """The slow drive as Linux's driver has it."""
    rig.guest.must("modprobe nvme_core multipath=N && modprobe nvme")
    address = rig.address(STALLS)
    bind(rig.guest, address, "nvme")
    return find_block(rig.guest, address)


def plain_file(rig: Rig) -> str:
    """A file on it."""
    device = plain_device(rig)
    rig.guest.must(f"mkfs.ext4 -q {device} && mkdir -p /run/slow && mount {device} /run/slow")
    rig.guest.must("truncate -s 8M /run/slow/store")
    return "/run/slow/store"


# What has the slow drive: the module, or Linux's driver.
MEDIA = {"disk": lambda rig: rig.disk(STALLS), "block device": plain_device, "file": plain_file}


@pytest.fixture(params=MEDIA)
def store(rig: Rig, request: pytest.FixtureRequest) -> Iterator[str]:
    """What a store can be on, on a drive that takes a moment for each write."""
    if request.param != "disk" and rig.guest.spec.kernel == DEBUG:
        pytest.skip("nothing of the module is used there: the stock kernels show it")
    yield MEDIA[request.param](rig)
    faults.set_limits(rig.guest, STALLS, 1, {"iops-write": 0})
    if request.param != "disk":
        rig.guest.must("! mountpoint -q /run/slow || umount /run/slow", timeout_s=CALL_LIMIT_S)
        rig.release(rig.address(STALLS))
        rig.guest.must("rmmod nvme nvme_core", timeout_s=CALL_LIMIT_S)


@pytest.mark.parametrize("way", ["calls", "ring", "threads"])
def test_successors_of_killed_writers(rig: Rig, store: str, way: str) -> None:
    """Nothing that was durable is replaced by what is older, however slow the drive; WRITERS are killed."""
    seed = random.randrange(1 << 32)
    print(f"successors {store} {seed} {WRITERS} {way}")
    program = rig.guest.push(compile_program("successors"))
    job = rig.guest.start([program, store, str(seed), str(WRITERS), way], timeout_s=CALL_LIMIT_S + 2 * WRITERS)
    speeds = random.Random(seed)
    while not job.poll():
        faults.set_limits(rig.guest, STALLS, 1, {"iops-write": speeds.choice(WRITES_PER_S)})
        time.sleep(speeds.uniform(0.05, 0.5))
    result = job.wait()
    assert result.check().stdout.startswith(f"{WRITERS} writers, "), result.describe()
    print(result.stdout)


class Program:
    """chario on a store of the drive that can hold a write: several calls in one shell, what they say in a file."""

    SAID = "/run/said"

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.disk = rig.disk(HELD)
        folders = f"LD_LIBRARY_PATH={BUILD / 'lib'} PATH={BUILD / 'cli'}:$PATH"
        self._setting = f"export LC_ALL=C CHARIO_STORE={self.disk} {folders}"

    def start(self, words: str) -> Job:
        """Begin."""
        return self.rig.guest.start(f"{self._setting}; {{ {words}; }} 2>{self.SAID}", timeout_s=CALL_LIMIT_S)

    def run(self, words: str) -> str:
        """To its end, which is to be 0: its output."""
        return self.start(words).wait().check().stdout

    def kill_while_it_writes(self, words: str) -> None:
        """The drive holds the first write that is made once /run/go is there."""
        self.rig.guest.must("rm -f /run/go /run/ready")
        job = self.start(words)
        self.rig.wait_file("/run/ready")
        before = self.rig.counters(self.disk)["write_commands"]
        faults.hold(self.rig.guest, HELD, event="write_aio")
        self.rig.touch("/run/go")
        until(lambda: self.rig.counters(self.disk)["write_commands"] > before, "nothing has been written")
        job.kill()

    def follow(self, words: str) -> None:
        """What is started at once waits, says so, and succeeds when the drive has let go of the write."""
        job = self.start(words)
        until(lambda: "waiting for that" in self.rig.guest.files.read(self.SAID), "it does not say that it waits")
        faults.resume(self.rig.guest, HELD)
        job.wait().check()


@pytest.fixture
def program(rig: Rig) -> Program:
    """The program, and three files of 1 MiB."""
    rig.guest.must("for name in first second third; do yes $name | head -c 1M >/run/$name; done")
    program = Program(rig)
    program.run("chario format --force $CHARIO_STORE")
    return program


GO = "touch /run/ready; until [ -e /run/go ]; do sleep 0.1; done"


def test_a_recorder_that_is_started_again_at_once(program: Program) -> None:
    """What the drive has is there, and what comes after it."""
    options = "--record=4k --segment=64k --flush-ms=100 --late-ms=600000 --quiet camera"
    # How many the disk itself calls durable depends on where the flushes of a slow recorder fall.
    written = "chario stat --json camera | grep -q '\"records\": 256,'"
    source = f"cat /run/first; until {written}; do sleep 0.1; done; {GO}; cat /run/second; sleep 1000"
    program.kill_while_it_writes(f"{{ {source}; }} | chario record --size=8M {options}")
    program.follow(f"chario record --append {options} </run/third")
    program.run("chario replay camera >/run/all && head -c 1M /run/all | cmp - /run/first")
    program.run("tail -c 1M /run/all | cmp - /run/third && chario check --data --quiet")


def test_a_put_after_one_that_was_killed(program: Program) -> None:
    """An area in the place of one that is being written to has what was put there, and keeps it."""
    program.kill_while_it_writes(f"chario create other 8k; {GO}; chario put --quiet /run/first one")
    program.follow("chario rm one; chario put --quiet /run/second two")
    program.run("chario cat two | cmp - /run/second && chario check --data --quiet")
