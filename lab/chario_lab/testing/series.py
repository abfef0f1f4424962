# SPDX-License-Identifier: MIT
"""Records of measurements for tests."""

from collections.abc import Mapping, Sequence

from chario_lab.counting.layers import LAYERS, USER, Symbol
from chario_lab.counting.series import Counts, Operation
from chario_lab.counting.stats import differences, instructions, sum_events, summarise
from chario_lab.records import Commands, MachineRecord, SeriesRecord

SYMBOLS = [Symbol(0x1000, "vfs_read", "", "vfs", 0)]


def machine_record(machine: str = "6.1", **fields: object) -> MachineRecord:
    """What figures are measured on, with one CPU unless the fields say otherwise."""
    values: dict[str, object] = {
        "kernel": "6.1", "release": "6.1.0", "kernel_command": "", "processor": "", "cpus": 1, "memory_mib": 1,
    }  # fmt: skip
    return MachineRecord(machine=machine, **(values | fields))  # type: ignore[arg-type]


def operation(layers: Mapping[str, int], ticks: int = 0, **events: int) -> Operation:
    """An operation that spends its instructions in these layers, the first of them in one function."""
    counts = tuple(layers.get(layer, 0) for layer in LAYERS)
    polled = {"irqs": 0, "switches": 0, "sq_doorbells": 1, "cq_doorbells": 1, "stalls_missed": 0}
    total = Counts(counts, ticks=ticks, **(polled | events))
    return Operation(**vars(total), symbols=((0, next(iter(layers.values()))),))


def record(case: str, operations: Sequence[Operation], machine: str = "6.1", **fields: object) -> SeriesRecord:
    """The record of a case that gave these operations."""
    values: dict[str, object] = {
        "machine": machine,
        "station": "linux",
        "case": case,
        "repeat": 0,
        "words": ["chario-bench"],
        "operations": len(operations),
        "calls": 1,
        "call_bytes": 4096,
        "commands": Commands(0, 0, 0),
        "instructions": [instructions(each) for each in operations],
        "ticks": [each.ticks for each in operations],
        "summary": summarise(operations, SYMBOLS),
        "events": sum_events(operations),
        "differences": differences(operations, SYMBOLS),
        "points": [],
        "busy_ns": [],
        "said": {"pages": "scattered", "neighbours": 0},
    }
    return SeriesRecord(**(values | fields))  # type: ignore[arg-type]


def series(
    case: str,
    station: str = "linux",
    user: int = 100,
    ticks: int = 0,
    calls: int = 1,
    reads: int = 0,
    layers: Mapping[str, int] | None = None,
) -> SeriesRecord:
    """The record of one operation that is a series of calls."""
    measured = operation(layers or {USER: user}, ticks)
    return record(case, [measured], station=station, calls=calls, commands=Commands(reads, 0, 0))
