# SPDX-License-Identifier: MIT
"""Where a drive reaches main memory through bounce buffers only: who syncs, and what happens when these are full."""

from collections.abc import Iterator
from contextlib import contextmanager
from errno import EIO

import pytest
from block_side import disable, enable, holds, noise
from disks import KIB, MIB, Programs
from python_calls import run_script
from rig import CALL_LIMIT_S, Rig
from shared_guest import Setup
from test_buffers import run
from test_dmabuf import need
from test_pool import POOL, STREAMING

from chario_lab.guest.spec import Namespace, Nvme

pytestmark = [pytest.mark.area("kernel/memory/pool"), pytest.mark.kernels("6.12", "debug")]

FOR_DEVICE, FOR_CPU = 1, 2
# 4,096 slots of 2 KiB: a drive can have 8 MiB mapped.
DRIVES = (Nvme("disk", (Namespace(64),)), Nvme("other", (Namespace(64),)))
SETUP = Setup(drives=DRIVES, append="swiotlb=4096,force", alone=True)
# The first is given back where there is to be some room; the others are more than there is, of each size.
ROOM = 64 * KIB
SIZES = [ROOM, *[MIB] * 9, *[64 * KIB] * 33, *[4 * KIB] * 257]


def test_what_bounds_a_command(rig: Rig) -> None:
    """Bounce buffers take less in one piece than drive and slots."""
    disk = rig.disk(0)
    assert rig.show(disk, "command_limit") == "dma"
    assert int(rig.show(disk, "max_command_bytes")) < 512 * KIB


def test_memory_that_has_to_be_synced(rig: Rig, guest_program: Programs) -> None:
    """Memory that nobody would sync is refused; synced, it works; else nothing moves."""
    disk = rig.disk(0)
    # More often than there is room: what is refused does not stay mapped.
    refused = [f"heap 0 {MIB}", *["register 0", f"pool 1 {MIB}"] * 16, "locked"]
    assert run(rig.guest, guest_program, disk, refused) == ["0", *["EOPNOTSUPP"] * 32, "0"]
    for make in ([f"pool 0 {MIB} {STREAMING}"], [f"heap 0 {MIB} 512", f"register 0 {STREAMING}"]):
        seen = [f"write 0 0 {MIB} 0", f"pread 1 0 {MIB} 0", f"match 1 5 0 {MIB} 0"]
        script = [*make, f"heap 1 {MIB}", "fill 0 5", *seen, f"sync 0 0 {MIB} {FOR_DEVICE}", *seen,
                  "clear 0", f"read 0 0 {MIB} 0", f"all 0 0 {MIB} 0", f"sync 0 5000 100000 {FOR_CPU}",
                  "match 0 5 5000 100000 5000", "all 0 0 5000 0", f"sync 0 0 {MIB} {FOR_CPU}", f"match 0 5 0 {MIB} 0",
                  "free 0", "locked"]  # fmt: skip
        expect = [*["0"] * len(make), "0", "0", str(MIB), str(MIB), "0", "0", str(MIB), str(MIB), "1", "0", str(MIB),
                  "1", "0", "1", "1", "0", "1", "0", "0"]  # fmt: skip
        assert run(rig.guest, guest_program, disk, script) == expect


@contextmanager
def full(rig: Rig, disk: str, room: int = 0) -> Iterator[None]:
    """While the block lasts, buffers of a program have all there is, or all but some room."""
    lines = [f"create {POOL} {STREAMING} 0 {size}" for size in SIZES]
    job = rig.play_buffers(disk, *lines, f"destroy {1 if room else 0}", "wait /run/go")
    try:
        assert rig.answers()[-2:] == ["EIO", "0" if room else "ENOENT"]
        yield
    finally:
        rig.touch("/run/go")
    job.wait().check()


def test_calls_that_find_them_full(rig: Rig) -> None:
    """Each gives EIO; nothing stays pinned, and the same calls work as soon as there is room."""
    disk = rig.disk(0)
    rig.calls(disk, f"fill,3,0,{MIB}", f"write,0,{MIB}")
    sizes = (4 * KIB, 64 * KIB, MIB)
    reads = [f"read,0,{size}" for size in sizes]
    with full(rig, disk):
        calls = rig.calls(disk, *reads, f"write,0,{64 * KIB}", "sync")
        assert calls[:5] == [*[("read", -EIO)] * 3, ("write", -EIO), ("sync", 0)]
        assert rig.uring(disk, 4, 64 * KIB) == {-EIO: 4}
        rig.wait_unpinned()
    assert rig.calls(disk, *reads, f"match,3,0,{MIB}")[:4] == [*[("read", size) for size in sizes], ("match", 1)]
    assert rig.uring(disk, 4, 64 * KIB) == {64 * KIB: 4}
    assert rig.counters(disk)["errors"] == 0


def test_a_block_disk_that_finds_them_full(rig: Rig) -> None:
    """Its users know no EIO that passes: their requests wait for room, and all of them are done."""
    disk = rig.disk(0)
    block, path = enable(rig.guest, disk), noise(rig.guest, 1024)
    before = rig.counters(disk)["write_commands"]
    mark = rig.guest.log_mark()
    with full(rig, rig.disk(1)):
        job = rig.guest.start(f"dd if={path} of={block} bs=64k oflag=direct status=none", CALL_LIMIT_S)
        rig.wait_said(mark, f"{rig.address(0)}: swiotlb buffer is full")
        refused = rig.guest.run(f"dd if={disk} of=/dev/null bs=4k count=1 iflag=direct")
        assert refused.rc != 0 and "Input/output error" in refused.stderr, refused.describe()
        assert rig.counters(disk)["write_commands"] == before
    job.wait().check()
    assert holds(rig.guest, disk, path) and disable(rig.guest, disk) == 0


HALVES = f"""
fd = disk(False)
memory = mmap.mmap(-1, {2 * ROOM})
# No page is the neighbour of the one before: each is mapped by itself.
for at in reversed(range(0, {2 * ROOM}, 4096)):
    memory[at] = 1
def read_into(size):
    return outcome(os.preadv, fd, [memoryview(memory)[:size]], 0)
print(json.dumps([sorted({{read_into({2 * ROOM}) for _ in range(40)}}), read_into({ROOM // 2})]))
"""


def test_memory_that_fits_by_half_only(rig: Rig) -> None:
    """What has been mapped of a command is unmapped when the rest cannot be: it does not use up what there is."""
    disk = rig.disk(0)
    with full(rig, disk, ROOM):
        assert run_script(rig.guest, disk, HALVES) == [["EIO"], ROOM // 2]


def test_imports_that_find_them_full(rig: Rig, guest_program: Programs) -> None:
    """Memory of another driver is mapped by its exporter; what that says is told, and later it works."""
    need(rig.guest, "udmabuf")
    disk = rig.disk(0)
    script = [f"udmabuf 0 {64 * KIB}", f"import 1 0 {64 * KIB}"]
    with full(rig, disk):
        assert run(rig.guest, guest_program, disk, script) == ["0", "EIO"]
    assert run(rig.guest, guest_program, disk, [*script, "free 1"]) == ["0", "0", "0"]
