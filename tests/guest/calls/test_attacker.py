# SPDX-License-Identifier: MIT
"""What somebody tries who may open a disk and nothing else: refused, with the errno that <chario/uapi.h> names.

Names that are not theirs, memory that is not theirs, sizes that overflow, races
for memory that has been given back; and a drive that is pulled from under
buffers of every kind.
"""

import json
from collections.abc import Sequence

import pytest
from disks import HIDDEN, MIB
from programs import compile_program
from python_calls import PRELUDE, PYTHON
from rig import Rig
from shared_guest import Setup

from chario_lab.guest.spec import Namespace, Nvme
from chario_lab.waiting import SETTLE_LIMIT_S

pytestmark = [
    pytest.mark.area("kernel/memory/", "kernel/front/"), pytest.mark.kernels("debug", "kcsan"), pytest.mark.cpus(2),
]  # fmt: skip

SYSTEM_RAM = 0x100_0000
DIRECT_MAP = 0xFFFF_8880_0000_0000
PAGE = BLOCK = 4096
MOST = 2**64
REGISTERED, POOL, WINDOW, DMABUF, CMB = range(1, 6)
PHYSICAL, READ, WRITE = 8, 0, 1
NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all"
RACE_LIMIT_S = 900

INSIDE, PULLED = range(2)
DRIVES = (Nvme("inside", (Namespace(64, 4096),), cmb_mib=16), Nvme("pulled", (Namespace(64, 512),), cmb_mib=16))
SETUP = Setup(drives=DRIVES, parameters=f"peer_to_peer=1 windows={HIDDEN:#x}+1M", append=f"memmap=16M${HIDDEN:#x}")


@pytest.fixture
def disk(rig: Rig) -> str:
    """A drive that anybody may open; it has controller memory."""
    return rig.open_to_all(rig.disk(INSIDE))


def try_all(rig: Rig, disk: str, script: Sequence[str], become: str = NOBODY) -> list[str]:
    """What each line of a script for src/buffers.c answered a user; no page stays pinned."""
    answers = rig.guest.must(f"{become} {rig.buffers} {disk}", stdin="\n".join(script) + "\n", timeout_s=SETTLE_LIMIT_S)
    rig.wait_unpinned()
    return answers.splitlines()


def test_names_of_nobody(rig: Rig, disk: str) -> None:
    """No buffer, one that was, and those of another open file: ENOENT."""
    names = (0, 2, 1024, 65535, 65536, 2**31, 2**32 - 1)
    script = [f"heap 0 {MIB}", "register 0"]
    for name in names:
        script += [f"raw {READ} 0 {name} 0 0 {BLOCK}", f"raw {WRITE} 0 {name} 0 0 {BLOCK}", f"destroy {name}"]
    refused = ["ENOENT"] * (3 * len(names))
    gone = ["free 0", f"raw {READ} 0 1 0 0 {BLOCK}", "destroy 1"]
    assert try_all(rig, disk, [*script, *gone]) == ["0", "0", *refused, "0", "ENOENT", "ENOENT"]
    other = [f"pool 0 {MIB}", f"other {disk}", f"raw {READ} 0 1 0 0 {BLOCK}", "destroy 1", f"map 1 {PAGE} {PAGE}"]
    assert try_all(rig, disk, other) == ["0", "0", "ENOENT", "ENOENT", "EINVAL"]


@pytest.mark.smoke
def test_slices_that_overflow(rig: Rig, disk: str) -> None:
    """Offsets and lengths whose sum wraps around, or that are negative: EINVAL, and no byte moves."""
    script = [f"heap 0 {MIB}", "fill 0 1", "register 0"]
    slices = [(MOST - BLOCK, 2 * BLOCK), (BLOCK, MOST - BLOCK), (MOST - BLOCK, MOST - BLOCK), (2**63, BLOCK),
              (MIB, BLOCK), (MIB - BLOCK, 2 * BLOCK), (0, 2**63), (0, 2**32), (2**32, BLOCK),
              (BLOCK, 2**32 - BLOCK)]  # fmt: skip
    script += [f"raw {READ} 0 1 {offset} 0 {size}" for offset, size in slices]
    script += [f"sync 0 {offset} {size} 1" for offset, size in slices]
    expect = ["0"] * 3 + ["EINVAL"] * (2 * len(slices))
    behind = [f"raw {READ} 0 1 0 {MOST - BLOCK} {BLOCK}", f"raw {WRITE} 0 1 0 {MOST - BLOCK} {BLOCK}",
              f"raw {WRITE} 0 1 0 {2**63} {BLOCK}", f"match 0 1 0 {MIB} 0"]  # fmt: skip
    assert try_all(rig, disk, [*script, *behind]) == [*expect, "0", "ENOSPC", "ENOSPC", "1"]


def test_memory_that_is_not_theirs(rig: Rig, disk: str) -> None:
    """The kernel's, the other end of the address space, none at all: EFAULT; wrong sizes: EINVAL."""
    places = (DIRECT_MAP, DIRECT_MAP + SYSTEM_RAM, MOST - PAGE, 2**47 - PAGE, 0, PAGE)
    script = [f"create {REGISTERED} 0 {address} {2 * PAGE}" for address in places]
    script += [f"create {REGISTERED} 1 {address} {2 * PAGE}" for address in places]
    sizes = (0, MOST - BLOCK, 2**63, 2**40 + PAGE, 2**64 - 4, 1, 2)
    script += [f"create {kind} 0 0 {size}" for kind in (REGISTERED, POOL, CMB) for size in sizes]
    assert try_all(rig, disk, script) == ["EFAULT"] * 2 * len(places) + ["EINVAL"] * 3 * len(sizes)


def test_more_memory_than_there_is(rig: Rig, disk: str) -> None:
    """As much as a buffer may have, by a user and by one who may lock it all: ENOMEM, and nothing complains."""
    script = [f"create {kind} 0 {PAGE if kind == REGISTERED else 0} {size}" for kind in (REGISTERED, POOL)
              for size in (2**40, 2**39, 2**36)]  # fmt: skip
    assert try_all(rig, disk, script) == ["ENOMEM"] * len(script)
    answers = try_all(rig, disk, script, become="exec")
    assert answers[:2] == ["ENOMEM"] * 2 and set(answers) <= {"ENOMEM", "EFAULT"}


def test_physical_addresses(rig: Rig, disk: str) -> None:
    """A window needs CAP_SYS_RAWIO, open or not; without one, no transfer reaches an address."""
    bar = int(rig.guest.must(f"sed -n 1p /sys/bus/pci/devices/{rig.address(INSIDE)}/resource").split()[0], 16)
    places = (HIDDEN, SYSTEM_RAM, bar, 0, MOST - PAGE)
    script = [f"create {WINDOW} 0 {address} {PAGE}" for address in places]
    script += [f"raw {op} {PHYSICAL} 0 {address} 0 {BLOCK}" for op in (READ, WRITE) for address in places]
    assert try_all(rig, disk, script) == ["EPERM"] * len(places) + ["ENOENT"] * 2 * len(places)
    opening = rig.guest.run(f"{NOBODY} sh -c 'echo {SYSTEM_RAM:#x}+4K >/sys/module/chario/parameters/windows'")
    assert "Permission denied" in opening.stderr
    # Root, who may: not in System RAM, and not across the end of what is open.
    root = [f"create {WINDOW} 0 {address} {2 * PAGE}" for address in (SYSTEM_RAM, HIDDEN - PAGE, HIDDEN + MIB - PAGE)]
    assert try_all(rig, disk, root, become="exec") == ["ENXIO"] * 3


def test_windows_that_overlap(rig: Rig, disk: str) -> None:
    """The same addresses in many buffers of one file: found by address, each given back by itself."""
    script = [f"create {WINDOW} 0 {HIDDEN + place * PAGE} {4 * PAGE}" for place in range(4)]
    use = f"raw {READ} {PHYSICAL} 0 {HIDDEN + 3 * PAGE} 0 {BLOCK}"
    script += [use, "destroy 4", use, "destroy 2", use, "destroy 1", use, "destroy 3", use]
    answers = try_all(rig, disk, script, become="exec")
    moved = str(BLOCK)
    assert answers[:4] == ["1", "2", "3", "4"]
    assert answers[4:] == [moved, "0", moved, "0", moved, "0", moved, "0", "ENOENT"]


def test_memory_in_two_buffers(rig: Rig, disk: str) -> None:
    """The same pages registered twice, in part and whole: each is a buffer by itself."""
    script = [f"heap 0 {MIB}", "fill 0 1", "register 0", "register 0", f"raw {WRITE} 0 1 0 0 {MIB}", "destroy 1",
              f"raw {READ} 0 2 0 0 {MIB}", f"match 0 1 0 {MIB} 0", "destroy 2", "locked"]  # fmt: skip
    assert try_all(rig, disk, script) == ["0", "0", "0", "0", str(MIB), "0", str(MIB), "1", "0", "0"]


def test_dmabufs_that_are_none(rig: Rig, disk: str) -> None:
    """Any other descriptor: EINVAL; a closed one: EBADF; what has been imported stays when it is closed."""
    script = [f"import 1 0 {PAGE}", f"inside 0 {MIB}", "export 0", f"import 1 0 {2 * MIB}", f"import 1 0 {MIB}",
              "close 0", f"import 2 0 {MIB}", f"write 1 0 {MIB} 0", "free 0", f"write 1 0 {MIB} 0"]  # fmt: skip
    assert try_all(rig, disk, script) == ["EINVAL", "0", "0", "EINVAL", "0", "0", "EBADF", str(MIB), "0", str(MIB)]


# Where the only answers are those that the race may have.
RACES = {
    "reuse": ({"ok", "ENOENT"}, 60),
    "unmap": ({"ok", "ENOENT"}, 60),
    "dmabuf": ({"ok", "ENOENT"}, 30),
    "rings": ({"ok", "ECANCELED"}, 60),
    "kill": ({"ok"}, 20),
    "polls": ({"ok"}, 300),
}


@pytest.mark.parametrize("race", RACES)
def test_races(rig: Rig, disk: str, race: str) -> None:
    """See src/attack.c: neither what has been given back nor a neighbour's memory changes; nothing stays pinned."""
    possible, rounds = RACES[race]
    program = rig.guest.push(compile_program("attack"))
    results = json.loads(rig.guest.must(f"{NOBODY} {program} {disk} {race} {rounds}", timeout_s=RACE_LIMIT_S))
    assert set(results) <= possible and results["ok"] >= rounds, results
    rig.wait_unpinned()


def test_a_limit_is_that_of_the_user(rig: Rig, disk: str) -> None:
    """Memory that children leave behind in a file of their parent counts: of 1 MiB, a neighbour has 128 KiB."""
    program = rig.guest.push(compile_program("attack"))
    results = json.loads(rig.guest.must(f"{NOBODY} {program} {disk} heirs 30", timeout_s=RACE_LIMIT_S))
    assert results == {"ok": 14, "ENOMEM": 16}


# Has buffers of every kind and a queue of its own on a disk that goes: transfers until one fails, makes every call that
# there is, and again when the drive has been unbound.  Each time it gives back one buffer of each kind.
OUTLIVE = """
import ctypes, time
HEAP, POOL, WINDOW = 1, 2, 3
BYTES, window, fd = 64 << 10, int(sys.argv[2]), disk(False)
heap = mmap.mmap(-1, BYTES)
address = ctypes.addressof(ctypes.c_char.from_buffer(heap))
def call(number, layout, *values):
    return fcntl.ioctl(fd, 0xC400 + number, bytearray(struct.pack(layout, struct.calcsize(layout), *values)))
def make_queue():
    call(0x30, "=IIIi16x", 0, 0, -1)
def transfer(buffer):
    return call(0x20, "=4I6Q", 0, 0, buffer, 0, 0, BYTES, 0, 0, 0)
def ask(buffers, mapped):
    names = dict(zip(("heap", "pool", "window"), buffers))
    calls = {f"transfer-{kind}": lambda name=name: transfer(name) for kind, name in names.items()} | {
        "read": lambda: os.preadv(fd, [heap], 0),
        "write": lambda: os.pwrite(fd, heap, 0),
        "fsync": lambda: os.fsync(fd),
        "seek": lambda: os.lseek(fd, 0, os.SEEK_END),
        "info": lambda: call(0x00, "=I228x"),
        "set-file": lambda: call(0x03, "=I20x"),
        "queue-create": make_queue,
        "timeline-open": lambda: call(0x50, "=III20x", 0, 64),
        "set-pin": lambda: call(0x41, "=II80x", 1),
        "register": lambda: create(fd, HEAP, address, BYTES),
        "pool": lambda: create(fd, POOL, 0, BYTES),
        "sync": lambda: call(0x12, "=IIQQI4x", names["pool"], 0, BYTES, 2),
        "mmap": lambda: mmap.mmap(fd, BYTES, mmap.MAP_SHARED, mmap.PROT_READ, offset=names["pool"] * 4096),
    } | {f"destroy-{kind}": lambda name=name: destroy(fd, name) for kind, name in names.items()}
    for name, function in calls.items():
        error = outcome(function)
        print(name, error if isinstance(error, str) else "ok")
    # What is mapped stays memory.
    for memory in mapped:
        memory[:] = bytes([1]) * BYTES
    print("memory", "ok" if all(memory[:] == bytes([1]) * BYTES for memory in mapped) else "lost")
kinds = [(HEAP, address), (POOL, 0), (WINDOW, window), (HEAP, address), (POOL, 0), (WINDOW, window + BYTES)]
made = [create(fd, *kind, BYTES) for kind in kinds]
buffers = [buffer for buffer, _ in made]
mapped = [mmap.mmap(fd, BYTES, offset=place) for _, place in made[1:3]]
make_queue()
turn = 0
while (error := outcome(transfer, buffers[turn % 3])) == BYTES:
    turn += 1
    if turn == 6:
        open("/run/busy", "w").close()
print("under-way", error)
ask(buffers[:3], mapped)
open("/run/gone", "w").close()
while not os.path.exists("/run/unbound"):
    time.sleep(0.01)
ask(buffers[3:], mapped)
"""
# What each call gives once the drive has been pulled, and after it has been unbound.
PULLED_CALLS = {
    "transfer-heap": ("ENODEV", "ENODEV"),
    "transfer-pool": ("ENODEV", "ENODEV"),
    "transfer-window": ("ENODEV", "ENODEV"),
    "read": ("ENODEV", "ENODEV"),
    "write": ("ENODEV", "ENODEV"),
    "fsync": ("ENODEV", "ENODEV"),
    "seek": ("ok", "ok"),
    "info": ("ok", "ENODEV"),
    "set-file": ("ok", "ENODEV"),
    "queue-create": ("EBUSY", "ENODEV"),
    "timeline-open": ("ok", "ENODEV"),
    "set-pin": ("ok", "ENODEV"),
    "register": ("ok", "ENODEV"),
    "pool": ("ok", "ENODEV"),
    "sync": ("ok", "ENODEV"),
    "mmap": ("ok", "ENODEV"),
    "destroy-heap": ("ok", "ok"),
    "destroy-pool": ("ok", "ok"),
    "destroy-window": ("ok", "ok"),
    "memory": ("ok", "ok"),
}


def test_a_drive_is_pulled_under_its_buffers(rig: Rig) -> None:
    """Every call answers, memory is given back, mappings stay, the process ends and so does the module."""
    disk = rig.disk(PULLED)
    job = rig.guest.start([*PYTHON, PRELUDE + OUTLIVE, disk, str(HIDDEN)], timeout_s=RACE_LIMIT_S)
    rig.wait_file("/run/busy")
    rig.pull(PULLED)
    rig.wait_file("/run/gone")
    rig.unbind(PULLED)
    rig.touch("/run/unbound")
    calls = [tuple(line.split()) for line in job.wait().check().stdout.splitlines()]
    pulled, unbound = ([(name, ends[when]) for name, ends in PULLED_CALLS.items()] for when in (0, 1))
    assert calls == [("under-way", "ENODEV"), *pulled, *unbound]
    rig.wait_unpinned()
    rig.unbind(INSIDE)
    rig.guest.must("rmmod chario && rm /run/busy /run/gone /run/unbound", timeout_s=SETTLE_LIMIT_S)
