# SPDX-License-Identifier: MIT
"""The layers as a tracer sees them in the field, beside what was counted."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from chario_lab.experiment.page import Table, Verdict
from chario_lab.experiments.layers.plan import DIRECTIONS, DRIVES, SIZES, WAYS, Cell
from chario_lab.experiments.layers.shares import SHOWN, Share, Shares
from chario_lab.experiments.layers.trace import Trace, recall
from chario_lab.records import AnyRecord, MachineRecord, SeriesRecord, of_kind

NOTE = """\
function_graph by trace-cmd, as in the paper; own time of functions, by the clock of the emulated machine, so that
layers compare only roughly. What a tracer costs falls on each call of a function, whatever that does."""
# Layers with less of a call than this, by both methods, are in no particular order.
LEAST = 0.02
# A correlation of the ranks that is an agreement.
AGREES = 0.7


@dataclass(frozen=True)
class Pair:
    """One case, counted and traced: shares by layer, and what tracing costs."""

    counted: Share
    traced: Share
    trace: Trace
    instructions: float
    elapsed: float

    @property
    def rank_correlation(self) -> float:
        """1 where both methods put the layers in the same order; of those that are not negligible."""
        both = [(self.counted.of(title), self.traced.of(title)) for title in SHOWN]
        columns = list(zip(*(pair for pair in both if max(pair) >= LEAST), strict=True))
        return statistics.correlation(*(ranks(column) for column in columns))


def ranks(values: Sequence[float]) -> list[float]:
    """The place of each among all."""
    ordered = sorted(values)
    return [float(ordered.index(value)) for value in values]


def pairs(records: Sequence[AnyRecord], found: Shares, machines: Sequence[str]) -> dict[str, Pair]:
    """All cases that were measured both ways, by a name for a human."""
    series = {each.case: each for each in of_kind(records, SeriesRecord) if each.machine in machines}
    cells = [
        Cell(medium, way, direction, size)
        for medium in DRIVES for way in WAYS for direction in DIRECTIONS for size in SIZES
    ]  # fmt: skip
    return {
        f"{cell.medium} {cell.way} {cell.direction} {cell.size.title}":
            pair(found[cell.key], found[cell.traced_key], series[cell.key], series[cell.traced_key])
        for cell in cells
        if cell.key in found and cell.traced_key in found
    }  # fmt: skip


def pair(counted: Share, with_tracer: Share, plain: SeriesRecord, traced: SeriesRecord) -> Pair:
    """One case; both kinds of costs are those of a call."""
    trace = recall(traced.report)
    return Pair(
        counted,
        share_of_time(trace),
        trace,
        with_tracer.total / counted.total,
        elapsed_us(traced) / elapsed_us(plain),
    )


def share_of_time(trace: Trace) -> Share:
    """By the functions' own time."""
    layers: Mapping[str, float] = {
        title: float(sum(trace.layers[layer].self_ns for layer in layers if layer in trace.layers))
        for title, layers in SHOWN.items()
    }
    return Share(sum(layers.values()), layers)


def elapsed_us(series: SeriesRecord) -> float:
    """Of a call."""
    return max(1, cast(int, series.said["elapsed_us"])) / len(series.instructions)


def tables(found: Mapping[str, Pair], machine: MachineRecord) -> list[Table]:
    """Both shares of each layer; and what tracing costs, in time only where time means something."""
    if not found:
        return []
    columns = ["", *(f"{name}, {method}" for name in found for method in ("counted", "traced"))]
    rows = [
        [title, *(f"{share.of(title):.1%}" for both in found.values() for share in (both.counted, both.traced))]
        for title in SHOWN
    ]
    costs = [
        [
            name,
            f"{both.instructions:.1f}",
            f"{both.elapsed:.1f}" if not machine.emulator else "-",
            f"{sum(spent.calls for spent in both.trace.functions.values()):,}",
            f"{both.trace.unclosed + both.trace.unopened}",
            f"{both.rank_correlation:.2f}",
        ]
        for name, both in found.items()
    ]
    heading = ["", "instructions with the tracer", "time with the tracer", "functions traced", "without a partner",
               "rank correlation"]  # fmt: skip
    return [
        Table(f"Counted and traced, Linux {machine.release}: shares of a call", columns, rows, NOTE),
        Table(f"What tracing costs, Linux {machine.release}; without it is 1", heading, costs),
    ]


def judge(found: Mapping[str, Pair], machine: MachineRecord) -> Verdict:
    """Whether a tracer is good enough for the order of the layers."""
    figures = "; ".join(f"{name}: {both.rank_correlation:.2f}" for name, both in found.items())
    holds = all(both.rank_correlation >= AGREES for both in found.values()) if found else None
    sentence = f"Counted and traced shares put the layers in a similar order (Linux {machine.kernel})"
    return Verdict(sentence, holds, f"rank correlation of layers from {LEAST:.0%} on: {figures or 'not measured'}")
