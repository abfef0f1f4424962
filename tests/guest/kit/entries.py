# SPDX-License-Identifier: MIT
"""Submission queue entries as they stand in memory when a drive has fetched them.

A test of durability that reads data back shows nothing: a machine that is killed keeps what
QEMU has written, durable or not.  The module's tracepoint tells what a command was meant to
be, and QEMU's own trace leaves the bit out.  So the entries themselves are read, from outside
the guest: QEMU's trace says where each submission queue is and how many entries the drive has
fetched from it, and their bytes come from the guest's memory.
"""

import re
import struct
from dataclasses import dataclass
from pathlib import Path

from qemu_log import QemuLog

from chario_lab.guest.session import Guest

FLUSH, WRITE, READ, WRITE_ZEROES = 0, 1, 2, 8  # NVMe opcodes
ENTRY_BYTES = 64
# Dwords 0 to 1, 10 to 11 and 12 of an entry: the rest is not looked at.
LAYOUT = struct.Struct("<B3xI32xQI12x")
BLOCKS_MASK, FUA, LIMITED_RETRY = 0xFFFF, 1 << 30, 1 << 31
TRACED = ("pci_nvme_create_sq", "pci_nvme_io_cmd")
LINE = re.compile(
    r"pci_nvme_create_sq .*addr=(?P<addr>0x[0-9a-f]+), sqid=(?P<made>\d+), .*qsize=(?P<size>\d+)"
    r"|pci_nvme_io_cmd .* sqid (?P<fetched>\d+) "
)


class Overwritten(Exception):
    """The host was too busy to read an entry before the guest used its place again: the test has shown nothing."""


@dataclass(frozen=True)
class Entry:
    """A command of a drive, as the drive has read it; a flush has no blocks."""

    opcode: int
    nsid: int
    first_block: int
    blocks: int
    fua: bool
    limited_retry: bool


@dataclass
class Ring:
    """A submission queue: where it is, how many entries it has, how many were fetched."""

    address: int
    entries: int
    fetched: int = 0


def decode(raw: bytes) -> Entry:
    """Read the bytes of an entry."""
    opcode, nsid, first, dword12 = LAYOUT.unpack(raw)
    blocks = 0 if opcode == FLUSH else (dword12 & BLOCKS_MASK) + 1
    return Entry(opcode, nsid, first, blocks, bool(dword12 & FUA), bool(dword12 & LIMITED_RETRY))


class Submissions:
    """The entries that the only drive of a guest fetches, from its next binding on."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self._log = QemuLog(guest, TRACED)
        self._rings: dict[int, Ring] = {}

    def fetched(self) -> list[Entry]:
        """The entries that were fetched since the last call, in the order in which the drive took them."""
        news: list[tuple[int, int]] = []
        for match in LINE.finditer(self._log.news()):
            if match["made"]:
                news = [place for place in news if place[0] != int(match["made"])]
                # The size is counted from 0.
                self._rings[int(match["made"])] = Ring(int(match["addr"], 16), int(match["size"]) + 1)
            else:
                news.append(self._fetch(int(match["fetched"])))
        memory = {number: self._memory(self._rings[number]) for number in {number for number, _ in news}}
        return [decode(self._entry(number, count, memory[number])) for number, count in news]

    def _fetch(self, number: int) -> tuple[int, int]:
        """One more entry of a queue: the queue, and how many it had before."""
        ring = self._rings[number]
        ring.fetched += 1
        return number, ring.fetched - 1

    def _memory(self, ring: Ring) -> bytes:
        """A queue's entries, as they are now."""
        copy = Path(self._guest.host.run_dir / "queue.bin")
        self._guest.qmp("pmemsave", val=ring.address, size=ring.entries * ENTRY_BYTES, filename=str(copy))
        return copy.read_bytes()

    def _entry(self, number: int, count: int, memory: bytes) -> bytes:
        ring = self._rings[number]
        if ring.fetched - count > ring.entries:
            raise Overwritten("an entry was overwritten before it could be read: ask more often")
        place = count % ring.entries * ENTRY_BYTES
        return memory[place : place + ENTRY_BYTES]
