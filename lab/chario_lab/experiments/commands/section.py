# SPDX-License-Identifier: MIT
"""What commands shows: how many each call took, and how much that varies."""

import json
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import cast

from chario_lab.experiment.page import Plot, Section, Table, Value, Verdict
from chario_lab.experiments.commands.plan import CHARIO, SINGLE, SIZES, WAYS, key, plan_key, single_key
from chario_lab.experiments.ways import DIRECTIONS, Way
from chario_lab.records import AnyRecord, MachineRecord, SeriesRecord, TextRecord, of_kind

EXCLUDED = """\
Commands are the reads and writes of the drive's SMART log and the flushes that the block layer counts; while CharIO
has the drive, those that it counts itself, whose sum is checked against the drive's. Requests are those that the
block layer issues, by its tracepoint block_rq_issue. What comes between two calls, from write-back or a journal, is
counted for the later one; requests are only those while the call goes on. Each call has memory that the kernel has
just given out, as programs have; calls go along the disk or a new file, opened with O_SYNC, one after the other,
alone on the machine: under load a file system's figures vary more."""


@dataclass(frozen=True)
class Spread:
    """How many calls took how many commands."""

    calls: dict[int, int]

    @property
    def values(self) -> list[int]:
        """Each number of commands that occurred, in order."""
        return sorted(self.calls)

    @property
    def mean(self) -> float:
        """Commands a call."""
        return sum(count * calls for count, calls in self.calls.items()) / sum(self.calls.values())

    def __str__(self) -> str:
        """The least and the most, and the mean where they differ."""
        least, most = self.values[0], self.values[-1]
        return f"{least}" if least == most else f"{least} to {most}, mean {self.mean:.2f}"


Spreads = dict[str, Spread]


def spreads(records: Sequence[AnyRecord], machine: str, what: str) -> Spreads:
    """Of every case of a machine: "commands" or "requests"."""
    series = [each for each in of_kind(records, SeriesRecord) if each.machine == machine]
    found = {each.case: cast("dict[str, int]", each.said[what]) for each in series}
    return {case: Spread({int(count): calls for count, calls in said.items()}) for case, said in found.items()}


def section(records: Sequence[AnyRecord]) -> Section:
    """Tables and pictures of each machine."""
    parts: list[Table | Plot] = []
    verdicts: list[Verdict] = []
    for machine in of_kind(records, MachineRecord):
        commands, requests = (spreads(records, machine.machine, what) for what in ("commands", "requests"))
        parts += [table(commands, machine, "commands of the drive"), table(requests, machine, "block requests")]
        parts += [picture(commands, machine, direction) for direction in DIRECTIONS]
        parts.append(single(commands, machine))
        verdicts += judge(records, commands, machine)
    return Section(parts, verdicts)


def table(found: Spreads, machine: MachineRecord, what: str) -> Table:
    """The least, the most and the mean of each way."""
    columns = ["", *(f"{direction}, {title}" for direction in DIRECTIONS for title in SIZES)]
    rows = []
    for way in WAYS:
        own = [found.get(key(way, direction, title)) for direction in DIRECTIONS for title in SIZES]
        if any(own):
            rows.append([way.title, *(str(spread) if spread else "-" for spread in own)])
    return Table(f"A call's {what}, Linux {machine.release}", columns, rows)


def picture(found: Spreads, machine: MachineRecord, direction: str) -> Plot:
    """Each number of commands that occurred, and how often."""
    rows: list[dict[str, Value]] = [
        {"way": way.title, "commands a call": count, "calls": calls, "size": f"{title} {direction}"}
        for title in SIZES
        for way in WAYS
        if (spread := found.get(key(way, direction, title)))
        for count, calls in sorted(spread.calls.items())
    ]
    title = f"How many commands a call takes, {direction}, Linux {machine.release}"
    return Plot(title, "point", rows, "commands a call", "way", "calls", "size")


def single(found: Spreads, machine: MachineRecord) -> Table:
    """One block of ext4, in three states of memory."""
    rows = [
        [why, str(wanted), str(found[single_key(wanted)]) if single_key(wanted) in found else "-"]
        for wanted, (_, _, why) in SINGLE.items()
    ]
    title = f"Commands for one block of an open ext4 file, Linux {machine.release}"
    return Table(title, ["", "in the paper", "here"], rows)


def judge(records: Sequence[AnyRecord], found: Spreads, machine: MachineRecord) -> list[Verdict]:
    """The paper's sentences."""
    where = f" (Linux {machine.release})"
    return [
        Verdict(f"CharIO takes the same number of commands each time, which chario plan has said{where}",
                *as_planned(records, found, machine.machine)),
        Verdict(f"The others' number varies, even with direct I/O{where}", *varied(found)),
        Verdict(f"It varies more when writing{where}", *wider_for_writes(found)),
        Verdict(f"A read of one block of ext4 takes no, one or two commands{where}", *single_holds(found)),
    ]  # fmt: skip


def as_planned(records: Sequence[AnyRecord], found: Spreads, machine: str) -> tuple[bool | None, str]:
    """Each of CharIO's calls against the plan."""
    said = {record.case: record.text for record in of_kind(records, TextRecord) if record.machine == machine}
    series = [each for each in of_kind(records, SeriesRecord) if each.machine == machine]
    totals = {each.case: sum(astuple(each.commands)) for each in series}
    mine, wrong, rows = next(way for way in WAYS if way.title == CHARIO), [], 0
    for direction in DIRECTIONS:
        for title in SIZES:
            spread, planned = found.get(key(mine, direction, title)), said.get(plan_key(direction, title))
            if spread is None or planned is None:
                continue
            rows += sum(spread.calls.values())
            if totals[key(mine, direction, title)] != sum(count * calls for count, calls in spread.calls.items()):
                wrong.append(f"{direction} {title}: the drive has counted {totals[key(mine, direction, title)]}")
            if spread.values != [json.loads(planned)["commands"]]:
                wrong.append(f"{direction} {title}: {spread}, planned {json.loads(planned)['commands']}")
    if not rows:
        return None, "not measured"
    return not wrong, "; ".join(wrong) or f"in all {rows:,} calls, and the drive has counted as many"


def varied(found: Spreads) -> tuple[bool | None, str]:
    """Which columns of the direct ways have more than one number."""
    others = [way for way in WAYS if not way.is_chario and way.title.endswith("direct")]
    some = {
        f"{way.title}, {direction} {title}": found[key(way, direction, title)]
        for way in others
        for direction in DIRECTIONS
        for title in SIZES
        if key(way, direction, title) in found
    }
    if not some:
        return None, "not measured"
    spread = [name for name, one in some.items() if len(one.values) > 1]
    return bool(spread), f"with direct I/O in {len(spread)} of {len(some)} columns: {'; '.join(spread) or 'none'}"


def wider_for_writes(found: Spreads) -> tuple[bool | None, str]:
    """The width, from the least to the most, of writes beside that of reads, in sum over the file systems."""
    ways = [way for way in WAYS if way.holder.is_file_system]
    widths = {direction: sum(width(found, way, direction) for way in ways) for direction in DIRECTIONS}
    sizes = [{title for title in SIZES if key(way, direction, title) in found}
             for way in ways for direction in DIRECTIONS]  # fmt: skip
    if not sizes[0] or any(each != sizes[0] for each in sizes):
        return None, "not measured by each file system in both directions"
    reads, writes = widths.values()
    return (
        writes > reads,
        f"the most less the least, in sum over file systems and sizes: {writes} for writes, {reads} for reads",
    )


def width(found: Spreads, way: Way, direction: str) -> int:
    """From the least to the most, in sum over the sizes."""
    own = [found[key(way, direction, title)] for title in SIZES if key(way, direction, title) in found]
    return sum(spread.values[-1] - spread.values[0] for spread in own)


def single_holds(found: Spreads) -> tuple[bool | None, str]:
    """Whether each state of memory gave the number that it was made for."""
    if any(single_key(wanted) not in found for wanted in SINGLE):
        return None, "not measured"
    got = [f"{found[single_key(wanted)]}" for wanted in SINGLE]
    return got == [str(wanted) for wanted in SINGLE], f"{', '.join(got)}"
