# SPDX-License-Identifier: MIT
"""Power cuts of a drive with a volatile write cache, made from a log of its writes.

A machine that is killed keeps all that QEMU has written to the drive's file, durable or not.  The
log of a WriteLog backing has every write in the order in which the drive has done them, and every
flush, so the medium that a power cut leaves can be built anew for any moment: it has what was
written before the last flush, each later write with FUA, and of the other later writes any.

QEMU ignores FUA, and its log has no such flag: which writes were to be durable is read from the
submission queues, see entries.py.
"""

from __future__ import annotations

import bisect
import os
import random
import struct
import subprocess
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from entries import WRITE, WRITE_ZEROES, Overwritten, Submissions

from chario_lab.guest.job import Job
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Nvme, node_name, write_log_path

# The format of dm-log-writes: one sector of superblock, then entries of a sector and their data.
SECTOR, HEADER, LOG_FLUSH, DISCARD = 512, struct.Struct("<QQQQ"), 1, 4


@dataclass(frozen=True)
class Logged:
    """A write, discard or flush of the log: its bytes on the medium, and where the log has their data."""

    first: int
    length: int
    flags: int
    data: int

    @property
    def is_write(self) -> bool:
        """Whether the log has data of it."""
        return not self.flags

    @property
    def end(self) -> int:
        """Where the next entry begins in the log."""
        return self.data + (0 if self.flags & DISCARD else self.length)


def read_log(path: Path) -> list[Logged]:
    """All that has reached the medium, in order.

    The count in the superblock is not used: it is as old as the last flush.  The log of a killed
    QEMU is read up to the first entry that is not whole.
    """
    entries: list[Logged] = []
    with path.open("rb") as log:
        size, place = os.fstat(log.fileno()).st_size, SECTOR
        while place + SECTOR <= size:
            log.seek(place)
            sector, count, flags, _ = HEADER.unpack(log.read(HEADER.size))
            entry = Logged(sector * SECTOR, count * SECTOR, flags, place + SECTOR)
            if entry.end > size or not (count or flags):
                break
            entries.append(entry)
            place = entry.end
    return entries


@dataclass(frozen=True)
class Look:
    """How many bytes the log had at a moment, and how many lines each file of acknowledgements had just before."""

    log_bytes: int
    told: tuple[int, ...]


class Witness:
    """Looks at the only drive of a guest, from its next binding on, until the machine is killed.

    `told` are files to which programs of the guest append a line for each thing that is durable.
    """

    def __init__(self, guest: Guest, told: Sequence[Path]) -> None:
        self._guest = guest
        self._told = told
        self._submissions = Submissions(guest)
        self._log = write_log_path(node_name(0), guest.host.run_dir)
        (drive,) = guest.spec.drives
        assert isinstance(drive, Nvme)
        self._block_bytes = drive.namespaces[0].lba_bytes
        self._fetched: defaultdict[tuple[int, int], deque[bool]] = defaultdict(deque)
        self._looks: list[Look] = []

    def look(self) -> Look:
        """Look once; queues are read anew before the drive has used all of their entries again."""
        # The order matters: what is acknowledged is in the log, and what is in the log has been fetched.
        told = tuple(path.read_bytes().count(b"\n") if path.exists() else 0 for path in self._told)
        look = Look(self._log.stat().st_size, told)
        for entry in self._submissions.fetched():
            if entry.opcode in (WRITE, WRITE_ZEROES):
                place = (entry.first_block * self._block_bytes, entry.blocks * self._block_bytes)
                self._fetched[place].append(entry.fua)
        self._looks.append(look)
        return look

    def must(self, command: str, limit_s: float) -> None:
        """Run a command that has to succeed, and look meanwhile."""
        self.wait(self._guest.start(command, limit_s))

    def wait(self, job: Job) -> None:
        """Look until a job has ended, which has to succeed."""
        self.look_while(lambda _: not job.poll())
        job.wait().check()

    def look_while(self, condition: Callable[[Look], bool], jobs: Iterable[Job] = ()) -> None:
        """Look while a condition holds; the jobs must not end meanwhile."""
        while condition(self.look()):
            for job in jobs:
                ended = job.poll()
                assert ended is None, ended.describe()

    def look_for(self, seconds: float, jobs: Iterable[Job]) -> None:
        """Look for some time; the jobs must not end meanwhile."""
        end = time.monotonic() + seconds
        self.look_while(lambda _: time.monotonic() < end, jobs)

    def history(self) -> History:
        """What has been seen up to the last look."""
        seen = self._looks[-1].log_bytes
        entries = [entry for entry in read_log(self._log) if entry.end <= seen]
        durable = [entry.is_write and self._was_durable(entry) for entry in entries]
        return History(self._log, entries, durable, self._looks)

    def _was_durable(self, entry: Logged) -> bool:
        """Whether the command of a write had FUA."""
        fetched = self._fetched[entry.first, entry.length]
        if not fetched:
            raise Overwritten(f"the queue entry of {entry} was overwritten before it could be read")
        return fetched.popleft()


@dataclass(frozen=True)
class History:
    """The log of a drive, which of its entries are writes with FUA, and what was acknowledged when."""

    log: Path
    entries: list[Logged]
    durable: list[bool]
    looks: list[Look]

    def told(self, count: int) -> tuple[int, ...]:
        """How many lines of each file the guest had certainly told when the log had this number of entries."""
        end = self.entries[count - 1].end
        return [look for look in self.looks if look.log_bytes <= end][-1].told

    def count(self, log_bytes: int) -> int:
        """How many entries the log had when it had so many bytes."""
        return bisect.bisect_right(self.entries, log_bytes, key=lambda entry: entry.end)

    def flushes(self, since: int) -> list[int]:
        """The numbers of entries that the log had just after each flush, since it had some number."""
        return [count for count, entry in enumerate(self.entries, start=1) if count > since and entry.flags & LOG_FLUSH]

    def looked(self, since: int) -> list[int]:
        """The numbers of entries that the log had at each look: what was acknowledged is known best there."""
        return sorted({count for look in self.looks if (count := self.count(look.log_bytes)) > since})


class Part:
    """A range of the medium after power cuts, one after another in their order."""

    def __init__(self, history: History, first: int, length: int, path: Path) -> None:
        self._history = history
        self._first, self._length = first, length
        self._path = path
        self._done = 0
        path.touch()
        os.truncate(path, length)

    def cut(self, count: int, dice: random.Random, copy: Path) -> None:
        """Write to a file what the power cut leaves that comes when the log has `count` entries.

        Of the writes that may be lost, all are, or none, or some.
        """
        history, share = self._history, dice.choice((0.0, 0.5, 1.0))
        flushed = max((number for number in history.flushes(self._done) if number <= count), default=self._done)
        self._apply(self._path, history.entries[self._done : flushed])
        self._done = flushed
        subprocess.run(["cp", "--reflink=auto", "--sparse=always", self._path, copy], check=True)
        later = zip(history.entries[flushed:count], history.durable[flushed:count], strict=True)
        self._apply(copy, [entry for entry, durable in later if durable or dice.random() < share])

    def _apply(self, path: Path, entries: Iterable[Logged]) -> None:
        """Repeat writes.  A discard promises nothing: what it was for stays as it is."""
        with path.open("r+b") as image, self._history.log.open("rb") as log:
            for entry in entries:
                if entry.is_write:
                    self._repeat(image, log, entry)

    def _repeat(self, image: BinaryIO, log: BinaryIO, entry: Logged) -> None:
        """Repeat what a write does to this range."""
        first = max(entry.first, self._first)
        end = min(entry.first + entry.length, self._first + self._length)
        if first < end:
            data = os.pread(log.fileno(), end - first, entry.data + first - entry.first)
            os.pwrite(image.fileno(), data, first - self._first)
