# SPDX-License-Identifier: MIT
"""File systems and swap on the block side, under load, with a verified stream of calls in a region beside each.

A failure of fsx shows its command, which has the seed: with that, fsx makes the same calls again.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from block_side import REGION_CALLS, disable, enable, set_regions
from disks import MIB, counters
from rig import Rig
from shared_guest import Setup

from chario_lab.guest.fsx import get_fsx
from chario_lab.guest.spec import Namespace, Nvme

pytestmark = [
    pytest.mark.area("kernel/front/block/", "kernel/memory/bios", "kernel/queue/isolation"),
    pytest.mark.kernels("6.12"), pytest.mark.cpus(2), pytest.mark.stock, pytest.mark.slow,
]  # fmt: skip

OWN, SHARED, TWINS = range(3)
# XFS wants 300 MiB.
SIZE_MIB = 384
REGION_MIB = 64
DRIVES = (
    Nvme("own", (Namespace(SIZE_MIB, 4096),)),
    Nvme("shared", (Namespace(SIZE_MIB),), max_ioqpairs=4),
    Nvme("twins", (Namespace(64), Namespace(SIZE_MIB, 4096))),
)
SETUP = Setup(drives=DRIVES, parameters=f"loopback_mib={SIZE_MIB}", alone=True)
LIMIT_S = 900
END_MIB = SIZE_MIB - REGION_MIB - 1
TABLE = f"label: gpt\nstart=1MiB, size={END_MIB - 1}MiB\nstart={END_MIB}MiB, size={REGION_MIB}MiB\n"


@dataclass(frozen=True)
class FileSystem:
    """How one is made and checked."""

    make: str
    check: str


SYSTEMS = {
    "ext4": FileSystem("mkfs.ext4 -qF {}", "e2fsck -fn {}"),
    "xfs": FileSystem("mkfs.xfs -qf {}", "xfs_repair -n {}"),
    "f2fs": FileSystem("mkfs.f2fs -qf {}", "fsck.f2fs {} --dry-run"),
}
# How many files fsx changes, and how long and large the rest is.
LOAD = int(os.environ.get("FS_LOAD", "1"))
# Stressors that change files and folders in many ways; each checks what it reads.
STRESS = f"stress-ng --temp-path /run/mnt --verify --timeout {3 * LOAD} --hdd 1 --hdd-bytes 16m --fallocate 1 "
STRESS += "--fallocate-bytes 16m --rename 1 --link 1 --dentry 1 --dentries 64 --iomix 1 --iomix-bytes 8m "
STRESS += "--seek 1 --seek-size 8m --sync-file 1 --sync-file-bytes 8m --quiet"
# fsx makes random calls on one file and compares all that it reads with a copy in memory; a seed gives the same calls
# again.  No call has length 0, which posix_fallocate() refuses.  Few calls read through a mapping: fsx never unmaps
# those, and mapped pages stay in the page cache.
FSX_SEEDS, FSX_CALLS = range(1, LOAD + 1), 1000
FSX = """
flen = 1048576
opsize = { min = 1, max = 131072 }
[weights]
read = 10
write = 10
mapread = 0.2
mapwrite = 5
truncate = 2
punch_hole = 4
posix_fallocate = 2
copy_file_range = 5
sendfile = 5
posix_fadvise = 5
fsync = 2
fdatasync = 2
close_open = 2
"""
# The files leave the page cache over and over, so that fsx reads from the disk.
EVICT = "while [ ! -e /run/exercised ]; do for file; do dd of=$file oflag=nocache conv=notrunc,fdatasync count=0 "
EVICT += "status=none; done; done"
# The region beside: each turn writes a value of its own to a random range, and reads back another one.
BESIDE = """
import random, sys, time
fd, dice, known = os.open(sys.argv[1], os.O_RDWR), random.Random(1), {}
turns, end = 0, time.monotonic() + float(sys.argv[2])
size = 65536
while time.monotonic() < end and not os.path.exists("/run/enough"):
    at = dice.randrange(size_of(fd)[0] // size) * size
    if at in known:
        assert read(fd, at, size) == bytes([known[at]]) * size, f"offset {at} is wrong"
    known[at] = turns % 255
    assert write(fd, at, size, known[at]) == size
    turns += 1
for at, value in known.items():
    assert read(fd, at, size) == bytes([value]) * size, f"offset {at} is wrong"
print(turns)
"""


CASES = [("ext4", "own"), ("ext4", "shared"), ("ext4", "twins"), ("ext4", "memory"), ("xfs", "own"), ("f2fs", "shared")]
PLACES = {"own": OWN, "shared": SHARED, "twins": TWINS}


@pytest.fixture
def disk(rig: Rig, request: pytest.FixtureRequest) -> Iterator[str]:
    """A disk with a block disk, a partition on it and a region behind that; "memory" is the disk in memory."""
    drive = PLACES.get(request.param)
    node = "/dev/chardisk0" if drive is None else rig.disks(drive)[-1]
    block = enable(rig.guest, node)
    rig.guest.must(f"sfdisk -q --wipe always {block}", stdin=TABLE)
    set_regions(rig.guest, node, (1, END_MIB * MIB, REGION_MIB * MIB))
    yield node
    rig.guest.run("umount /run/mnt")
    if drive is None:
        set_regions(rig.guest, node)
        assert disable(rig.guest, node) == 0
    else:
        rig.unbind(drive)


def exercise(rig: Rig) -> None:
    """Run fsx on a file for each seed, all at once."""
    guest, program = rig.guest, rig.guest.push(get_fsx())
    files = {seed: f"/run/mnt/fsx{seed}" for seed in FSX_SEEDS}
    evict = guest.start(["sh", "-c", EVICT, "evict", *files.values()], timeout_s=2 * LIMIT_S)
    command = f"{program} -f /proc/self/fd/0 -N {FSX_CALLS}"
    jobs = [guest.start(f"{command} -S {seed} {file}", LIMIT_S, stdin=FSX) for seed, file in files.items()]
    ends = [job.wait() for job in jobs]
    rig.touch("/run/exercised")
    evict.wait().check()
    for end in ends:
        end.check()


@pytest.mark.parametrize(("system", "disk"), CASES, indirect=["disk"])
def test_under_load_beside_a_region(rig: Rig, disk: str, system: str) -> None:
    """Files are written, verified and changed in many ways; the check is clean; disk and region keep their data."""
    guest, part, kind = rig.guest, f"{disk}b1", SYSTEMS[system]
    guest.must(f"{kind.make.format(part)} && mkdir -p /run/mnt && mount {part} /run/mnt", LIMIT_S)
    beside = guest.start(["python3", "-c", REGION_CALLS + BESIDE, f"{disk}p1", str(LIMIT_S)], timeout_s=2 * LIMIT_S)
    guest.must(STRESS, LIMIT_S)
    fio = f"fio --name=v --directory=/run/mnt --size={6 * LOAD}M --rw=randrw --bsrange=4k-128k --ioengine=libaio "
    fio += "--iodepth=16 --direct=1 --verify=crc32c --numjobs=2 --fsync=64 --output=/dev/null --fallocate=none"
    guest.must(fio, LIMIT_S)
    exercise(rig)
    guest.must("sha256sum /run/mnt/fsx? >/run/sums")
    rig.touch("/run/enough")
    assert int(beside.wait().check().stdout) > 0
    guest.must(f"fstrim /run/mnt && umount /run/mnt && {kind.check.format(part)}", LIMIT_S)
    guest.must(f"mount -o ro {part} /run/mnt && sha256sum --quiet -c /run/sums")
    counted = counters(guest, disk)
    assert counted["errors"] == counted["timeouts"] == 0


# A process that may keep a quarter of its memory fills all of it, changes each page that it finds right, and finds each
# right once more, before swap is switched off and after.
SWAPPED = """
import mmap, pathlib, subprocess, sys
PAGE, pages, part, limit = 4096, int(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
memory = mmap.mmap(-1, pages * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
def bytes_of(page, turn):
    return (turn * pages + page).to_bytes(8, "little") * (PAGE // 8)
def look(turn):
    for page in range(pages):
        assert memory[page * PAGE : page * PAGE + PAGE] == bytes_of(page, turn), f"page {page} is wrong"
for turn in (1, 2):
    for page in range(pages):
        memory[page * PAGE : page * PAGE + PAGE] = bytes_of(page, turn)
    look(turn)
limit.write_text("max")
subprocess.run(["swapoff", part], check=True)
look(2)
"""
PAGES = 24_000
GROUP = "/run/groups/small"


def swapped(rig: Rig) -> dict[str, int]:
    """Pages that have gone to swap and come back since the start of the guest."""
    rows = (line.split() for line in rig.guest.files.read("/proc/vmstat").splitlines())
    return {name: int(count) for name, count in rows if name in ("pswpin", "pswpout")}


@pytest.mark.parametrize("disk", ["own", "shared"], indirect=True)
def test_swap_beside_a_region(rig: Rig, disk: str) -> None:
    """Each page comes back as it went, tens of thousands of times, also when swap is switched off."""
    guest, part = rig.guest, f"{disk}b1"
    guest.must("mkdir -p /run/groups; mountpoint -q /run/groups || mount -t cgroup2 none /run/groups")
    guest.must(f"echo +memory >/run/groups/cgroup.subtree_control; mkdir -p {GROUP}")
    guest.must(f"echo {PAGES * 1024} >{GROUP}/memory.max; mkswap -q {part} && swapon {part}")
    before = swapped(rig)
    beside = guest.start(["python3", "-c", REGION_CALLS + BESIDE, f"{disk}p1", str(LIMIT_S)], timeout_s=2 * LIMIT_S)
    command = f"echo $$ >{GROUP}/cgroup.procs && exec python3 - {PAGES} {part} {GROUP}/memory.max"
    guest.must(command, timeout_s=LIMIT_S, stdin=SWAPPED)
    rig.touch("/run/enough")
    assert int(beside.wait().check().stdout) > 0
    after = swapped(rig)
    assert all(after[name] - before[name] > 2 * PAGES for name in before)
    counted = counters(guest, disk)
    assert counted["errors"] == counted["timeouts"] == 0
