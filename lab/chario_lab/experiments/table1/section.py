# SPDX-License-Identifier: MIT
"""What table1 shows: what a MiB costs by each way, beside the paper's figures, and whether its sentences hold."""

import math
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from chario_lab.experiment import usage
from chario_lab.experiment.page import Plot, Section, Table, Verdict
from chario_lab.experiment.usage import EXCLUDED_IN_GUEST, Usage, usages
from chario_lab.experiments.table1.plan import CHARIO, SIZES, WAYS, Size, key
from chario_lab.experiments.ways import DIRECTIONS, WRITE, Way
from chario_lab.records import AnyRecord, MachineRecord, of_kind

PAPER = Path(__file__).with_name("paper.toml")
CALLS = """\
Calls go one behind the other along the disk or a file, with cold caches, from memory whose pages are neighbours. All
is opened with O_SYNC, as Linux's ways are in the paper: a write is durable when it returns. Where a request is
larger than one command may be, the passthrough and polled io_uring cut it into pieces of 128 KiB."""
EXCLUDED = f"""\
{EXCLUDED_IN_GUEST}
{CALLS}
The drive is held until the CPU has nothing else to do, so that ways that sleep always do; for polled ones it has
answered before they look."""
EXCLUDED_HERE = f"""\
{usage.EXCLUDED_HERE}
{CALLS}
How fast a drive writes also depends on what was written to it before. What took less than half a second has no use of
the CPU."""
# What the paper's sentences speak of.
PAPER_WAYS = tuple(way for way in WAYS if way.paper)
DIRECT = ("block device, direct", "ext4, direct")

Usages = dict[str, Usage]
Cells = Sequence[tuple[str, Callable[[Usage], str]]]
# Instructions and copied bytes are what a CPU is used for.
COSTS: Cells = (
    ("instructions a MiB", lambda usage: f"{usage.instructions_a_mib:,.0f}"),
    ("bytes copied a byte", lambda usage: f"{usage.copied_a_byte:.2f}"),
    ("kernel CPU %", lambda usage: f"{usage.kernel_share * 100:.0f}"),
)
EVENTS: Cells = (
    ("commands a MiB", lambda usage: f"{usage.commands_a_mib:,.1f}"),
    ("interrupts a MiB", lambda usage: f"{usage.interrupts_a_mib:,.1f}"),
    ("switches a MiB", lambda usage: f"{usage.switches_a_mib:,.1f}"),
)


@cache
def paper() -> dict[str, dict[str, dict[str, list[float]]]]:
    """The paper's table, and the board it was measured on."""
    return tomllib.loads(PAPER.read_text())


def section(records: Sequence[AnyRecord]) -> Section:
    """Tables of each machine beside those of the paper, and pictures."""
    machines = of_kind(records, MachineRecord)
    found = {machine: usages(records, machine.machine) for machine in machines}
    parts: list[Table | Plot] = []
    for direction in DIRECTIONS:
        for machine in machines:
            cells = speeds(found[machine]) if machine.is_hardware else COSTS
            words = machine.device if machine.is_hardware else "what a MiB costs the CPU"
            parts.append(table(words, found[machine], machine, direction, cells))
        parts.append(papers(direction))
        parts += [table("what a MiB takes", found[machine], machine, direction, EVENTS) for machine in machines]
    # Those whose use of the CPU is a result: a time of a CPU has to be long enough.
    sound = {
        machine: {case: usage for case, usage in found[machine].items() if usage.is_timed or not machine.is_hardware}
        for machine in machines
    }
    parts += [picture(sound[machine], machine) for machine in machines]
    verdicts = [verdict for machine in machines for verdict in judge(sound[machine], machine)]
    return Section(parts, verdicts)


def speeds(found: Usages) -> Cells:
    """Rate and CPU usage, as in the paper; energy where the machine counts it.  In the short form no CPU is timed."""
    cells: list[tuple[str, Callable[[Usage], str]]] = [
        ("MiB/s", lambda usage: f"{usage.mib_a_second:,.0f}"),
        ("kernel CPU %", lambda usage: f"{usage.kernel_share * 100:.0f}" if usage.is_timed else "-"),
        ("MiB/s a kernel CPU %", lambda usage: f"{ratio(usage):,.2f}" if usage.is_timed else "-"),
    ]
    if any(usage.joules_a_gib is not None for usage in found.values()):
        cells.append(("J a GiB", lambda usage: f"{usage.joules_a_gib or 0:,.1f}"))
    return cells


def ratio(usage: Usage) -> float:
    """What is moved in a second for each percent of a CPU; what is nothing by the kernel's clock is no divisor."""
    return usage.mib_a_second / (usage.kernel_share * 100) if usage.kernel_share else math.inf


def table(words: str, found: Usages, machine: MachineRecord, direction: str, cells: Cells) -> Table:
    """A row a way; each figure at each size."""
    columns = ["", *(f"{name}, {size.title}" for name, _ in cells for size in SIZES)]
    rows = []
    for way in WAYS:
        own = [found.get(key(way, direction, size)) for size in SIZES]
        if any(own):
            rows.append([way.title, *(show(usage) if usage else "-" for _, show in cells for usage in own)])
    return Table(f"{direction.capitalize()}, Linux {machine.release}: {words}", columns, rows)


def papers(direction: str) -> Table:
    """The paper's own figures."""
    rows = []
    for way in PAPER_WAYS:
        row = paper()[direction][way.paper]
        ratios = [speed / cpu for speed, cpu in zip(row["speed"], row["cpu"], strict=True)]
        rows.append(
            [way.paper, *(f"{value:g}" for value in (*row["speed"], *row["cpu"])), *(f"{r:.2f}" for r in ratios)]
        )
    names = ("MiB/s", "kernel CPU %", "MiB/s a kernel CPU %")
    columns = ["", *(f"{name}, {size.title}" for name in names for size in SIZES)]
    return Table(f"The paper's own figures: {direction}", columns, rows, str(paper()["board"]))


@dataclass(frozen=True)
class Work:
    """What ways are compared by: what a CPU does for a MiB, the less the better, or a rate."""

    unit: str
    form: str
    of: Callable[[Usage], float]
    more: bool = False

    def is_better(self, usage: Usage, other: Usage) -> bool:
        """Whether the first is."""
        one, two = self.of(usage), self.of(other)
        return one > two if self.more else one < two

    def show(self, usage: Usage) -> str:
        """The figure with its unit."""
        return f"{self.form.format(self.of(usage))} {self.unit}"


INSTRUCTIONS = Work("instructions a MiB", "{:,.0f}", lambda usage: usage.instructions_a_mib)
CPU_TIME = Work("ms of a CPU a MiB", "{:.3f}", lambda usage: usage.cpu_ms_a_mib)
KERNEL_SHARE = Work("of a CPU", "{:.0%}", lambda usage: usage.kernel_share)
RATE = Work("MiB/s", "{:,.0f}", lambda usage: usage.mib_a_second, more=True)


def picture(found: Usages, machine: MachineRecord) -> Plot:
    """What a MiB costs the CPU, a bar a way."""
    # Where all is emulated, a time is no result.
    work = CPU_TIME if machine.is_hardware else INSTRUCTIONS
    rows = [
        {
            "way": way.title,
            work.unit: work.of(usage),
            "size": f"{size.title} {direction}",
            "by": "CharIO" if way.is_chario else way.holder.value,
        }
        for size in SIZES
        for direction in DIRECTIONS
        for way in WAYS
        if (usage := found.get(key(way, direction, size)))
    ]
    title = f"{work.unit[0].upper()}{work.unit[1:]}, Linux {machine.release}"
    return Plot(title, "bar", rows, work.unit, "way", "by", "size", log=True)


def judge(found: Usages, machine: MachineRecord) -> list[Verdict]:
    """The paper's sentences about its own rows: what it says of speeds is, in a guest, said of instructions."""
    where = f" (Linux {machine.release})"
    fast, work = ("is fastest", RATE) if machine.is_hardware else ("takes the fewest instructions", INSTRUCTIONS)
    faster = "is faster" if machine.is_hardware else "takes fewer instructions"
    direct = [way for way in WAYS if way.title in DIRECT]
    block = [way for way in WAYS if way.title == "block device"]
    return [
        Verdict(f"CharIO uses the least kernel CPU time while calls go on, at every size{where}",
                *least_busy(found, machine)),
        Verdict(f"Above 4 KiB, CharIO {fast}{where}", *compare(found, work, SIZES[1:], PAPER_WAYS)),
        Verdict(f"At 4 KiB, CharIO {faster} than both direct ways{where}", *compare(found, work, SIZES[:1], direct)),
        Verdict(f"At 4 KiB, CharIO {faster} than the buffered block device when writing{where}",
                *compare(found, work, SIZES[:1], block, (WRITE,))),
    ]  # fmt: skip


def least_busy(found: Usages, machine: MachineRecord) -> tuple[bool | None, str]:
    """By the share of a CPU; not decided where an emulated drive takes no time that would mean anything."""
    if machine.is_hardware:
        return compare(found, KERNEL_SHARE, SIZES, PAPER_WAYS)
    _, figures = compare(found, INSTRUCTIONS, SIZES, PAPER_WAYS)
    return None, f"a share of the time needs hardware; of the instructions: {figures}"


def compare(
    found: Usages, work: Work, sizes: Sequence[Size], others: Sequence[Way], directions: Sequence[str] = DIRECTIONS
) -> tuple[bool | None, str]:
    """Whether CharIO's figure is the smallest in each of these columns that was measured, and which are not."""
    mine = next(way for way in WAYS if way.title == CHARIO)
    columns = {
        (direction, size): own
        for direction in directions
        for size in sizes
        if (own := found.get(key(mine, direction, size)))
    }
    lost, unknown = list[str](), dict[str, None]()
    for (direction, size), own in columns.items():
        for way in others:
            usage = found.get(key(way, direction, size))
            if usage is None:
                unknown[way.title] = None
            elif way is not mine and work.is_better(usage, own):
                figures = f"{work.show(usage)}, CharIO {work.show(own)}"
                lost.append(f"{way.title}, {direction} {size.title}: {figures}")
    if not columns or (unknown and not lost):
        return None, f"not measured: {', '.join(unknown) or CHARIO}"
    in_all = "in the only column" if len(columns) == 1 else f"in all {len(columns)} columns"
    return not lost, "; ".join(lost) or in_all
