# SPDX-License-Identifier: MIT
"""What experiments leave behind: lines of JSON, one typed record each, that are only ever appended.

    with Book(path) as book:
        book.add(RunRecord(...))            a run begins; what follows belongs to it
        book.add(MachineRecord(...))        what the next figures are measured on
        book.add(SeriesRecord(...))         a measurement
    split_runs(read(path))[-1]              the records of the newest run

Tables and plots are made from records and from nothing else.  Units stand in the names.
"""

from __future__ import annotations

import fcntl
import lzma
import os
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import msgspec

from chario_lab.counting.stats import Difference, Summary

# How the name ends of a file of records that is kept for long.
PACKED = ".xz"


class RecordError(Exception):
    """A file of records cannot be read; the message says where and why."""


@dataclass(frozen=True)
class Commands:
    """Commands that a drive has served, and flushes that it was asked for."""

    reads: int
    writes: int
    flushes: int

    def since(self, before: Commands) -> Commands:
        """What has come since."""
        return Commands(self.reads - before.reads, self.writes - before.writes, self.flushes - before.flushes)


class Record(msgspec.Struct, frozen=True, kw_only=True, tag_field="record"):
    """One line."""


class RunRecord(Record, frozen=True, kw_only=True, tag="run"):
    """A run of an experiment begins.

    `checkout` tells the state of the sources, `excluded` what the figures leave out; `short` is a form that shows
    that the experiment works, with few calls of each kind, and `cases` are patterns of the only ones that were wanted.
    """

    experiment: str
    started: str
    checkout: str
    excluded: str
    short: bool = False
    cases: tuple[str, ...] = ()


class EndRecord(Record, frozen=True, kw_only=True, tag="end"):
    """A run has come to its end; one without it was interrupted."""

    took_s: int


class MachineRecord(Record, frozen=True, kw_only=True, tag="machine"):
    """What the figures of a machine are measured on.

    `emulator` and its `command` are empty on hardware; `module_build` tells a chario.ko from all others.
    """

    machine: str
    kernel: str
    release: str
    kernel_command: str
    processor: str
    cpus: int
    memory_mib: int
    emulator: str = ""
    command: str = ""
    module_build: str = ""
    device: str = ""

    @property
    def is_hardware(self) -> bool:
        """Whether times and rates are results here; where all is emulated, instructions are."""
        return not self.emulator


class PointRecord(msgspec.Struct, frozen=True, kw_only=True):
    """How far operations had come at a point: in how many of them it was reached, and after how many instructions."""

    name: str
    operations: int
    mean: float
    least: int
    most: int


# What a program says of itself.
Said = dict[str, str | int | float | list[int] | dict[str, int]]


class SeriesRecord(Record, frozen=True, kw_only=True, tag="series"):
    """What was measured while a case was repeated.

    `operations` operations are a number of calls of `call_bytes` each; `warm_calls` came before, and only `commands`
    and `energy_uj` have theirs.  `instructions` and `ticks` are those of each operation, in order; `events` and
    `layers` are sums over all operations, `busy_ns` likewise, of each CPU; these, `points` and `summary` exist where
    the machine has a counter.
    `energy_uj`, in microjoules, is what the processors have used while the program ran, where the machine counts it.
    `said` is what the program under test said of itself, and `report` what was asked for afterwards.
    """

    machine: str
    station: str
    case: str
    repeat: int
    words: Sequence[str]
    operations: int = 0
    calls: int
    call_bytes: int
    warm_calls: int = 0
    commands: Commands
    instructions: Sequence[int] = ()
    ticks: Sequence[int] = ()
    summary: Summary | None = None
    events: dict[str, int] = {}
    layers: dict[str, int] = {}
    busy_ns: Sequence[int] = ()
    differences: Sequence[Difference] = ()
    points: Sequence[PointRecord] = ()
    energy_uj: int | None = None
    report: str = ""
    said: Said = {}

    @property
    def counted(self) -> Summary:
        """The summary of a machine that has a counter."""
        assert self.summary is not None, f"nothing counts instructions on {self.machine}"
        return self.summary

    @property
    def moved_bytes(self) -> int:
        """Bytes of all calls that are not warm; records of older versions have one entry for each operation."""
        return (self.operations or len(self.instructions)) * self.calls * self.call_bytes


class TextRecord(Record, frozen=True, kw_only=True, tag="text"):
    """What a program said that a verdict is made from."""

    machine: str
    station: str
    case: str
    text: str


class FailureRecord(Record, frozen=True, kw_only=True, tag="failure"):
    """A case that has no figures, and why.

    Station and case are empty where a machine failed after its last case, and the machine too where the
    experiment did as a whole.  `logs` is the folder with what a
    machine that died has said.
    """

    machine: str
    station: str
    case: str
    reason: str
    logs: str = ""


class OmissionRecord(Record, frozen=True, kw_only=True, tag="omission"):
    """A case that was left out because the machine lacks something."""

    machine: str
    station: str
    case: str
    needs: str


class ComplaintRecord(Record, frozen=True, kw_only=True, tag="complaint"):
    """What the kernel of a machine complained of."""

    machine: str
    text: str


AnyRecord = (
    RunRecord | EndRecord | MachineRecord | SeriesRecord | TextRecord | FailureRecord | OmissionRecord | ComplaintRecord
)
Kind = TypeVar("Kind", bound=Record)

_decoder = msgspec.json.Decoder(AnyRecord)
_encoder = msgspec.json.Encoder()


class Book(AbstractContextManager["Book"]):
    """A file that records are appended to, each as soon as it is known."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.records: list[AnyRecord] = []
        first_record(path)
        self._file = path.open("ab", buffering=0)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise RecordError(f"another run writes to {path}: wait for its end, or name another file") from None
        cut_unfinished(path)

    def add(self, record: AnyRecord) -> None:
        """Append a record, all of it or nothing."""
        end = self._file.seek(0, os.SEEK_END)
        try:
            left = memoryview(_encoder.encode(record) + b"\n")
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            self._file.truncate(end)
            raise
        self.records.append(record)

    def __exit__(self, *_: object) -> None:
        self._file.close()


def first_record(path: Path) -> AnyRecord | None:
    """The first of a file; raises RecordError where it holds something else, which must not be written to."""
    try:
        with path.open("rb") as file:
            line = file.readline()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}") from error
    try:
        return _decoder.decode(line) if line.endswith(b"\n") else None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise RecordError(f"{path} holds no records of the lab: name another file") from None


def cut_unfinished(path: Path) -> None:
    """Remove a last line that a killed run left unfinished: no record can follow it."""
    content = path.read_bytes() if path.exists() else b""
    if content and not content.endswith(b"\n"):
        os.truncate(path, content.rfind(b"\n") + 1)


def read(path: Path) -> list[AnyRecord]:
    """All records of a file, which may be one by xz; a last line that a killed run left unfinished is passed over."""
    try:
        content = path.read_bytes()
        lines = (lzma.decompress(content) if path.suffix == PACKED else content).split(b"\n")
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}") from error
    except lzma.LZMAError as error:
        raise RecordError(f"{path} is no whole file of xz: {error}") from error
    records = []
    for number, line in enumerate(lines[:-1], start=1):
        try:
            records.append(_decoder.decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise RecordError(f"{path}, line {number} is no record: {error}") from error
    return records


def split_runs(records: Sequence[AnyRecord]) -> list[Sequence[AnyRecord]]:
    """One after the other: each begins with its RunRecord."""
    starts = [place for place, record in enumerate(records) if isinstance(record, RunRecord)]
    return [records[start:end] for start, end in pairwise([*starts, len(records)])]


def of_kind(records: Iterable[AnyRecord], kind: type[Kind]) -> list[Kind]:
    """Those of one kind, in order."""
    return [record for record in records if isinstance(record, kind)]
