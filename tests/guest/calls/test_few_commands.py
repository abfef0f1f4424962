# SPDX-License-Identifier: MIT
"""A drive that takes two commands at a time: calls wait for one that is free, end at their deadline, and keep none.

Commands are held at the drive, so that nothing here depends on who is faster.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from errno import EAGAIN, ETIMEDOUT

import pytest
from disks import folder, setting
from python_calls import printed, run_script, start_script
from rig import Rig, results
from shared_guest import Setup

from chario_lab.guest import faults
from chario_lab.guest.job import Job
from chario_lab.guest.spec import Blkdebug, Namespace, Nvme
from chario_lab.waiting import until

pytestmark = [pytest.mark.area("kernel/front/", "kernel/queue/edge"), pytest.mark.cpus(2)]

FEW, MORE = 0, 1
BLOCK, FAR = 4096, 1 << 20
READ, WRITE = "read_aio", "write_aio"
STEPS = {READ: f"read,{FAR},{BLOCK}", WRITE: f"write,{FAR},{BLOCK}"}
COMMANDS = {READ: "read_commands", WRITE: "write_commands"}
WHERE = "cat $(printf '/proc/%s/stack ' $(pidof python3))"
SETUP = Setup(
    drives=(
        # One queue for all processors.
        Nvme("few", (Namespace(64, BLOCK, backing=Blkdebug()),), mqes=2, max_ioqpairs=1),
        Nvme("more", (Namespace(64, BLOCK, backing=Blkdebug()),)),
    )
)


@pytest.fixture
def disk(rig: Rig) -> Iterator[str]:
    """A disk of two commands; unbinding it would wait for one that is not given back."""
    yield rig.disk(FEW)
    faults.resume(rig.guest, FEW)
    rig.unbind(FEW)


def wait_commands(rig: Rig, disk: str, kind: str, count: int) -> None:
    """Return when so many commands of a kind have been posted."""
    until(lambda: rig.counters(disk)[COMMANDS[kind]] >= count, "no command is posted")


@contextmanager
def held(rig: Rig, disk: str, *kinds: str, drive: int = FEW) -> Iterator[None]:
    """While the block lasts, the drive holds a command of each kind; they end well."""
    jobs: list[Job] = []
    for kind in kinds:
        before = rig.counters(disk)[COMMANDS[kind]]
        faults.hold(rig.guest, drive, event=kind)
        jobs.append(rig.start(disk, STEPS[kind]))
        wait_commands(rig, disk, kind, before + 1)
    try:
        yield
    finally:
        faults.resume(rig.guest, drive)
    assert [results(job.wait())[0][1] for job in jobs] == [BLOCK] * len(jobs)


def test_a_call_that_gets_no_command_ends_at_its_deadline(rig: Rig, disk: str) -> None:
    """All are with the drive; when they are back, the same call has one."""
    with held(rig, disk, READ, WRITE):
        assert rig.calls(disk, "deadline,200", "read,0,4096")[1][1] == -ETIMEDOUT
        assert rig.counters(disk)["resets"] == 0
    assert rig.calls(disk, "deadline,200000", "read,0,4096")[1][1] == 4096


AIO = """
import ctypes
IO_SETUP, IO_GETEVENTS, IO_SUBMIT, PREADV = 206, 208, 209, 7
libc = ctypes.CDLL(None, use_errno=True)
context = ctypes.c_ulong(0)
assert libc.syscall(IO_SETUP, 1, ctypes.byref(context)) == 0
memory = mmap.mmap(-1, 4096)
memory[:] = bytes(4096)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
fd = disk(False)
def read(*lengths):
    vector = (ctypes.c_ulong * (2 * len(lengths)))(*[word for length in lengths for word in (address, length)])
    call = struct.pack("=QIiHhIQQqQII", 0, 0, os.RWF_NOWAIT, PREADV, 0, fd, ctypes.addressof(vector), len(lengths),
                       0, 0, 0, 0)
    entry, event = ctypes.create_string_buffer(call, len(call)), ctypes.create_string_buffer(32)
    entries = (ctypes.c_void_p * 1)(ctypes.addressof(entry))
    assert libc.syscall(IO_SUBMIT, context, 1, entries) == 1
    assert libc.syscall(IO_GETEVENTS, context, 1, 1, event, None) == 1
    return struct.unpack_from("=q", event, 16)[0]
"""


def test_empty_elements_take_no_command(rig: Rig, disk: str) -> None:
    """An asynchronous call that must not wait needs as many commands as it has elements with memory."""
    script = AIO + "print(json.dumps([read(4096, *[0] * 99), read(*[4096] * 3)]))"
    assert run_script(rig.guest, disk, script) == [4096, -EAGAIN]


PART = f"""
FAR = {FAR}
fd, strict = disk(), disk(False)
def options(deadline_ms):
    fcntl.ioctl(fd, 0xC403, struct.pack("=IIQII", 24, 0, deadline_ms * 1000000, 0, 1))
def outcome():
    os.pwrite(fd, b"p" * 100, FAR + 7)
    try:
        os.fsync(fd)
        return 0
    except OSError as error:
        return errno.errorcode[error.errno]
"""


LATE = PART + "options(300); print(json.dumps(outcome()))"


def expect_part(rig: Rig, disk: str) -> None:
    """A part of a block is written, and nothing else of it."""
    script = PART + "got = outcome(); print(json.dumps([got, read(strict, 4096, FAR).count(b'p' * 100)]))"
    assert run_script(rig.guest, disk, script) == [0, 1]


@pytest.mark.parametrize("kinds", [(READ, WRITE), (READ,)], ids=["none-free", "one-free"])
def test_a_part_of_a_block_needs_two_commands(rig: Rig, disk: str, kinds: tuple[str, ...]) -> None:
    """Its writer is told at the deadline and nothing is written; one command alone is left to others meanwhile."""
    rig.calls(disk, f"fill,3,0,{BLOCK}", f"write,{FAR},{BLOCK}")
    with held(rig, disk, *kinds):
        assert run_script(rig.guest, disk, LATE) == "ETIMEDOUT"
        if kinds == (READ,):
            calls = rig.calls(disk, f"read,{FAR},{BLOCK}", f"match,3,0,{BLOCK}")
            assert calls[:2] == [("read", BLOCK), ("match", 1)]
    expect_part(rig, disk)


def test_a_part_of_a_block_waits_for_two_commands(rig: Rig, disk: str) -> None:
    """With one free it waits, and goes on when the other comes back."""
    with held(rig, disk, READ):
        job = start_script(rig.guest, disk, PART + "open('/run/begun', 'w').close(); print(json.dumps(outcome()))")
        rig.wait_file("/run/begun")
        # Others have the command that is free.
        assert rig.calls(disk, "deadline,60000", "read,0,4096")[1][1] == 4096
    assert printed(job) == 0


def test_a_part_of_a_block_waits_for_a_write_of_it(rig: Rig) -> None:
    """A write of the block is with the drive: who changes a part is told at the deadline, and leaves nothing behind."""
    disk = rig.disk(MORE)
    with held(rig, disk, WRITE, drive=MORE):
        assert run_script(rig.guest, disk, LATE) == "ETIMEDOUT"
        assert rig.counters(disk)["write_commands"] == 1
    expect_part(rig, disk)
    rig.unbind(MORE)


def test_a_part_of_a_block_waits_for_another(rig: Rig) -> None:
    """One writer changes the block, and its read is held: the next one is told at its deadline, the first is done."""
    disk = rig.disk(MORE)
    faults.hold(rig.guest, MORE, event=READ)
    first = start_script(rig.guest, disk, PART + "print(json.dumps(outcome()))")
    wait_commands(rig, disk, READ, 1)
    try:
        assert run_script(rig.guest, disk, LATE) == "ETIMEDOUT"
    finally:
        faults.resume(rig.guest, MORE)
    assert printed(first) == 0
    expect_part(rig, disk)
    rig.unbind(MORE)


LEFT_LYING = (
    PART
    + """
import time
os.pwrite(fd, b"p" * 100, FAR + 7)
{begin}
while not os.path.exists("/run/seen"):
    time.sleep(0.05)
print(json.dumps("seen"))
"""
)


def test_what_is_left_lying_does_not_wait_for_others(rig: Rig, disk: str) -> None:
    """Two files have gathered bytes, and a call of one hangs: those of the other are written after a second."""
    other = rig.disk(MORE)
    faults.hold(rig.guest, MORE, event=READ)
    hangs = start_script(rig.guest, other, LEFT_LYING.format(begin="os.pwritev(fd, [b'k'], 9, os.RWF_DSYNC)"))
    wait_commands(rig, other, READ, 1)
    try:
        lies = start_script(rig.guest, disk, LEFT_LYING.format(begin=""))
        wait_commands(rig, disk, WRITE, 1)
        assert rig.counters(other)["write_commands"] == 0
    finally:
        faults.resume(rig.guest, MORE)
    wait_commands(rig, other, WRITE, 1)
    rig.touch("/run/seen")
    assert [printed(job) for job in (hangs, lies)] == ["seen", "seen"]
    rig.unbind(MORE)


def test_io_uring_goes_on_with_fewer_commands(rig: Rig, disk: str) -> None:
    """A read of two commands comes while another call has one of the two."""
    with setting(rig.guest, disk, "command_bytes", BLOCK), held(rig, disk, READ):
        assert rig.uring(disk, 1, 2 * BLOCK) == {2 * BLOCK: 1}


def round_trip(way: str, blocks: int) -> tuple[list[str], list[str]]:
    """Blocks are written, and read in some way after /run/go: a script of src/buffers.c, and its answers."""
    size = blocks * BLOCK
    lines = [f"heap 0 {size}", "fill 0 5", "register 0", f"write 0 0 {size} 0", "clear 0", f"way {way}", "wait /run/go",
             f"read 0 0 {size} 0", f"match 0 5 0 {size} 0"]  # fmt: skip
    return lines, ["0", "0", "0", str(size), "0", "0", "0", str(size), "1"]


@pytest.mark.parametrize("way", ["ioctl", "ring"])
def test_transfers_go_on_with_fewer_commands(rig: Rig, disk: str, way: str) -> None:
    """The same for memory that is a buffer, by ioctl and as a command of io_uring."""
    script, expect = round_trip(way, 2)
    with setting(rig.guest, disk, "command_bytes", BLOCK):
        job = rig.start_buffers(disk, *script)
        wait_commands(rig, disk, WRITE, 2)
        with held(rig, disk, READ):
            rig.touch("/run/go")
            assert job.wait().check().stdout.split() == expect


@pytest.mark.parametrize("way", ["ioctl", "ring"])
def test_transfers_wait_for_a_command(rig: Rig, disk: str, way: str) -> None:
    """While others have both, a transfer of one waits; it comes when one is back."""
    script, expect = round_trip(way, 1)
    job = rig.start_buffers(disk, *script)
    wait_commands(rig, disk, WRITE, 1)
    with held(rig, disk, READ, WRITE):
        rig.touch("/run/go")
        until(lambda: "chario" in rig.guest.run("cat /proc/$(pidof buffers)/task/*/stack").stdout, "nobody waits")
    assert job.wait().check().stdout.split() == expect


def test_a_transfer_of_several_chunks_when_all_are_taken(rig: Rig, disk: str) -> None:
    """Its first chunk has both commands, and is held: the others come after it."""
    script, expect = round_trip("ioctl", 8)
    with setting(rig.guest, disk, "command_bytes", BLOCK), setting(rig.guest, disk, "chunk_bytes", 2 * BLOCK):
        job = rig.start_buffers(disk, *script)
        wait_commands(rig, disk, WRITE, 8)
        faults.hold(rig.guest, FEW, event=READ)
        rig.touch("/run/go")
        wait_commands(rig, disk, READ, 2)
        faults.resume(rig.guest, FEW)
        assert job.wait().check().stdout.split() == expect


DESTROYED = """
SIZE = 16384
fd = disk(False)
name = make_pool(fd, SIZE)
child = fork()
if child == 0:
    transfer = bytearray(struct.pack("=IIIIQQQQQQ", 64, 0, 0, name, 0, 0, SIZE, 0, 0, 0))
    print(json.dumps(fcntl.ioctl(fd, 0xC420, transfer)), flush=True)
    os._exit(0)
while not os.path.exists("/run/held"):
    pass
open("/run/destroying", "w").close()
destroy(fd, name)
os.waitpid(child, 0)
"""


def test_a_block_disk_beside_two_commands(rig: Rig, disk: str) -> None:
    """Calls need both to change a part of a block: none is left for the block side, and that is said."""
    refused = rig.guest.run(f"echo 1 | tee {folder(disk)}/block")
    assert refused.rc != 0 and "not supported" in refused.stderr.lower(), refused.describe()
    assert not rig.guest.files.exists(f"{disk}b")


def test_a_buffer_that_is_destroyed_under_a_call(rig: Rig, disk: str) -> None:
    """A call of several chunks ends where its buffer was when it went: what has been transferred counts."""
    with setting(rig.guest, disk, "command_bytes", BLOCK), setting(rig.guest, disk, "chunk_bytes", 2 * BLOCK):
        faults.hold(rig.guest, FEW, event=READ)
        job = start_script(rig.guest, disk, DESTROYED)
        wait_commands(rig, disk, READ, 2)
        rig.touch("/run/held")
        rig.wait_file("/run/destroying")
        until(lambda: "buffer_destroy" in rig.guest.run(WHERE).stdout, "it is not being destroyed")
        faults.resume(rig.guest, FEW)
        assert printed(job) == 2 * BLOCK
