# SPDX-License-Identifier: MIT
"""Shows what was counted as tables."""

from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from chario_lab.counting.layers import LAYERS
from chario_lab.counting.stats import UNASSIGNED_LIMIT
from chario_lab.experiment.page import number
from chario_lab.experiment.plan import Case
from chario_lab.experiments.bench import matrix
from chario_lab.experiments.bench.results import Results
from chario_lab.experiments.bench.verdict import Known, Verdict, compare_known, judge, judge_steady, mixed
from chario_lab.records import SeriesRecord

EXCLUDED = """\
What the figures are: guest instructions a call, user and kernel, counted exactly by the emulator; the median call.
What they leave out: the idle loop; calls that a timer tick fell into (they are in the records); cache misses, memory
and bus time, clock cycles; bytes moved by one string instruction (rep movs counts as one); the drive's own work. The
device is held so that a call always sleeps (until the CPU has gone idle) or never does (it answers before the doorbell
store ends); only a durable segment waits for its flush. One CPU, mitigations=off, scheduler none, no multipath, no
autogroups, no shadow doorbells, no medium below the drive but a file for large writes, recordings and regions, no IOMMU
where none is named, nothing else running.
* = too few calls without a tick, so all are in; ! = in some calls the drive was not awaited; also at what follows."""
COST_COLUMNS = (
    "instructions",
    "least",
    "most",
    "same count",
    "calls",
    "with tick",
    "joined\npages",
    "doorbells\nsubmit+done",
    "inter-\nrupts",
    "context\nswitches",
)
FUNCTIONS_SHOWN = 16
DIFFERENCES_SHOWN = 6
CULPRITS_SHOWN = 4
FIRST_COLUMN = 46


def print_run(console: Console, run: Results, behind: Mapping[str, Results]) -> None:
    """Every table of a run, and of what was counted behind an IOMMU, by the mode that it was in."""
    verdicts = judge(run)
    console.print(f"\n[bold]Instructions a call, kernel {run.release}[/bold]")
    known = compare_known(run)
    if known:
        console.print(_known_table(run, known))
    console.print(_cost_table("Linux's own paths, same guest, same drive", run, (*matrix.FLOORS, *matrix.STOCK)))
    if any(case.key in {*run.series, *run.failures} for case in matrix.CHARIO):
        console.print(_cost_table("CharIO", run, matrix.CHARIO))
        console.print(_cost_table("CharIO's block disk", run, matrix.SIDE_CASES))
        console.print(_cost_table("CharIO, region, and the whole disk beside a block disk", run, matrix.REGION_CASES))
        _print_failures(console, run)
        console.print(_verdict_table(run, verdicts))
        console.print(_steady_line(run))
        console.print(_pairs_table(run, "What a block disk costs calls beside it", matrix.SIDE_PAIRS))
        region = ("whole disk", "region")
        console.print(_pairs_table(run, "What a region costs", matrix.REGION_PAIRS, region, matrix.REGION_LIMIT))
        console.print(_pairs_table(run, "What a timeline costs", matrix.TIMELINE_PAIRS))
        console.print(
            _pairs_table(run, "What RWF_HIPRI costs, beside a file that is polled anyway", matrix.HIPRI_PAIRS)
        )
        console.print(
            _pairs_table(run, "What memory of other kinds costs, beside registered memory", matrix.KIND_PAIRS)
        )
        for key, needs in run.omissions.items():
            console.print(f"left out, for this kernel has no {needs}: {matrix.CASES[key].title}", highlight=False)
        console.print(_pairs_table(run, "What 16 reads in flight of another file cost", matrix.RIVAL_PAIRS))
        console.print(_record_table(run))
        console.print(_difference_table(run))
        for table in _breakdowns(run, verdicts):
            console.print(table)
    else:
        console.print("[yellow]CharIO was not measured: no module was given.[/yellow]")
    for mode, one in behind.items():
        console.print(_iommu_table(run, one, mode))
        console.print(_large_table(one, mode))
        _print_failures(console, one, _place(mode))
    places = {"": run, **{_place(mode): one for mode, one in behind.items()}}
    for place, one in places.items():
        _print_unassigned(console, one, place)
        _print_mixed(console, one, place)
    console.print(EXCLUDED, style="dim", highlight=False)
    for place, one in places.items():
        if one.complaint:
            console.print(f"[red]The guest's kernel complained{place}:[/red]\n{escape(one.complaint)}", highlight=False)


def _place(mode: str) -> str:
    """Of a guest behind an IOMMU, as messages name it."""
    return f" behind an IOMMU ({mode})"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column(columns[0], no_wrap=True, min_width=FIRST_COLUMN)
    for column in columns[1:]:
        table.add_column(column, justify="right", min_width=max(map(len, column.split("\n"))))
    return table


def _known_table(run: Results, known: list[Known]) -> Table:
    table = _table(
        "Does this rig count rightly? Figures of an independent one", "call", "known", "here", "difference", ""
    )
    for one in known:
        doubts = run.doubts(one.key)
        figures = (f"{one.known:,}", _figure(run, one.key), _marked(one.difference, doubts, "{:+.1%}"))
        table.add_row(matrix.CASES[one.key].title, *figures, _mark(one.agrees, doubts))
    return table


def _mark(good: bool, doubts: str = "") -> str:
    return f"[green]yes{doubts}[/green]" if good else f"[red]no{doubts}[/red]"


def _figure(run: Results, key: str) -> str:
    """The median of a case, if it was counted, with the marks of a doubtful one."""
    return _marked(run.instructions(key), run.doubts(key))


def _marked(value: float | None, doubts: str, form: str = "{:,.0f}") -> str:
    return number(value, form) + doubts * (value is not None)


def _cost_table(title: str, run: Results, cases: tuple[Case, ...]) -> Table:
    table = _table(title, "call", *COST_COLUMNS)
    for case in cases:
        if case.key in run.series:
            table.add_row(case.title, *_cost_cells(run, run.series[case.key]))
        elif case.key in run.failures:
            table.add_row(case.title, "[red]failed[/red]")
    return table


def _cost_cells(run: Results, series: SeriesRecord) -> list[str]:
    summary = series.counted
    events = summary.events
    return [
        _figure(run, series.case),
        f"{summary.least:,}",
        f"{summary.most:,}",
        f"{summary.share:.1%}",
        f"{summary.operations:,}",
        f"{summary.operations - summary.clean:,}",
        str(series.said["neighbours"]),
        f"{events.sq_doorbells} + {events.cq_doorbells}",
        str(events.irqs),
        str(events.switches),
    ]


def _print_failures(console: Console, run: Results, place: str = "") -> None:
    """Why cases have no figures; a reason that several share is said once."""
    reasons: dict[str, list[str]] = {}
    for key, reason in run.failures.items():
        reasons.setdefault(reason, []).append(matrix.CASES[key].title)
    for reason, titles in reasons.items():
        console.print(f"[red]failed{place}:[/red] {'; '.join(titles)}\n{escape(reason)}\n", highlight=False)


def _print_unassigned(console: Console, run: Results, place: str) -> None:
    """The cases whose functions layers.toml does not know well enough."""
    for key, series in run.series.items():
        if series.counted.unassigned > UNASSIGNED_LIMIT:
            share = f"{series.counted.unassigned:.1%}"
            console.print(f"[yellow]{share} in functions without a layer{place}:[/yellow] {matrix.CASES[key].title}")


def _print_mixed(console: Console, run: Results, place: str) -> None:
    """The cases whose median is that of several operations."""
    for key, rung in mixed(run).items():
        counts = ", ".join(f"{number} in {calls} calls" for number, calls in rung.items())
        console.print(f"[yellow]not one operation{place}, doorbells: {counts}:[/yellow] {matrix.CASES[key].title}")


def _verdict_table(run: Results, verdicts: list[Verdict]) -> Table:
    table = _table("What is asked", "call", "instructions", "asked", "ratio", "asked", "to", "reached")
    for verdict in verdicts:
        goal, doubts = verdict.goal, run.doubts(verdict.goal.key, verdict.goal.reference)
        table.add_row(
            matrix.CASES[goal.key].title,
            _figure(run, goal.key),
            number(goal.instructions),
            _marked(verdict.ratio, doubts, "{:.3f}"),
            f"{goal.ratio:.2f}",
            matrix.CASES[goal.reference].title,
            _mark(True, doubts) if verdict.reached else f"[red]no{doubts}: {'; '.join(verdict.missed)}[/red]",
        )
    return table


def _steady_line(run: Results) -> str:
    share, good = judge_steady(run)
    if share is None:
        return "[red]The 10,000 polled calls were not counted.[/red]"
    summary, mark = run.series[matrix.STEADY_KEY].counted, _mark(good, run.doubts(matrix.STEADY_KEY))
    return (
        f"Polled calls that cost exactly {summary.mode:,} instructions: {share:.2%} of {summary.clean:,} "
        f"(asked {matrix.STEADY_SHARE:.0%}): {mark}; least {summary.least:,}, most {summary.most:,}\n"
    )


def _pairs_table(
    run: Results,
    title: str,
    pairs: Sequence[tuple[str, str]],
    names: tuple[str, str] = ("without", "with"),
    limit: int | None = None,
) -> Table:
    """What something costs: calls with it, and without, and whether that is within a limit, where there is one."""
    table = _table(title, "call", *names, "more", *([] if limit is None else [f"at most {limit}"]))
    for key, base in pairs:
        counted, without = run.instructions(key), run.instructions(base)
        more = None if counted is None or without is None else counted - without
        doubts = run.doubts(key, base)
        good = [] if limit is None else ["-" if more is None else _mark(more <= limit, doubts)]
        table.add_row(matrix.CASES[key].title, _figure(run, base), _figure(run, key), _marked(more, doubts), *good)
    return table


def _record_table(run: Results) -> Table:
    """What recording costs: its segments beside transfers, a MiB of each."""
    table = _table(
        "What a MiB of a recording costs", "segments", "beside", "recording", "transfer", "ratio", "as asked"
    )
    for key, base, asked in matrix.RECORD_PAIRS:
        counted, beside = _per_mib(run, key), _per_mib(run, base)
        ratio = None if counted is None or beside is None else counted / beside
        doubts = run.doubts(key, base)
        verdict = "" if asked is None or ratio is None else f"{asked}: {'yes' if ratio <= asked else 'NO'}{doubts}"
        figures = (_marked(counted, run.doubts(key)), _marked(beside, run.doubts(base)))
        cells = (*figures, _marked(ratio, doubts, "{:.2f}"))
        table.add_row(matrix.CASES[key].title, matrix.CASES[base].title, *cells, verdict)
    return table


def _per_mib(run: Results, key: str) -> float | None:
    counted = run.instructions(key)
    return None if counted is None else counted * matrix.MIB / matrix.CASES[key].call_bytes


def _large_table(behind: Results, mode: str) -> Table:
    """Large calls behind an IOMMU, beside those of O_DIRECT."""
    table = _table(
        f"Large calls behind an IOMMU ({mode}), beside O_DIRECT", "call", "O_DIRECT", "here", "ratio", "as asked"
    )
    for key, peer in matrix.IOMMU_PAIRS:
        counted, beside = behind.instructions(key), behind.instructions(peer)
        ratio = counted / beside if counted and beside else None
        doubts = behind.doubts(key, peer)
        good = _mark(ratio is not None and ratio <= matrix.IOMMU_RATIO, doubts)
        cells = (_figure(behind, peer), _figure(behind, key), _marked(ratio, doubts, "{:.2f}"))
        table.add_row(matrix.CASES[key].title, *cells, good)
    return table


def _iommu_table(run: Results, behind: Results, mode: str) -> Table:
    """What an IOMMU costs: two guests, one kernel, one module."""
    columns = ("call", "without", "behind it", "more", "of the\npassthrough", "as asked")
    table = _table(f"What an IOMMU costs (Intel's, emulated, {mode})", *columns)
    peer = "stock-pass-read"
    beside = behind.instructions(peer)
    for key, maps in matrix.IOMMU_CALLS.items():
        without, counted = run.instructions(key), behind.instructions(key)
        more = None if counted is None or without is None else counted - without
        share = counted / beside if counted is not None and beside else None
        doubts = run.doubts(key) or behind.doubts(key)
        good = "" if maps else _mark(more is not None and more <= 0, doubts)
        figures = (_figure(run, key), _figure(behind, key), _marked(more, doubts))
        part = _marked(share, behind.doubts(key, peer), "{:.2f}")
        table.add_row(matrix.CASES[key].title, *figures, part, good)
    return table


def _difference_table(run: Results) -> Table:
    """Which functions make a polled call cost more or less than most do."""
    series = run.series.get(matrix.STEADY_KEY)
    found = series.differences if series else ()
    table = _table("Why the others differ (of the calls that were recorded by function)", "functions", "extra", "share")
    for difference in found[:DIFFERENCES_SHOWN]:
        largest = sorted(difference.functions.items(), key=lambda item: -abs(item[1]))[:CULPRITS_SHOWN]
        names = ", ".join(f"{name} {extra:+}" for name, extra in largest)
        table.add_row(names, f"{difference.extra:+}", f"{difference.share:.1%}")
    return table


def _breakdowns(run: Results, verdicts: list[Verdict]) -> list[Table]:
    """Where the instructions of each call that misses its target go."""
    tables = []
    for verdict in verdicts:
        series = run.series.get(verdict.goal.key)
        if not verdict.reached and series is not None:
            tables.append(_layer_table(run, verdict))
            tables.append(_function_table(series))
    return tables


def _layer_table(run: Results, verdict: Verdict) -> Table:
    mine = run.series[verdict.goal.key].counted
    peer = run.series.get(verdict.goal.reference)
    table = _table(
        f"By layer: {matrix.CASES[verdict.goal.key].title}",
        "layer",
        "here",
        f"peer: {matrix.CASES[verdict.goal.reference].title}",
    )
    for layer in LAYERS:
        here = mine.layers.get(layer, 0)
        there = peer.counted.layers.get(layer, 0) if peer else 0
        if here or there:
            note = " (left out)" if layer == "idle" else ""
            table.add_row(layer + note, f"{here:,}", f"{there:,}")
    return table


def _function_table(series: SeriesRecord) -> Table:
    summary = series.counted
    table = _table(
        f"By function, the {FUNCTIONS_SHOWN} largest: {matrix.CASES[series.case].title}",
        "function",
        "layer",
        "instructions",
    )
    for name, count in list(summary.functions.items())[:FUNCTIONS_SHOWN]:
        table.add_row(name, summary.function_layers[name], f"{count:,}")
    return table
