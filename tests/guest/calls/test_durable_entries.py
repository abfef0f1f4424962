# SPDX-License-Identifier: MIT
"""A durable write says so to the drive, whatever way it was asked for; all others do not.

Every write that has to be durable carries FUA in each of its submission queue entries, or a
Flush follows; and no entry carries FUA that was not asked for.  The entries themselves are
looked at, see entries.py: no run that kills a machine can show the loss.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from block_side import REGION_CALLS
from disks import HIDDEN, MIB, Programs, calls
from entries import FLUSH, READ, WRITE, Entry, Submissions
from rig import Rig
from shared_guest import FileGuest, Setup
from test_buffers import run

from chario_lab.guest.spec import Namespace, Nvme

pytestmark = [
    pytest.mark.area("kernel/disk/", "kernel/memory/", "kernel/front/", "kernel/queue/edge", "kernel/back/nvme/queue")
]

PAGE = 4096
COMMAND_BYTES = 128 << 10
POLL, FUA, PHYSICAL = 1, 2, 8
HIPRI, DSYNC, SYNC = 1, 2, 4
# One command; several; several rounds of as many as are in flight at a time.
SIZES = (2 * PAGE, 3 * COMMAND_BYTES, 8 * MIB)
BYTES = 2 * MIB
KINDS = {
    "registered": [f"heap 0 {BYTES}", "register 0"],
    "pool": [f"pool 0 {BYTES}"],
    "window": [f"window 0 {HIDDEN} {BYTES}"],
}
WAYS = ["ioctl", f"ioctl {POLL}", "ring", "ring-poll", "pointer", "pointer-poll"]
SETUP = Setup(
    drives=(Nvme("durable", (Namespace(64), Namespace(64, 4096))),),
    parameters=f"windows={HIDDEN:#x}+16M",
    append=f"memmap=16M${HIDDEN:#x}",
)


@dataclass(frozen=True)
class Call:
    """A write that was made, in whole blocks: where, how long, and whether it was to be durable."""

    offset: int
    bytes: int
    durable: bool


@dataclass
class Disk:
    """A disk that has been bound for one test, and the entries of its drive."""

    rig: Rig
    node: str
    block: int
    submissions: Submissions

    def judge(self, made: Sequence[Call]) -> list[Entry]:
        """Each write has reached the drive whole, in entries that all say what was asked for; all entries."""
        entries = self.submissions.fetched()
        assert not [entry for entry in entries if entry.fua and entry.opcode != WRITE]
        writes = [entry for entry in entries if entry.opcode == WRITE]
        for call in made:
            first, end = call.offset // self.block, (call.offset + call.bytes) // self.block
            mine = [entry for entry in writes if first <= entry.first_block < end]
            assert sum(entry.blocks for entry in mine) == end - first, (call, mine)
            assert {entry.fua for entry in mine} == {call.durable}, (call, mine)
            assert len(mine) > 1 or call.bytes <= COMMAND_BYTES
        assert sum(entry.blocks for entry in writes) * self.block == sum(call.bytes for call in made)
        return entries


@pytest.fixture(params=[512, 4096])
def disk(keeper: FileGuest, request: pytest.FixtureRequest) -> Disk:
    """Either format, bound afresh."""
    rig = keeper.get(request)
    submissions = Submissions(rig.guest)
    node = rig.disks(0)[0 if request.param == 512 else 1]
    submissions.fetched()
    return Disk(rig, node, request.param, submissions)


VECTORS = {
    "one element": "{bytes}:0",
    "two elements": "{half}:0 {half}:0",
    "misaligned elements": "{half}:4 {half}:512",
}


@pytest.mark.parametrize("size", SIZES)
def test_calls_of_a_file_that_is_opened_for_it(disk: Disk, guest_program: Programs, size: int) -> None:
    """O_DSYNC: write, pwrite and vectors are durable, and without it none is."""
    half = size // 2
    script = [f"write {size}", f"pwrite {8 * MIB} {size}", f"pwritev {16 * MIB} 0 {half}:0 {half}:0",
              f"pwritev {24 * MIB} {HIPRI} {size}:0", f"pread 0 {size}"]  # fmt: skip
    for flags in ([], ["dsync"]):
        assert calls(disk.rig.guest, guest_program, disk.node, script, flags) == [str(size)] * len(script)
        disk.judge([Call(place * 8 * MIB, size, bool(flags)) for place in range(4)])


@pytest.mark.parametrize("shape", VECTORS.values(), ids=VECTORS)
@pytest.mark.parametrize("size", SIZES)
def test_calls_that_ask_for_it_by_themselves(disk: Disk, guest_program: Programs, size: int, shape: str) -> None:
    """RWF_DSYNC and RWF_SYNC, slept for and polled for; no call inherits it from the one before."""
    flags = [0, DSYNC, 0, SYNC, HIPRI, HIPRI | DSYNC]
    elements = shape.format(bytes=size, half=size // 2)
    script = [f"pwritev {place * 8 * MIB} {flag} {elements}" for place, flag in enumerate(flags)]
    script.append(f"preadv 0 {HIPRI} {elements}")
    assert calls(disk.rig.guest, guest_program, disk.node, script) == [str(size)] * len(script)
    disk.judge([Call(place * 8 * MIB, size, bool(flag & ~HIPRI)) for place, flag in enumerate(flags)])


@pytest.mark.parametrize("flags", ["", "fixed", "poll", "async", "transfer", "poll transfer", "pointer"])
def test_io_uring(disk: Disk, guest_program: Programs, flags: str) -> None:
    """Writes with RWF_DSYNC and commands with FUA, one and many device commands each, eight at a time."""
    program = disk.rig.guest.push(guest_program("uring"))
    for size, count in ((PAGE, 16), (6 * COMMAND_BYTES, 8)):
        for dsync in ("", "dsync"):
            disk.rig.guest.must(f"{program} {disk.node} 8 {count} {size} {flags} {dsync}", timeout_s=600)
            entries = disk.judge([Call(place * size, size, bool(dsync)) for place in range(count)])
            assert {entry.opcode for entry in entries} == {READ, WRITE}


@pytest.mark.parametrize("kind", KINDS)
def test_transfers(disk: Disk, guest_program: Programs, kind: str) -> None:
    """Transfers of buffers by ioctl and as commands of io_uring, with FUA and without; a read has no use for it."""
    for way in WAYS:
        name, poll = [*way.split(), "0"][:2]
        script = [*KINDS[kind], f"way {name} {poll}", f"write 0 0 {PAGE} 0", f"write 0 0 {BYTES} {8 * MIB}",
                  f"way {name} {int(poll) | FUA}", f"write 0 0 {PAGE} {16 * MIB}", f"write 0 0 {BYTES} {24 * MIB}",
                  f"read 0 0 {BYTES} 0"]  # fmt: skip
        answers = run(disk.rig.guest, guest_program, disk.node, script)
        assert [int(answer) for answer in answers if answer != "0"] == [PAGE, BYTES, PAGE, BYTES, BYTES]
        disk.judge([Call(0, PAGE, False), Call(8 * MIB, BYTES, False), Call(16 * MIB, PAGE, True),
                    Call(24 * MIB, BYTES, True)])  # fmt: skip


def test_transfers_beside_a_file_of_any_size(disk: Disk, guest_program: Programs) -> None:
    """While some file of the disk has any size, the commands of a transfer are posted one by one."""
    disk.rig.set(disk.node, "any_size", 1)
    disk.rig.guest.must(f"exec 3<>{disk.node} && touch /run/held && while [ -e /run/held ]; do sleep 0.1; done &")
    try:
        disk.rig.wait_file("/run/held")
        disk.rig.set(disk.node, "any_size", 0)
        script = [*KINDS["registered"], f"write 0 0 {MIB} 0", f"write 0 0 {MIB} {8 * MIB} {FUA}"]
        assert run(disk.rig.guest, guest_program, disk.node, script) == ["0", "0", str(MIB), str(MIB)]
    finally:
        disk.rig.guest.must("rm -f /run/held")
    disk.judge([Call(0, MIB, False), Call(8 * MIB, MIB, True)])


def test_transfers_by_physical_address(disk: Disk, guest_program: Programs) -> None:
    """A window that is named by its address."""
    script = [*KINDS["window"]]
    script += [f"raw 1 {PHYSICAL | flag} 0 {HIDDEN} {place * 8 * MIB} {size}"
               for place, (flag, size) in enumerate(((0, PAGE), (0, MIB), (FUA, PAGE), (FUA, MIB)))]  # fmt: skip
    assert run(disk.rig.guest, guest_program, disk.node, script) == ["0", str(PAGE), str(MIB), str(PAGE), str(MIB)]
    disk.judge([Call(0, PAGE, False), Call(8 * MIB, MIB, False), Call(16 * MIB, PAGE, True), Call(24 * MIB, MIB, True)])


@pytest.mark.parametrize("call", ["fsync", "fdatasync"])
def test_a_flush_follows_what_was_not_durable(disk: Disk, guest_program: Programs, call: str) -> None:
    """fsync and fdatasync: one Flush, of the disk's namespace, behind the writes."""
    answers = calls(disk.rig.guest, guest_program, disk.node, [f"pwrite 0 {MIB}", call, f"pwrite 0 {PAGE}"])
    assert answers == [str(MIB), "0", str(PAGE)]
    entries = disk.submissions.fetched()
    assert [entry.opcode for entry in entries] == [WRITE] * (MIB // COMMAND_BYTES) + [FLUSH, WRITE]
    assert len({entry.nsid for entry in entries}) == 1 and not any(entry.fua for entry in entries)


@pytest.mark.parametrize("flags", ["", "fua", "poll", "poll fua", "threads", "threads fua"])
def test_queues_of_the_library(disk: Disk, guest_program: Programs, flags: str) -> None:
    """Each write with FUA carries it; the flush at the end is behind all writes."""
    program = disk.rig.guest.push(guest_program("queue"))
    size, count = 3 * COMMAND_BYTES, 8
    disk.rig.guest.must(f"{program} {disk.node} 4 {count} {size} {flags}", timeout_s=600)
    entries = disk.judge([Call(place * size, size, "fua" in flags) for place in range(count)])
    opcodes = [entry.opcode for entry in entries]
    assert opcodes.count(FLUSH) == 1 and WRITE not in opcodes[opcodes.index(FLUSH) :]


# Writes of any size, and the whole blocks that a drive with blocks of 4 KiB has to be given.
PIECES = [(0, 100), (3 * PAGE + 50, 200), (8 * PAGE, PAGE), (16 * PAGE + 50, 3 * PAGE), (MIB, 300 << 10),
          (2 * MIB + 100, (300 << 10) + 7), (4 * MIB - 1, 2)]  # fmt: skip


CONFINED = """
import sys
whole = os.open(sys.argv[1], os.O_RDWR | int(sys.argv[2]))
part, mute = confine(whole, 1 << 20, 60 << 20), confine(whole, 0, 1 << 20, 1)
parts = [part, confine(part, 1 << 20, 59 << 20)]
os.close(whole)
at = 0
for fd in parts:
    for size in map(int, sys.argv[3:]):
        assert write(fd, at, size, 1) == size
        at += size
assert write(mute, 0, 4096, 1) == "EBADF"
"""


@pytest.mark.parametrize("flag", ["O_RDWR", "O_DSYNC", "O_SYNC"])
def test_a_confined_file_is_as_durable_as_its_parent(disk: Disk, flag: str) -> None:
    """Each write through it, and through one that is confined further, carries FUA where its parent's writes do."""
    sizes = (PAGE, *SIZES)
    command = ["python3", "-c", REGION_CALLS + CONFINED, disk.node, str(getattr(os, flag)), *map(str, sizes)]
    disk.rig.guest.must(command, timeout_s=240)
    places, at = [], 0
    for start in (1, 2):
        for size in sizes:
            places.append(Call(start * MIB + at, size, flag != "O_RDWR"))
            at += size
    disk.judge(places)


def blocks_of(disk: Disk, offset: int, length: int) -> tuple[int, int]:
    """The blocks that a piece lies in: where they begin, and their length."""
    begin = offset // disk.block * disk.block
    return begin, -(-(offset + length) // disk.block) * disk.block - begin


def test_durable_calls_of_any_size(disk: Disk, guest_program: Programs) -> None:
    """Whole blocks and the edges of a piece are durable alike, by the open file and by the call."""
    disk.rig.set(disk.node, "any_size", 1)
    made = [Call(*blocks_of(disk, *piece), True) for piece in PIECES]
    script = [f"pwrite {offset} {length}" for offset, length in PIECES]
    vectors = [f"pwritev {offset} {DSYNC} {length}:0" for offset, length in PIECES]
    for lines, flags in ((script, ["dsync"]), (vectors, [])):
        answers = calls(disk.rig.guest, guest_program, disk.node, lines, flags)
        assert answers == [str(length) for _, length in PIECES]
        disk.judge(made)


def test_a_flush_follows_what_was_gathered(disk: Disk, guest_program: Programs) -> None:
    """Without the flag no piece is durable by itself; fsync writes what has been gathered, and flushes then."""
    disk.rig.set(disk.node, "any_size", 1)
    script = [line for offset, length in PIECES for line in (f"pwrite {offset} {length}", "fsync")]
    calls(disk.rig.guest, guest_program, disk.node, script)
    entries = disk.judge([Call(*blocks_of(disk, *piece), False) for piece in PIECES])
    opcodes = [entry.opcode for entry in entries if entry.opcode != READ]
    assert opcodes.count(FLUSH) == len(PIECES) and opcodes[-1] == FLUSH
    ends = [place for place, opcode in enumerate(opcodes) if opcode == FLUSH]
    assert all(opcodes[place - 1] == WRITE for place in ends)


def test_what_was_gathered_is_durable_with_what_follows_it(disk: Disk, guest_program: Programs) -> None:
    """A durable write goes on where plain ones have left bytes that no entry has carried yet."""
    disk.rig.set(disk.node, "any_size", 1)
    calls(disk.rig.guest, guest_program, disk.node, ["pwrite 0 100", f"pwritev 100 {DSYNC} 5000:0"])
    disk.judge([Call(*blocks_of(disk, 0, 5100), True)])
