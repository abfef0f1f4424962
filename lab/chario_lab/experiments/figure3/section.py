# SPDX-License-Identifier: MIT
"""What figure3 shows: how far a read has come at each of the paper's five points."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chario_lab.experiment.measure import HANDLED, RAISED, RESUMED, SUBMITTED
from chario_lab.experiment.page import Plot, Section, Table, Value, Verdict
from chario_lab.experiment.plan import SPIN
from chario_lab.experiment.ticks import tick_cost
from chario_lab.experiments.figure3 import here
from chario_lab.experiments.figure3.plan import FIRST, HERE_WAYS, ORDERS, SEQUENTIAL, SIZES, WAYS, key
from chario_lab.experiments.ways import Way
from chario_lab.records import AnyRecord, MachineRecord, SeriesRecord, of_kind

EXCLUDED = """\
Instructions since the call was entered, without the idle loop and timer ticks; the drive's own time is left out: it is
held until the caller sleeps. "Submitted" is the first store to a doorbell, "raised" the CPU leaving its halt, "handled"
the first instruction of the driver's handler, "resumed" the program's next instruction. Of several commands the first
is submitted, and the last one raises the interrupt that is shown. The points are means of the calls that wait for the
drive; where memory has the data already, a call does not, and "all reads" is the mean of both. Where fewer than 1 %
wait they have no points. Reads come each millisecond, at real-time priority (SCHED_FIFO), 10,000 of each size, one
behind the other; "first" are 500 that each open the file anew, of which memory knows nothing; reads to physical
addresses know no memory anyway. The short form has fewer. A string instruction counts as one: copies are not in it."""
PAPER = (
    ("CharIO computes less in the kernel than ext4 and the block device", "Figure 3, a picture without numbers"),
    ("CharIO's physical addresses need less again", "Figure 3"),
    ("40 and 80 KiB differ little through the page cache", "Figure 3"),
)
BOARD = "Xilinx Zynq-7000 (two Cortex-A9 at 800 MHz), Intel SSD 750 by PCIe, Linux 4.1.15-rt17"
POINTS = (SUBMITTED, RAISED, HANDLED, RESUMED)
PARTS = ("to submission", "to sleep", "to the handler", "to the program")
# Points of fewer reads than this are those of chance.
LEAST_WAITING = 0.01
# What two figures may differ by that are "little different".
LITTLE = 1.15
# Below it a figure has digits behind the point.
SMALL = 100


@dataclass(frozen=True)
class Course:
    """How far reads have come that wait for the drive, in the mean, at each of POINTS; and what all reads cost."""

    points: tuple[float, ...]
    waiting: float
    all_reads: float
    unit = "instructions"

    @property
    def parts(self) -> tuple[float, ...]:
        """What lies between the points."""
        return tuple(after - before for before, after in zip((0.0, *self.points), self.points, strict=False))

    @property
    def cost(self) -> float:
        """Instructions of a read."""
        return self.all_reads

    @property
    def until_data(self) -> float:
        """The same: the drive's own time is not in them."""
        return self.all_reads


Courses = dict[str, Course]
# What verdicts compare: what a read costs, and what it takes until the data has come; with their unit.
Judged = Course | here.Timed


def section(records: Sequence[AnyRecord]) -> Section:
    """Tables and pictures of each machine."""
    parts: list[Table | Plot] = [Table("What the paper says of its Figure 3", ["", "where"], PAPER, BOARD)]
    verdicts: list[Verdict] = []
    for machine in of_kind(records, MachineRecord):
        if machine.is_hardware:
            timed = here.timings(records, machine.machine)
            for order in ORDERS:
                parts += [here.table(timed, machine, order), picture(timed, HERE_WAYS, here.PARTS, machine, order)]
            verdicts += judge(timed, machine)
        else:
            found = courses(records, machine.machine)
            for order in ORDERS:
                parts += [table(found, machine, order), picture(found, WAYS, PARTS, machine, order)]
            verdicts += judge(found, machine)
    return Section(parts, verdicts)


def courses(records: Sequence[AnyRecord], machine: str) -> Courses:
    """Of every case of a machine."""
    own = [each for each in of_kind(records, SeriesRecord) if each.machine == machine]
    spins = [tick_cost(each) for each in own if each.case == SPIN.key]
    return {each.case: course(each, statistics.median(spins)) for each in own if each.case != SPIN.key}


def course(series: SeriesRecord, tick: float) -> Course:
    """The means of one series."""
    found = {point.name: point for point in series.points}
    operations = len(series.instructions)
    waiting = sum(1 for ticks in series.ticks if not ticks)
    part = found[POINTS[0]].operations / waiting if found else 0.0
    return Course(
        tuple(found[name].mean for name in POINTS if name in found) if part >= LEAST_WAITING else (),
        part,
        (sum(series.instructions) - sum(series.ticks) * tick) / operations,
    )


def table(found: Courses, machine: MachineRecord, order: str) -> Table:
    """A row a way and size."""
    rows = []
    for way in WAYS:
        for title in SIZES:
            own = found.get(key(way, title, order))
            if own:
                shown = [f"{point:,.0f}" for point in own.points] or ["-"] * len(POINTS)
                rows.append([f"{way.title}, {title}", "0", *shown, f"{own.waiting:.1%}", f"{own.all_reads:,.0f}"])
    columns = ["", "entered", *POINTS, "reads that wait", "all reads"]
    return Table(f"Instructions at each point, {order}, Linux {machine.release}", columns, rows)


def picture(
    found: Mapping[str, Judged], ways: Sequence[Way], names: Sequence[str], machine: MachineRecord, order: str
) -> Plot:
    """The parts of a read that waits, on top of each other."""
    shown = [(way, title, own) for title in SIZES for way in ways if (own := found.get(key(way, title, order)))]
    unit = shown[0][2].unit if shown else ""
    rows: list[dict[str, Value]] = [
        {"way": way.title, unit: amount, "part": part, "size": title}
        for way, title, own in shown
        for part, amount in zip(names, own.parts, strict=False)
    ]
    what = "instructions" if unit == Course.unit else "time"
    title = f"A read's {what} from point to point, {order}, Linux {machine.release}"
    return Plot(title, "stack", rows, unit, "way", "part", "size")


def judge(found: Mapping[str, Judged], machine: MachineRecord) -> list[Verdict]:
    """The paper's sentences."""
    where = f" (Linux {machine.release})"
    virtual, physical, *others = WAYS
    cached = [way for way in others if not way.title.endswith("direct")]
    return [
        Verdict(f"CharIO computes less than ext4 and the block device{where}", *less(found, virtual, others)),
        Verdict(f"Physical addresses need less again{where}", *less(found, physical, [virtual])),
        Verdict(f"Through the page cache, 40 and 80 KiB differ little in what is read for the first time{where}",
                *alike(found, cached)),
    ]  # fmt: skip


def less(found: Mapping[str, Judged], mine: Way, others: Sequence[Way]) -> tuple[bool | None, str]:
    """At both sizes, one behind the other."""
    wrong, unknown = list[str](), list[str]()
    for title in SIZES:
        own = found.get(key(mine, title, SEQUENTIAL))
        if own is None:
            return None, "not measured"
        for way in others:
            other = found.get(key(way, title, SEQUENTIAL))
            if other is None:
                unknown.append(f"{way.title}, {title}")
            elif other.cost <= own.cost:
                wrong.append(f"{way.title}, {title}: {figure(other.cost)}, {mine.title} {figure(own.cost)} {own.unit}")
    if unknown and not wrong:
        return None, f"not measured: {'; '.join(unknown)}"
    return not wrong, "; ".join(wrong) or "at both sizes"


def figure(value: float) -> str:
    """Instructions, or microseconds, which are few."""
    return f"{value:,.0f}" if value >= SMALL else f"{value:.2f}"


def alike(found: Mapping[str, Judged], ways: Sequence[Way]) -> tuple[bool | None, str]:
    """By what it takes until the data has come."""
    ratios = {}
    for way in ways:
        small, large = (found.get(key(way, title, FIRST)) for title in SIZES)
        if small is None or large is None:
            return None, "not measured"
        ratios[way.title] = large.until_data / small.until_data
    figures = ", ".join(f"{title}: 80 KiB cost {ratio:.2f} times 40 KiB" for title, ratio in ratios.items())
    return all(ratio < LITTLE for ratio in ratios.values()), figures
