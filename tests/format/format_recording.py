# SPDX-License-Identifier: MIT
"""Reads a recording by docs/recording-format.md alone."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace

from format_store import BLOCK, RING, Area, Store, crc32c

END, SEALED, MIDDLE, CLEAN, TOLD, TIMES, STEADY = 1, 2, 4, 8, 16, 32, 64
META, NO_CRC, FIRST, LAST, VOID, APART = 1, 2, 256, 512, 1024, 2048


@dataclass(frozen=True)
class Batch:
    first_header: int
    flags: int
    session: int
    part: int
    segment: int
    offset: int
    length: int
    serial: int
    first_sequence: int
    next_sequence: int
    records_before: int
    bytes_before: int
    durable: int
    lost: int
    lost_bytes: int
    time_ns: int
    nr_ends: int
    seal: int
    offset_ns: int | None = None
    run: int | None = None


@dataclass(frozen=True)
class Record:
    """A record; missing are those that were lost right before it."""

    sequence: int
    time_ns: int
    flags: int
    data: bytes
    missing: int = 0
    boottime_ns: int | None = None


@dataclass(frozen=True)
class Fragment:
    """A piece of a record; before are the bytes of the record in the pieces before it."""

    flags: int
    sequence: int
    time_ns: int
    before: int
    data: bytes
    batch: Batch


class Recording:
    def __init__(self, store: Store, area: Area) -> None:
        self._store, self._area = store, area
        self.nr_slots = area.bytes // area.segment_bytes
        self.is_ring = bool(area.flags & RING)
        self.newest = self._find_newest()

    def batches(self) -> Iterator[Batch]:
        """All batches that are there, the oldest segment first."""
        for segment in self._segments():
            yield from self._batches_of(segment)

    def records(self) -> Iterator[Record]:
        """All whole records, the oldest first."""
        begun: list[Fragment] = []
        expected = 0 if self.newest < self.nr_slots else -1
        for fragment in self._fragments():
            if fragment.flags & VOID:
                expected += fragment.sequence == expected
                continue
            begun = _join(begun, fragment)
            if fragment.flags & LAST and begun:
                missing = max(0, fragment.sequence - expected) if expected >= 0 else 0
                data = b"".join(piece.data for piece in begun)
                first, offset_ns = begun[0], begun[0].batch.offset_ns
                boottime_ns = None if offset_ns is None else first.time_ns - offset_ns
                yield Record(fragment.sequence, first.time_ns, first.flags, data, missing, boottime_ns)
                expected = fragment.sequence + 1
                begun = []

    def _fragments(self) -> Iterator[Fragment]:
        for segment in self._segments():
            content = self._read(segment, 0, self._area.segment_bytes)
            for batch in self._batches_of(segment):
                yield from _fragments_of(content, batch, self._is_trusted(batch))

    def _is_trusted(self, batch: Batch) -> bool:
        """Whether the ring has not come round to what has no checksum."""
        next_lap = batch.segment + self.nr_slots
        if not self.is_ring or self.newest < next_lap - self._area.window:
            return True
        *_, last = self._batches_of(self.newest)
        untorn = last.part == batch.part or bool(last.flags & CLEAN)
        closed = self._area.closed_session == self._area.session & 0xFFFFFFFF != 0
        ended = bool(last.flags & END) and (closed or not last.flags & TOLD)
        return ended and untorn and self.newest < next_lap

    def _segments(self) -> range:
        oldest = max(0, self.newest - self.nr_slots + 1)
        return range(oldest, self.newest + 1)

    def _read(self, segment: int, offset: int, length: int) -> bytes:
        start = segment % self.nr_slots * self._area.segment_bytes
        return self._store.read(self._area, start + offset, length)

    def _segment_in(self, slot: int) -> int:
        """The number of the segment that a slot holds, -1 without one."""
        batch = self._batch_at(slot, 0)
        return batch.segment if batch else -1

    def _batch_at(self, slot: int, offset: int) -> Batch | None:
        block = self._read(slot, offset, BLOCK)
        magic, version, first_header = struct.unpack_from("<4sHH", block)
        flags, crc, *numbers = struct.unpack_from("<II3QII9QII", block, 8)
        if (magic, version) != (b"CTCH", 1):
            return None
        batch = Batch(first_header, flags, *numbers)
        offset_ns, run = _times_of(block, flags, batch.seal)
        batch = replace(batch, offset_ns=offset_ns, run=run)
        session = struct.pack("<Q", self._area.session)
        good = crc == crc32c(crc32c(0, session), block[:12] + bytes(4) + block[16:128])
        good &= batch.session == self._area.session and batch.offset == offset
        good &= batch.segment % self.nr_slots == slot % self.nr_slots
        good &= max(batch.segment, batch.serial, batch.records_before, batch.bytes_before) < 1 << 62
        good &= self.is_ring or batch.segment < self.nr_slots
        return batch if good else None

    def _batches_of(self, segment: int) -> Iterator[Batch]:
        first = self._batch_at(segment, 0)
        if first is not None and first.segment > segment:
            return
        last = None if first is None or first.segment < segment else first
        offset = 0
        while offset < self._area.segment_bytes and not (last and offset and last.flags & END):
            batch = self._batch_at(segment, offset)
            if batch and batch.segment == segment and (last is None or batch.part == last.part):
                yield batch
                last = batch
                offset += -(-batch.length // BLOCK) * BLOCK
            else:
                offset += BLOCK

    def _find_newest(self) -> int:
        window = self._area.window
        slots = range(min(window + 1, self.nr_slots))
        newest = next((s for s in map(self._segment_in, slots) if s >= 0), -1)
        while newest >= 0:
            newest = self._last_of_lap(newest)
            further = self._behind(newest)
            if further is None:
                break
            newest = further
        while self._hides(newest):
            newest += 1
        return newest

    def _hides(self, newest: int) -> bool:
        """Whether the segment behind the newest is there, without its first header."""
        if newest + 1 >= self.nr_slots and not self.is_ring:
            return False
        before = list(self._batches_of(newest))[-1:] if newest >= 0 else []
        behind = next(self._batches_of(newest + 1), None)
        return behind is not None and all(
            behind.serial > batch.serial and (behind.part == batch.part or behind.durable > batch.records_before)
            for batch in before
        )

    def _last_of_lap(self, segment: int) -> int:
        """Searches by halves from a segment that is there to the end of its lap."""
        lap = segment // self.nr_slots
        low, high = segment % self.nr_slots, self.nr_slots
        while high - low > 1:
            middle = (low + high) // 2
            if self._segment_in(middle) // self.nr_slots == lap:
                low = middle
            else:
                high = middle
        return lap * self.nr_slots + low

    def _behind(self, newest: int) -> int | None:
        """A segment that is newer than what the search took for the newest."""
        distance, reach = 1, self.nr_slots if self.is_ring else self.nr_slots - newest
        while distance < reach:
            if self._segment_in((newest + distance) % self.nr_slots) == newest + distance:
                return newest + distance
            distance += 1 if distance <= self._area.window else distance
        return None


def _times_of(block: bytes, flags: int, seal: int) -> tuple[int | None, int | None]:
    """The difference of the clocks and the run that the first block of a batch tells."""
    if not flags & TIMES or seal != crc32c(0, block[128:] if flags & SEALED else block[176:192]):
        return None, None
    offset_ns, run = struct.unpack_from("<qQ", block, 176)
    return offset_ns if flags & STEADY else None, run


def _join(begun: list[Fragment], fragment: Fragment) -> list[Fragment]:
    """What there is of a record with one more fragment, nothing when one is missing."""
    if fragment.flags & FIRST:
        return [fragment]
    has = sum(len(piece.data) for piece in begun)
    follows = bool(begun) and _follows(begun[-1].batch, fragment.batch)
    if follows and begun[0].sequence == fragment.sequence and has == fragment.before:
        return [*begun, fragment]
    return []


def _follows(before: Batch, batch: Batch) -> bool:
    """Whether a record of one batch can go on in another."""
    return before.part == batch.part and batch.serial - before.serial in (0, 1)


def _fragments_of(content: bytes, batch: Batch, trusted: bool) -> Iterator[Fragment]:
    """The fragments in a batch that are whole."""
    block = content[batch.offset : batch.offset + BLOCK]
    trusted = trusted and bool(batch.flags & SEALED) and batch.seal == crc32c(0, block[128:])
    seed = crc32c(0, struct.pack("<QQQ", batch.session, batch.part, batch.segment))
    at, end = batch.offset + batch.first_header, batch.offset + batch.length
    while at + 48 <= end:
        header = content[at : at + 48]
        magic, flags, sequence, time_ns, before, length, distance, step, crc = struct.unpack("<4sIQQQIIII", header)
        if magic != b"CRCD" or step < 48 or step % 8 or at + step > end:
            return
        data = content[at + distance : at + distance + length]
        covered = header[:44] + bytes(4) + (b"" if flags & NO_CRC else data)
        known = not flags & ~(META | NO_CRC | FIRST | LAST | VOID | APART)
        if known and len(data) == length and crc32c(seed, covered) == crc and (trusted or not flags & NO_CRC):
            yield Fragment(flags, sequence, time_ns, before, data, batch)
        at += step
