# SPDX-License-Identifier: MIT
"""Every kind of memory by every way of doing I/O: contents, and what the drive is told."""

import pytest
from disks import HIDDEN, MIB, Programs, counters, grown
from rig import Rig
from shared_guest import Setup
from test_buffers import BLOCK, run
from test_dmabuf import need
from test_pool import round_trip

from chario_lab.guest.spec import Namespace, Nvme

pytestmark = [pytest.mark.area("kernel/"), pytest.mark.kernels("6.12")]

POLL, FUA = 1, 2
WAYS = {
    "ioctl": "ioctl",
    "ioctl polled": f"ioctl {POLL}",
    "ioctl durable": f"ioctl {FUA}",
    "ring": "ring",
    "ring polled durable": f"ring-poll {FUA}",
    "pointer": "pointer",
    "pointer polled": "pointer-poll",
}
SIZES = [BLOCK, 3 * BLOCK, 33 * BLOCK, MIB]
BYTES = 2 * MIB
# How memory of each kind is had in slot 0.
KINDS = {
    "registered": [f"heap 0 {BYTES}", "register 0"],
    "registered shared": [f"shared 0 {BYTES}", "register 0"],
    "registered huge": [f"huge 0 {BYTES}", "register 0"],
    "pool": [f"pool 0 {BYTES}"],
    "heapbuf": [f"heapbuf 0 {BYTES}", f"import 0 0 {BYTES}"],
    "udmabuf": [f"udmabuf 0 {BYTES}", f"import 0 0 {BYTES}"],
    "window": [f"window 0 {{hidden}} {BYTES}"],
}
SETUP = Setup(
    drives=(Nvme("ways", (Namespace(64, 4096),), cmb_mib=4),),
    parameters=f"windows={HIDDEN:#x}+16M peer_to_peer=1",
    append=f"memmap=16M${HIDDEN:#x}",
)


@pytest.mark.parametrize("kind", KINDS)
def test_every_way(rig: Rig, guest_program: Programs, kind: str) -> None:
    """Slices of many sizes, written and read; io_uring takes each in three pieces at once.

    Whatever the memory and the way, the drive's doorbell is rung once for each of them, and once for the ordinary
    read that looks at what was written.
    """
    if kind in ("heapbuf", "udmabuf"):
        need(rig.guest, kind)
    rig.guest.must("echo 8 >/proc/sys/vm/nr_hugepages")
    disk = rig.disk(0)
    script = [line.format(hidden=HIDDEN) for line in KINDS[kind]]
    expect = ["0"] * len(script)
    for way in WAYS.values():
        lines, answers = round_trip(SIZES)
        script += [f"way {way}", *lines]
        expect += ["0", *answers]
    before = counters(rig.guest, disk)
    assert run(rig.guest, guest_program, disk, [*script, "free 0", "locked"]) == [*expect, "0", "0"]
    assert grown(rig.guest, disk, before)["sq_doorbells"] == len(WAYS) * len(SIZES) * 3


def test_inside_the_drive(rig: Rig, guest_program: Programs) -> None:
    """The drive's own memory, which no program sees: from the disk into it, and from it to another place."""
    disk = rig.disk(0)
    script = [f"inside 0 {BYTES}", f"heap 1 {MIB}", f"heap 2 {MIB}", "fill 1 5", f"pwrite 1 0 {MIB} 0"]
    expect = ["0"] * 4 + [str(MIB)]
    for way in WAYS.values():
        for size in SIZES:
            script += [f"way {way}", f"read 0 {BLOCK} {size} 0", f"write 0 {BLOCK} {size} {8 * MIB}", "clear 2",
                       f"pread 2 0 {size} {8 * MIB}", f"match 2 5 0 {size} 0"]  # fmt: skip
            expect += ["0", str(size), str(size), "0", str(size), "1"]
    assert run(rig.guest, guest_program, disk, [*script, "free 0"]) == [*expect, "0"]


def test_the_same_memory_twice(rig: Rig, guest_program: Programs) -> None:
    """Two buffers of one window, two imports of one piece of the drive's memory: each is mapped, and let go."""
    disk = rig.disk(0)
    script = [f"window 0 {HIDDEN} {MIB}", f"window 1 {HIDDEN} {MIB}", "fill 0 5", f"write 1 0 {MIB} 0", "free 0",
              "clear 1", f"read 1 0 {MIB} 0", f"match 1 5 0 {MIB} 0", "free 1",
              f"inside 2 {MIB}", "export 2", f"import 3 2 {MIB}", f"import 4 2 {MIB}", f"read 3 0 {MIB} 0", "free 3",
              f"write 4 0 {MIB} {8 * MIB}", f"heap 5 {MIB}", f"pread 5 0 {MIB} {8 * MIB}",
              f"match 5 5 0 {MIB} 0"]  # fmt: skip
    whole = str(MIB)
    assert run(rig.guest, guest_program, disk, script) == ["0", "0", "0", whole, "0", "0", whole, "1", "0", "0", "0",
                                                           "0", "0", whole, "0", whole, "0", whole, "1"]  # fmt: skip
