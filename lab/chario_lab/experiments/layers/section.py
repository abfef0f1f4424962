# SPDX-License-Identifier: MIT
"""What layers shows: each layer's share of a call's instructions, and the paper's three groups of them."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from chario_lab.counting.layers import IDLE
from chario_lab.experiment.page import Plot, Section, Table, Value, Verdict
from chario_lab.experiments.layers import field
from chario_lab.experiments.layers.methods import METHODS, TRACED
from chario_lab.experiments.layers.plan import DIRECTIONS, NVME, SATA, SIZES, WAYS, Cell
from chario_lab.experiments.layers.shares import GROUPS, KNOWN, REST, SHOWN, Share, Shares, all_shares
from chario_lab.experiments.ways import READ, WRITE
from chario_lab.records import AnyRecord, MachineRecord, SeriesRecord, of_kind

PAPER = Path(__file__).with_name("paper.toml")
EXCLUDED = """\
Shares are those of the instructions of program and kernel, the interrupt's and the wake-up's among them, without the
idle loop and timer ticks; a string instruction counts as one. The paper's are shares of the time, in which the drive's
own time and cache misses are: they are smaller, the slower the drive is, and only their order can be compared. Its
groups are our layers "BIO creation", "split, merge, plug" and "request queueing"; pinning the caller's pages, which
belongs to none of the three, stands apart. All is sequential and synchronous, with O_DIRECT and cold caches, from
memory whose pages are no neighbours, as malloc() gives it on a machine that has run for long. The file has 1 GiB and
was written before; "first write" goes to a file that is only preallocated (fallocate), whose blocks the file system
converts from unwritten to written. The NVMe drive has no I/O scheduler, the SATA disk mq-deadline, as Linux chooses by
itself; on the bare SATA disk a small request has no plug, so that a thread of the kernel hands it to the driver, which
is the scheduler's larger share there.

In the field nothing counts instructions. function_graph, by trace-cmd as in the paper, notes the begin and the end of
every function; eBPF, by kprobe.multi, which Linux 6.1 lacks, only where a call or an interrupt enters a layer. Both
give functions' own time, without sleep, by the clock of the machine: here an emulated one, in which a store to a
doorbell takes as long as the emulator needs, and which is noisy, so that shares compare only roughly. A method costs
about the same for each function that it sees: with a tracer, layers of many small functions (page cache, locks) look
larger than they are, and loops that call nothing (splitting, mapping for DMA) smaller. eBPF's layers have in them what
they call where that enters no other layer: locks, memory, and pages that are merged while they are pinned."""
EXCLUDED_HERE = """\
Shares are those of the time of a call, by functions' own time: by function_graph, with trace-cmd as in the paper, which
notes the begin and the end of every function, and by eBPF (kprobe.multi, which Linux 6.1 lacks), which notes only where
a call or an interrupt enters a layer. Both lengthen what they measure by about as much for each function that they see:
the second table says how much, against the same calls without them. So a layer of many small functions looks larger
with the tracer than it is, and one whose loops call nothing, splitting or mapping for DMA, smaller; eBPF's layers have
in them what they call where that enters no other layer. What is left of the time is the drive's, and what the caller
waited for besides. The paper's groups are our layers "BIO creation", "split, merge, plug" and "request queueing";
pinning the caller's pages stands apart. All is sequential and synchronous, with O_DIRECT and cold caches, from memory
whose pages are no neighbours; the file has 1 GiB and was written before. The drive has no I/O scheduler. Exact counts
need a guest: run this experiment without a target."""
# Layers with a colour of their own, as many as an eye tells apart.
DRAWN = 15
# What the paper calls significant is at least this.
SIGNIFICANT = 0.05
LARGEST = SIZES[-1]
# The paper's figures, and what comes nearest: its SSD was a SATA disk too, and NVMe is what came after it.
SSD_WRITE = "ssd-write"
FIGURES = {SSD_WRITE: ((SATA, NVME), WRITE), "hdd-read": ((SATA,), READ)}
COUNTED = "the instructions"
NAMES = {"create": "creating BIOs", "merge": "splitting, merging, plugging", "queue": "reordering, queueing"}


@cache
def paper() -> dict[str, dict[str, float]]:
    """The paper's figures, and what they were measured on."""
    return tomllib.loads(PAPER.read_text())


def section(records: Sequence[AnyRecord]) -> Section:
    """Tables and pictures of each kernel."""
    parts: list[Table | Plot] = []
    verdicts: list[Verdict] = []
    for kernel in dict.fromkeys(machine.kernel for machine in of_kind(records, MachineRecord)):
        machines = [machine for machine in of_kind(records, MachineRecord) if machine.kernel == kernel]
        names = [machine.machine for machine in machines]
        found = all_shares(records, names)
        both = field.compare(records, found, names)
        if machines[0].is_hardware:
            return of_time(both, machines[0])
        for medium in (NVME, SATA):
            parts += [table(found, kernel, medium, direction) for direction in DIRECTIONS]
            parts.append(picture(found, kernel, medium, COUNTED))
        parts += [groups(found, kernel, figure, COUNTED) for figure in FIGURES]
        parts += field.tables(both, machines[0])
        verdicts += [*judge(found, kernel), *field.judge(both, machines[0])]
    verdicts.append(sums(of_kind(records, SeriesRecord)))
    return Section(parts, verdicts)


def of_time(both: Mapping[Cell, field.Both], machine: MachineRecord) -> Section:
    """What a tracer and eBPF say on a machine whose times mean something."""
    shares = {method: {cell.key: each.seen[method].share for cell, each in both.items() if method in each.seen}
              for method in METHODS}  # fmt: skip
    found = {method: own for method, own in shares.items() if own}
    traced = found.get(TRACED, {})
    parts: list[Table | Plot] = [*field.tables(both, machine)]
    parts += [groups(own, machine.release, SSD_WRITE, f"the time, by {method}") for method, own in found.items()]
    parts.append(picture(traced, machine.release, NVME, f"the time, by {TRACED}"))
    return Section(parts, judge(traced, machine.release, of_time=True))


def table(found: Shares, kernel: str, medium: str, direction: str) -> Table:
    """A column a way and size, a row a layer, the total below."""
    own = {
        f"{way}, {size.title}": found[cell.key]
        for way in WAYS
        for size in SIZES
        if (cell := Cell(medium, way, direction, size)).key in found
    }
    rows = [[title, *(f"{share.of(title):.1%}" for share in own.values())] for title in SHOWN]
    rows.append(["commands a call", *(f"{share.commands:.1f}" for share in own.values())])
    rows.append(["instructions a call", *(f"{share.total:,.0f}" for share in own.values())])
    return Table(f"{medium}, {direction}, Linux {kernel}: shares of the instructions", ["", *own], rows)


def picture(found: Shares, kernel: str, medium: str, whole: str) -> Plot:
    """The layers of a call on top of each other; those that are small everywhere are one."""
    shares = {
        (direction, f"{way}, {size.title}"): share
        for direction in DIRECTIONS
        for way in WAYS
        for size in SIZES
        if (share := found.get(Cell(medium, way, direction, size).key))
    }
    largest = {title: max((share.of(title) for share in shares.values()), default=0.0) for title in KNOWN}
    drawn = sorted(largest, key=lambda title: -largest[title])[:DRAWN]
    rows: list[dict[str, Value]] = []
    for (direction, call), share in shares.items():
        parts = {title: share.of(title) for title in KNOWN if title in drawn}
        parts[REST] = sum(share.of(title) for title in SHOWN if title not in drawn)
        rows += [{"share": part, "call": call, "layer": title, "direction": direction} for title, part in parts.items()]
    title = f"Layers' shares of {whole}, {medium}, Linux {kernel}"
    return Plot(title, "stack", rows, "share", "call", "layer", "direction")


def groups(found: Shares, kernel: str, figure: str, whole: str) -> Table:
    """The paper's groups of layers at its size: parts of a whole."""
    media, direction = FIGURES[figure]
    own = {
        f"{medium}, {way}": share
        for medium in media
        for way in WAYS
        if (share := found.get(Cell(medium, way, direction, LARGEST).key))
    }
    there = paper()[figure]
    rows = [
        [name, f"{there[group]:.1f}%" if group in there else "-",
         *(f"{share.of(GROUPS[group]):.1%}" for share in own.values())]
        for group, name in NAMES.items()
    ]  # fmt: skip
    rows.append(["together", f"{there['together']:.1f}%", *(f"{share.together:.1%}" for share in own.values())])
    title = f"The paper's groups, {direction} {LARGEST.title}, Linux {kernel}: shares of {whole}"
    return Table(title, ["", "in the paper, of the time", *own], rows, str(paper()["board"]))


def judge(found: Shares, kernel: str, *, of_time: bool = False) -> list[Verdict]:
    """The paper's sentences, by shares of the instructions, or of the time."""
    where = f" (Linux {kernel})"
    return [
        Verdict(f"A significant amount is spent merely constructing, splitting and merging BIOs, on each kind of drive"
                f"{where}", *significant(found)),
        Verdict(f"In writes to an SSD, queueing costs more than splitting and merging, which cost more than creating"
                f"{where}", *ordered(found)),
        Verdict(f"21 % of the time of writes to an SSD is spent in software{where}", *software(found, of_time)),
    ]  # fmt: skip


def largest(found: Shares, media: Sequence[str], directions: Sequence[str]) -> dict[str, Share]:
    """On both file systems, as in the paper, the largest calls; by the name of the case for a human."""
    return {
        f"{medium}, {way}, {direction}": share
        for medium in media
        for direction in directions
        for way, holder in WAYS.items()
        if holder.is_file_system and (share := found.get(Cell(medium, way, direction, LARGEST).key))
    }


def significant(found: Shares) -> tuple[bool | None, str]:
    """In large reads and writes on both."""
    shares = largest(found, (NVME, SATA), (READ, WRITE))
    own = {name: share.of(GROUPS["create"]) + share.of(GROUPS["merge"]) for name, share in shares.items()}
    figures = ", ".join(f"{name}: {part:.1%}" for name, part in own.items())
    return (min(own.values()) >= SIGNIFICANT, figures) if own else (None, "not measured")


def ordered(found: Shares) -> tuple[bool | None, str]:
    """In large writes on both file systems."""
    own = largest(found, (SATA, NVME), (WRITE,))
    parts = {name: [share.of(GROUPS[group]) for group in NAMES] for name, share in own.items()}
    figures = "; ".join(f"{name}: {', '.join(f'{part:.1%}' for part in three)}" for name, three in parts.items())
    return (all(three == sorted(three) for three in parts.values()), figures) if parts else (None, "not measured")


def software(found: Shares, of_time: bool) -> tuple[bool | None, str]:
    """So much, or more; not decided where an emulated drive takes no time that would mean anything."""
    own = largest(found, (SATA, NVME), (WRITE,))
    figures = ", ".join(f"{name}: {share.together:.1%}" for name, share in own.items()) or "not measured"
    if not of_time:
        return None, f"a share of the time needs hardware; of the instructions, the same groups are: {figures}"
    # NVMe is what came after the paper's SSD, which was a SATA disk.
    least = paper()[SSD_WRITE]["together"] / 100
    return min(share.together for share in own.values()) >= least if own else None, figures


def sums(series: Sequence[SeriesRecord]) -> Verdict:
    """What the figures rest on."""
    wrong = [
        f"{each.machine}, {each.case}"
        for each in series
        if sum(each.layers.values()) - each.layers.get(IDLE, 0) != sum(each.instructions)
    ]
    figures = "; ".join(wrong) or f"in all {len(series)} records, and so do functions, which are counted apart"
    return Verdict("The sum over the layers equals the total in every record", not wrong if series else None, figures)
