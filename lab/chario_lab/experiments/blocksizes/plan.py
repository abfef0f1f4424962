# SPDX-License-Identifier: MIT
"""Reads and writes in blocks of nine sizes: on NVMe and in memory, in guests also on SATA disks with two latencies."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from chario_lab.experiment.plan import SPIN, Act, Case, Plan, Station
from chario_lab.experiment.spec import Choice
from chario_lab.experiments.blocksizes.cells import (
    BUFFERED,
    DIRECT,
    FILE_MIB,
    HDD,
    HERE_MIB,
    MEMORY,
    NVME,
    RANDOM,
    SEQUENTIAL,
    SHORT_FILE_MIB,
    SIZES,
    SSD,
    STRICT,
    THREE,
    WAYS,
    Cell,
    case,
    sqlite,
)
from chario_lab.experiments.blocksizes.processors import FASTEST, SLOWEST, KeepCpus, LimitClock
from chario_lab.experiments.ways import DIRECTIONS, QUIET, READ, Way, make_file
from chario_lab.guest.spec import AhciDisk, Drive, GuestSpec, Namespace, Nvme, Throttle
from chario_lab.target.machine import THIS_MACHINE, Machine
from chario_lab.target.place import Holder

MEMORY_MIB = 3072
DRIVE_MIB = 4096
# A hard disk does one thing at a time; a SATA disk without a latency is as fast as the NVMe drive.
DRIVES: dict[str, Drive] = {
    NVME: Nvme("blocksizes", (Namespace(DRIVE_MIB),)),
    HDD: AhciDisk("harddisk", DRIVE_MIB, backing=Throttle(iops=125, latency_ms=8)),
    SSD: AhciDisk("ssd", DRIVE_MIB),
    MEMORY: Nvme("memory", (Namespace(64),)),
}
SHORT = ("512 B", "1 MiB")
# Where the CPUs' clock is varied.
CLOCK_WAYS = (STRICT, BUFFERED, DIRECT)
# CPUs that were taken off line come back with the drive: more of them go from station to station.
FEWER_CPUS = (2, 1)


def plan(choice: Choice) -> Plan:
    """Each medium on a machine of its own, then the drive once more with two CPUs; on each kernel, or here."""
    if choice.here:
        return list(stations_here(choice))
    return [station for kernel in choice.kernels for station in stations(kernel, choice)]


def stations(kernel: str, choice: Choice) -> Iterator[Station]:
    """In guests with one kernel."""
    for medium, ways in WAYS.items():
        for holder, own in by_holder(ways):
            yield station(guest(kernel, medium, 1), medium, holder, own, choice, cpus=1)
    for holder, own in by_holder(WAYS[NVME]):
        yield station(guest(kernel, NVME, 2), NVME, holder, own, choice, cpus=2)


def guest(kernel: str, medium: str, cpus: int) -> Machine:
    """A guest with one medium."""
    spec = GuestSpec(kernel, (DRIVES[medium],), cpus, memory_mib=MEMORY_MIB, append=QUIET)
    return Machine(f"{kernel}, {medium}, {cpus} CPU", spec)


def by_holder(ways: Sequence[Way]) -> Iterator[tuple[Holder, tuple[Way, ...]]]:
    """Ways in a row that share a holder."""
    for holder, own in groupby(ways, key=lambda way: way.holder):
        yield holder, tuple(own)


def station(machine: Machine, medium: str, holder: Holder, ways: Sequence[Way], choice: Choice, cpus: int) -> Station:
    """All that is measured while somebody has a medium."""
    cases = tuple(case(way, cell, choice) for way in ways for cell in cells(medium, way, cpus, choice))
    # Where no instructions are counted, those of timer ticks need not be known.
    spins = () if choice.here else (replace(SPIN, step=cases[0].step),)
    database = sqlite(medium, choice) if holder.is_file_system and cpus < 2 else []
    return Station(holder.value, machine, holder, (*spins, *cases, *database), prepare(holder, choice))


def prepare(holder: Holder, choice: Choice) -> tuple[str, ...]:
    """What is read on this machine has been written before: a drive need not look for what it does not have."""
    size_mib = SHORT_FILE_MIB if choice.short else HERE_MIB if choice.here else FILE_MIB
    if not choice.here:
        return (make_file(size_mib, holder),) if holder.is_file_system else ()
    if holder is Holder.TMPFS:
        # Memory is short on a board: each case has its own file.
        return ()
    return (make_file(size_mib, holder) if holder.is_file_system else fill(size_mib),)


def fill(size_mib: int) -> str:
    """The command of the shell that writes the part of a character disk that is used."""
    return f"dd if=/dev/zero of={{node}} bs=4M count={size_mib // 4} oflag=direct conv=notrunc status=none"


def cells(medium: str, way: Way, cpus: int, choice: Choice) -> Iterator[Cell]:
    """What is measured by one way: with one CPU, or all of this machine, everything; with two, three sizes."""
    chosen = [size for size in SIZES if not choice.short or size.title in SHORT]
    three = [size for size in chosen if size.title in THREE]
    for direction in DIRECTIONS:
        for size in chosen if cpus < 2 else three:
            yield Cell(medium, way.title, direction, SEQUENTIAL, size.size_bytes, cpus)
        if cpus < 2:
            for size in chosen:
                if size.calls > 1:
                    yield Cell(medium, way.title, direction, RANDOM, size.size_bytes, cpus)
        # A profiler takes seconds to start where a CPU is emulated.
        if cpus < 2 and medium == NVME and (not choice.short or (way.title, direction) == (BUFFERED, READ)):
            for size in chosen if choice.here else three:
                yield Cell(medium, way.title, direction, SEQUENTIAL, size.size_bytes, cpus, profiled=True)


def stations_here(choice: Choice) -> Iterator[Station]:
    """On this machine, with all its CPUs; then with the slowest and the fastest clock, then with two CPUs and one."""
    for medium in (NVME, MEMORY):
        for holder, own in by_holder(WAYS[medium]):
            yield station(THIS_MACHINE, medium, holder, own, choice, cpus=0)
    for holder, own in by_holder([way for way in WAYS[NVME] if way.title in CLOCK_WAYS]):
        steps: list[Case | Act] = []
        for clock in (SLOWEST, FASTEST):
            steps.append(Act(clock, "limiting the clock of the CPUs", LimitClock(clock)))
            steps += at_three(own, choice, Cell(clock=clock))
        yield Station(f"{holder.value}, clocks", THIS_MACHINE, holder, tuple(steps), prepare(holder, choice))
    for cpus in FEWER_CPUS:
        keep = Act(f"{cpus} CPU", "taking CPUs off line", KeepCpus(cpus))
        for holder, own in by_holder(WAYS[NVME]):
            cases = at_three(own, choice, Cell(cpus=cpus))
            yield Station(f"{holder.value}, {cpus} CPU", THIS_MACHINE, holder, (keep, *cases), prepare(holder, choice))


def at_three(ways: Sequence[Way], choice: Choice, varied: Cell) -> list[Case]:
    """The three sizes by each way, with something that is varied."""
    titles = set(THREE) & set(SHORT if choice.short else THREE)
    return [
        case(way, replace(varied, way=way.title, direction=direction, size_bytes=size.size_bytes), choice)
        for way in ways
        for direction in DIRECTIONS
        for size in SIZES
        if size.title in titles
    ]
