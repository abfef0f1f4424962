# SPDX-License-Identifier: MIT
"""Buffers without tables of the drive: the module cuts the segments of each command from the pieces of the buffer.

Without an IOMMU most memory has many pieces; behind one, see test_pieces_iommu.py, it has few.
"""

import pytest
import test_buffers
import test_large_commands
from disks import HIDDEN, HIDDEN_BYTES, MIB, Programs, counters, grown, setting
from rig import Rig
from shared_guest import Setup
from test_buffers import BLOCK, run
from test_dmabuf import CMB_MIB, EXPORTERS, need
from test_large_commands import HALF, LARGEST
from test_pool import SIZES, STREAMING, round_trip

from chario_lab.guest.spec import Namespace, Nvme
from chario_lab.waiting import until

pytestmark = [
    pytest.mark.area("kernel/front/transfer", "kernel/front/ioctl", "kernel/memory/"), pytest.mark.kernels("6.12"),
]  # fmt: skip

PLAIN, INSIDE = range(2)
SETUP = Setup(
    drives=(Nvme("plain", (Namespace(128, 4096),), mdts=10), Nvme("inside", (Namespace(64),), cmb_mib=CMB_MIB)),
    parameters=f"buffer_tables=N max_command_kib={LARGEST >> 10} peer_to_peer=1 windows={HIDDEN:#x}+{HIDDEN_BYTES}",
    append=f"memmap=16M${HIDDEN:#x}",
    alone=True,
)
KINDS = {
    "registered": [f"heap 0 {8 * MIB}", "register 0"],
    "misaligned": [f"heap 0 {8 * MIB} 4092", "register 0"],
    "huge": [f"huge 0 {8 * MIB}", "register 0"],
    "pool": [f"pool 0 {8 * MIB}"],
    "streaming": [f"pool 0 {8 * MIB} {STREAMING}"],
    "window": [f"window 0 {HIDDEN} {8 * MIB}"],
}
ODD_OFFSETS = (4, 100, 512, 4092, 4100, MIB - 4)
WAYS = ["ioctl", "ring", "ring-poll"]


def odd_slices() -> tuple[list[str], list[str]]:
    """Slices that begin anywhere, each written from the buffer and read back into another place of it."""
    script, expect = ["fill 0 7"], ["0"]
    for offset in ODD_OFFSETS:
        for size in (BLOCK, 2 * BLOCK, 33 * BLOCK, MIB):
            script += [f"write 0 {offset} {size} 0", f"pread 15 0 {size} 0", f"match 15 7 0 {size} {offset}",
                       f"read 0 {4 * MIB + offset} {size} 0",
                       f"match 0 7 {4 * MIB + offset} {size} {offset}"]  # fmt: skip
            expect += [str(size), str(size), "1", str(size), "1"]
    return script, expect


def moves_all_data(rig: Rig, programs: Programs, disk: str, make: list[str], way: str = "ioctl") -> None:
    """Slices of many sizes and at odd places are written and read, and the buffer can be given back."""
    rig.guest.must("echo 8 >/proc/sys/vm/nr_hugepages")
    sizes, places = round_trip(SIZES), odd_slices()
    script = [*make, f"way {way}", *sizes[0], *places[0], "free 0"]
    assert run(rig.guest, programs, disk, script) == [*["0"] * len(make), "0", *sizes[1], *places[1], "0"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind(rig: Rig, guest_program: Programs, kind: str, way: str) -> None:
    """By ioctl and by io_uring, polled or not: one command, several, more than a chunk."""
    moves_all_data(rig, guest_program, rig.disk(PLAIN), KINDS[kind], way)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_memory_of_another_driver(rig: Rig, guest_program: Programs, exporter: str) -> None:
    """A dma-buf that is imported."""
    need(rig.guest, exporter)
    moves_all_data(rig, guest_program, rig.disk(PLAIN), [f"{exporter} 0 {8 * MIB}", f"import 0 0 {8 * MIB}"])


def test_inside_a_drive(rig: Rig, guest_program: Programs) -> None:
    """The drive's own memory, and as a dma-buf of another drive."""
    inside, plain = rig.disk(INSIDE), rig.disk(PLAIN)
    script = [f"heap 0 {4 * MIB}", "fill 0 5", f"pwrite 0 0 {4 * MIB} 0", f"inside 1 {4 * MIB}",
              f"read 1 0 {4 * MIB} 0", f"write 1 {BLOCK} {MIB} {8 * MIB}", f"pread 0 0 {MIB} {8 * MIB}",
              f"match 0 5 0 {MIB} {BLOCK}", "export 1", f"other {plain}", f"import 2 1 {4 * MIB}",
              f"write 2 {512} {MIB} 0"]  # fmt: skip
    expect = ["0", "0", str(4 * MIB), "0", str(4 * MIB), str(MIB), str(MIB), "1", "0", "0", "0", str(MIB)]
    assert run(rig.guest, guest_program, inside, script) == expect
    check = [f"heap 0 {MIB}", f"pread 0 0 {MIB} 0", f"match 0 5 0 {MIB} 512"]
    assert run(rig.guest, guest_program, plain, check) == ["0", str(MIB), "1"]


@pytest.mark.parametrize("skew", [0, 4, 4092])
def test_the_largest_command(rig: Rig, guest_program: Programs, skew: int) -> None:
    """2 MiB of scattered memory in one command, which needs every segment and every entry that there is."""
    disk = rig.disk(PLAIN)
    script = [f"heap 0 {5 * MIB} {skew}", f"heap 1 {LARGEST}", "fill 0 3", "register 0"]
    expect = ["0"] * 4
    offsets = [0, 4, 2048, 4092, MIB + 100, 3 * MIB - 4]
    for offset in offsets:
        script += [f"write 0 {offset} {LARGEST} 0", f"pread 1 0 {LARGEST} 0", f"match 1 3 0 {LARGEST} {offset}"]
        expect += [str(LARGEST), str(LARGEST), "1"]
    before = counters(rig.guest, disk)
    with setting(rig.guest, disk, "chunk_bytes", LARGEST), setting(rig.guest, disk, "command_bytes", LARGEST):
        assert run(rig.guest, guest_program, disk, script) == expect
    assert grown(rig.guest, disk, before)["write_commands"] == len(offsets)


@pytest.mark.parametrize("pages", [HALF, 2 * HALF], ids=lambda pages: f"{pages} pages")
def test_commands_from_any_page(rig: Rig, guest_program: Programs, pages: int) -> None:
    """As many as with tables, and the same data."""
    test_large_commands.test_lists_of_a_buffer_that_are_too_short(rig, guest_program, pages)


def test_commands_and_doorbells(rig: Rig, guest_program: Programs) -> None:
    """As many as with tables."""
    test_buffers.test_commands_and_doorbells(rig.guest, guest_program, rig.disk(PLAIN))


def test_a_drive_that_goes_takes_no_buffer_along(rig: Rig) -> None:
    """Its buffers are unmapped once: when it is unbound, and not again when their file is closed."""
    disk = rig.disk(PLAIN)
    job = rig.start_buffers(disk, f"heap 0 {MIB}", "register 0", f"write 0 4 {MIB // 2} 0", "wait /run/gone",
                            f"write 0 0 {BLOCK} 0", "free 0")  # fmt: skip
    until(lambda: counters(rig.guest, disk)["write_commands"] == 4, "nothing is written")
    rig.unbind(PLAIN)
    rig.touch("/run/gone")
    assert job.wait().check().stdout.split()[-3:] == ["0", "ENODEV", "0"]
