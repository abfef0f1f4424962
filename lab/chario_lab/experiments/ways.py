# SPDX-License-Identifier: MIT
"""The ways by which a program moves data to and from a drive, as the papers compare them."""

from collections.abc import Sequence
from dataclasses import dataclass

from chario_lab.target.need import Need
from chario_lab.target.place import Holder

KIB, MIB = 1 << 10, 1 << 20
READ, WRITE = "read", "write"
DIRECTIONS = (READ, WRITE)
# What guests boot with.  With multipath each request would pass the block layer twice; with groups of the scheduler its
# work would depend on the session in which the guest's agent was started.
QUIET = "nvme_core.multipath=N noautogroup"
LATE, STALL, FREE = "late", "stall", "free"
# Where calls of any size begin: at no block, and at no word.
SKEW_BYTES = 100
# A polled request of Linux 6.1 must not be larger than a command, and a command of the
# passthrough must not be larger than the drive takes.
PIECE_BYTES = 128 * KIB
FILE = "{folder}/file"
POLL_QUEUES = Need(
    "test $(cat /sys/module/nvme/parameters/poll_queues) -gt 0",
    "queues that Linux polls: start it with nvme.poll_queues=1",
)
GENERIC = Need("test -c {generic}", "a node for commands of NVMe, /dev/ngXnY")
WINDOW = Need(
    "grep -q 0x /sys/module/chario/parameters/windows",
    "memory that Linux leaves alone: hide 16 MiB by memmap=, and load chario with windows=",
)


@dataclass(frozen=True)
class Way:
    """A way to the drive, and the calls of lab/bench/calls.c by which data is read and written.

    `speed` says when the drive answers: LATE, when the CPU has nothing else to do; STALL, before the caller looks;
    FREE, as it happens.  `paper` is the row of the paper.
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
    needs: Need | None = None

    @property
    def is_chario(self) -> bool:
        """Whether CharIO has the drive."""
        return self.holder is Holder.CHARIO

    def words(
        self, direction: str, size_bytes: int, calls: int, options: Sequence[str] = (), pages: str = "joined"
    ) -> tuple[str, ...]:
        """What lab/bench/bench.c is told for calls of a size."""
        name = self.calls[DIRECTIONS.index(direction)]
        cut = (f"piece={PIECE_BYTES}",) if self.pieces and size_bytes > PIECE_BYTES else ()
        target = self.target(direction, size_bytes)
        return (name, target, str(size_bytes), pages, self.speed, str(calls), *self.options, *cut, *options)

    def target(self, direction: str, size_bytes: int) -> str:
        """What is read and written; who records, writes to a new file, whose blocks are not allocated yet."""
        if self.holder.is_file_system:
            return f"{{folder}}/{size_bytes}" if direction == WRITE else FILE
        return "{generic}" if self.generic else "{node}"

    def tidy(self, direction: str, size_bytes: int) -> str:
        """The command of the shell that removes what was written."""
        return (
            f"rm -f {self.target(direction, size_bytes)}" if self.holder.is_file_system and direction == WRITE else ""
        )


def chario(title: str, calls: tuple[str, str] = ("pread", "pwrite"), **fields: object) -> Way:
    """A way of CharIO: how it completes, whether it takes any size, and how it is opened."""
    opened = f"open={fields.pop('opened', 'direct,sync')}"
    polled = bool(fields.pop("polled", False))
    any_size = bool(fields.pop("any_size", False))
    attributes = "/sys/class/chario/{name}"
    settings = (
        (f"{attributes}/completion", "poll" if polled else "irq"),
        (f"{attributes}/any_size", str(int(any_size))),
    )
    options = (opened, f"skew={SKEW_BYTES}") if any_size else (opened,)
    speed = STALL if polled else LATE
    return Way(title, Holder.CHARIO, calls, speed, options, settings, **fields)  # type: ignore[arg-type]


def buffered(title: str, holder: Holder, paper: str = "") -> Way:
    """Through the page cache; writes are durable when they return, as in the paper."""
    return Way(title, holder, ("pread", "pwrite"), LATE, ("open=sync",), paper=paper)


def direct(title: str, holder: Holder, paper: str = "") -> Way:
    """With O_DIRECT and O_SYNC, as in the paper."""
    return Way(title, holder, ("pread", "pwrite"), LATE, ("open=direct,sync",), paper=paper)


def both(title: str, holder: Holder, papers: tuple[str, str] = ("", "")) -> tuple[Way, Way]:
    """Through the page cache, and without."""
    return buffered(title, holder, papers[0]), direct(f"{title}, direct", holder, papers[1])


def ring(title: str, calls: tuple[str, str], speed: str = LATE, *, pieces: bool = False, generic: bool = False) -> Way:
    """By io_uring, with registered memory and files, on the block device or the node for commands of NVMe."""
    # A node for commands knows no O_DIRECT.
    opened = "open=sync" if generic else "open=direct,sync"
    needs = POLL_QUEUES if speed == STALL else GENERIC if generic else None
    return Way(title, Holder.BLOCK, calls, speed, (opened,), pieces=pieces, generic=generic, needs=needs)


def make_file(size_mib: int, holder: Holder = Holder.EXT4) -> str:
    """The command of the shell that makes the file that is read, all of whose blocks are written."""
    direct = "" if holder is Holder.TMPFS else " oflag=direct"
    return f"dd if=/dev/zero of={FILE} bs=4M count={size_mib // 4}{direct} status=none && sync"
