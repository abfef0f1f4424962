# SPDX-License-Identifier: MIT
"""What blocksizes shows: the paper's three figures for each medium, and what was varied besides."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chario_lab.experiment.page import Plot, Section, Table, Value, Verdict
from chario_lab.experiment.ticks import without_ticks
from chario_lab.experiment.usage import EXCLUDED_IN_GUEST, Usage, usages
from chario_lab.experiments.blocksizes.plan import (
    BUFFERED,
    DIRECT,
    NVME,
    RANDOM,
    SEQUENTIAL,
    SIZES,
    SQLITE,
    THREE,
    WAYS,
    Cell,
)
from chario_lab.experiments.blocksizes.profile import read_profile
from chario_lab.experiments.ways import DIRECTIONS, READ, WRITE
from chario_lab.records import AnyRecord, MachineRecord, SeriesRecord, of_kind

EXCLUDED = f"""\
{EXCLUDED_IN_GUEST}
The paper's Figure 2 is a rate; here it is what a MiB costs. The kernel's share is that of the CPU that is busier, by
the kernel's own account. The copies' share of the instructions counts a string instruction as one for each word of 8
bytes that it moves. Cache maintenance is 0 everywhere: DMA is coherent on this machine, as on every PC; on the
paper's board it was not, and most of a direct write went there. Written data is durable in the end of each series
(fsync). The hard disk has a latency of 8 ms and does one thing at a time; the SATA SSD is that disk without it: the
control that the paper asks for. Blocks of 128 MiB and more are one operation each."""
BOARD = "Xilinx Zynq-7000 (two Cortex-A9 at 666 MHz), Intel SSD 750 (NVMe), WD Blue 500 GB (AHCI), Linux 3.18"
PAPER = (
    ("copies, share of the time, most reads and buffered writes", "40 to 55 %"),
    ("copies, direct writes", "0 %"),
    ("kernel, share of a core, all but the hard disk with direct I/O, large blocks", "about 100 %"),
    ("direct against buffered writes to the SSD, rate", "more than 2 times"),
)
Usages = dict[str, Usage]
FIGURES: tuple[tuple[str, str, Callable[[Usage], float], bool], ...] = (
    ("instructions a MiB", "in place of Figure 2", lambda usage: usage.instructions_a_mib, True),
    ("kernel's share of the busier CPU", "Figure 3", lambda usage: usage.busiest_kernel_share, False),
    ("copies' share of the instructions", "Figure 4", lambda usage: usage.copy_share, False),
)


def section(records: Sequence[AnyRecord]) -> Section:
    """Pictures and tables of each kernel."""
    parts: list[Table | Plot] = []
    verdicts: list[Verdict] = []
    for kernel in dict.fromkeys(machine.kernel for machine in of_kind(records, MachineRecord)):
        found: Usages = {}
        for machine in of_kind(records, MachineRecord):
            if machine.kernel == kernel:
                found |= usages(records, machine.machine)
        parts += [picture(found, kernel, *figure) for figure in FIGURES]
        parts += [costs(found, kernel, direction) for direction in DIRECTIONS]
        parts += [orders(found, kernel), processors(found, kernel), profiles(records, found, kernel)]
        parts.append(databases(records, kernel))
        verdicts += judge(found, kernel)
    parts.append(Table("The paper's figures, as its text gives them", ["", "there"], PAPER, BOARD))
    return Section("Block sizes, from 512 bytes to 768 MiB", EXCLUDED, parts, verdicts)


def picture(found: Usages, kernel: str, name: str, figure: str, measure: Callable[[Usage], float], log: bool) -> Plot:
    """A line a way, over the block size."""
    rows: list[dict[str, Value]] = [
        {"block size": size.title, name: measure(usage), "way": way.title, "medium": f"{medium}, {direction}"}
        for medium, ways in WAYS.items()
        for direction in DIRECTIONS
        for way in ways
        for size in SIZES
        if (usage := found.get(Cell(medium, way.title, direction, SEQUENTIAL, size.size_bytes).key))
    ]
    return Plot(f"{name}, Linux {kernel} ({figure})", "line", rows, "block size", name, "way", "medium", log=log)


def costs(found: Usages, kernel: str, direction: str) -> Table:
    """What is behind the pictures, and what else was counted, at each size."""
    columns = ["", *(size.title for size in SIZES)]
    shown: tuple[tuple[str, Callable[[Usage], str]], ...] = (
        ("instructions a MiB", lambda usage: f"{usage.instructions_a_mib:,.0f}"),
        ("bytes copied a byte", lambda usage: f"{usage.copied_a_byte:.2f}"),
        ("locks' share", lambda usage: f"{usage.lock_share:.1%}"),
        ("page cache, bytes a byte", lambda usage: f"{usage.cached_a_byte:.2f}"),
        ("commands a MiB", lambda usage: f"{usage.commands_a_mib:,.1f}"),
    )
    rows = []
    for medium, ways in WAYS.items():
        for way in ways:
            own = [found.get(Cell(medium, way.title, direction, SEQUENTIAL, size.size_bytes).key) for size in SIZES]
            for name, show in shown:
                if any(own):
                    rows.append([f"{medium}, {way.title}: {name}", *(show(one) if one else "-" for one in own)])
    return Table(f"Sequential, {direction}, Linux {kernel}", columns, rows)


def orders(found: Usages, kernel: str) -> Table:
    """Random beside sequential."""
    sizes = [size for size in SIZES if size.calls > 1]
    columns = ["", *(f"{direction}, {size.title}" for direction in DIRECTIONS for size in sizes)]
    rows = []
    for medium, ways in WAYS.items():
        for way in ways:
            cells = [
                ratio(found, Cell(medium, way.title, direction, RANDOM, size.size_bytes),
                      Cell(medium, way.title, direction, SEQUENTIAL, size.size_bytes))
                for direction in DIRECTIONS
                for size in sizes
            ]  # fmt: skip
            rows.append([f"{medium}, {way.title}", *cells])
    return Table(f"Instructions a MiB in random order, sequential is 1, Linux {kernel}", columns, rows)


def processors(found: Usages, kernel: str) -> Table:
    """Two CPUs beside one."""
    three = [size for size in SIZES if size.title in THREE]
    columns = ["", *(f"{direction}, {size.title}" for direction in DIRECTIONS for size in three)]
    rows = []
    for way in WAYS[NVME]:
        cells = [
            ratio(found, Cell(NVME, way.title, direction, SEQUENTIAL, size.size_bytes, cpus=2),
                  Cell(NVME, way.title, direction, SEQUENTIAL, size.size_bytes))
            for direction in DIRECTIONS
            for size in three
        ]  # fmt: skip
        rows.append([way.title, *cells])
    return Table(f"Instructions a MiB with two CPUs, one CPU is 1, Linux {kernel}", columns, rows)


def profiles(records: Sequence[AnyRecord], found: Usages, kernel: str) -> Table:
    """What a profiler costs, and what it says of the copies."""
    reports = {series.case: series.report for series in of_kind(records, SeriesRecord) if series.report}
    three = [size for size in SIZES if size.title in THREE]
    rows = []
    for way in WAYS[NVME]:
        for direction in DIRECTIONS:
            for size in three:
                plain = Cell(NVME, way.title, direction, SEQUENTIAL, size.size_bytes)
                profiled = Cell(NVME, way.title, direction, SEQUENTIAL, size.size_bytes, profiled=True)
                if plain.key in found and profiled.key in found:
                    profile = read_profile(reports[profiled.key])
                    rows.append([
                        f"{way.title}, {direction} {size.title}",
                        f"{found[plain.key].instructions_a_mib:,.0f}",
                        ratio(found, profiled, plain),
                        f"{found[plain.key].copy_share:.1%}",
                        "-" if profile is None else f"{profile.copies:.1%}",
                    ])  # fmt: skip
    columns = ["", "instructions a MiB", "with perf, without is 1", "copies, counted", "copies, by perf's samples"]
    note = "perf samples all CPUs by the clock, 997 times a second, idle and its own work among it"
    return Table(f"With and without a profiler, Linux {kernel}", columns, rows, note)


def databases(records: Sequence[AnyRecord], kernel: str) -> Table:
    """A database on each medium, beside the same in memory."""
    rows = []
    for medium in WAYS:
        for series in of_kind(records, SeriesRecord):
            if series.case == Cell(medium, SQLITE, WRITE, SQLITE, 0).key and series.machine.startswith(f"{kernel},"):
                own = [one for one in of_kind(records, SeriesRecord)
                       if (one.machine, one.station) == (series.machine, series.station)]  # fmt: skip
                commands = series.commands
                rows.append([
                    medium,
                    f"{without_ticks(series, own) / series.calls:,.0f}",
                    f"{series.events['copied_bytes'] / series.calls:,.0f}",
                    f"{(commands.reads + commands.writes + commands.flushes) / series.calls:.2f}",
                    f"{series.events['switches'] / series.calls:.2f}",
                ])  # fmt: skip
    columns = ["", "instructions a row", "bytes copied a row", "commands a row", "switches a row"]
    return Table(f"SQLite on ext4, ten rows in a transaction, Linux {kernel}", columns, rows)


def ratio(found: Usages, cell: Cell, beside: Cell) -> str:
    """Instructions a MiB of one cell, the other's being 1."""
    if cell.key not in found or beside.key not in found:
        return "-"
    return f"{found[cell.key].instructions_a_mib / found[beside.key].instructions_a_mib:.2f}"


def judge(found: Usages, kernel: str) -> list[Verdict]:
    """The paper's sentences that do not depend on a clock."""
    return [
        Verdict(f"Direct writes spend no time in the copy functions (Linux {kernel})", *no_copies(found)),
        Verdict(f"Above 4 KiB, direct I/O takes less of the CPU than the page cache (Linux {kernel})", *cheaper(found)),
        Verdict(f"At 512 bytes, direct I/O takes more than the page cache (Linux {kernel})", *dearer(found)),
    ]


def no_copies(found: Usages) -> tuple[bool | None, str]:
    """Of all direct writes of whole pages, by the bytes that were copied."""
    own = [
        found[cell.key].copied_a_byte
        for medium in WAYS
        for size in SIZES[2:]
        if (cell := Cell(medium, DIRECT, WRITE, SEQUENTIAL, size.size_bytes)).key in found
    ]
    return (max(own) < 0.01, f"at most {max(own):.4f} bytes copied a byte") if own else (None, "not measured")


def pairs(found: Usages, sizes: Sequence[int]) -> list[tuple[str, float, float]]:
    """Direct and buffered, by instructions a MiB with a word copied by one."""
    rows = []
    for medium in WAYS:
        for direction in (READ, WRITE):
            for place in sizes:
                direct, buffered = (
                    found.get(Cell(medium, way, direction, SEQUENTIAL, SIZES[place].size_bytes).key)
                    for way in (DIRECT, BUFFERED)
                )
                if direct and buffered:
                    name = f"{medium}, {direction} {SIZES[place].title}"
                    rows.append((name, direct.instructions_a_mib, buffered.instructions_a_mib))
    return rows


def cheaper(found: Usages) -> tuple[bool | None, str]:
    """At every size above 4 KiB."""
    rows = pairs(found, range(2, len(SIZES)))
    wrong = [
        f"{name}: {direct:,.0f} direct, {buffered:,.0f} buffered"
        for name, direct, buffered in rows
        if direct >= buffered
    ]
    return (not wrong, "; ".join(wrong) or f"in all {len(rows)} columns") if rows else (None, "not measured")


def dearer(found: Usages) -> tuple[bool | None, str]:
    """At the smallest."""
    rows = pairs(found, [0])
    wrong = [
        f"{name}: {direct:,.0f} direct, {buffered:,.0f} buffered"
        for name, direct, buffered in rows
        if direct <= buffered
    ]
    return (not wrong, "; ".join(wrong) or f"in all {len(rows)} columns") if rows else (None, "not measured")
