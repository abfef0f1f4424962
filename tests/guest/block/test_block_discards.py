# SPDX-License-Identifier: MIT
"""Discards that the block layer gathers: what reaches the drive is what was asked for, in as many ranges as it takes.

A device of the device mapper that has several pieces of the block disk sends a discard of itself as one bio for each
piece, all at once, and the block layer makes as few requests of them as it may.
"""

import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from block_side import REGION_CALLS, disable, enable, holds, noise, write
from disks import KIB, counters, grown
from played import OK, PAGE, Command, controller_page, limits_page, taken
from rig import Rig
from shared_guest import Setup

from chario_lab.guest import tools
from chario_lab.guest.devices import load_module
from chario_lab.guest.spec import RegisterFile
from chario_lab.waiting import until

pytestmark = [
    pytest.mark.area("kernel/front/block/", "kernel/memory/bios", "kernel/queue/isolation"),
    pytest.mark.kernels("6.12"), pytest.mark.stock, pytest.mark.slow,
]  # fmt: skip

REGISTERS = 0
# The memory of a command of 4 KiB has room for one range; the disk in memory takes 16.
SETUP = Setup(drives=(RegisterFile(),), parameters="loopback_mib=16 max_command_kib=4", qtest=True)
MEMORY = "/dev/chardisk0"
LIMIT_S = 120
BLOCK = 512
# Pieces of the block disk, in the order in which their discards come.
PIECE_KIB, ROOM = 64, 16
# Two discards, each of which a command has room for, but not for both; their ranges lie apart from each other.
LOTS = (tuple(range(0, 14, 2)), tuple(range(15, 29, 2)))
# Tags of the scheduler; the place of a number in the statistics of a disk.
TAGS, DISCARDS_MERGED = 8, 12
TOGETHER = tuple(range(4, 12))
BACKWARDS = TOGETHER[::-1]
APART = (6, 2, 14, 0, 10, 4, 12, 8)
ORDERS = pytest.mark.parametrize("order", [TOGETHER, BACKWARDS, APART], ids=["together", "backwards", "apart"])
WRITE, READ, DATASET_MANAGEMENT, DEALLOCATE = 0x01, 0x02, 0x09, 1 << 2
ONCS_DATASET_MANAGEMENT = 1 << 2
RANGE = struct.Struct("<4xIQ")


@contextmanager
def pieces(rig: Rig, block: str, order: Sequence[int], name: str = "pieces") -> Iterator[str]:
    """A device made of pieces of a block disk, in an order."""
    sectors = PIECE_KIB * KIB // 512
    table = "\n".join(
        f"{place * sectors} {sectors} linear {block} {piece * sectors}" for place, piece in enumerate(order)
    )
    if rig.guest.run("command -v dmsetup").rc != 0:
        tools.install(rig.guest, tools.Tools.STORAGE)
    rig.guest.must(f"modprobe dm_mod && dmsetup create {name}", stdin=table)
    try:
        yield f"/dev/{rig.guest.must(f'dmsetup info -c --noheadings -o blkdevname {name}')}"
    finally:
        rig.guest.must(f"dmsetup remove --retry {name}")


@ORDERS
def test_a_disk_that_takes_many_ranges(rig: Rig, order: Sequence[int]) -> None:
    """All pieces are discarded by one command; what lies between keeps its bytes."""
    guest, block = rig.guest, enable(rig.guest, MEMORY)
    path = noise(guest, ROOM * PIECE_KIB)
    write(guest, block, path)
    before = counters(guest, MEMORY)
    with pieces(rig, block, order) as device:
        guest.must(f"blkdiscard {device}", LIMIT_S)
    change = grown(guest, MEMORY, before)
    assert (change["discard_commands"], change["discard_bytes"]) == (1, len(order) * PIECE_KIB * KIB)
    for piece in order:
        guest.must(f"dd if=/dev/zero of={path} bs={PIECE_KIB}k seek={piece} count=1 conv=notrunc status=none")
    assert holds(guest, MEMORY, path)
    assert disable(guest, MEMORY) == 0


# Urgent reads until it is killed.
URGENT = """
import sys
urgent = os.open(sys.argv[1], os.O_RDONLY)
call(urgent, FILE_OPTIONS, struct.pack("<IIQII", 24, 0, 0, 0, 2))
Path("/run/urgent").touch()
while read(urgent, 0, 4096):
    pass
"""


@dataclass
class Told:
    """What a drive is told to discard."""

    rig: Rig
    discards: list[list[tuple[int, int]]] = field(default_factory=list)

    def status(self, queue: int, command: Command) -> int:
        """Note the ranges of a discard, in bytes; what is read are zeros."""
        memory = self.rig.guest.qtest
        if queue and command.opcode == READ:
            memory.fill(command.prp1, PAGE - command.prp1 % PAGE, 0)
        if queue and command.opcode == DATASET_MANAGEMENT:
            assert command.dword11 == DEALLOCATE
            found = RANGE.iter_unpack(memory.read(command.prp1, ((command.dword10 & 0xFF) + 1) * RANGE.size))
            self.discards.append([(first * BLOCK, blocks * BLOCK) for blocks, first in found])
        return OK


def ranges_of(order: Sequence[int]) -> list[tuple[int, int]]:
    """Offset and length of what is discarded: one range for pieces that continue each other, else one for each."""
    size = PIECE_KIB * KIB
    if order == APART:
        return [(piece * size, size) for piece in sorted(order)]
    return [(min(order) * size, len(order) * size)]


@pytest.mark.parametrize(
    "limits", [{"dmrsl": 64}, {"dmsl": 64}, {"dmrsl": 64, "dmsl": 128}], ids=["of a range", "of a command", "of both"]
)
def test_a_drive_that_limits_blocks(rig: Rig, limits: dict[str, int]) -> None:
    """No discard has more blocks than the drive says, however much is discarded at once."""
    told = Told(rig)
    page, most = controller_page(oncs=ONCS_DATASET_MANAGEMENT), limits_page(**limits)
    with taken(rig, REGISTERS, controller=page, limits=most, status=told.status) as (_, disk):
        block = enable(rig.guest, disk)
        rig.guest.must(f"blkdiscard -f --length {200 * BLOCK} {block}", LIMIT_S)
        ranges = sorted(one for command in told.discards for one in command)
        assert ranges == [(first * BLOCK, min(64, 200 - first) * BLOCK) for first in range(0, 200, 64)]
        assert disable(rig.guest, disk) == 0


@pytest.mark.parametrize("limit", [{"dmrl": 10}, {"dmsl": 1500}], ids=["ranges", "blocks"])
def test_what_a_scheduler_merges(rig: Rig, module: Path, limit: dict[str, int]) -> None:
    """It does not add up what two requests have: what is more than a command takes goes to the drive one by one.

    Each request has seven ranges.  Both wait for a tag when their first bios look for others in the scheduler; the
    requests meet there when they have one.
    """
    guest, told, may_end = rig.guest, Told(rig), threading.Semaphore(0)

    def status(queue: int, command: Command) -> int:
        if queue and command.opcode == WRITE:
            assert may_end.acquire(timeout=LIMIT_S)
        return told.status(queue, command)

    # Commands that have room for many ranges.
    guest.must("rmmod chario")
    load_module(guest, module, "")
    page, limits = controller_page(oncs=ONCS_DATASET_MANAGEMENT), limits_page(**limit)
    with taken(rig, REGISTERS, controller=page, limits=limits, status=status) as (_, disk):
        block = enable(guest, disk)
        name = block.removeprefix("/dev/")
        queue, waiting = f"/sys/block/{name}", f"/sys/kernel/debug/block/{name}/hctx0/dispatch"
        for setting, value in (("scheduler", "mq-deadline"), ("nr_requests", TAGS), ("iosched/async_depth", TAGS)):
            guest.files.write(f"{queue}/queue/{setting}", value)
        for attribute, value in (("deadline_ms", 600_000), ("isolation_depth", TAGS - 1), ("isolation_ms", 1000)):
            rig.set(disk, attribute, value)
        with pieces(rig, block, LOTS[0]) as one, pieces(rig, block, LOTS[1], "others") as other:
            rig.remove("/run/urgent")
            urgent = guest.start(["python3", "-c", REGION_CALLS + URGENT, disk], timeout_s=LIMIT_S)
            rig.wait_file("/run/urgent")
            a_write = f"dd if=/dev/zero of={block} bs=4k count=1 seek=4000 oflag=direct status=none"
            jobs = [guest.start(a_write, LIMIT_S) for _ in range(TAGS)]
            until(lambda: counters(guest, disk)["write_commands"] == TAGS - 1, "not all writes are with the drive")
            until(lambda: bool(guest.must(f"cat {waiting}")), "no write waits")
            for device in (one, other):
                jobs.append(guest.start(f"blkdiscard -f {device}", LIMIT_S))
                begun = f"/sys/block/{device.removeprefix('/dev/')}/inflight"
                guest.must(f"until read a b <{begun} && [ $b != 0 ]; do sleep 0.05; done", LIMIT_S)
            rig.set(disk, "isolation_depth", 1)
            may_end.release(2)
            merged = sum(map(len, LOTS)) - 1
            until(lambda: guest.files.value(f"{queue}/stat").split()[DISCARDS_MERGED] == f"{merged}", "no merge")
            rig.set(disk, "isolation_depth", TAGS)
            may_end.release(TAGS)
            for job in jobs:
                job.wait().check()
            urgent.stop()
        assert sorted(told.discards) == sorted(
            [(piece * PIECE_KIB * KIB, PIECE_KIB * KIB)] for piece in (*LOTS[0], *LOTS[1])
        )
        assert disable(guest, disk) == 0
    guest.must("rmmod chario")
    load_module(guest, module, SETUP.parameters or "")


@ORDERS
@pytest.mark.parametrize("dmrl", [0, 1], ids=["for want of memory", "as it says"])
def test_a_drive_that_takes_one_range(rig: Rig, order: Sequence[int], dmrl: int) -> None:
    """The drive is told of one range where the pieces continue each other, and of each by a command elsewhere."""
    told = Told(rig)
    page, limits = controller_page(oncs=ONCS_DATASET_MANAGEMENT), limits_page(dmrl=dmrl)
    with taken(rig, REGISTERS, controller=page, limits=limits, status=told.status) as (_, disk):
        block = enable(rig.guest, disk)
        before = counters(rig.guest, disk)
        with pieces(rig, block, order) as device:
            rig.guest.must(f"blkdiscard {device}", LIMIT_S)
        change = grown(rig.guest, disk, before)
        assert sorted(told.discards) == [[one] for one in ranges_of(order)]
        assert change["discard_bytes"] == len(order) * PIECE_KIB * KIB
        assert disable(rig.guest, disk) == 0
