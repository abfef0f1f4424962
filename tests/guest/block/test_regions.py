# SPDX-License-Identifier: MIT
"""Regions of a disk and confined files: each reaches its bytes and no other, whatever is tried."""

import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from block_side import REGION_CALLS
from disks import KIB, MIB
from programs import compile_program
from rig import NOBODY, Rig
from shared_guest import Setup

from chario_lab.guest.spec import Namespace, Nvme

pytestmark = [
    pytest.mark.area("kernel/disk/regions", "cli/region", "cli/table", "kernel/front/"),
    pytest.mark.kernels("6.12", "debug"), pytest.mark.cpus(2),
]  # fmt: skip

SMALL, LARGE = range(2)
DRIVES = (Nvme("small", (Namespace(64, 512),), cmb_mib=16), Nvme("large", (Namespace(64, 4096),)))
SETUP = Setup(drives=DRIVES)
SCRIPT_LIMIT_S = 300
# Where the part is that the tests look at: in the midst of the disk, at no power of two.
FIRST, LENGTH = 9 * MIB + 12 * KIB, 4 * MIB + 20 * KIB
GUARD = 64 * KIB


@pytest.fixture(params=[SMALL, LARGE], ids=["512", "4096"])
def disk(rig: Rig, request: pytest.FixtureRequest) -> Iterator[str]:
    """A disk without regions."""
    yield rig.disk(request.param)
    rig.unbind(request.param)


@pytest.fixture
def small(rig: Rig) -> Iterator[str]:
    """The disk of blocks of 512 bytes."""
    yield rig.disk(SMALL)
    rig.unbind(SMALL)


def run(rig: Rig, disk: str, script: str) -> Any:
    """What a Python script in the guest prints; DISK is the disk's name, NODE its node."""
    start = f"import json\nNODE = '{disk}'\nDISK = '{disk.removeprefix('/dev/')}'\n"
    start += f"FIRST, LENGTH, KIB, MIB = {FIRST}, {LENGTH}, {KIB}, {MIB}\n"
    done = rig.guest.run(["python3", "-"], stdin=REGION_CALLS + start + script, timeout_s=SCRIPT_LIMIT_S)
    return json.loads(done.check().stdout)


# A part of the disk: a region, a file that is confined to it, and one that is confined twice.
OPEN = {
    "region": """
whole = os.open(NODE, os.O_RDWR)
os.close(whole)
reader = os.open(NODE, os.O_RDONLY)
assert set_regions(reader, [(7, FIRST, LENGTH)]) == 0
part = os.open(NODE + "p7", os.O_RDWR)
""",
    "confined": """
reader = os.open(NODE, os.O_RDONLY)
whole = os.open(NODE, os.O_RDWR)
part = confine(whole, FIRST, LENGTH)
os.close(whole)
""",
    "twice": """
reader = os.open(NODE, os.O_RDONLY)
whole = os.open(NODE, os.O_RDWR)
outer = confine(whole, FIRST - MIB, LENGTH + 2 * MIB)
part = confine(outer, MIB, LENGTH)
os.close(outer)
os.close(whole)
""",
}
# The whole disk has a 1 throughout, so that a byte that changes is seen.
MARK = """
whole = os.open(NODE, os.O_RDWR)
for at in range(0, size_of(whole)[0], MIB):
    write(whole, at, MIB, 1)
os.close(whole)
"""
# Which ranges of the disk have changed, in units of 512 bytes that lie beside each other.
CHANGED = """
def changed():
    ranges = []
    for at in range(0, size_of(reader)[0], MIB):
        block = read(reader, at, MIB)
        if block == bytes([1]) * MIB:
            continue
        for i in range(0, MIB, 512):
            if block[i : i + 512] != bytes([1]) * 512:
                if ranges and ranges[-1][1] == at + i:
                    ranges[-1][1] += 512
                else:
                    ranges.append([at + i, at + i + 512])
    return ranges
"""


@pytest.mark.parametrize("way", OPEN)
def test_it_is_a_disk_of_its_own(rig: Rig, disk: str, way: str) -> None:
    """Its size, its offsets and its end are its own; its bytes are those of the disk."""
    script = """
answers = [size_of(part), place_of(part), write(part, 0, LENGTH, 2), changed()]
answers += [write(part, LENGTH - 8 * KIB, 64 * KIB, 3), write(part, LENGTH, 4096, 4), len(read(part, LENGTH, 4096))]
answers += [len(read(part, LENGTH - 4096, 64 * KIB)), read(part, 0, 4096) == bytes([2]) * 4096, changed()]
os.lseek(part, -4096, os.SEEK_END)
answers += [os.write(part, aligned(4096, 5)), outcome(os.write, part, aligned(4096, 6)), outcome(os.fsync, part)]
print(json.dumps(answers))
"""
    answers = run(rig, disk, MARK + OPEN[way] + CHANGED + script)
    number = 7 if way == "region" else 0
    assert answers[:4] == [[LENGTH, LENGTH], [number, FIRST, LENGTH], LENGTH, [[FIRST, FIRST + LENGTH]]]
    assert answers[4:10] == [8 * KIB, "ENOSPC", 0, 4096, True, [[FIRST, FIRST + LENGTH]]]
    assert answers[10:] == [4096, "ENOSPC", None]


ATTACK = """
import threading
for flags in (0, os.RWF_HIPRI, os.RWF_DSYNC):
    for at in (LENGTH, LENGTH + 4096, LENGTH - 4096, 2**62, 2**63 - 4096, 2**63 - FIRST, 2**63 - FIRST - 4096):
        for size in (4096, 64 * KIB, 8 * MIB):
            write(part, at, size, 9, flags)
if any_size(part) == 0:
    for at in (-1, LENGTH - 1, LENGTH - 4097, LENGTH, LENGTH + 1, 1, 2**63 - 1, 2**63 - FIRST - 1):
        for size in (1, 511, 4097, 200 * KIB):
            write(part, at, size, 9) if at >= 0 else None
    os.fsync(part)
print(json.dumps(changed()))
"""


@pytest.mark.parametrize("way", OPEN)
def test_no_write_leaves_it(rig: Rig, disk: str, way: str) -> None:
    """Offsets behind its end and sums that wrap around, in whole blocks, polled, durable and of any size."""
    ranges = run(rig, disk, MARK + OPEN[way] + CHANGED + ATTACK)
    assert ranges and all(start >= FIRST and end <= FIRST + LENGTH for start, end in ranges)


def test_random_calls_stay_in_their_region(rig: Rig, small: str) -> None:
    """The fuzzer on a region: ioctls, buffers, io_uring of every kind; what lies around is as it was."""
    rig.guest.must("sysctl -q kernel.io_uring_disabled=0 2>/dev/null; :")
    run(rig, small, MARK + "reader = os.open(NODE, os.O_RDONLY)\nprint(set_regions(reader, [(7, FIRST, LENGTH)]))")
    program, seed = rig.guest.push(compile_program("fuzz")), random.getrandbits(32)
    rig.guest.must(f"chmod 666 {small}p7")
    command = f"ulimit -l 8192; exec {' '.join(NOBODY)} {program} {seed} 4000 3 4 {0x30000000} {small}p7"
    print(command, flush=True)
    rig.guest.must(command, timeout_s=1800)
    ranges = run(rig, small, "reader = os.open(NODE, os.O_RDONLY)" + CHANGED + "print(json.dumps(changed()))")
    assert ranges and all(start >= FIRST and end <= FIRST + LENGTH for start, end in ranges)
    rig.wait_unpinned()


TABLES = """
import random
block, end = 512 if BLOCK else 4096, size_of(reader)[0]
dice = random.Random(SEED)
def number():
    return dice.choice([0, 1, 2, 127, 128, 129, 2**31, 2**32 - 1]) if dice.random() < 0.15 else dice.randint(1, 128)
def place():
    if dice.random() < 0.1:
        return dice.choice([0, 1, end - block, end, end + block, 2**63, 2**64 - block, 2**64 - 1])
    return dice.randrange(end // block) * block
def length():
    if dice.random() < 0.1:
        return dice.choice([0, 1, block, end, end + block, 2**63, 2**64 - block, 2**64 - 1, dice.randrange(2**64)])
    return dice.randrange(1, 2 + end // block // dice.choice([2, 8, 64, 1024])) * block
def is_right(table):
    for n, o, l in table:
        if not 1 <= n <= 128 or not l or o % block or l % block or o + l > end:
            return False
    taken = sorted((o, o + l) for n, o, l in table)
    return len({n for n, o, l in table}) == len(table) and all(a[1] <= b[0] for a, b in zip(taken, taken[1:]))
known, right, wrong = set(), 0, []
for i in range(TABLES):
    table = [(number(), place(), length()) for j in range(dice.choice([0, 1, 1, 2, 2, 3, 8]))]
    # Half of the tables change the one before in one row.
    if known and dice.random() < 0.5:
        table = sorted(known)
        table[dice.randrange(len(table))] = (number(), place(), length())
    done, expect = set_regions(reader, table), 0 if is_right(table) else "EINVAL"
    if not expect:
        known, right = set(table), right + 1
    if done != expect or (i % 16 == 0 and regions(DISK) != known):
        wrong.append([i, table, done, expect, sorted(regions(DISK))])
print(json.dumps([right, wrong[:3], regions(DISK) == known]))
"""


def test_random_tables_are_refused_or_right(rig: Rig, disk: str) -> None:
    """Overlaps, ends past the disk, sums that wrap, numbers twice; a refused one changes nothing."""
    seed, small = random.getrandbits(32), rig.show(disk, "logical_block_size") == "512"
    print(f"seed {seed}")
    tables = 1000 if rig.guest.spec.kernel == "debug" else 10_000
    start = f"reader, SEED, BLOCK, TABLES = os.open(NODE, os.O_RDONLY), {seed}, {small}, {tables}\n"
    right, wrong, same = run(rig, disk, start + TABLES)
    assert wrong == [] and same and tables // 5 < right < tables - tables // 20, (seed, right, wrong)


@pytest.mark.smoke
def test_what_is_open_stays(rig: Rig, small: str) -> None:
    """A table that would change or take away a region that is open changes nothing; another one may come and go."""
    script = """
reader = os.open(NODE, os.O_RDONLY)
def nodes():
    return sorted(regions(DISK))
answers = [set_regions(reader, [(1, 0, MIB), (2, MIB, MIB)])]
part = os.open(NODE + "p1", os.O_RDONLY)
answers += [set_regions(reader, []), set_regions(reader, [(1, 0, 2 * MIB)]), set_regions(reader, [(2, 0, MIB)])]
answers += [nodes()]
answers += [set_regions(reader, [(1, 0, MIB), (3, 2 * MIB, MIB)]), nodes()]
os.close(part)
answers += [set_regions(reader, []), nodes(), outcome(os.open, NODE + "p1", os.O_RDONLY)]
whole = os.open(NODE, os.O_RDWR)
answers += [set_regions(confine(whole, 0, MIB), []), set_regions(whole, [(1, 0, MIB)] * 129)]
os.setresuid(65534, 65534, 65534)
answers += [set_regions(reader, [])]
print(json.dumps(answers))
"""
    answers = run(rig, small, script)
    both = [[1, 0, MIB], [2, MIB, MIB]]
    assert answers[:5] == [0, "EBUSY", "EBUSY", "EBUSY", both]
    assert answers[5:7] == [0, [both[0], [3, 2 * MIB, MIB]]]
    assert answers[7:] == [0, [], "ENOENT", "EINVAL", "EINVAL", "EPERM"]


def test_writers_of_the_whole_and_of_a_part_exclude_each_other(rig: Rig, small: str) -> None:
    """Whoever writes to all of the disk and whoever writes to a region; several of one kind may."""
    script = """
reader = os.open(NODE, os.O_RDONLY)
set_regions(reader, [(1, 0, MIB), (2, MIB, MIB)])
def opens(*nodes):
    files = [outcome(os.open, NODE + node, flags) for node, flags in nodes]
    for fd in files:
        if isinstance(fd, int):
            os.close(fd)
    return [fd if isinstance(fd, str) else 0 for fd in files]
R, W = os.O_RDONLY, os.O_RDWR
print(json.dumps([
    opens(("", W), ("p1", W), ("p1", R), ("", W)),
    opens(("p1", W), ("", W), ("", R), ("p2", W), ("p1", os.O_WRONLY)),
    opens(("", R), ("p1", W)), opens(("p1", R), ("", W)),
]))
"""
    answers = run(rig, small, script)
    assert answers == [[0, "EBUSY", 0, 0], [0, "EBUSY", 0, 0, 0], [0, 0], [0, 0]]


def test_a_confined_file_is_all_that_its_holder_has(rig: Rig, small: str) -> None:
    """It cannot be opened anew, widened, pin, record or set regions; a file for reading makes no writer."""
    script = """
whole, reader = os.open(NODE, os.O_RDWR), os.open(NODE, os.O_RDONLY)
part = confine(whole, MIB, MIB)
ranges = [(0, MIB + 512), (512, MIB), (MIB, 512), (0, 0), (1, 512), (0, 513)]
ranges += [(2**64 - 512, 1024), (512, 2**64 - 512)]
answers = [outcome(confine, part, *place) for place in ranges]
answers += [outcome(confine, whole, 0, MIB, 2), outcome(os.open, f"/proc/self/fd/{part}", os.O_RDWR)]
PIN, TIMELINE, QUEUE = 0xC441, 0xC450, 0xC430
answers += [outcome(call, part, PIN, struct.pack("<II80x", 88, 1)),
            outcome(call, part, QUEUE, struct.pack("<IIIi16x", 32, 0, 0, -1)),
            outcome(call, part, TIMELINE, struct.pack("<II24x", 32, 0))]
URGENT = struct.pack("<IIQII", 24, 0, 0, 0, 2)
answers += [outcome(call, part, FILE_OPTIONS, URGENT), outcome(call, whole, FILE_OPTIONS, URGENT)]
answers += [outcome(call, confine(whole, 0, MIB), FILE_OPTIONS, URGENT)]
mute = confine(whole, 0, MIB, 1)
answers += [write(mute, 0, 512, 1), write(confine(mute, 0, MIB), 0, 512, 1), write(confine(reader, 0, MIB), 0, 512, 1)]
answers += [len(read(mute, 0, 512)), outcome(confine, os.open(NODE, os.O_WRONLY), 0, MIB, 1)]
import stat
status = os.fstat(part)
answers += [stat.S_ISCHR(status.st_mode), status.st_rdev == os.stat(NODE).st_rdev, os.get_inheritable(part)]
print(json.dumps(answers))
"""
    answers = run(rig, small, script)
    assert answers[:10] == ["EINVAL"] * 9 + ["ENXIO"]
    assert answers[10:] == ["EPERM"] * 4 + [0, 0] + ["EBADF"] * 3 + [512, "EINVAL", True, True, False]


def test_a_confined_file_keeps_locks_and_claims(rig: Rig, small: str) -> None:
    """What its parent holds stays until it is closed, too; a process without rights writes through it meanwhile."""
    script = """
reader = os.open(NODE, os.O_RDONLY)
set_regions(reader, [(1, 0, MIB), (2, MIB, MIB)])
def lock(fd):
    return outcome(fcntl.fcntl, fd, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0)) != "EAGAIN"
parent = os.open(NODE + "p1", os.O_RDWR)
answers = [lock(parent)]
part = confine(parent, 4096, 8192)
os.close(parent)
other = os.open(NODE + "p1", os.O_RDWR)
answers += [lock(other), outcome(os.open, NODE, os.O_RDWR), set_regions(reader, [(2, MIB, MIB)])]
os.close(other)
# Its own locks are apart from those of another confined file.
second = confine(os.open(NODE + "p2", os.O_RDWR), 0, 4096)
answers += [lock(part), lock(second)]
child = os.fork()
if not child:
    os.setresuid(65534, 65534, 65534)
    os._exit(write(part, 0, 4096, 8) != 4096 or outcome(os.open, NODE + "p1", os.O_RDONLY) != "EACCES")
answers += [os.waitpid(child, 0)[1], outcome(os.open, NODE, os.O_RDWR)]
os.close(part)
other = os.open(NODE + "p1", os.O_RDWR)
answers += [lock(other)]
print(json.dumps(answers))
"""
    answers = run(rig, small, script)
    assert answers == [True, False, "EBUSY", "EBUSY", True, True, 0, "EBUSY", True]


def test_a_long_chain_keeps_no_files(rig: Rig, small: str) -> None:
    """A file that is confined again and again keeps one file open, and none between: those would have no limit."""
    script = """
def files():
    return int(open("/proc/sys/fs/file-nr").read().split()[0])
whole = os.open(NODE, os.O_RDWR)
part, before = confine(whole, 0, MIB), files()
for turn in range(3000):
    narrower = confine(part, 0, MIB)
    os.close(part)
    part = narrower
print(json.dumps([files() - before, place_of(part)]))
"""
    grown, place = run(rig, small, script)
    assert grown < 1000 and place == [0, 0, MIB]


def test_a_part_of_a_block_loses_no_write(rig: Rig, disk: str) -> None:
    """One file writes a byte of a block again and again, another one the whole block: none takes back the other's."""
    script = """
import threading
parts, at, done = os.open(NODE + "p7", os.O_RDWR), 64 * KIB, threading.Event()
assert any_size(parts) == 0
def write_parts():
    while not done.is_set():
        assert write(parts, at + 5, 1, 255, os.RWF_DSYNC) == 1
writer = threading.Thread(target=write_parts)
writer.start()
lost = []
for turn in range(600):
    value = turn % 200 + 1
    assert write(part, at, 4096, value) == 4096
    if bytes(block for i, block in enumerate(read(part, at, 4096)) if i != 5) != bytes([value]) * 4095:
        lost.append(turn)
done.set()
writer.join()
print(json.dumps(lost))
"""
    lost = run(rig, disk, OPEN["region"] + script)
    assert lost == []


def test_regions_go_with_their_disk(rig: Rig, small: str) -> None:
    """Unbound under an open region: the nodes go, the file gives ENODEV, and nothing is left of it."""
    job = rig.guest.start(
        ["python3", "-"],
        stdin=REGION_CALLS
        + f"""
import time
reader = os.open("{small}", os.O_RDONLY)
set_regions(reader, [(1, 0, {MIB})])
part = os.open("{small}p1", os.O_RDWR)
second = confine(part, 0, 4096)
open("/run/opened", "w").close()
while os.path.exists("{small}"):
    time.sleep(0.02)
print(write(part, 0, 4096, 1), write(second, 0, 4096, 1), os.path.exists("{small}p1"))
""",
        timeout_s=SCRIPT_LIMIT_S,
    )
    rig.wait_file("/run/opened")
    rig.unbind(SMALL)
    assert job.wait().check().stdout.split() == ["ENODEV", "ENODEV", "False"]
    rig.disk(SMALL)
