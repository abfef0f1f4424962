# SPDX-License-Identifier: MIT
"""Sequential reads and writes by each way to one drive."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby

from chario_lab.experiment.plan import SPIN, Case, Plan, Station
from chario_lab.experiment.spec import Choice
from chario_lab.guest.spec import GuestSpec, Namespace, NullCo, Nvme
from chario_lab.target.machine import Machine
from chario_lab.target.place import Holder

KIB, MIB = 1 << 10, 1 << 20
READ, WRITE = "read", "write"
DIRECTIONS = (READ, WRITE)
# The first namespace has no medium: behind one, a polled drive would have to be waited for, and what the
# CPU does does not depend on it.  The second keeps file systems.
DRIVE = Nvme("table1", (Namespace(1024, 4096, backing=NullCo()), Namespace(1024, 4096)))
RAW, KEPT = range(2)
# Memory that Linux leaves alone, for transfers to a physical address.
HIDDEN, HIDDEN_MIB = 0x3000_0000, 32
APPEND = f"memmap={HIDDEN_MIB}M${HIDDEN:#x} nvme.poll_queues=1 nvme_core.multipath=N"
FILE_MIB = 192
# A polled request of Linux 6.1 must not be larger than a command, and a command of the
# passthrough must not be larger than the drive takes.
PIECE_BYTES = 128 * KIB
LATE, STALL, FREE = "late", "stall", "free"
# Where calls of any size begin: at no block, and at no word.
SKEW_BYTES = 100


@dataclass(frozen=True)
class Size:
    """Calls of one size: how many are counted, and how many come before."""

    title: str
    size_bytes: int
    calls: int
    short_calls: int
    warm: int


SIZES = (
    Size("4 KiB", 4 * KIB, 1024, 64, 4),
    Size("128 KiB", 128 * KIB, 128, 16, 4),
    Size("1 MiB", MIB, 32, 8, 4),
    Size("16 MiB", 16 * MIB, 6, 2, 1),
)


@dataclass(frozen=True)
class Path:
    """A way to the drive, and the calls of lab/bench/calls.c by which data is read and written.

    `speed` says when the drive answers: LATE, when the caller sleeps; STALL, before the caller looks; FREE, as
    it happens, where what a call costs does not depend on it alone.  `paper` is the row of the paper.
    """

    title: str
    holder: Holder
    calls: tuple[str, str]
    speed: str = LATE
    options: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    pieces: bool = False
    generic: bool = False
    paper: str = ""

    @property
    def is_chario(self) -> bool:
        """Whether CharIO has the drive."""
        return self.holder is Holder.CHARIO


def chario(title: str, calls: tuple[str, str] = ("pread", "pwrite"), **fields: object) -> Path:
    """A way of CharIO: how it completes, and whether it takes any size."""
    polled = bool(fields.pop("polled", False))
    any_size = bool(fields.pop("any_size", False))
    attributes = "/sys/class/chario/{name}"
    settings = (
        (f"{attributes}/completion", "poll" if polled else "irq"),
        (f"{attributes}/any_size", str(int(any_size))),
    )
    options = ("open=direct,sync", f"skew={SKEW_BYTES}") if any_size else ("open=direct,sync",)
    speed = STALL if polled else LATE
    return Path(title, Holder.CHARIO, calls, speed, options, settings, **fields)  # type: ignore[arg-type]


def buffered(title: str, holder: Holder, paper: str = "") -> Path:
    """Through the page cache; writes are durable when they return, as in the paper."""
    return Path(title, holder, ("pread", "pwrite"), FREE, ("open=sync",), paper=paper)


def direct(title: str, holder: Holder, paper: str = "") -> Path:
    """With O_DIRECT and O_SYNC, as in the paper."""
    return Path(title, holder, ("pread", "pwrite"), LATE, ("open=direct,sync",), paper=paper)


def ring(title: str, calls: tuple[str, str], speed: str = LATE, *, pieces: bool = False, generic: bool = False) -> Path:
    """By io_uring, with registered memory and files, on the block device or the node for commands of NVMe."""
    # A node for commands knows no O_DIRECT.
    opened = "open=sync" if generic else "open=direct,sync"
    return Path(title, Holder.BLOCK, calls, speed, (opened,), pieces=pieces, generic=generic)


CHARIO = "CharIO"
PATHS = (
    chario(CHARIO, paper="CharIO"),
    chario("CharIO, polled", polled=True),
    chario("CharIO, registered memory", ("transfer", "transfer-write")),
    chario("CharIO, physical window", ("transfer-window", "transfer-window-write")),
    chario("CharIO, any size", any_size=True),
    buffered("block device", Holder.BLOCK, "Block device"),
    direct("block device, direct", Holder.BLOCK, "Block device (direct I/O)"),
    ring("io_uring, fixed buffers", ("uring-read", "uring-write")),
    ring("io_uring, fixed buffers, polled", ("uring-read-poll", "uring-write-poll"), STALL, pieces=True),
    ring("passthrough", ("uring-pass", "uring-pass-write"), pieces=True, generic=True),
    ring("passthrough, polled", ("uring-pass-poll", "uring-pass-write-poll"), STALL, pieces=True, generic=True),
    buffered("ext4", Holder.EXT4, "ext4"),
    direct("ext4, direct", Holder.EXT4, "ext4 (direct I/O)"),
    buffered("XFS", Holder.XFS),
    direct("XFS, direct", Holder.XFS),
    buffered("F2FS", Holder.F2FS),
    direct("F2FS, direct", Holder.F2FS),
)


def plan(choice: Choice) -> Plan:
    """Who has the drive, one after the other; on each kernel."""
    return [station for kernel in choice.kernels for station in stations(kernel, choice.short)]


def stations(kernel: str, short: bool) -> list[Station]:
    """All ways of each holder of the drive."""
    spec = GuestSpec(kernel=kernel, drives=(DRIVE,), cpus=1, append=APPEND)
    machine = Machine(kernel, spec, f"windows={HIDDEN:#x}+{HIDDEN_MIB}M")
    found = []
    for holder, paths in groupby(PATHS, key=lambda path: path.holder):
        cases = tuple(
            case(path, direction, size, short) for path in paths for direction in DIRECTIONS for size in SIZES
        )
        spin = replace(SPIN, step=cases[0].step)
        namespace = KEPT if holder.is_file_system else RAW
        found.append(Station(holder.value, machine, holder, (spin, *cases), prepare(holder), namespace))
    return found


def prepare(holder: Holder) -> tuple[str, ...]:
    """A file whose blocks are all written; a disk has no scheduler, as with more than one queue."""
    if holder.is_file_system:
        return (f"dd if=/dev/zero of={{folder}}/file bs=4M count={FILE_MIB // 4} oflag=direct status=none; sync",)
    return () if holder is Holder.CHARIO else ("echo none >/sys/block/{name}/queue/scheduler",)


def case(path: Path, direction: str, size: Size, short: bool) -> Case:
    """A series of calls, one behind the other, each counted."""
    calls = size.short_calls if short else size.calls
    node = "{folder}/file" if path.holder.is_file_system else "{generic}" if path.generic else "{node}"
    # Recording to a new file allocates its blocks.
    if path.holder.is_file_system and direction == WRITE:
        node = f"{{folder}}/{size.size_bytes}"
    options = [*path.options, "order=sequential", f"span={FILE_MIB * MIB}", f"warm={size.warm}"]
    if path.pieces and size.size_bytes > PIECE_BYTES:
        options.append(f"piece={PIECE_BYTES}")
    words = (path.calls[DIRECTIONS.index(direction)], node, str(size.size_bytes), "joined", path.speed, str(calls))
    return Case(
        key(path, direction, size),
        f"{path.title}, {direction} {size.title}",
        (*words, *options),
        operations=calls,
        call_bytes=size.size_bytes,
        warm_calls=size.warm,
        step=f"measuring: {path.title}",
        cold=True,
        settings=path.settings,
        after=f"rm -f {node}" if path.holder.is_file_system and direction == WRITE else "",
    )


def key(path: Path, direction: str, size: Size) -> str:
    """What a case is called in records."""
    return f"{path.title}/{direction}/{size.size_bytes}"
