# SPDX-License-Identifier: MIT
"""The file of the counting plugin, written here as the plugin writes it."""

import re
import struct
from contextlib import nullcontext
from pathlib import Path

import pytest

from chario_lab.counting.counter import CounterError, check_sum
from chario_lab.counting.layers import LAYERS
from chario_lab.counting.series import (
    MAGIC,
    OPERATION,
    OTHER_VCPU,
    POINT,
    SEGMENT,
    SYMBOLS,
    Counts,
    Operation,
    Point,
    Reader,
    SeriesError,
)

PLUGIN = Path(__file__).resolve().parents[2] / "lab" / "plugin"
NR_LAYERS = 3
EVENTS = (1, 0, 2, 1, 1, 0, 4096, 64)
CPU = 0


def words(*values: int) -> bytes:
    """Words as they are in the file."""
    return struct.pack(f"<{len(values)}Q", *values)


def record(kind: int, *payload: int) -> bytes:
    """One record with its head."""
    return words(kind | len(payload) << 32, *payload)


BEGIN = words(MAGIC, NR_LAYERS) + record(SEGMENT)
PLAIN = record(OPERATION, CPU, 5, 6, 7, *EVENTS)


def read_one(tmp_path: Path, *records: bytes) -> Operation:
    """Read the only operation of a file with these records."""
    path = tmp_path / "counts"
    path.write_bytes(b"".join((BEGIN, *records)))
    ((operation,),) = Reader(path).new_segments()
    return operation


def test_series_arrive_as_they_are_written(tmp_path: Path) -> None:
    """The reader goes on where it had stopped, so a case gets its own operations."""
    path = tmp_path / "counts"
    path.write_bytes(BEGIN + PLAIN)
    reader = Reader(path)
    assert reader.new_segments() == [[Operation((5, 6, 7), *EVENTS, cpus={CPU: Counts((5, 6, 7), *EVENTS)})]]
    assert reader.new_segments() == []
    with path.open("ab") as file:
        file.write(record(SEGMENT) + record(OPERATION, CPU, 1, 1, 1, *EVENTS) * 2)
    assert [len(segment) for segment in reader.new_segments()] == [2]


def test_functions_belong_to_the_operation_before(tmp_path: Path) -> None:
    """A record by function carries its numbers in the low halves, its counts in the high ones."""
    operation = read_one(tmp_path, PLAIN, record(SYMBOLS, 9 | 400 << 32, 12 | 3 << 32))
    assert operation.symbols == ((9, 400), (12, 3))


def test_an_operation_is_what_all_processors_did(tmp_path: Path) -> None:
    """The processor that began it comes first; functions are summed up."""
    operation = read_one(
        tmp_path,
        record(OPERATION, 1, 5, 6, 7, *EVENTS),
        record(SYMBOLS, 9 | 400 << 32),
        record(OTHER_VCPU, 0, 10, 20, 30, *EVENTS),
        record(SYMBOLS, 9 | 1 << 32, 12 | 3 << 32),
    )
    assert operation.layers == (15, 26, 37)
    assert (operation.irqs, operation.switches, operation.copied_bytes) == (2, 4, 8192)
    assert operation.symbols == ((9, 401), (12, 3))
    assert list(operation.cpus) == [1, 0]
    assert operation.cpus[0].layers == (10, 20, 30)


def test_points_of_an_operation(tmp_path: Path) -> None:
    """They come in the order of time, with what had been executed by then."""
    operation = read_one(tmp_path, PLAIN, record(POINT, 1, 1, 0, 2, 0, 3), record(POINT, 4, 7, 1, 4, 5, 6))
    assert operation.points == (Point(1, 1, 0, (2, 0, 3)), Point(4, 7, 1, (4, 5, 6)))


@pytest.mark.parametrize(
    "data", [b"", words(1, 2), words(MAGIC, NR_LAYERS) + PLAIN, BEGIN + record(77), BEGIN + PLAIN[:-8]]
)
def test_another_file_is_refused(tmp_path: Path, data: bytes) -> None:
    """A file that is foreign, out of order or cut off never becomes a figure."""
    path = tmp_path / "counts"
    path.write_bytes(data)
    with pytest.raises(SeriesError):
        Reader(path).new_segments()


def test_the_layers_fit_into_the_plugin() -> None:
    """The plugin has room for this many layers, and refuses a map with more."""
    found = re.search(r"#define MAP_MAX_LAYERS\s+(\d+)", (PLUGIN / "map.h").read_text())
    assert found is not None
    assert len(LAYERS) <= int(found[1])
    assert len(set(LAYERS)) == len(LAYERS)


def test_layers_and_functions_add_up_to_the_same() -> None:
    """They are counted apart; of several CPUs, one of which may run, nothing is said."""
    counts = Counts((7, *(5 if layer == "bio" else 0 for layer in LAYERS[1:])), 0, 0, 0, 0, 0, 0)
    for symbols, cpus, wrong in (
        (((1, 3), (2, 2)), 1, False),
        (((1, 3), (2, 1)), 1, True),
        (((1, 3), (2, 1)), 2, False),
        ((), 1, False),
    ):
        operation = Operation(**vars(counts), symbols=symbols, cpus=dict.fromkeys(range(cpus), counts))
        with pytest.raises(CounterError, match="5 instructions, and its functions 4") if wrong else nullcontext():
            check_sum(operation)
