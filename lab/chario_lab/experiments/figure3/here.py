# SPDX-License-Identifier: MIT
"""What figure3 shows on hardware: when a read has come to each point that software sees, and how late it may be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chario_lab.experiment.measure import HANDLED, RESUMED, SUBMITTED
from chario_lab.experiment.page import Table, number
from chario_lab.experiments.figure3.plan import CHARIO_WAYS, HERE_WAYS, POLLED_WAYS, SIZES, key
from chario_lab.experiments.figure3.points import POLLED, Points, recall
from chario_lab.experiments.ways import Way
from chario_lab.records import AnyRecord, MachineRecord, SeriesRecord, of_kind

EXCLUDED_HERE = """\
Microseconds since the call was entered, of this machine and this drive; whatever else ran meanwhile is in them. The
figures have four of the paper's five points: software cannot see when the drive raises its interrupt. The same reads
polled bound it: when polling sees the completion, the drive has done its work, so an interrupt would have been raised
by then. The table shows the median of that as "raised, at the latest"; it is from reads of their own.
CharIO's points are those of chario timeline, from the module's entry to its last step before it returns; the way
to the module and back is not in them. The points of block device and ext4 are trace events: the system call begins,
block_rq_issue, just before the driver gets the command, the handler of the interrupt begins, the system call ends.
Noting a point takes time, which is in all figures: by chario timeline the time below the table for each of ten stages,
by trace events several times as much, for up to five events of a read.
The points are those of reads that wait for the drive. A read that finds its data in memory has none, nor
has one that only waits for what an earlier one has asked for; both are in "all reads". "Computing" is the mean
time of a read without its wait: until submission, and from the handler on, or from where polling sees the completion;
all of a read that does not wait. What the CPU does between submission and sleep is not in it.
Reads come each millisecond, at real-time priority (SCHED_FIFO), 10,000 of each size, one behind the other; "first" are
500 that each open the file anew, of which memory knows nothing. The short form has fewer."""
PARTS = ("to submission", "drive, to the handler or the poll", "to the program")
NS_A_US = 1000


@dataclass(frozen=True)
class Timed:
    """How far reads have come at each point; `cost` and `until_data` are what verdicts compare."""

    kept: Points
    unit = "microseconds"

    @property
    def cost(self) -> float:
        """What a read computes, in the mean."""
        return self.kept.computing_ns / NS_A_US

    @property
    def until_data(self) -> float:
        """How long a read takes, in the mean."""
        return self.kept.whole.mean_ns / NS_A_US

    @property
    def parts(self) -> tuple[float, ...]:
        """What lies between the medians of the points; nothing where no read waits."""
        seen = next((self.median_us(name) for name in (HANDLED, POLLED) if name in self.kept.points), None)
        submitted, resumed = self.median_us(SUBMITTED), self.median_us(RESUMED)
        if submitted is None or seen is None or resumed is None:
            return ()
        return (submitted, seen - submitted, resumed - seen)

    def median_us(self, name: str) -> float | None:
        """The median of a point, where it was reached."""
        point = self.kept.points.get(name)
        return point.median_ns / NS_A_US if point else None


def timings(records: Sequence[AnyRecord], machine: str) -> dict[str, Timed]:
    """Of every case of a machine."""
    own = [each for each in of_kind(records, SeriesRecord) if each.machine == machine]
    return {each.case: Timed(recall(each.report)) for each in own}


def table(found: Mapping[str, Timed], machine: MachineRecord, order: str) -> Table:
    """A row a way and size: medians, what the slowest take, and what all reads take."""
    rows, record_ns, unclear = [], 0, 0
    for way in HERE_WAYS:
        for title in SIZES:
            own = found.get(key(way, title, order))
            if own:
                rows.append([f"{way.title}, {title}", *row(own, bound_us(found, way, title, order))])
                record_ns, unclear = max(record_ns, own.kept.record_ns), unclear + own.kept.unclear
    columns = [
        "", "entered", SUBMITTED, "raised, at the latest", HANDLED, RESUMED, "resumed, p99", "resumed, max",
        "reads that wait", "all reads, mean", "all reads, p99", "all reads, max", "computing, mean",
    ]  # fmt: skip
    notes = [f"To note a point by chario timeline takes {record_ns} ns."] if record_ns else []
    notes += [f"Of {unclear} reads that have waited it is not known when."] if unclear else []
    title = f"Microseconds at each point, {order}, Linux {machine.release}: {machine.device}"
    return Table(title, columns, rows, " ".join(notes))


def row(own: Timed, raised_us: float | None) -> list[str]:
    """The figures of a series."""
    medians = (0.0, own.median_us(SUBMITTED), raised_us, own.median_us(HANDLED), own.median_us(RESUMED))
    resumed, whole = own.kept.points.get(RESUMED), own.kept.whole
    slowest = (resumed.p99_ns / NS_A_US, resumed.max_ns / NS_A_US) if resumed else (None, None)
    all_reads = (own.until_data, whole.p99_ns / NS_A_US, whole.max_ns / NS_A_US, own.cost)
    return [
        *(number(each, "{:,.1f}") for each in (*medians, *slowest)),
        f"{own.kept.waiting:.1%}",
        *(number(each, "{:,.1f}") for each in all_reads),
    ]


def bound_us(found: Mapping[str, Timed], way: Way, title: str, order: str) -> float | None:
    """When the drive has raised its interrupt at the latest: when polling has seen that it is done."""
    twin = dict(zip(CHARIO_WAYS, POLLED_WAYS, strict=True)).get(way, way)
    own = found.get(key(twin, title, order))
    return own.median_us(POLLED) if own else None
