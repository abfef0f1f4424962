# SPDX-License-Identifier: MIT
"""Reads what the counting plugin wrote (lab/plugin/record.h)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

MAGIC = 0x31544E434F494843
HEAD_WORDS = 2
WORD_BYTES = 8
SEGMENT, OPERATION, SYMBOLS = 1, 2, 3
LOW = 0xFFFFFFFF


class RecordError(Exception):
    """The plugin's file is not what it should be."""


@dataclass(frozen=True)
class Operation:
    """What was counted between one pair of markers.

    `layers` are instructions in the order of layers.LAYERS; `symbols` are instructions by the
    number of the symbol in the map, for the first operations of a series only.
    """

    layers: tuple[int, ...]
    irqs: int
    ticks: int
    switches: int
    sq_doorbells: int
    cq_doorbells: int
    stalls_missed: int
    symbols: tuple[tuple[int, int], ...] = ()


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
                raise RecordError(f"{self._path} was not written by the counting plugin")
            self._nr_layers = words[1]
            words = words[HEAD_WORDS:]
        return self._parse(words)

    def _parse(self, words: tuple[int, ...]) -> list[Segment]:
        segments: list[Segment] = []
        for kind, payload in _records(words):
            if kind == SEGMENT:
                segments.append([])
            elif kind == OPERATION and segments:
                segments[-1].append(_operation(payload, self._nr_layers))
            elif kind == SYMBOLS and segments and segments[-1]:
                symbols = tuple((word & LOW, word >> 32) for word in payload)
                segments[-1][-1] = replace(segments[-1][-1], symbols=symbols)
            else:
                raise RecordError(f"{self._path}: a record of kind {kind} out of place")
        return segments


def _operation(payload: tuple[int, ...], nr_layers: int) -> Operation:
    irqs, ticks, switches, sq_doorbells, cq_doorbells, stalls_missed = payload[nr_layers:]
    return Operation(payload[:nr_layers], irqs, ticks, switches, sq_doorbells, cq_doorbells, stalls_missed)


def _records(words: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    at = 0
    while at < len(words):
        kind, length = words[at] & LOW, words[at] >> 32
        if at + 1 + length > len(words):
            raise RecordError("the counts end in the middle of a record")
        yield kind, words[at + 1 : at + 1 + length]
        at += 1 + length
