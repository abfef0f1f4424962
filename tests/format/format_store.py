# SPDX-License-Identifier: MIT
"""Reads a store by docs/store-format.md alone: nothing here knows the library or its headers."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

BLOCK = 4096
ENTRY_BYTES, ENTRIES = 400, 10
USED, FILLING, MOVING, RECORDING, RING = 1, 2, 4, 8, 16
LOG = 1  # a feature
ATTEMPTS = 20  # while others change the table
KNOWN = USED | FILLING | MOVING | RECORDING | RING


class FormatError(Exception):
    """What is there is not a store, or not one of a version that is known."""


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


_TABLE = _crc_table()


def crc32c(start: int, data: bytes | bytearray) -> int:
    crc = start ^ 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


@dataclass(frozen=True)
class Header:
    uuid: bytes
    nr_blocks: int
    align_bytes: int
    capacity_bytes: int
    data_offset: int
    second_offset: int
    created_ns: int
    read_features: int
    write_features: int


@dataclass(frozen=True)
class Area:
    name: str
    slot: int
    attributes: dict[str, str]
    flags: int
    segment_bytes: int
    id: int
    offset: int
    length: int
    bytes: int
    created_ns: int
    changed_ns: int
    filled_bytes: int
    source: int
    old_offset: int
    moved_bytes: int
    session: int
    window: int
    closed_session: int


def _sealed(block: bytes, magic: bytes, number: int) -> bool:
    """Whether magic, number and checksum are right; the UUID is for the caller."""
    if len(block) != BLOCK or block[:8] != magic or struct.unpack_from("<I", block, 32)[0] != number:
        return False
    crc: int = struct.unpack_from("<I", block, 36)[0]
    return crc32c(0, block[:36] + bytes(4) + block[40:]) == crc


def _number(block: bytes) -> int:
    number: int = struct.unpack_from("<I", block, 32)[0]
    return number


def _sequence(block: bytes) -> int:
    sequence: int = struct.unpack_from("<Q", block, 24)[0]
    return sequence


class Store:
    """A store in a file; what it holds is read when it is opened."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self.header = self._read_header()
        self.lost_blocks: list[int]
        self.areas: list[Area]
        for _ in range(ATTEMPTS):
            before = self._note_sequence()
            self.lost_blocks = []
            self.areas = sorted(self._read_table(), key=lambda area: area.offset)
            if self._note_sequence() == before:
                break

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def find(self, name: str) -> Area:
        return next(area for area in self.areas if area.name == name)

    def read(self, area: Area, start: int, length: int) -> bytes:
        """Bytes of an area, from where they lie now."""
        if not area.flags & MOVING:
            return self._at(area.offset + start, length)
        moved = max(0, min(length, area.moved_bytes - start))
        there = self._at(area.offset + start, moved)
        return there + self._at(area.old_offset + start + moved, length - moved)

    def _at(self, offset: int, length: int) -> bytes:
        self._file.seek(offset)
        return self._file.read(length)

    def _read_header(self) -> Header:
        end = self._file.seek(0, 2) // BLOCK * BLOCK
        block = self._at(0, BLOCK)
        if block[:8] == b"ChrioFM1":
            raise FormatError("there is no store: somebody has begun to make one")
        return _parse_header(block) if _sealed(block, b"ChrioST1", 0) else self._find_header(end)

    def _find_header(self, end: int) -> Header:
        """The first header is damaged."""
        blocks = ((i, self._any_table(2 * BLOCK + BLOCK * i, i)) for i in range(128))
        number, first = next(((i, block) for i, block in blocks if block), (0, None))
        header = self._last_header(end)
        tail = header or self._last_table(end)
        if header and (not first or first[8:24] == header.uuid):
            return header
        if not first:
            if not tail:
                raise FormatError("there is no store")
            return tail
        said = _parse_geometry(first)
        if tail and tail.uuid != first[8:24] and number >= tail.nr_blocks and self._is_whole(tail):
            if not said or (said.capacity_bytes < end and self._is_whole(said)):
                raise FormatError("of two stores that do not belong together either may count")
            return tail
        said = said or tail
        if not said or said.uuid != first[8:24] or not self._is_whole(said):
            raise FormatError("what is left of a store does not belong together")
        return said

    def _last_header(self, end: int) -> Header | None:
        """The one in the last block of the disk, of a store that ends there."""
        block = self._at(end - BLOCK, BLOCK)
        header = _parse_header(block) if _sealed(block, b"ChrioST1", 0) else None
        return header if header and header.capacity_bytes == end else None

    def _last_table(self, end: int) -> Header | None:
        """What the last block of the second copy says, of a store that ends with the disk."""
        last = self._any_table(end - 2 * BLOCK)
        said = _parse_geometry(last) if last else None
        if said or not last:
            return said if said and said.capacity_bytes == end else None
        count = _number(last) + 1
        return Header(last[8:24], count, BLOCK, end, BLOCK * (2 + count), end - BLOCK * (1 + count), 0, 0, 0)

    def _is_whole(self, header: Header) -> bool:
        """Whether the last good block of the second copy is of this store."""
        for number in reversed(range(max(0, header.nr_blocks - 128), header.nr_blocks)):
            block = self._any_table(header.second_offset + BLOCK * number)
            if block:
                return block[8:24] == header.uuid and _number(block) == number
        return False

    def _any_table(self, offset: int, number: int | None = None) -> bytes | None:
        """A good block of a table of any store."""
        block = self._at(offset, BLOCK)
        if len(block) != BLOCK:
            return None
        return block if _sealed(block, b"ChrioTB1", _number(block) if number is None else number) else None

    def _note_sequence(self) -> int:
        """Of another change there is another one; what a damaged note has there does not matter."""
        return _sequence(self._at(BLOCK, BLOCK))

    def _read_log(self) -> dict[int, bytes]:
        """Entries of a change that is under way, by slot."""
        note = self._at(BLOCK, BLOCK)
        good = _sealed(note, b"ChrioCL1", 0) and note[8:24] == self.header.uuid
        if not self.header.read_features & LOG or not good or not _sequence(note) % 2:
            return {}
        (count,) = struct.unpack_from("<I", note, 808)
        entries = (note[816 + 408 * i : 816 + 408 * (i + 1)] for i in range(count))
        return {struct.unpack_from("<I", entry)[0]: entry[8:] for entry in entries}

    def _read_table(self) -> Iterator[Area]:
        log = self._read_log()
        for number in range(self.header.nr_blocks):
            block = self._newest_copy(number)
            if block is None:
                self.lost_blocks.append(number)
                continue
            if _sequence(block) == 0:
                return
            for i in range(ENTRIES):
                slot = ENTRIES * number + i
                area = _parse_entry(slot, log.get(slot, block[96 + ENTRY_BYTES * i : 96 + ENTRY_BYTES * (i + 1)]))
                if area.flags & USED and self._can_be(area):
                    yield area

    def _can_be(self, area: Area) -> bool:
        """One with flags of a later format, or that lies elsewhere, is passed over."""
        offsets = [area.offset, area.old_offset] if area.flags & MOVING else [area.offset]
        begin, end = self.header.data_offset, self.header.second_offset - area.bytes
        return not area.flags & ~KNOWN and all(begin <= offset <= end for offset in offsets)

    def _newest_copy(self, number: int) -> bytes | None:
        offsets = (2 * BLOCK, self.header.second_offset)
        copies = (self._at(offset + BLOCK * number, BLOCK) for offset in offsets)
        good = [c for c in copies if _sealed(c, b"ChrioTB1", number) and c[8:24] == self.header.uuid]
        return max(good, key=_sequence, default=None)


def _parse_header(block: bytes) -> Header:
    version, block_bytes, *numbers = struct.unpack_from("<II8Q", block, 40)
    if version != 1 or block_bytes != BLOCK:
        raise FormatError(f"version {version} of the format is not known")
    header = Header(block[8:24], *numbers)
    unknown = header.read_features & ~LOG
    if unknown:
        raise FormatError(f"features {unknown:#x} of the store are not known")
    return header


def _parse_geometry(block: bytes) -> Header | None:
    """What a block of the table says of its store; those of the first release do not."""
    count, align, capacity, data, created, to_read, to_write = struct.unpack_from("<7Q", block, 40)
    if not capacity:
        return None
    if to_read & ~LOG:
        raise FormatError(f"features {to_read & ~LOG:#x} of the store are not known")
    return Header(block[8:24], count, align, capacity, data, capacity - BLOCK * (1 + count), created, to_read, to_write)


def _parse_entry(slot: int, entry: bytes) -> Area:
    name, *texts = entry[144:].decode(errors="surrogateescape").split("\0")
    attributes = takewhile(lambda text: text.find("=") > 0, texts[:-1])
    parts = (text.partition("=") for text in attributes)
    pairs = {key: value for key, _, value in parts}
    return Area(name, slot, pairs, *struct.unpack_from("<II11QII", entry))
