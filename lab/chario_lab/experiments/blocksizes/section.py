# SPDX-License-Identifier: MIT
"""What blocksizes shows: the paper's three figures for each medium, and what was varied besides."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from chario_lab.experiment import usage
from chario_lab.experiment.page import Plot, Section, Table, Value, Verdict, number
from chario_lab.experiment.usage import EXCLUDED_IN_GUEST, Usage
from chario_lab.experiments.blocksizes.cells import NVME, RANDOM, SIZES, THREE, WAYS, Cell
from chario_lab.experiments.blocksizes.databases import databases
from chario_lab.experiments.blocksizes.judge import judge
from chario_lab.experiments.blocksizes.processors import FASTEST, SLOWEST
from chario_lab.experiments.blocksizes.profile import Profile
from chario_lab.experiments.blocksizes.results import Results, results
from chario_lab.experiments.ways import DIRECTIONS
from chario_lab.records import AnyRecord

SHARES = """\
perf samples all CPUs 997 times a second while the calls go on: by cycles where the processor counts them, else by the
clock. The samples of the idle loop and of perf itself are left out, so its shares are those of the CPU time that was
used, by whichever program. Copies are functions that move data, and not those that clear memory; locks are functions
that take them, wait for them and release them. By the clock, what is done without interrupts is sampled as soon as
there are some again, which is counted for a function that releases a lock: locks have too much then. Cache maintenance
is 0 where DMA is coherent, as on every PC; on the paper's board it was not, and most of a direct write went there."""
EXCLUDED = f"""\
{EXCLUDED_IN_GUEST}
The paper's Figure 2 is a rate; here it is what a MiB costs. The kernel's share is how long the busier CPU was not
halted, without the program's part of the instructions. The copies' share of the instructions counts a string
instruction as one for each word of 8 bytes that it moves. Locking is all of taking, waiting for and releasing locks,
RCU and counts of references. Written data is durable in the end of each series (fsync). The drive is held until the
CPUs have nothing else to do. Memory is what a program gets: now and then its pages are neighbours, and from 2 MiB on
they are huge ones; with the order of its pages the cost of a direct way differs by up to a third. The page cache is
that of the whole machine. The hard disk has a latency of 8 ms and does one thing at a time; the SATA SSD is that disk
without it: the control that the paper asks for. Blocks of 128 MiB and more are one operation each. What was
taken out for timer ticks is told from 5 % on: what a tick costs is learnt from a program that computes, in the mean,
and may be a third more or less.
{SHARES}"""
EXCLUDED_HERE = f"""\
{usage.EXCLUDED_HERE}
The media are the drive that is lent, and memory: the paper also has a SATA hard disk, and none is lent here. All CPUs
are on line, unless it is said how many; the kernel's share is that of the CPU that is busier. Calls go along the disk
or a new file, with cold caches, once, and along a file in memory again and again: a buffered read finds in memory what
was read ahead. In random order no more than
one call of 16 reads what another one has read. Small blocks move less in all than large ones, and what took less than
half a second has no share. Written data is durable in the end of each series (fsync). One CPU and two, the first by
number, were measured with all others off line and with the fastest clock. How fast a drive writes also depends on what
was written to it before.
{SHARES}"""
# What ticks cost is known to a third: below this a figure is right to 2 %.
LEAST_TICKS = 0.05
BOARD = "Xilinx Zynq-7000 (two Cortex-A9 at 666 MHz), Intel SSD 750 (NVMe), WD Blue 500 GB (AHCI), Linux 3.18"
PAPER = (
    ("copies, share of the time, most reads and buffered writes", "40 to 55 %"),
    ("copies, direct writes", "0 %"),
    ("kernel, share of a core, all but the hard disk with direct I/O, large blocks", "about 100 %"),
    ("direct against buffered writes to the SSD, rate", "more than 2 times"),
)


@dataclass(frozen=True)
class Figure:
    """A number of a cell; `of` is None where it is no result."""

    name: str
    form: str
    of: Callable[[Results, Cell], float | None]

    def show(self, results: Results, cell: Cell) -> str:
        """The number as a table has it."""
        return number(self.of(results, cell), self.form)

    def ratio(self, results: Results, cell: Cell, beside: Cell) -> str:
        """The number of one cell, the other's being 1."""
        value, one = self.of(results, cell), self.of(results, beside)
        return "-" if value is None or not one else f"{value / one:.2f}"


def counted(name: str, form: str, of: Callable[[Usage], float]) -> Figure:
    """A figure for which no time matters."""
    return Figure(name, form, lambda results, cell: None if (found := results.usage(cell)) is None else of(found))


def timed(name: str, form: str, of: Callable[[Usage], float]) -> Figure:
    """A figure of the use of the CPUs."""
    return Figure(name, form, lambda results, cell: None if (found := results.timed(cell)) is None else of(found))


def sampled(what: str, of: Callable[[Profile], float]) -> Figure:
    """A part of the samples of the cell's profiled form."""
    return Figure(
        f"{what} share of the samples",
        "{:.1%}",
        lambda results, cell: None if (found := results.profile(cell)) is None else of(found),
    )


def noticeable(usage: Usage | None) -> float | None:
    """The part of a count that was ticks, where it matters."""
    return usage.tick_share if usage and usage.tick_share >= LEAST_TICKS else None


INSTRUCTIONS = counted("instructions a MiB", "{:,.0f}", lambda usage: usage.instructions_a_mib)
RATE = counted("MiB/s", "{:,.1f}", lambda usage: usage.mib_a_second)
CPU_TIME = timed("ms of a CPU a MiB", "{:.3f}", lambda usage: usage.cpu_ms_a_mib)
KERNEL = timed("kernel's share of the busier CPU", "{:.1%}", lambda usage: usage.busiest_kernel_share)
CACHED = counted("page cache, bytes a byte", "{:.2f}", lambda usage: usage.cached_a_byte)
COMMANDS = counted("commands a MiB", "{:,.1f}", lambda usage: usage.commands_a_mib)
TICKS = Figure("taken out for timer ticks", "{:.0%}", lambda results, cell: noticeable(results.usage(cell)))
COPIES = counted("copies' share of the instructions", "{:.1%}", lambda usage: usage.copy_share)
SAMPLED_COPIES = sampled("copies'", lambda profile: profile.copies)
SAMPLED_LOCKS = sampled("locks'", lambda profile: profile.locks)
SAMPLED_CACHES = sampled("cache maintenance's", lambda profile: profile.caches)
PICTURES = ((INSTRUCTIONS, "in place of Figure 2"), (KERNEL, "Figure 3"), (COPIES, "Figure 4"))
PICTURES_HERE = ((RATE, "Figure 2"), (KERNEL, "Figure 3"), (SAMPLED_COPIES, "Figure 4"))
COSTS = (
    INSTRUCTIONS,
    counted("bytes copied a byte", "{:.2f}", lambda usage: usage.copied_a_byte),
    counted("locking's share of the instructions", "{:.1%}", lambda usage: usage.lock_share),
    CACHED,
    COMMANDS,
    TICKS,
)
COSTS_HERE = (RATE, CPU_TIME, KERNEL, SAMPLED_COPIES, SAMPLED_LOCKS, SAMPLED_CACHES, CACHED, COMMANDS)
SAMPLES = (COPIES, SAMPLED_COPIES, SAMPLED_LOCKS, SAMPLED_CACHES)


def section(records: Sequence[AnyRecord]) -> Section:
    """Pictures and tables of each kernel."""
    own = Table("The paper's figures, as its text gives them", ["", "in the paper"], PAPER, BOARD)
    parts: list[Table | Plot] = [own]
    verdicts: list[Verdict] = []
    for one in results(records):
        parts += [picture(one, *figure) for figure in (PICTURES_HERE if one.is_hardware else PICTURES)]
        parts += [costs(one, direction) for direction in DIRECTIONS]
        main = RATE if one.is_hardware else INSTRUCTIONS
        parts += [orders(one, main), processors(one, main)]
        parts += [clocks(one), profiles(one, main), databases(one)]
        verdicts += judge(one)
    return Section(parts, verdicts)


def picture(results: Results, figure: Figure, place: str) -> Plot:
    """A line a way, over the block size."""
    rows: list[dict[str, Value]] = [
        {"block size": size.title, figure.name: value, "way": way.title, "medium": f"{medium}, {direction}"}
        for medium, ways in WAYS.items()
        for direction in DIRECTIONS
        for way in ways
        for size in SIZES
        if (value := figure.of(results, Cell(medium, way.title, direction, size_bytes=size.size_bytes))) is not None
    ]
    title = f"{figure.name}, Linux {results.kernel} ({place})"
    log = figure in (RATE, INSTRUCTIONS)
    return Plot(title, "line", rows, "block size", figure.name, "way", "medium", log=log)


def costs(results: Results, direction: str) -> Table:
    """What is behind the pictures, and what else was measured, at each size."""
    columns = ["", *(size.title for size in SIZES)]
    rows = []
    for medium, ways in WAYS.items():
        for way in ways:
            cells = [Cell(medium, way.title, direction, size_bytes=size.size_bytes) for size in SIZES]
            for figure in COSTS_HERE if results.is_hardware else COSTS:
                shown = [figure.show(results, cell) for cell in cells]
                if any(one != "-" for one in shown):
                    rows.append([f"{medium}, {way.title}: {figure.name}", *shown])
    note = results.device if results.is_hardware else ""
    return Table(f"Sequential, {direction}, Linux {results.kernel}", columns, rows, note)


def orders(results: Results, figure: Figure) -> Table:
    """Random beside sequential."""
    sizes = [size for size in SIZES if size.calls > 1]
    columns = ["", *(f"{direction}, {size.title}" for direction in DIRECTIONS for size in sizes)]
    rows = []
    for medium, ways in WAYS.items():
        for way in ways:
            cells = [
                figure.ratio(results, Cell(medium, way.title, direction, RANDOM, size.size_bytes),
                             Cell(medium, way.title, direction, size_bytes=size.size_bytes))
                for direction in DIRECTIONS
                for size in sizes
            ]  # fmt: skip
            if any(cell != "-" for cell in cells):
                rows.append([f"{medium}, {way.title}", *cells])
    name = f"{figure.name[0].upper()}{figure.name[1:]}"
    return Table(f"{name} in random order, sequential is 1, Linux {results.kernel}", columns, rows)


def at_three(results: Results, title: str, compare: Callable[[str, str, int], str]) -> Table:
    """A row a way to the drive; what is compared, at three sizes in each direction."""
    three = [size for size in SIZES if size.title in THREE]
    columns = ["", *(f"{direction}, {size.title}" for direction in DIRECTIONS for size in three)]
    rows = []
    for way in WAYS[NVME]:
        cells = [compare(way.title, direction, size.size_bytes) for direction in DIRECTIONS for size in three]
        if any(cell != "-" for cell in cells):
            rows.append([way.title, *cells])
    return Table(f"{title}, Linux {results.kernel}", columns, rows)


def processors(results: Results, figure: Figure) -> Table:
    """Two CPUs beside one."""

    def compare(way: str, direction: str, size_bytes: int) -> str:
        one, two = (Cell(NVME, way, direction, size_bytes=size_bytes, cpus=cpus) for cpus in (1, 2))
        return figure.ratio(results, two, one)

    name = f"{figure.name[0].upper()}{figure.name[1:]}"
    return at_three(results, f"{name} with two CPUs, one CPU is 1", compare)


def clocks(results: Results) -> Table:
    """The slowest clock beside the fastest, where a machine has them."""

    def compare(way: str, direction: str, size_bytes: int) -> str:
        slow, fast = (Cell(NVME, way, direction, size_bytes=size_bytes, clock=clock) for clock in (SLOWEST, FASTEST))
        return RATE.ratio(results, slow, fast)

    return at_three(results, "Rate with the slowest clock, the fastest is 1", compare)


def profiled(results: Results) -> Iterator[tuple[str, Cell, Cell]]:
    """Cells that were measured with and without a profiler, and their names."""
    for way in WAYS[NVME]:
        for direction in DIRECTIONS:
            for size in SIZES:
                plain, with_perf = (
                    Cell(NVME, way.title, direction, size_bytes=size.size_bytes, profiled=profiled)
                    for profiled in (False, True)
                )
                if results.usage(plain) and results.usage(with_perf):
                    yield f"{way.title}, {direction} {size.title}", plain, with_perf


def profiles(results: Results, main: Figure) -> Table:
    """What a profiler costs, and what it says; on hardware nothing is counted beside it."""
    shares = SAMPLES[1:] if results.is_hardware else SAMPLES
    rows = [
        [
            name,
            main.show(results, plain),
            main.ratio(results, with_perf, plain),
            *(figure.show(results, plain) for figure in shares),
        ]
        for name, plain, with_perf in profiled(results)
    ]
    columns = ["", main.name, "with perf, without is 1", *(figure.name for figure in shares)]
    events = sorted({profile.event for profile in results.profiles.values() if profile.event})
    note = f"sampled by {', '.join(events)}" if events else ""
    return Table(f"With and without a profiler, Linux {results.kernel}", columns, rows, note)
