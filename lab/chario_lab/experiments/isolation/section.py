# SPDX-License-Identifier: MIT
"""What isolation shows: how long an urgent call takes beside a busy block side, and what that side keeps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from chario_lab.experiment.page import NOT_MEASURED, Plot, Section, Table, Value, Verdict, number
from chario_lab.experiments.isolation.cells import CELLS, DRIVERS, LOAD, OFF, ON, Cell
from chario_lab.experiments.isolation.load import BLOCK_KIB, DEPTH, READ_PERCENT, Waits, read_waits
from chario_lab.experiments.isolation.plan import CALL_KIB, HERE, IN_GUEST, IOPS, LATENCY_MS, Extent
from chario_lab.records import AnyRecord, MachineRecord, SeriesRecord, of_kind
from chario_lab.target.place import Holder


def measured(extent: Extent) -> str:
    """What is the same in a guest and on this machine, but for the numbers."""
    return f"""\
The recorder writes {CALL_KIB} KiB each {extent.period_us // 1000} ms, {extent.calls:,} times, one behind the other; the
short form has fewer. It runs at real-time priority (SCHED_FIFO), and its writes are not durable: to a region of the
disk by CharIO, to a partition by Linux. A call's time is from its beginning to its end; who is late begins the next
period anew, so calls that could not begin are in no figure. p99.9 is the time that all calls but
{extent.calls // 1000} in {extent.calls:,} need at most. Before the first call 16 others are made: what the drive has
by then is not taken back. The block load is fio on another partition: {BLOCK_KIB} KiB anywhere, {READ_PERCENT} % reads,
{DEPTH} in flight, O_DIRECT; its rate is from the first measured call to the last. The time of a block request is
fio's own, with the wait in the block layer, over all the time that it runs; of reads and writes the slower ones are
shown. "Not urgent" calls are those of a file that has said nothing; with "isolation off" they are urgent, and the drive
may have as many block commands as there are. isolation_ms is {extent.isolation_ms}, longer than a period: the block
side stands back throughout. The real-time I/O class is that of ionice, with the scheduler mq-deadline; the other cases
of Linux have none."""


EXCLUDED = f"""\
An emulated drive in a guest: times show that it works, not what a drive does. The drive does one thing at a time: a
command takes {LATENCY_MS} ms at least, and {IOPS} a second are served, after a pause those of a tenth of a second at
once. Reads wait in one queue and writes in another, which are served in turn. What the emulated processor and the
machine below it take for a call is in its time.
{measured(IN_GUEST)}"""
EXCLUDED_HERE = f"""\
Times and rates are those of this machine and this drive; whatever else ran meanwhile is in them. What a drive does by
itself, such as collecting garbage, takes its time in any case, and the more the longer it is written to.
{measured(HERE)}"""
NS_A_US, MIB = 1000, 1 << 20
QUANTILES = {"p50": "p50", "p99": "p99", "p999": "p99.9", "max": "max"}


@dataclass(frozen=True)
class Outcome:
    """What one case has shown: times of calls by the quantile, where there is a recorder, and the block side's part."""

    latency_us: dict[str, float]
    block_mib_a_second: float
    waits: Waits | None


Outcomes = Mapping[str, Outcome]


def outcomes(records: Sequence[AnyRecord], machine: str) -> Outcomes:
    """Of every case of a machine."""
    return {each.case: outcome(each) for each in of_kind(records, SeriesRecord) if each.machine == machine}


def outcome(series: SeriesRecord) -> Outcome:
    """What the program and the load have said."""
    said = series.said
    latency_ns = cast("dict[str, int]", said.get("latency_ns", {}))
    elapsed_s, moved = cast(int, said["elapsed_us"]) / 1e6, cast(int, said["beside_bytes"])
    return Outcome(
        {name: latency_ns[key] / NS_A_US for key, name in QUANTILES.items() if key in latency_ns},
        moved / MIB / elapsed_s,
        read_waits(series.report) if series.report else None,
    )


def section(records: Sequence[AnyRecord]) -> Section:
    """A table and two pictures of each machine."""
    parts: list[Table | Plot] = []
    verdicts: list[Verdict] = []
    for machine in of_kind(records, MachineRecord):
        found = outcomes(records, machine.machine)
        parts += [table(found, machine), times_picture(found, machine), rates_picture(found, machine)]
        verdicts += judge(found, machine)
    return Section(parts, verdicts)


def table(found: Outcomes, machine: MachineRecord) -> Table:
    """A row a case."""
    rows = [row(found, cell) for cell in CELLS if cell.key in found]
    columns = [
        "", *(f"µs of a call, {name}" for name in QUANTILES.values()), "block side, MiB/s",
        "block side loses, of its rate alone", "block side loses, of that with isolation off",
        "µs of a block request, p99", "µs of a block request, max",
    ]  # fmt: skip
    where = machine.device if machine.is_hardware else f"{machine.device}: times show that it works"
    return Table(f"Calls and block side, Linux {machine.release}", columns, rows, where)


def row(found: Outcomes, cell: Cell) -> list[str]:
    """The figures of a case."""
    own, both = found[cell.key], cell.recorder and cell.load
    off = OFF.key if both and cell.holder is Holder.CHARIO else ""
    waits = own.waits
    return [
        cell.name,
        *(number(own.latency_us.get(name)) for name in QUANTILES.values()),
        f"{own.block_mib_a_second:,.2f}" if cell.load else "-",
        lost(own, found.get(Cell(cell.holder, LOAD).key if both else "")),
        lost(own, found.get(off)),
        number(waits.p99_us if waits else None),
        number(waits.longest_us if waits else None),
    ]


def lost(own: Outcome, other: Outcome | None) -> str:
    """What the block side lacks of the rate that it has in another case."""
    if other is None or not other.block_mib_a_second:
        return "-"
    return f"{1 - own.block_mib_a_second / other.block_mib_a_second:.0%}"


def times_picture(found: Outcomes, machine: MachineRecord) -> Plot:
    """Each quantile of the recorder's calls."""
    rows: list[dict[str, Value]] = [
        {"case": cell.name, "µs of a call": time_us, "quantile": name}
        for cell in CELLS
        if cell.key in found
        for name, time_us in found[cell.key].latency_us.items()
    ]
    title = f"How long a call takes, Linux {machine.release}"
    return Plot(title, "bar", rows, "µs of a call", "case", "quantile", log=True)


def rates_picture(found: Outcomes, machine: MachineRecord) -> Plot:
    """What the block side moves."""
    name = "MiB/s of the block side"
    rows: list[dict[str, Value]] = [
        {"case": cell.name, name: found[cell.key].block_mib_a_second, "driver": DRIVERS[cell.holder]}
        for cell in CELLS
        if cell.load and cell.key in found
    ]
    return Plot(f"What the block side keeps, Linux {machine.release}", "bar", rows, name, "case", "driver")


def judge(found: Outcomes, machine: MachineRecord) -> list[Verdict]:
    """CharIO's own promises."""
    where = f" (Linux {machine.release})"
    return [
        Verdict(f"With isolation the 99.9 % quantile of a call is less than with isolation off{where}", *less(found)),
        Verdict(f"With no block command allowed the block side goes on{where}", *goes_on(found)),
    ]


def less(found: Outcomes) -> tuple[bool | None, str]:
    """Whichever number of block commands is allowed."""
    if any(cell.key not in found for cell in (OFF, *ON)):
        return None, NOT_MEASURED
    off, *on = (found[cell.key].latency_us["p99.9"] for cell in (OFF, *ON))
    figures = ", ".join(f"{number(time_us)} µs with {cell.depth}" for cell, time_us in zip(ON, on, strict=True))
    return max(on) < off, f"{figures} block commands, {number(off)} µs without"


def goes_on(found: Outcomes) -> tuple[bool | None, str]:
    """By what it has moved."""
    own = found.get(ON[-1].key)
    if own is None:
        return None, NOT_MEASURED
    return own.block_mib_a_second > 0, f"{own.block_mib_a_second:,.2f} MiB/s"
