# SPDX-License-Identifier: MIT
"""Commands of up to 2 MiB, where a drive takes them and an administrator allows them."""

import pytest
from disks import MIB, Programs, counters, grown, setting
from rig import Rig
from shared_guest import Setup
from test_buffers import BLOCK, run

from chario_lab.guest.spec import Namespace, Nvme

pytestmark = [
    pytest.mark.area("kernel/front/transfer", "kernel/front/ioctl", "kernel/memory/", "kernel/back/nvme/table")
]

LARGEST = 2 * MIB
BUFFER = 5 * MIB
# A PRP list of a buffer has 512 entries and shares the last 256 of them with the list behind it.
HALF = 256
SETUP = Setup(drives=(Nvme("large", (Namespace(64, 4096),), mdts=10),), parameters=f"max_command_kib={LARGEST >> 10}")


def test_the_slots_are_the_limit(rig: Rig) -> None:
    """What the administrator has asked for is less than the drive takes; a new disk keeps to 128 KiB all the same."""
    shown = [rig.show(rig.disk(0), name) for name in ("max_command_bytes", "command_limit", "command_bytes")]
    assert shown == [str(LARGEST), "slots", str(128 << 10)]


@pytest.mark.parametrize("pages", [HALF, HALF + 1, 2 * HALF - 1, 2 * HALF], ids=lambda pages: f"{pages} pages")
def test_lists_of_a_buffer_that_are_too_short(rig: Rig, guest_program: Programs, pages: int) -> None:
    """From any page, one command moves all: its list is one of the buffer's, or a copy where it goes on in the next."""
    disk, size = rig.disk(0), pages * BLOCK
    script = [f"heap 0 {BUFFER}", f"heap 1 {LARGEST}", "fill 0 3", "register 0"]
    expect = ["0"] * 4
    starts = [*range(0, (BUFFER - size) // BLOCK, 97), HALF - 2, HALF - 1, HALF]
    for page in starts:
        script += [f"write 0 {page * BLOCK} {size} 0", f"pread 1 0 {size} 0", f"match 1 3 0 {size} {page * BLOCK}"]
        expect += [str(size), str(size), "1"]
    before = counters(rig.guest, disk)
    with setting(rig.guest, disk, "chunk_bytes", LARGEST), setting(rig.guest, disk, "command_bytes", LARGEST):
        assert run(rig.guest, guest_program, disk, script) == expect
    changed = grown(rig.guest, disk, before)
    assert (changed["write_commands"], changed["read_commands"]) == (len(starts), len(starts))
