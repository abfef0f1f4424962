# SPDX-License-Identifier: MIT
"""What a database on each medium takes, beside the same in memory."""

from collections.abc import Callable
from dataclasses import astuple
from typing import cast

from chario_lab.experiment.page import Table
from chario_lab.experiment.ticks import without_ticks
from chario_lab.experiments.blocksizes.cells import SQLITE, START, WAYS, Cell
from chario_lab.experiments.blocksizes.results import Results
from chario_lab.experiments.ways import WRITE
from chario_lab.records import SeriesRecord, of_kind

Shown = tuple[tuple[str, Callable[[Results, SeriesRecord], str]], ...]


def databases(results: Results) -> Table:
    """A row a medium."""
    shown = TIMED if results.is_hardware else COUNTED
    rows = [
        [medium, *(show(results, series) for _, show in shown)]
        for medium in WAYS
        for series in results.series(Cell(medium, SQLITE, WRITE, SQLITE))
    ]
    title = f"SQLite, ten rows in a transaction, Linux {results.kernel}"
    return Table(title, ["", *(name for name, _ in shown)], rows)


def a_row(form: str, of: Callable[[Results, SeriesRecord], float]) -> Callable[[Results, SeriesRecord], str]:
    """A number by the row, without what the program takes that adds none: it is counted from its start to its end."""

    def show(results: Results, series: SeriesRecord) -> str:
        cell = Cell(series.case.split("/")[0], SQLITE, WRITE, START)
        starts = [of(results, start) for start in results.series(cell)]
        return form.format((of(results, series) - starts[0]) / series.calls) if starts else "-"

    return show


def instructions(results: Results, series: SeriesRecord) -> float:
    """Without those of timer ticks."""
    own = [one for one in of_kind(results.records, SeriesRecord)
           if (one.machine, one.station) == (series.machine, series.station)]  # fmt: skip
    return without_ticks(series, own)


def event(name: str) -> Callable[[Results, SeriesRecord], float]:
    """A number of events that a counter has seen."""
    return lambda results, series: float(series.events[name])


def served(results: Results, series: SeriesRecord) -> float:
    """Commands of the drive."""
    return float(sum(astuple(series.commands)))


def commands(results: Results, series: SeriesRecord) -> str:
    """Those of the drive, all of which are for rows."""
    return f"{served(results, series) / series.calls:.2f}"


def rate(results: Results, series: SeriesRecord) -> str:
    """From the first row to the answer."""
    return f"{series.calls * 1e6 / cast(int, series.said['elapsed_us']):,.0f}"


def cpu_time(results: Results, series: SeriesRecord) -> str:
    """The program's own, in its code and in the kernel."""
    return f"{cast(int, series.said['cpu_us']) / series.calls:,.1f}"


COUNTED: Shown = (
    ("instructions a row", a_row("{:,.0f}", instructions)),
    ("bytes copied a row", a_row("{:,.0f}", event("copied_bytes"))),
    ("commands a row", a_row("{:.2f}", served)),
    ("switches a row", a_row("{:.2f}", event("switches"))),
)
TIMED: Shown = (("rows a second", rate), ("µs of the program's CPU a row", cpu_time), ("commands a row", commands))
