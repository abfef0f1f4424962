# SPDX-License-Identifier: MIT
"""The ways in which a call completes, chosen for one open file."""

import pytest
from disks import Programs, calls, counters, grown, setting

from chario_lab.guest.session import Guest

pytestmark = [pytest.mark.area("kernel/"), pytest.mark.cpus(2), pytest.mark.smoke]

SET_FILE = 0xC403
DEFAULT, IRQ, POLL, SPIN = range(4)
TIMES = 100


def interrupts(guest: Guest, programs: Programs, node: str, completion: int, line: str = "pread 0 4096") -> int:
    """Interrupts that TIMES calls cost on a file with this completion."""
    before = counters(guest, node)
    script = [f"ioctl {SET_FILE} 24 24 4={completion} 16={1_000_000_000 * (completion == SPIN)}", *[line] * TIMES]
    answers = calls(guest, programs, node, script)
    assert answers[0].split()[0] == "0" and answers[1:] == ["4096"] * TIMES
    change = grown(guest, node, before)
    assert change["read_commands"] == change["sq_doorbells"] == change["cq_doorbells"] == TIMES
    return change.get("interrupts", 0)


def test_a_file_can_sleep_or_poll(guest: Guest, guest_program: Programs, disk: str) -> None:
    """Sleeping calls cost an interrupt each, polling ones none."""
    assert interrupts(guest, guest_program, disk, IRQ) == TIMES
    assert interrupts(guest, guest_program, disk, POLL) == 0


def test_a_call_can_poll_on_a_file_that_sleeps(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """RWF_HIPRI overrules the file."""
    assert interrupts(guest, guest_program, disk512, IRQ, "preadv 0 1 4096:0") == 0


@pytest.mark.parametrize(("disk_mode", "expected"), [("irq", TIMES), ("poll", 0)])
def test_the_file_overrules_the_disk(
    guest: Guest, guest_program: Programs, disk512: str, disk_mode: str, expected: int
) -> None:
    """A file without a choice follows the disk, one with a choice does not."""
    with setting(guest, disk512, "completion", disk_mode):
        assert interrupts(guest, guest_program, disk512, DEFAULT) == expected
        assert interrupts(guest, guest_program, disk512, IRQ) == TIMES
        assert interrupts(guest, guest_program, disk512, POLL) == 0


def test_a_spinning_call_does_not_sleep(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """With a second to look, no call gives up its CPU by itself: at most one interrupt a call comes in between."""
    assert interrupts(guest, guest_program, disk512, SPIN) <= TIMES
