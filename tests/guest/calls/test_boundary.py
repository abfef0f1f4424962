# SPDX-License-Identifier: MIT
"""Commands do not cross the boundary of a disk, as `chario plan` says.

QEMU's drives report no boundary (NOIOB), so this is the disk in memory with one.
The rule is the module's own for every back end.
"""

import json
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from disks import KIB, MIB, NODE, Programs, attributes, setting
from programs import TOP
from rig import Rig
from shared_guest import Setup
from traces import trace

from chario_lab.guest.devices import load_module
from chario_lab.guest.session import Guest
from chario_lab.programs import build_chario

pytestmark = [pytest.mark.area("kernel/back/loopback/")]

SIZE_MIB = 48
BLOCK = 512
COMMAND, CHUNK = 128 * KIB, 4 * MIB
CALL_LIMIT_S = 600

SETUP = Setup(drives=(), parameters=None)


@dataclass(frozen=True)
class Call:
    """A call on the disk."""

    kind: str
    offset: int
    length: int

    def __str__(self) -> str:
        return f"{self.kind} {self.offset} {self.length}"


@pytest.fixture(scope="module")
def chario() -> Path:
    """The program, run on the host: it plans without a disk."""
    return build_chario(TOP)


@pytest.fixture
def loopback(rig: Rig) -> Guest:
    """The guest of this file; a test loads the module as often as it needs."""
    return rig.guest


def load(guest: Guest, module: Path, boundary_kib: int) -> None:
    """The disk in memory, with this boundary."""
    guest.must("! grep -q ^chario /proc/modules || rmmod chario")
    load_module(guest, module, f"loopback_mib={SIZE_MIB} loopback_boundary_kib={boundary_kib} deadline_ms=600000")


def random_calls(seed: int, count: int, longest: int, boundary: int) -> list[Call]:
    """Calls anywhere and of any length; one in three begins or ends at a boundary, or beside it."""
    source = random.Random(seed)
    blocks = SIZE_MIB * MIB // BLOCK
    calls = []
    for _ in range(count):
        length = 1 + source.randrange(max(1, longest // BLOCK >> source.randrange(12)))
        offset = source.randrange(blocks - length + 1)
        if boundary and not source.randrange(3):
            multiple = source.randrange(SIZE_MIB * MIB // boundary) * boundary // BLOCK
            offset = multiple - source.choice((0, 0, 1, -1, length))
            offset = min(max(offset, 0), blocks - length)
        calls.append(Call(source.choice(("read", "write")), offset * BLOCK, length * BLOCK))
    return calls


def plan(chario: Path, call: Call, boundary: int, command: int = COMMAND, chunk: int = CHUNK) -> list[tuple[int, int]]:
    """Offset and size of each command, as the program says."""
    limits = f"block={BLOCK},command={command},chunk={chunk},boundary={boundary},capacity={SIZE_MIB * MIB}"
    words = [str(chario), "plan", "--json", "--limits", limits, *(["--write"] if call.kind == "write" else [])]
    done = subprocess.run([*words, str(call.offset), str(call.length)], capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    commands = [
        (run["offset_bytes"] + place * run["command_bytes"], run["command_bytes"])
        for run in document["runs"]
        for place in range(run["count"])
    ]
    assert len(commands) == document["commands"] and sum(size for _, size in commands) == call.length
    return commands


# Makes calls, says how many commands each has cost, and holds the data against a copy of the whole disk.  The disk is
# filled before and read as a whole at the end; neither is counted.
MAKE_CALLS = f"""
import fcntl, mmap, os, random, struct
MIB, BYTES, dice = {MIB}, {SIZE_MIB * MIB}, random.Random(1)
fd, copy, memory = os.open("{NODE}", os.O_RDWR), mmap.mmap(-1, BYTES), mmap.mmap(-1, BYTES)
# Each write takes bytes of another place, so that no two writes are alike.
noise = os.urandom(16 * MIB)
def posted():
    stats = bytearray(struct.pack("=I148x", 152))
    fcntl.ioctl(fd, 0xC401, stats)
    return sum(struct.unpack_from("=QQ", stats, 8))
def write(at, length):
    start = dice.randrange(len(noise) - length)
    copy[at : at + length] = noise[start : start + length]
    assert os.pwrite(fd, memoryview(copy)[at : at + length], at) == length
def read(at, length):
    memory[:length] = bytes(length)
    assert os.preadv(fd, [memoryview(memory)[:length]], at) == length
    assert memory[:length] == copy[at : at + length], (at, length)
for at in range(0, BYTES, MIB):
    write(at, MIB)
for kind, at, length in map(str.split, open("/share/calls")):
    before = posted()
    (write if kind == "write" else read)(int(at), int(length))
    print(posted() - before)
for at in range(0, BYTES, MIB):
    read(at, MIB)
"""


def making(guest: Guest, calls: list[Call]) -> str:
    """The command that makes these calls."""
    (guest.host.share / "calls").write_text("".join(f"{call}\n" for call in calls))
    (guest.host.share / "make-calls.py").write_text(MAKE_CALLS)
    return "python3 /share/make-calls.py"


def crosses(commands: list[tuple[int, int]], boundary: int) -> bool:
    """Whether a command lies on both sides of a boundary."""
    return any(offset // boundary != (offset + size - 1) // boundary for offset, size in commands)


def check_counts(guest: Guest, chario: Path, boundary: int, seed: int) -> None:
    """Each call costs what the plan says, and all data is right."""
    calls = random_calls(seed, 200, 9 * MIB, boundary)
    counted = [int(line) for line in guest.must(making(guest, calls), CALL_LIMIT_S).splitlines()]
    plans = [plan(chario, call, boundary) for call in calls]
    assert counted == [len(commands) for commands in plans]
    assert not any(crosses(commands, boundary) for commands in plans)
    assert any(crosses(plan(chario, call, 0), boundary) for call in calls), "no call came across: this shows nothing"


def check_commands(guest: Guest, chario: Path, boundary: int, seed: int) -> None:
    """The module's own trace: every command begins and ends where the plan says."""
    calls = random_calls(seed, 40, MIB, boundary)
    events = trace(guest, making(guest, calls), ["chario/split"], everybody=True)
    found = [(int(event.fields["offset"]), int(event.fields["bytes"])) for event in events]
    whole = [
        command for at in range(0, SIZE_MIB * MIB, MIB) for command in plan(chario, Call("read", at, MIB), boundary)
    ]
    assert found == whole + [command for call in calls for command in plan(chario, call, boundary)] + whole


# Within a command, a command's size, of no power of two, and beyond a chunk.
BOUNDARIES_KIB = (12, 128, 1000, 6144)


def test_commands_do_not_cross_a_boundary(loopback: Guest, module: Path, chario: Path) -> None:
    """Random offsets and lengths cost what the plan says, command by command, and the data is right."""
    for seed, boundary_kib in enumerate(BOUNDARIES_KIB):
        load(loopback, module, boundary_kib)
        boundary = boundary_kib * KIB
        assert attributes(loopback, NODE)["boundary_bytes"] == str(boundary)
        check_counts(loopback, chario, boundary, seed)
        check_commands(loopback, chario, boundary, seed)
    loopback.must("rmmod chario")


def test_a_boundary_among_other_limits(loopback: Guest, guest_program: Programs, module: Path, chario: Path) -> None:
    """Commands and chunks of odd sizes, threads and io_uring; the program asks the disk for its limits."""
    boundary, command, chunk = 20 * KIB, 29 * BLOCK, 1001 * BLOCK
    load(loopback, module, boundary // KIB)
    with setting(loopback, NODE, "command_bytes", command), setting(loopback, NODE, "chunk_bytes", chunk):
        calls = random_calls(7, 100, 4 * MIB, boundary)
        output = loopback.must(making(loopback, calls), CALL_LIMIT_S)
        plans = [plan(chario, call, boundary, command, chunk) for call in calls]
        assert [int(line) for line in output.splitlines()] == [len(commands) for commands in plans]
        for call, commands in list(zip(calls, plans, strict=True))[:5]:
            shown = loopback.must([str(chario), "plan", "--json", NODE, str(call.offset), str(call.length)])
            assert json.loads(shown)["commands"] == len(commands)
        loopback.must("echo 12 >/proc/sys/vm/nr_hugepages")
        loopback.must(f"{loopback.push(guest_program('exercise'))} {NODE} 1 40 0 {SIZE_MIB * MIB} 2", CALL_LIMIT_S)
        for flags in ("", "fixed skew", "poll"):
            loopback.must(f"{loopback.push(guest_program('uring'))} {NODE} 32 100 65536 {flags}", CALL_LIMIT_S)
    loopback.must("rmmod chario")


def test_the_parameter_is_bounded(loopback: Guest, module: Path) -> None:
    """None by default, 1 GiB at most; what is more, or no number, is refused."""
    for given, shown in ((0, 0), (1, KIB), (1 << 20, 1 << 30)):
        load(loopback, module, given)
        assert attributes(loopback, NODE)["boundary_bytes"] == str(shown)
        loopback.must(f"dd if=/dev/urandom of={NODE} bs=1M count=3 && rmmod chario")
    for text in ("1048577", "4294967295", "many"):
        refused = loopback.run(f"insmod {loopback.push(module)} loopback_mib=8 loopback_boundary_kib={text}")
        assert refused.rc != 0
