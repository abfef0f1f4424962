# SPDX-License-Identifier: MIT
"""Direct, sequential, synchronous calls of four sizes: on ext4, on XFS and on the bare disk, by NVMe and by AHCI."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from chario_lab.experiment.plan import SPIN, Act, Case, Plan, Station
from chario_lab.experiment.spec import Choice
from chario_lab.experiments.layers.methods import INSTALL, PROBED, TRACED, probed, traced
from chario_lab.experiments.ways import KIB, LATE, MIB, QUIET, READ, WRITE, make_file
from chario_lab.guest.spec import AhciDisk, Drive, GuestSpec, Namespace, Nvme
from chario_lab.target.machine import THIS_MACHINE, Machine
from chario_lab.target.place import Holder

DRIVE_MIB = 2048
NVME, SATA = "NVMe SSD", "SATA disk"
DRIVES: dict[str, Drive] = {NVME: Nvme("layers", (Namespace(DRIVE_MIB),)), SATA: AhciDisk("layers", DRIVE_MIB)}
# What Linux chooses by itself for a drive of many queues, and for one of a single queue.
SCHEDULERS = {NVME: "none", SATA: "mq-deadline"}
WAYS = {"ext4": Holder.EXT4, "XFS": Holder.XFS, "raw": Holder.BLOCK}
# A write to a file that is only preallocated: the file system notes which blocks now hold data.
UNWRITTEN = "first write"
DIRECTIONS = (READ, WRITE, UNWRITTEN)
FILE_MIB, SHORT_FILE_MIB = 1024, 32
WARM = 1


@dataclass(frozen=True)
class Size:
    """Calls of one size, and how many are counted, in the short form none of some; how many are traced, if any."""

    title: str
    size_bytes: int
    calls: int
    short_calls: int
    traced_calls: int = 0


SIZES = (
    Size("4 KiB", 4 * KIB, 256, 16),
    Size("64 KiB", 64 * KIB, 128, 0, traced_calls=8),
    Size("1 MiB", MIB, 32, 0),
    Size("10 MiB", 10 * MIB, 8, 2, traced_calls=1),
)


@dataclass(frozen=True)
class Cell:
    """What one case is, in words that its name in records is made of."""

    medium: str
    way: str
    direction: str
    size: Size

    def __str__(self) -> str:
        """What a human calls it."""
        return f"{self.medium} {self.way} {self.direction} {self.size.title}"

    @property
    def key(self) -> str:
        """What the case is called in records."""
        return f"{self.medium}/{self.way}/{self.direction}/{self.size.size_bytes}"

    def key_by(self, method: str) -> str:
        """What the same is called when it is measured by a method of the field."""
        return f"{self.key}/{method}"

    @property
    def path(self) -> str:
        """What is read and written."""
        if WAYS[self.way] is Holder.BLOCK:
            return "{node}"
        return "{folder}/unwritten" if self.direction == UNWRITTEN else "{folder}/file"


def plan(choice: Choice) -> Plan:
    """Each medium on a machine of its own, on each kernel; this machine has one drive."""
    if choice.here:
        return [station(THIS_MACHINE, NVME, way, choice) for way in WAYS]
    return [
        station(guest(kernel, medium), medium, way, choice)
        for kernel in choice.kernels for medium in DRIVES for way in WAYS
    ]  # fmt: skip


def guest(kernel: str, medium: str) -> Machine:
    """A guest with one CPU."""
    return Machine(f"{kernel}, {medium}", GuestSpec(kernel, (DRIVES[medium],), cpus=1, append=QUIET))


def station(machine: Machine, medium: str, way: str, choice: Choice) -> Station:
    """All that is measured of one way to a medium."""
    short = choice.short
    steps = in_field(medium, way, choice)
    if not choice.here:
        cases = [case(cell, short) for cell in cells(medium, way, short)]
        steps = [replace(SPIN, step=cases[0].step), *cases, *steps]
    prepare = [f"echo {SCHEDULERS[medium]} >/sys/block/{{name}}/queue/scheduler"]
    prepare += [make_file(SHORT_FILE_MIB if short else FILE_MIB)] if WAYS[way].is_file_system else []
    return Station(way, machine, WAYS[way], tuple(steps), tuple(prepare))


def cells(medium: str, way: str, short: bool) -> Iterator[Cell]:
    """All directions and sizes; a disk without a file system has no unwritten files."""
    sizes = [size for size in SIZES if size.short_calls or not short]
    for direction in DIRECTIONS:
        if direction != UNWRITTEN or WAYS[way].is_file_system:
            yield from (Cell(medium, way, direction, size) for size in sizes)


def in_field(medium: str, way: str, choice: Choice) -> list[Case | Act]:
    """What is measured as in the field: a small and a large size, in guests on the paper's file systems.

    Where nothing counts, the same calls are timed without a tracer.
    """
    found: list[Case | Act] = []
    for cell in cells(medium, way, choice.short):
        calls = cell.size.traced_calls
        if not calls or cell.direction == UNWRITTEN or not (choice.here or WAYS[way].is_file_system):
            continue
        # A tracer takes long to begin.
        if not choice.short or (medium, way, cell.direction, cell.size) == (NVME, "ext4", READ, SIZES[-1]):
            plain = case(cell, choice.short)
            found += [plain] if choice.here else []
            found += [probed(cell.key_by(PROBED), plain), traced(cell.key_by(TRACED), plain, calls)]
    return [INSTALL, *found] if found else []


def case(cell: Cell, short: bool) -> Case:
    """Calls one behind the other; the caller always sleeps until the drive has answered."""
    calls = cell.size.short_calls if short else cell.size.calls
    span_mib = SHORT_FILE_MIB if short else FILE_MIB
    call = "pread" if cell.direction == READ else "pwrite"
    options = ("open=direct", "order=sequential", f"span={span_mib * MIB}", f"warm={WARM}")
    unwritten = cell.direction == UNWRITTEN
    return Case(
        cell.key,
        f"{cell.medium}, {cell.way}, {cell.direction} {cell.size.title}",
        (call, cell.path, str(cell.size.size_bytes), "scattered", LATE, str(calls), *options),
        operations=calls,
        call_bytes=cell.size.size_bytes,
        warm_calls=WARM,
        step=f"measuring: {cell.medium}, {cell.way}",
        cold=True,
        before=f"fallocate -l {(WARM + calls) * cell.size.size_bytes} {cell.path}" if unwritten else "",
        after=f"rm {cell.path}" if unwritten else "",
    )
