# SPDX-License-Identifier: MIT
"""Reads and writes in blocks of nine sizes: on NVMe, on SATA disks with two latencies, and in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from chario_lab.experiment.plan import SERIES, SPIN, Case, Plan, Station
from chario_lab.experiment.spec import Choice
from chario_lab.experiments.ways import DIRECTIONS, FREE, KIB, MIB, READ, WRITE, Way, chario, make_file
from chario_lab.guest.spec import AhciDisk, Drive, GuestSpec, Namespace, Nvme, Throttle
from chario_lab.target.machine import Machine
from chario_lab.target.place import Holder

MEMORY_MIB = 3072
DRIVE_MIB = 4096
NVME, HDD, SSD, MEMORY = "NVMe SSD", "SATA hard disk", "SATA SSD", "tmpfs"
# A hard disk does one thing at a time; a SATA disk without a latency is as fast as the NVMe drive.
DRIVES: dict[str, Drive] = {
    NVME: Nvme("blocksizes", (Namespace(DRIVE_MIB),)),
    HDD: AhciDisk("harddisk", DRIVE_MIB, backing=Throttle(iops=125, latency_ms=8)),
    SSD: AhciDisk("ssd", DRIVE_MIB),
    MEMORY: Nvme("memory", (Namespace(64),)),
}
BUFFERED, DIRECT = "ext4, buffered", "ext4, direct"
STRICT, ANY_SIZE = "CharIO", "CharIO, any size"
SEQUENTIAL, RANDOM, SQLITE = "sequential", "random", "SQLite"
SQLITE_ROWS, SHORT_SQLITE_ROWS = 300, 20


@dataclass(frozen=True)
class Size:
    """Blocks of one size, and how many."""

    title: str
    size_bytes: int
    calls: int = 1


SIZES = (
    Size("512 B", 512, 128),
    Size("4 KiB", 4 * KIB, 128),
    Size("512 KiB", 512 * KIB, 32),
    Size("1 MiB", MIB, 32),
    Size("16 MiB", 16 * MIB, 4),
    Size("128 MiB", 128 * MIB),
    Size("256 MiB", 256 * MIB),
    Size("512 MiB", 512 * MIB),
    Size("768 MiB", 768 * MIB),
)
FILE_MIB, SHORT_FILE_MIB = 768, 16
# What is varied besides is varied at these.
THREE = ("4 KiB", "1 MiB", "16 MiB")
SHORT = ("512 B", "1 MiB")
FEW_CALLS = 4


def ext4(title: str, opened: str) -> Way:
    """A file of ext4, as dd opens it."""
    return Way(title, Holder.EXT4, ("pread", "pwrite"), FREE, (f"open={opened}",))


IN_MEMORY = Way(MEMORY, Holder.TMPFS, ("pread", "pwrite"), FREE, ("open=buffered",))
ON_EXT4 = (ext4(BUFFERED, "buffered"), ext4(DIRECT, "direct"))
ON_CHARIO = (chario(STRICT), chario(ANY_SIZE, any_size=True))
WAYS = {NVME: (*ON_CHARIO, *ON_EXT4), HDD: ON_EXT4, SSD: ON_EXT4, MEMORY: (IN_MEMORY,)}
PROFILE = "/dev/shm/profile"
PERF = ("perf", "record", "--quiet", "--all-cpus", "--event", "cpu-clock", "--freq", "997", "--output", PROFILE, "--")
REPORT = f"perf report --input {PROFILE} --stdio --sort symbol --fields overhead,symbol 2>/dev/null; rm -f {PROFILE}"
ROWS = """\
import sqlite3, sys
base = sqlite3.connect(sys.argv[1])
base.execute("create table readings (at integer primary key, value text)")
for at in range(int(sys.argv[2])):
    base.execute("insert into readings values (?, ?)", (at, "x" * 200))
    if at % 10 == 9:
        base.commit()
base.commit()
assert base.execute("select count(*), sum(length(value)) from readings").fetchone()[0] == int(sys.argv[2])
"""


@dataclass(frozen=True)
class Cell:
    """What one case is, in words that its name in records is made of."""

    medium: str
    way: str
    direction: str
    order: str
    size_bytes: int
    cpus: int = 1
    profiled: bool = False

    @property
    def key(self) -> str:
        """What the case is called in records."""
        profiled = "/profiled" if self.profiled else ""
        return f"{self.medium}/{self.way}/{self.direction}/{self.order}/{self.size_bytes}/{self.cpus}{profiled}"


def plan(choice: Choice) -> Plan:
    """Each medium on a machine of its own, then the drive once more with two CPUs; on each kernel."""
    return [station for kernel in choice.kernels for station in stations(kernel, choice.short)]


def stations(kernel: str, short: bool) -> Iterator[Station]:
    """On one kernel."""
    for medium, ways in WAYS.items():
        for holder, own in groupby(ways, key=lambda way: way.holder):
            yield station(kernel, medium, holder, tuple(own), short, cpus=1)
    for holder, own in groupby(WAYS[NVME], key=lambda way: way.holder):
        yield station(kernel, NVME, holder, tuple(own), short, cpus=2)


def station(kernel: str, medium: str, holder: Holder, ways: tuple[Way, ...], short: bool, cpus: int) -> Station:
    """All that is measured while somebody has a medium."""
    spec = GuestSpec(
        kernel, (DRIVES[medium],), cpus, memory_mib=MEMORY_MIB, append="nvme_core.multipath=N nvme.poll_queues=1"
    )
    machine = Machine(f"{kernel}, {medium}, {cpus} CPU", spec)
    cases = tuple(case(way, cell, short) for way in ways for cell in cells(medium, way, cpus, short))
    step = cases[0].step
    database = (sqlite(medium, short),) if holder.is_file_system and cpus == 1 else ()
    prepare = (make_file(SHORT_FILE_MIB if short else FILE_MIB, holder),) if holder.is_file_system else ()
    return Station(holder.value, machine, holder, (replace(SPIN, step=step), *cases, *database), prepare)


def cells(medium: str, way: Way, cpus: int, short: bool) -> Iterator[Cell]:
    """What is measured by one way: with one CPU all, with two at three sizes; with a profiler likewise."""
    chosen = [size for size in SIZES if not short or size.title in SHORT]
    three = [size for size in chosen if size.title in THREE]
    for direction in DIRECTIONS:
        for size in chosen if cpus == 1 else three:
            yield Cell(medium, way.title, direction, SEQUENTIAL, size.size_bytes, cpus)
        if cpus == 1:
            for size in chosen:
                if size.calls > 1:
                    yield Cell(medium, way.title, direction, RANDOM, size.size_bytes)
        # A profiler takes seconds to start where a CPU is emulated.
        if cpus == 1 and medium == NVME and (not short or (way.title, direction) == (BUFFERED, READ)):
            for size in three:
                yield Cell(medium, way.title, direction, SEQUENTIAL, size.size_bytes, profiled=True)


def case(way: Way, cell: Cell, short: bool) -> Case:
    """A series of calls, from memory as a program gets it; what was written is durable in the end."""
    size = next(size for size in SIZES if size.size_bytes == cell.size_bytes)
    calls = min(size.calls, FEW_CALLS) if short else size.calls
    span_mib = SHORT_FILE_MIB if short else FILE_MIB
    options = [f"span={span_mib * MIB}", "warm=0"]
    options += ["order=sequential"] if cell.order == SEQUENTIAL else []
    options += ["finish=fsync"] if cell.direction == WRITE else []
    words = replace(way, speed=FREE).words(cell.direction, cell.size_bytes, calls, options, "plain")
    return Case(
        cell.key,
        f"{cell.medium}, {way.title}, {cell.direction} {size.title}, {cell.order}",
        # No time of an emulated drive is of interest: it answers when it likes.
        words,
        operations=calls,
        call_bytes=cell.size_bytes,
        step=f"measuring: {cell.medium}, {way.title}{', two CPUs' if cell.cpus > 1 else ''}",
        cold=True,
        settings=way.settings,
        after=way.tidy(cell.direction, cell.size_bytes),
        under=PERF if cell.profiled else (),
        report=REPORT if cell.profiled else "",
    )


def sqlite(medium: str, short: bool) -> Case:
    """A database: rows, ten in a transaction, and a query over all of them."""
    rows = SHORT_SQLITE_ROWS if short else SQLITE_ROWS
    return Case(
        Cell(medium, SQLITE, WRITE, SQLITE, 0).key,
        f"{medium}, SQLite, {rows} rows",
        ("run", "/usr/bin/python3", "-S", "-E", "-c", ROWS, "{folder}/base", str(rows)),
        SERIES,
        calls=rows,
        step=f"measuring: {medium}, SQLite",
        cold=True,
        after="rm -f {folder}/base*",
    )
