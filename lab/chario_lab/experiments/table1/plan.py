# SPDX-License-Identifier: MIT
"""Sequential reads and writes by each way to one drive."""

from dataclasses import dataclass, replace
from itertools import groupby

from chario_lab.experiment.plan import SPIN, Case, Plan, Station
from chario_lab.experiment.spec import Choice
from chario_lab.experiments.ways import DIRECTIONS, KIB, MIB, QUIET, STALL, WINDOW, Way, both, chario, make_file, ring
from chario_lab.guest.spec import GuestSpec, Namespace, NullCo, Nvme
from chario_lab.target.machine import Machine
from chario_lab.target.place import Holder

# The first namespace has no medium, for what polls: behind one the drive would have to be waited for, and what
# the CPU does for a call does not depend on it.  All else is measured on the second.
DRIVE = Nvme("table1", (Namespace(1024, 4096, backing=NullCo()), Namespace(1024, 4096)))
RAW, KEPT = range(2)
# Memory that Linux leaves alone, for transfers to a physical address.
HIDDEN, HIDDEN_MIB = 0x3000_0000, 32
APPEND = f"memmap={HIDDEN_MIB}M${HIDDEN:#x} nvme.poll_queues=1 {QUIET}"
GUEST = GuestSpec(drives=(DRIVE,), cpus=1, append=APPEND)
WINDOWS = f"windows={HIDDEN:#x}+{HIDDEN_MIB}M"
# The part of the disk that is used, and the size of files.  A buffered read must not come to the beginning again, which
# would be in memory: on this machine calls move HERE_MIB, which take 4 s at 1 GB/s.
FILE_MIB = 192
HERE_MIB = 4096
HERE_FILE_MIB = HERE_MIB + 64


@dataclass(frozen=True)
class Size:
    """Calls of one size: how many are counted, and how many come before.

    `calls` are counted in a guest, and calls that move `here_mib` are timed on this machine; in the short form there
    are `short_calls`, of some sizes none.
    """

    title: str
    size_bytes: int
    calls: int
    short_calls: int
    warm: int
    here_mib: int = HERE_MIB

    def number_for(self, choice: Choice) -> int:
        """How many calls are measured."""
        if choice.short:
            return self.short_calls
        return self.here_mib * MIB // self.size_bytes if choice.here else self.calls


# Small calls take longer: where each write waits for the medium, 256 MiB take a minute and more.
SIZES = (
    Size("4 KiB", 4 * KIB, 1024, 64, 4, here_mib=256),
    Size("128 KiB", 128 * KIB, 128, 0, 4),
    Size("1 MiB", MIB, 32, 8, 4),
    Size("16 MiB", 16 * MIB, 6, 0, 1),
)

CHARIO = "CharIO"
WAYS = (
    chario(CHARIO, paper="CharIO"),
    chario("CharIO, registered memory", ("transfer", "transfer-write")),
    chario("CharIO, physical window", ("transfer-window", "transfer-window-write"), needs=WINDOW),
    chario("CharIO, any size", any_size=True),
    chario("CharIO, polled", polled=True),
    *both("block device", Holder.BLOCK, ("Block device", "Block device (direct I/O)")),
    ring("io_uring, fixed buffers", ("uring-read", "uring-write")),
    ring("passthrough", ("uring-pass", "uring-pass-write"), pieces=True, generic=True),
    ring("io_uring, fixed buffers, polled", ("uring-read-poll", "uring-write-poll"), STALL, pieces=True),
    ring("passthrough, polled", ("uring-pass-poll", "uring-pass-write-poll"), STALL, pieces=True, generic=True),
    *both("ext4", Holder.EXT4, ("ext4", "ext4 (direct I/O)")),
    *both("XFS", Holder.XFS),
    *both("F2FS", Holder.F2FS),
)


def plan(choice: Choice) -> Plan:
    """Who has the drive, one after the other; on each machine."""
    return [station for machine in choice.machines(GUEST, WINDOWS) for station in stations(machine, choice)]


def stations(machine: Machine, choice: Choice) -> list[Station]:
    """All ways of each holder of the drive."""
    found = []
    for (holder, polled), ways in groupby(WAYS, key=lambda way: (way.holder, way.speed == STALL)):
        cases = tuple(
            case(way, direction, size, choice)
            for way in ways
            for direction in DIRECTIONS
            for size in SIZES
            if size.number_for(choice)
        )
        # Where no instructions are counted, those of timer ticks need not be known.
        spins = () if choice.here else (replace(SPIN, step=cases[0].step),)
        namespace = RAW if polled or choice.here else KEPT
        name = f"{holder.value}, polled" if polled else holder.value
        found.append(Station(name, machine, holder, (*spins, *cases), prepare(holder, choice), namespace))
    return found


def file_mib(choice: Choice) -> int:
    """How much of the disk is used."""
    return HERE_FILE_MIB if choice.here and not choice.short else FILE_MIB


def prepare(holder: Holder, choice: Choice) -> tuple[str, ...]:
    """A file whose blocks are all written; a disk has no scheduler, as with more than one queue."""
    if holder.is_file_system:
        return (make_file(file_mib(choice)),)
    return () if holder is Holder.CHARIO else ("echo none >/sys/block/{name}/queue/scheduler",)


def case(way: Way, direction: str, size: Size, choice: Choice) -> Case:
    """A series of calls, one behind the other, each counted."""
    calls = size.number_for(choice)
    options = ("order=sequential", f"span={file_mib(choice) * MIB}", f"warm={size.warm}")
    return Case(
        key(way, direction, size),
        f"{way.title}, {direction} {size.title}",
        way.words(direction, size.size_bytes, calls, options),
        operations=calls,
        call_bytes=size.size_bytes,
        warm_calls=size.warm,
        step=f"measuring: {way.title}",
        cold=True,
        settings=way.settings,
        after=way.tidy(direction, size.size_bytes),
        needs=(way.needs,) if way.needs else (),
    )


def key(way: Way, direction: str, size: Size) -> str:
    """What a case is called in records."""
    return f"{way.title}/{direction}/{size.size_bytes}"
