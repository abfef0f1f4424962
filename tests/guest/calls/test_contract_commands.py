# SPDX-License-Identifier: MIT
"""The command-count contract, held against what the drive has counted."""

import json

import pytest
from disks import Programs, setting

from chario_lab.guest.devices import bdf, bind, command_counts, find_block, unbind
from chario_lab.guest.session import Guest

pytestmark = [pytest.mark.area("kernel/front/char", "kernel/disk/")]

CALLS = 500  # preads and as many pwrites: 1,000 offsets and lengths for each format
DRIVE_OF = {"512": 0, "4096": 1}


def run_commands(guest: Guest, programs: Programs, node: str, seed: int, count: int) -> tuple[int, int]:
    """Make random calls; the reads and writes that they should have cost."""
    output = guest.must([guest.push(programs("commands")), node, str(seed), str(count)], timeout_s=300)
    result = json.loads(output)
    assert result["calls"] == count
    return result["reads"], result["writes"]


def smart_counts(guest: Guest, drive: int) -> tuple[int, int]:
    """Host Read Commands and Host Write Commands, asked through the stock driver."""
    address = bdf(guest, drive)
    bind(guest, address, "nvme")
    log = json.loads(guest.must(["nvme", "smart-log", find_block(guest, address), "-o", "json"]))
    unbind(guest, address)
    return int(log["host_read_commands"]), int(log["host_write_commands"])


@pytest.mark.parametrize("block", DRIVE_OF)
def test_the_drive_counts_what_the_rule_says(
    guest: Guest, guest_program: Programs, request: pytest.FixtureRequest, block: str
) -> None:
    """1,000 random offsets and lengths cost the SMART counters exactly what types/split says.

    The stock driver, which reads them out, looks for partitions first.  What
    that costs is known from doing it twice.
    """
    drive = DRIVE_OF[block]
    guest.must("modprobe nvme")
    try:
        first, second = smart_counts(guest, drive), smart_counts(guest, drive)
        bind(guest, bdf(guest, drive))
        node = request.getfixturevalue(f"disk{block}")
        reads, writes = run_commands(guest, guest_program, node, 1, CALLS)
        third = smart_counts(guest, drive)
    finally:
        bind(guest, bdf(guest, drive))
    scan = second[0] - first[0]
    assert second[1] == first[1]
    assert (third[0] - second[0] - scan, third[1] - second[1]) == (reads, writes)
    assert reads > 2 * CALLS and writes > 2 * CALLS


@pytest.mark.parametrize(
    ("command", "chunk", "count"), [(1, 1, 2), (29, 1001, 20), (32, 32 * 5 + 3, 20), (128, 1024, 20)]
)
def test_the_rule_holds_for_other_limits(
    guest: Guest, guest_program: Programs, request: pytest.FixtureRequest, command: int, chunk: int, count: int
) -> None:
    """Command and chunk sizes as an administrator may set them, in blocks; QEMU counts."""
    for block, drive in DRIVE_OF.items():
        node = request.getfixturevalue(f"disk{block}")
        with (
            setting(guest, node, "command_bytes", command * int(block)),
            setting(guest, node, "chunk_bytes", chunk * int(block)),
        ):
            before = command_counts(guest, drive)
            reads, writes = run_commands(guest, guest_program, node, command, count)
            now = command_counts(guest, drive)
        assert (now[0] - before[0], now[1] - before[1]) == (reads, writes)
