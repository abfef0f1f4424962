# SPDX-License-Identifier: MIT
"""The layers as a tracer sees them in the field, beside what was counted."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from chario_lab.experiment.page import Table, Verdict
from chario_lab.experiments.layers.methods import METHODS
from chario_lab.experiments.layers.plan import DIRECTIONS, DRIVES, SIZES, WAYS, Cell
from chario_lab.experiments.layers.shares import SHOWN, Share, Shares
from chario_lab.experiments.layers.trace import Trace, recall
from chario_lab.records import AnyRecord, MachineRecord, SeriesRecord, of_kind

# Layers with less of a call than this, by both methods, are in no particular order.
LEAST = 0.02
# A correlation of the ranks that is an agreement.
AGREES = 0.7


@dataclass(frozen=True)
class Seen:
    """One case as a method of the field sees it, and what the method costs.

    `instructions` and `elapsed` are 1 where it costs nothing; `each` is its instructions for a function that it sees.
    """

    share: Share
    trace: Trace
    instructions: float
    elapsed: float
    each: float


@dataclass(frozen=True)
class Both:
    """One case: counted, and by the methods of the field."""

    counted: Share
    seen: Mapping[str, Seen]

    def rank_correlation(self, method: str) -> float:
        """1 where both put the layers in the same order; of those that the method knows and that are not negligible."""
        seen = self.seen[method]
        known = [title for title, layers in SHOWN.items() if set(layers) & set(seen.trace.layers)]
        both = [(self.counted.of(title), seen.share.of(title)) for title in known]
        columns = list(zip(*(pair for pair in both if max(pair) >= LEAST), strict=True))
        return statistics.correlation(*(ranks(column) for column in columns))


def ranks(values: Sequence[float]) -> list[float]:
    """The place of each among all."""
    ordered = sorted(values)
    return [float(ordered.index(value)) for value in values]


def compare(records: Sequence[AnyRecord], found: Shares, machines: Sequence[str]) -> dict[str, Both]:
    """All cases that were measured both ways, by a name for a human."""
    series = {each.case: each for each in of_kind(records, SeriesRecord) if each.machine in machines}
    cells = [
        Cell(medium, way, direction, size)
        for medium in DRIVES for way in WAYS for direction in DIRECTIONS for size in SIZES
        if Cell(medium, way, direction, size).key in found
    ]  # fmt: skip
    all_both = {
        f"{cell.medium} {cell.way} {cell.direction} {cell.size.title}": Both(
            found[cell.key],
            {
                method: see(series[key], series[cell.key], found[key].total, found[cell.key].total)
                for method in METHODS
                if (key := cell.key_by(method)) in series
            },
        )
        for cell in cells
    }
    return {name: both for name, both in all_both.items() if both.seen}


def see(series: SeriesRecord, plain: SeriesRecord, instructions: float, plain_instructions: float) -> Seen:
    """One case by one method, from what a call costs with it and without."""
    trace = recall(series.report)
    functions = sum(spent.calls for spent in trace.functions.values()) / len(series.instructions)
    return Seen(
        share_of_time(trace),
        trace,
        instructions / plain_instructions,
        elapsed_us(series) / elapsed_us(plain),
        (instructions - plain_instructions) / functions,
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


def tables(found: Mapping[str, Both], machine: MachineRecord) -> list[Table]:
    """Shares of each layer; and what the methods cost, in time only where time means something."""
    if not found:
        return []
    columns, shares = [""], list[Share]()
    for name, both in found.items():
        columns += [f"{name}, counted", *(f"{name}, {method}" for method in both.seen)]
        shares += [both.counted, *(seen.share for seen in both.seen.values())]
    rows = [[title, *(f"{share.of(title):.1%}" for share in shares)] for title in SHOWN]
    costs = [
        [
            f"{name}, {method}",
            f"{seen.instructions:.1f}",
            f"{seen.elapsed:.1f}" if not machine.emulator else "-",
            f"{sum(spent.calls for spent in seen.trace.functions.values()):,}",
            f"{seen.each:,.0f}",
            f"{seen.trace.unclosed + seen.trace.unopened}",
            f"{both.rank_correlation(method):.2f}",
        ]
        for name, both in found.items()
        for method, seen in both.seen.items()
    ]
    heading = [
        "",
        "instructions",
        "time",
        "functions seen",
        "instructions for each",
        "without a partner",
        "rank correlation",
    ]
    return [
        Table(f"Counted, and as seen in the field, Linux {machine.release}: shares of a call", columns, rows),
        Table(f"What the methods cost, Linux {machine.release}; without them a call is 1", heading, costs),
    ]


def judge(found: Mapping[str, Both], machine: MachineRecord) -> list[Verdict]:
    """Whether a method is good enough for the order of the layers."""
    return [judge_method(found, machine, method) for method in METHODS]


def judge_method(found: Mapping[str, Both], machine: MachineRecord, method: str) -> Verdict:
    """By all its cases."""
    own = {name: both.rank_correlation(method) for name, both in found.items() if method in both.seen}
    sentence = f"{method} puts the layers in the order of the count, or nearly (Linux {machine.kernel})"
    if not own:
        return Verdict(sentence, None, "not measured")
    figures = "; ".join(f"{name}: {correlation:.2f}" for name, correlation in own.items())
    holds = min(own.values()) >= AGREES
    return Verdict(sentence, holds, f"rank correlation of layers from {LEAST:.0%} on: {figures}")
