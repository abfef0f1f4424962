# SPDX-License-Identifier: MIT
"""What table1 shows: what a MiB costs by each way, beside the paper's figures, and whether its sentences hold."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from chario_lab.experiment.page import Plot, Section, Table, Verdict
from chario_lab.experiment.usage import EXCLUDED_IN_GUEST, Usage, usages
from chario_lab.experiments.table1.plan import CHARIO, SIZES, WAYS, Size, key
from chario_lab.experiments.ways import DIRECTIONS, WRITE, Way
from chario_lab.records import AnyRecord, MachineRecord, of_kind

PAPER = Path(__file__).with_name("paper.toml")
EXCLUDED = f"""\
{EXCLUDED_IN_GUEST}
Calls go one behind the other along the disk or a file, with cold caches, from memory whose pages are neighbours. All
is opened with O_SYNC, as Linux's ways are in the paper: a write is durable when it returns. Ways that sleep are held
so that they always do, polled ones so that they never wait; the page cache reads ahead as it likes. Where a request is
larger than one command may be, the passthrough and polled io_uring cut it into pieces of 128 KiB."""
# What the paper's sentences speak of.
PAPER_WAYS = tuple(way for way in WAYS if way.paper)
DIRECT = ("block device, direct", "ext4, direct")

Usages = dict[str, Usage]


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
        parts += [costs(found[machine], machine, direction) for machine in machines]
        parts.append(papers(direction))
        parts += [events(found[machine], machine, direction) for machine in machines]
    parts += [picture(found[machine], machine) for machine in machines]
    verdicts = [verdict for machine in machines for verdict in judge(found[machine], machine)]
    return Section("Storage access transfer speeds and CPU usages", EXCLUDED, parts, verdicts)


def costs(found: Usages, machine: MachineRecord, direction: str) -> Table:
    """Instructions and copied bytes, which are what a CPU is used for."""
    cells: tuple[tuple[str, Callable[[Usage], str]], ...] = (
        ("instructions a MiB", lambda usage: f"{usage.instructions_a_mib:,.0f}"),
        ("bytes copied a byte", lambda usage: f"{usage.copied_a_byte:.2f}"),
        ("CPU share", lambda usage: f"{usage.cpu_share:.0%}"),
    )
    return table(
        f"{direction.capitalize()}, Linux {machine.release}: what a MiB costs the CPU", found, direction, cells
    )


def events(found: Usages, machine: MachineRecord, direction: str) -> Table:
    """Commands, interrupts, switches."""
    cells: tuple[tuple[str, Callable[[Usage], str]], ...] = (
        ("commands a MiB", lambda usage: f"{usage.commands_a_mib:,.1f}"),
        ("interrupts a MiB", lambda usage: f"{usage.interrupts_a_mib:,.1f}"),
        ("switches a MiB", lambda usage: f"{usage.switches_a_mib:,.1f}"),
    )
    return table(f"{direction.capitalize()}, Linux {machine.release}: what a MiB takes", found, direction, cells)


def table(title: str, found: Usages, direction: str, cells: Sequence[tuple[str, Callable[[Usage], str]]]) -> Table:
    """A row a way; each figure at each size."""
    columns = ["", *(f"{name}, {size.title}" for name, _ in cells for size in SIZES)]
    rows = []
    for way in WAYS:
        own = [found.get(key(way, direction, size)) for size in SIZES]
        if any(own):
            rows.append([way.title, *(show(usage) if usage else "-" for _, show in cells for usage in own)])
    return Table(title, columns, rows)


def papers(direction: str) -> Table:
    """The paper's own figures."""
    rows = []
    for way in PAPER_WAYS:
        row = paper()[direction][way.paper]
        ratios = [speed / cpu for speed, cpu in zip(row["speed"], row["cpu"], strict=True)]
        rows.append(
            [way.paper, *(f"{value:g}" for value in (*row["speed"], *row["cpu"])), *(f"{r:.2f}" for r in ratios)]
        )
    names = ("MiB/s", "CPU %", "MiB/s a CPU %")
    columns = ["", *(f"{name}, {size.title}" for name in names for size in SIZES)]
    return Table(f"The paper's own figures: {direction}", columns, rows, str(paper()["board"]))


def picture(found: Usages, machine: MachineRecord) -> Plot:
    """Instructions a MiB, a bar a way."""
    rows = [
        {
            "way": way.title,
            "instructions a MiB": usage.instructions_a_mib,
            "size": f"{size.title} {direction}",
            "by": "CharIO" if way.is_chario else way.holder.value,
        }
        for size in SIZES
        for direction in DIRECTIONS
        for way in WAYS
        if (usage := found.get(key(way, direction, size)))
    ]
    title = f"Instructions a MiB, Linux {machine.release}"
    return Plot(title, "bar", rows, "instructions a MiB", "way", "by", "size", log=True)


def judge(found: Usages, machine: MachineRecord) -> list[Verdict]:
    """The paper's sentences about its own rows."""
    where = f" (Linux {machine.release})"
    return [
        Verdict(f"CharIO uses the least CPU at every size{where}", *least_cpu(found)),
        Verdict(f"Above 4 KiB, CharIO moves most for what it takes of the CPU{where}", *best_rate(found)),
        Verdict(f"At 4 KiB, CharIO is better than both direct ways{where}", *better_than(found, DIRECT, DIRECTIONS)),
        Verdict(f"At 4 KiB, CharIO writes better than the buffered block device{where}",
                *better_than(found, ("block device",), (WRITE,))),
    ]  # fmt: skip


def least_cpu(found: Usages) -> tuple[bool | None, str]:
    """By the share of the CPU while calls go on, which is what the paper's sentence is about."""
    return compare(found, lambda usage: usage.cpu_share, SIZES, PAPER_WAYS, "{:.0%}", "of the CPU")


def best_rate(found: Usages) -> tuple[bool | None, str]:
    """By instructions a MiB: where all is emulated, a rate is no result."""
    return compare(
        found, lambda usage: usage.instructions_a_mib, SIZES[1:], PAPER_WAYS, "{:,.0f}", "instructions a MiB"
    )


def better_than(found: Usages, titles: Sequence[str], directions: Sequence[str]) -> tuple[bool | None, str]:
    """By instructions a MiB, at the smallest size."""
    others = [way for way in WAYS if way.title in titles]
    measure: Callable[[Usage], float] = lambda usage: usage.instructions_a_mib  # noqa: E731 - it is one value of several
    return compare(found, measure, SIZES[:1], others, "{:,.0f}", "instructions a MiB", directions)


def compare(
    found: Usages,
    measure: Callable[[Usage], float],
    sizes: Sequence[Size],
    others: Sequence[Way],
    form: str,
    unit: str,
    directions: Sequence[str] = DIRECTIONS,
) -> tuple[bool | None, str]:
    """Whether CharIO's figure is the smallest in each of these rows, and which are not."""
    mine = next(way for way in WAYS if way.title == CHARIO)
    lost = []
    for direction in directions:
        for size in sizes:
            own = found.get(key(mine, direction, size))
            if own is None:
                return None, "not measured"
            for way in others:
                usage = found.get(key(way, direction, size))
                if usage and measure(usage) < measure(own):
                    figures = f"{form.format(measure(usage))} {unit}, CharIO {form.format(measure(own))}"
                    lost.append(f"{way.title}, {direction} {size.title}: {figures}")
    return not lost, "; ".join(lost) or f"in all {len(directions) * len(sizes)} columns"
