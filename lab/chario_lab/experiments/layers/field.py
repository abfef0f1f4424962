# SPDX-License-Identifier: MIT
"""The layers as a tracer sees them in the field, beside what was counted."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
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
# Where times mean something: what is left of a call's.
WAITING = "the drive, and what is not seen"


@dataclass(frozen=True)
class Seen:
    """One case as a method of the field sees it, and what the method costs.

    `instructions` and `elapsed` are 1 where it costs nothing; `each` is its instructions for a function that it sees.
    Where nothing counts instructions there are none.
    """

    share: Share
    trace: Trace
    elapsed: float
    instructions: float | None = None
    each: float | None = None


@dataclass(frozen=True)
class Both:
    """One case: counted, where something counts, and by the methods of the field."""

    counted: Share | None
    seen: Mapping[str, Seen]

    def rank_correlation(self, method: str) -> float:
        """1 where both put the layers in the same order; of those that the method knows and that are not negligible.

        Fewer than two are in no order.
        """
        assert self.counted is not None, "nothing counts instructions"
        counted, seen = self.counted, self.seen[method]
        known = [title for title, layers in SHOWN.items() if set(layers) & set(seen.trace.layers)]
        both = [(counted.of(title), seen.share.of(title)) for title in known]
        columns = list(zip(*(pair for pair in both if max(pair) >= LEAST), strict=True))
        if any(len(set(column)) < 2 for column in columns) or not columns:
            return 0.0
        return statistics.correlation(*(ranks(column) for column in columns))


def ranks(values: Sequence[float]) -> list[float]:
    """The place of each among all."""
    ordered = sorted(values)
    return [float(ordered.index(value)) for value in values]


def compare(records: Sequence[AnyRecord], found: Shares, machines: Sequence[str]) -> dict[Cell, Both]:
    """All cases that were measured by a method of the field too."""
    series = {each.case: each for each in of_kind(records, SeriesRecord) if each.machine in machines}
    cells = [
        Cell(medium, way, direction, size)
        for medium in DRIVES for way in WAYS for direction in DIRECTIONS for size in SIZES
        if Cell(medium, way, direction, size).key in series
    ]  # fmt: skip
    all_both = {
        cell: Both(
            found.get(cell.key),
            {
                method: see(series[key], series[cell.key], found.get(key), found.get(cell.key))
                for method in METHODS
                if (key := cell.key_by(method)) in series
            },
        )
        for cell in cells
    }
    return {cell: both for cell, both in all_both.items() if both.seen}


def see(series: SeriesRecord, plain: SeriesRecord, counted: Share | None, plain_counted: Share | None) -> Seen:
    """One case by one method, from what a call costs with it and without."""
    trace = recall(series.report)
    elapsed = elapsed_us(series) / elapsed_us(plain)
    if counted is None or plain_counted is None:
        return Seen(share_of_time(trace, 1000 * elapsed_us(series) * series.operations), trace, elapsed)
    functions = sum(spent.calls for spent in trace.functions.values()) / series.operations
    return Seen(
        share_of_time(trace),
        trace,
        elapsed,
        counted.total / plain_counted.total,
        (counted.total - plain_counted.total) / functions,
    )


def share_of_time(trace: Trace, elapsed_ns: float | None = None) -> Share:
    """By the functions' own time: of all the time, or of their sum where the drive's is emulated."""
    layers: Mapping[str, float] = {
        title: float(sum(trace.layers[layer].self_ns for layer in layers if layer in trace.layers))
        for title, layers in SHOWN.items()
    }
    return Share(elapsed_ns or sum(layers.values()), layers)


def elapsed_us(series: SeriesRecord) -> float:
    """Of a call."""
    return max(1, cast(int, series.said["elapsed_us"])) / series.operations


def tables(found: Mapping[Cell, Both], machine: MachineRecord) -> list[Table]:
    """Shares of each layer; and what the methods cost, in time only where time means something."""
    if not found:
        return []
    columns = {name: share for cell, both in found.items() for name, share in columns_of(cell, both)}
    rows = [[title, *(f"{share.of(title):.1%}" for share in columns.values())] for title in SHOWN]
    if machine.is_hardware:
        rows.append([WAITING, *(f"{1 - sum(map(share.of, SHOWN)):.1%}" for share in columns.values())])
    costs = [
        [
            f"{cell}, {method}",
            f"{seen.instructions:.1f}" if seen.instructions else "-",
            f"{seen.elapsed:.1f}" if machine.is_hardware else "-",
            f"{sum(spent.calls for spent in seen.trace.functions.values()):,}",
            f"{seen.each:,.0f}" if seen.each else "-",
            f"{seen.trace.unclosed + seen.trace.unopened}",
            f"{both.rank_correlation(method):.2f}" if both.counted else "-",
        ]
        for cell, both in found.items()
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
    counted = "Seen in the field" if machine.is_hardware else "Counted, and as seen in the field"
    return [
        Table(f"{counted}, Linux {machine.release}: shares of a call", ["", *columns], rows),
        Table(f"What the methods cost, Linux {machine.release}; without them a call is 1", heading, costs),
    ]


def columns_of(cell: Cell, both: Both) -> Iterator[tuple[str, Share]]:
    """One of each way in which a case was measured."""
    if both.counted:
        yield f"{cell}, counted", both.counted
    for method, seen in both.seen.items():
        yield f"{cell}, {method}", seen.share


def judge(found: Mapping[Cell, Both], machine: MachineRecord) -> list[Verdict]:
    """Whether a method is good enough for the order of the layers."""
    return [judge_method(found, machine, method) for method in METHODS]


def judge_method(found: Mapping[Cell, Both], machine: MachineRecord, method: str) -> Verdict:
    """By all its cases."""
    own = {cell: both.rank_correlation(method) for cell, both in found.items() if method in both.seen}
    sentence = f"{method} puts the layers in the order of the count, or nearly (Linux {machine.kernel})"
    if not own:
        return Verdict(sentence, None, "not measured")
    figures = "; ".join(f"{cell}: {correlation:.2f}" for cell, correlation in own.items())
    holds = min(own.values()) >= AGREES
    return Verdict(sentence, holds, f"rank correlation of layers from {LEAST:.0%} on: {figures}")
