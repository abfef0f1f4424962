# SPDX-License-Identifier: MIT
"""Files of any size when writers are killed and media fail: what write() has taken is written, or fsync() says no."""

import time

import pytest
from python_calls import printed, run_script, start_script
from rig import Rig
from shared_guest import Setup

from chario_lab.guest import faults
from chario_lab.guest.spec import Blkdebug, ErrorRule, Namespace, Nvme, Throttle
from chario_lab.waiting import until

pytestmark = [
    pytest.mark.area("kernel/disk/", "kernel/front/", "kernel/queue/edge",
                     "kernel/drive/", "kernel/back/nvme/", "kernel/memory/handles"),
    pytest.mark.cpus(2),
]  # fmt: skip

HOLDS, BAD, STALLS = 0, 1, 2
KIB, DEPTH = 1024, 16
BAD_WRITE, BAD_READ = 1 << 20, 2 << 20
SECTOR = 512
RULES = (ErrorRule("write", sector=BAD_WRITE // SECTOR), ErrorRule("read", sector=BAD_READ // SECTOR))
DRIVES = (
    Nvme("holds", (Namespace(64, 4096, backing=Blkdebug()),)),
    Nvme("bad", (Namespace(64, 4096, backing=Blkdebug(RULES)),)),
    Nvme("stalls", (Namespace(64, 4096, backing=Throttle()),)),
)
SETUP = Setup(drives=DRIVES)


# The buffer is large, and its memory counts as pinned before it is there: so the file becomes one of any size in the
# middle of the creation, or else another one does.
BOTH = """
import threading
def pinned_kib():
    (line,) = [line for line in open("/proc/self/status") if line.startswith("VmPin")]
    return int(line.split()[1])
for attempt in range(100):
    fd, made = disk(False), []
    maker = threading.Thread(target=lambda: made.append(outcome(make_pool, fd, 64 << 20)))
    maker.start()
    while not pinned_kib():
        pass
    asked = outcome(set_size, fd)
    maker.join()
    if asked is None:
        break
    os.close(fd)
    # What was refused is given back by a worker.
    while pinned_kib():
        pass
print(json.dumps([asked, *made, outcome(destroy, fd, 1)]))
"""


def test_a_file_has_a_buffer_or_any_size(rig: Rig) -> None:
    """A buffer that is being made when the file becomes one of any size is refused, and leaves nothing."""
    assert run_script(rig.guest, rig.disk(HOLDS), BOTH) == [None, "EBUSY", "ENOENT"]


KILLED = """
import signal, time
fd, strict = disk(), disk(False)
os.pwrite(strict, bytes(1 << 16), 0)
ready, told = os.pipe()
open("/run/started", "w").close()
while not os.path.exists("/run/go"):
    time.sleep(0.01)
pid = fork()
if pid == 0:
    os.pwrite(fd, b"k" * {size}, 7)
    os.write(told, b"1")
    {call}
    os._exit(0)
os.read(ready, 1)
# It is inside the call when the drive has its command.
while "chario" not in open(f"/proc/{{pid}}/stack").read():
    time.sleep(0.01)
os.kill(pid, signal.SIGKILL)
open("/run/killed", "w").close()
os.waitpid(pid, 0)
os.fsync(fd)
print(json.dumps(os.pread(strict, 1 << 16, 0).count(b"k")))
"""


@pytest.mark.parametrize("size", [100, 20000])
@pytest.mark.parametrize("call", ["os.close(fd)", "os.fsync(fd)", "os.pread(fd, 9, 7)", "os.pwrite(fd, b'z', 40000)"])
def test_a_kill_loses_nothing(rig: Rig, call: str, size: int) -> None:
    """The writer is killed while what it wrote before is on its way to a drive that takes its time."""
    disk = rig.disk(HOLDS)
    job = start_script(rig.guest, disk, KILLED.format(size=size, call=call))
    rig.wait_file("/run/started")
    faults.hold(rig.guest, HOLDS)
    rig.touch("/run/go")
    rig.wait_file("/run/killed")
    # Time enough for a call that ends at once.
    time.sleep(0.3)
    faults.resume(rig.guest, HOLDS)
    assert printed(job) == size


LOST = f"""
fd = disk()
os.pwrite(fd, b"x" * 4096, {BAD_WRITE})
"""


@pytest.mark.parametrize("way", [["write"], []], ids=["writes", "reads"])
def test_whole_blocks_go_side_by_side(rig: Rig, way: list[str]) -> None:
    """All that a ring has submitted is with the drive at one time, as without any size."""
    disk = rig.disk(STALLS)
    rig.set(disk, "any_size", 1)
    faults.stall(rig.guest, STALLS)
    name = f"{'write' if way else 'read'}_commands"
    rig.set(disk, "deadline_ms", 20000)
    job = rig.start_uring(disk, DEPTH, 64 * KIB, *way)
    until(lambda: rig.counters(disk)[name] == DEPTH, "they wait for one another")
    # The first passes.  None of the others has come back, and it is no deadline that has let the next begin.
    assert rig.counters(disk)["timeouts"] == 0
    faults.let_go(rig.guest, STALLS)
    job.wait()


def test_parts_of_blocks_wait_for_their_own_only(rig: Rig) -> None:
    """While the part of one block is on its way, those of others are written, and a write of that block waits."""
    disk = rig.disk(HOLDS)
    job = start_script(rig.guest, disk, PARTS)
    rig.wait_file("/run/ready")
    faults.hold(rig.guest, HOLDS, event="write_aio")
    rig.touch("/run/go")
    rig.wait_file("/run/held")
    faults.resume(rig.guest, HOLDS)
    assert printed(job) == [2, 1, 1]


PARTS = """
import threading, time
fd, strict = disk(), disk(False)
os.pwrite(strict, bytes(1 << 16), 0)
counter = f"/sys/class/chario/{os.path.basename(NODE)}/counters/write_commands"
def writes():
    return int(open(counter).read())
open("/run/ready", "w").close()
while not os.path.exists("/run/go"):
    time.sleep(0.01)
before = writes()
# The gather of the file is in use until the drive has written this.
first = threading.Thread(target=os.pwritev, args=(fd, [b"k"], 9, os.RWF_DSYNC))
first.start()
while writes() == before:
    time.sleep(0.01)
time.sleep(0.5)
for at in (5000, 9000):
    os.pwrite(fd, b"k", at)
second = threading.Thread(target=os.pwrite, args=(fd, b"k", 11))
second.start()
open("/run/held", "w").close()
first.join()
second.join()
os.fsync(fd)
blocks = [read(strict, 4096, at) for at in (0, 4096, 8192)]
print(json.dumps([block.count(b"k") for block in blocks]))
"""


def test_what_cannot_be_read_is_not_written(rig: Rig) -> None:
    """Nobody knows the rest of the block, so that a part of it cannot be changed: the drive gets no write."""
    disk = rig.disk(BAD)
    before = rig.counters(disk)["write_commands"]
    script = f"fd = disk()\nos.pwrite(fd, b'x', {BAD_READ + 5})\nprint(json.dumps(outcome(os.fsync, fd)))"
    assert run_script(rig.guest, disk, script) == "EIO"
    assert rig.counters(disk)["write_commands"] == before


def test_another_close_does_not_take_the_error(rig: Rig) -> None:
    """A child that inherits the file and exits: fsync still fails, once, and then the file is good again."""
    script = """
pid = fork()
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
answers = [outcome(os.fsync, fd), outcome(os.fsync, fd), outcome(os.pwrite, fd, b"y", 0)]
print(json.dumps(answers + [outcome(os.close, fd)]))
"""
    assert run_script(rig.guest, rig.disk(BAD), LOST + script) == ["EIO", None, 1, None]


@pytest.mark.parametrize("call", ["outcome(os.pread, fd, 9, 0x100000)", "outcome(os.pwrite, fd, b'z', 0)"])
def test_another_call_does_not_take_the_error(rig: Rig, call: str) -> None:
    """A read or write that is the first to fail: fsync still fails, once; a later write does not."""
    script = f"""
print(json.dumps([{call}, outcome(os.pwrite, fd, b"y", 0), outcome(os.fsync, fd), outcome(os.fsync, fd)]))
"""
    assert run_script(rig.guest, rig.disk(BAD), LOST + script) == ["EIO", 1, "EIO", None]


def test_an_error_of_what_was_left_lying(rig: Rig) -> None:
    """Nobody was there when it was written: the next write has the error, once, and so has fsync."""
    script = """
import time
while open(f"/sys/class/chario/{os.path.basename(NODE)}/counters/errors").read() == "0\\n":
    time.sleep(0.05)
write = lambda: outcome(os.pwrite, fd, b"y", 0)
# The command is counted a moment before the file has its error.
while write() != "EIO":
    time.sleep(0.05)
print(json.dumps([write(), outcome(os.fsync, fd), outcome(os.fsync, fd)]))
"""
    assert run_script(rig.guest, rig.disk(BAD), LOST + script) == [1, "EIO", None]


def test_a_close_that_loses_bytes(rig: Rig) -> None:
    """Nobody has asked by fsync: close() says it, and the log when the last holder of the file has gone."""
    assert run_script(rig.guest, rig.disk(BAD), LOST + "print(json.dumps(outcome(os.close, fd)))") == "EIO"
    rig.wait_said(rig.began, "a file was closed before its last bytes could be written; they are lost")
