# SPDX-License-Identifier: MIT
"""Reads what the counting plugin wrote (lab/plugin/record.h)."""

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MAGIC = 0x32544E434F494843
HEAD_WORDS = 2
WORD_BYTES = 8
SEGMENT, OPERATION, SYMBOLS, OTHER_VCPU, POINT = range(1, 6)
LOW = 0xFFFFFFFF


class SeriesError(Exception):
    """The plugin's file is not what it should be."""


@dataclass(frozen=True)
class Counts:
    """What was executed: instructions in the order of layers.LAYERS, events, and bytes that were moved.

    Copied and cleared bytes are those of string instructions, anywhere, and of the kernel's functions for it.
    A CPU is busy when it is not halted; the time that has passed is that of the CPU that began the operation.
    Both are by the host's clock, and so depend on how fast that is.
    """

    layers: tuple[int, ...]
    irqs: int
    ticks: int
    switches: int
    sq_doorbells: int
    cq_doorbells: int
    stalls_missed: int
    copied_bytes: int = 0
    cleared_bytes: int = 0
    busy_ns: int = 0
    elapsed_ns: int = 0


@dataclass(frozen=True)
class Point:
    """How far an operation had come: instructions of all CPUs since its begin, in the order of layers.LAYERS.

    `number` is a point of layers.py; of one that is reached several times, the first and the last are kept.
    """

    number: int
    occurrence: int
    cpu: int
    layers: tuple[int, ...]


@dataclass(frozen=True)
class Operation(Counts):
    """What all CPUs did between one pair of markers.

    `cpus` has the part of each CPU that executed anything, by its number; the first is the one that began
    the operation. `symbols` are instructions by the number of the symbol in the map, of all CPUs, for the
    first operations of a series only. `points` are in the order of time.
    """

    symbols: tuple[tuple[int, int], ...] = ()
    cpus: Mapping[int, Counts] = field(default_factory=dict)
    points: tuple[Point, ...] = ()


Segment = list[Operation]


class Reader:
    """Follows the plugin's file while it grows."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._nr_layers = 0

    def new_segments(self) -> list[Segment]:
        """The series that were written since the last call."""
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        data = data[: len(data) // WORD_BYTES * WORD_BYTES]
        self._offset += len(data)
        words = struct.unpack(f"<{len(data) // WORD_BYTES}Q", data)
        if not self._nr_layers:
            if len(words) < HEAD_WORDS or words[0] != MAGIC:
                raise SeriesError(f"{self._path} was not written by the counting plugin")
            self._nr_layers = words[1]
            words = words[HEAD_WORDS:]
        return self._parse(words)

    def _parse(self, words: tuple[int, ...]) -> list[Segment]:
        series: list[list[_Open]] = []
        for kind, payload in _records(words):
            if kind == SEGMENT:
                series.append([])
            elif kind == OPERATION and series:
                series[-1].append(_Open(self._nr_layers))
                series[-1][-1].add_cpu(payload)
            elif kind == OTHER_VCPU and series and series[-1]:
                series[-1][-1].add_cpu(payload)
            elif kind == SYMBOLS and series and series[-1]:
                series[-1][-1].symbols.update({word & LOW: word >> 32 for word in payload})
            elif kind == POINT and series and series[-1]:
                number, occurrence, cpu, *layers = payload
                series[-1][-1].points.append(Point(number, occurrence, cpu, tuple(layers)))
            else:
                raise SeriesError(f"{self._path}: a record of kind {kind} out of place")
        return [[operation.close() for operation in segment] for segment in series]


class _Open:
    """The records of one operation, as they arrive."""

    def __init__(self, nr_layers: int) -> None:
        self._nr_layers = nr_layers
        self._cpus: dict[int, Counts] = {}
        self.symbols: Counter[int] = Counter()
        self.points: list[Point] = []

    def add_cpu(self, payload: tuple[int, ...]) -> None:
        cpu, *counts = payload
        self._cpus[cpu] = Counts(tuple(counts[: self._nr_layers]), *counts[self._nr_layers :])

    def close(self) -> Operation:
        total = _total(list(self._cpus.values()))
        symbols = tuple(self.symbols.items())
        return Operation(**vars(total), symbols=symbols, cpus=self._cpus, points=tuple(self.points))


def _total(parts: Sequence[Counts]) -> Counts:
    if len(parts) == 1:
        return parts[0]
    layers = tuple(map(sum, zip(*(part.layers for part in parts), strict=True)))
    events = {name: sum(getattr(part, name) for part in parts) for name in vars(parts[0]) if name != "layers"}
    return Counts(layers, **events)


def _records(words: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    at = 0
    while at < len(words):
        kind, length = words[at] & LOW, words[at] >> 32
        if at + 1 + length > len(words):
            raise SeriesError("the counts end in the middle of a record")
        yield kind, words[at + 1 : at + 1 + length]
        at += 1 + length
