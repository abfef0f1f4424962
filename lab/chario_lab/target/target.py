# SPDX-License-Identifier: MIT
"""What an experiment asks of a machine, whichever it is.

    target.must("lspci -nn")            run a command
    target.push(program)                make a file of the checkout known there
    target.give(Holder.EXT4)            give the drive to somebody; where it is found then
    target.commands()                   what the drive has served

The drive changes hands as a user changes them: by the program chario.
"""

from __future__ import annotations

import shlex
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from chario_lab.counting.counter import Counter
from chario_lab.guest.job import Result
from chario_lab.progress import Progress
from chario_lab.records import Commands, MachineRecord
from chario_lab.target.place import FOLDER, MAKE, Holder, Place

STEP_LIMIT_S = 600.0
PCI = "/sys/bus/pci/devices"
# The column of /sys/block/*/stat with flush requests that were completed.
BLOCK_STAT_FLUSHES = 15
APPEAR = "for i in $(seq 300); do [ {test} {path} ] && exit; sleep 0.1; done; echo 'no {path} after 30 s' >&2; exit 1"


class TargetError(Exception):
    """The machine cannot do what the experiment needs; the message says what."""


class TargetStuck(TargetError):
    """A program has not ended in time: the machine is not what it was, and figures of it would mislead."""


class Target(ABC):
    """A machine with a drive under test.

    `chario` is the path of the program there; `counter` counts what its processors execute, where
    that can be done.
    """

    counter: Counter | None = None

    def __init__(self, chario: str, progress: Progress) -> None:
        self.chario = chario
        self.progress = progress
        self._holder: Holder | None = None
        self._place = Place(chario)

    @abstractmethod
    def run(self, command: str | Sequence[str], timeout_s: float = STEP_LIMIT_S) -> Result:
        """Run a command to its end, whatever that is."""

    @abstractmethod
    def push(self, source: Path) -> str:
        """Make a file of this machine known there; its path."""

    @abstractmethod
    def program(self, name: str) -> str:
        """A program of the lab there; its path."""

    @abstractmethod
    def read(self, path: str) -> str:
        """The content of a small file there."""

    @abstractmethod
    def write(self, path: str, text: str) -> None:
        """Write to a file that is there, in one call."""

    @abstractmethod
    def learn(self, points: bool) -> None:
        """Tell the counter, if there is one, which functions the kernel has now, and whether points are wanted."""

    @property
    @abstractmethod
    def address(self) -> str:
        """The drive's PCI address."""

    @abstractmethod
    def served(self) -> tuple[int, int]:
        """Reads and writes that the drive has served until now, by its own counters."""

    @abstractmethod
    def describe(self) -> MachineRecord:
        """What figures of this machine are measured on."""

    @abstractmethod
    def complaint(self) -> str:
        """What the kernel has complained of; empty when there is nothing."""

    def must(self, command: str | Sequence[str], timeout_s: float = STEP_LIMIT_S) -> str:
        """Run a command that has to succeed; its output without the last newline."""
        return self.run(command, timeout_s).check().stdout.rstrip("\n")

    # The drive

    def commands(self) -> Commands:
        """What the drive has served until now; flushes, which no drive counts, by the counters of whoever has it."""
        return Commands(*self.served(), self._flushes())

    def _flushes(self) -> int:
        name = self._place.node.rpartition("/")[2]
        if self._holder is Holder.CHARIO:
            return int(self.read(f"/sys/class/chario/{name}/counters/flush_commands"))
        return int(self.read(f"/sys/class/block/{name}/stat").split()[BLOCK_STAT_FLUSHES])

    def give(self, holder: Holder, namespace: int = 0) -> Place:
        """Give the drive to somebody, who uses one of its namespaces; a file system is new.  Where it is found then."""
        self._unmount()
        if holder is Holder.CHARIO:
            if self._holder is not Holder.CHARIO:
                self._bind()
        else:
            if self._holder is Holder.CHARIO:
                self._unbind()
            self._find_block_device()
        self._place = replace(self._place, namespace=namespace)
        if holder.is_file_system:
            self._mount(holder)
        self._holder = holder
        return self._place

    @property
    def place(self) -> Place:
        """Where the drive is found now."""
        return self._place

    def _bind(self) -> None:
        self._find_block_device()
        with self.progress.step(f"giving the drive to CharIO: chario bind {self.address}"):
            said = self.must([self.chario, "bind", self.address])
        self.progress.show(said)
        names = self.must(f"ls {PCI}/{self.address}/chario").split()
        nodes = tuple(f"/dev/{name}" for name in sorted(names, key=lambda name: (len(name), name)))
        self._place = Place(self.chario, nodes)

    def _unbind(self) -> None:
        with self.progress.step(f"giving the drive back: chario unbind {self.address}"):
            said = self.must([self.chario, "unbind", self.address])
        self.progress.show(said)

    def _find_block_device(self) -> None:
        controller = f"{PCI}/{self.address}/nvme"
        self.must(f"modprobe nvme; {APPEAR.format(test='-e', path=f'{controller}/nvme*/nvme*n1')}")
        paths = self.must(f"ls -d {controller}/nvme*/nvme*n[0-9]* {controller}/nvme*/ng*n[0-9]* 2>/dev/null; :").split()
        names = sorted(path.rpartition("/")[2] for path in paths)
        blocks = [f"/dev/{name}" for name in names if name.startswith("nvme")]
        generics = [f"/dev/{name}" for name in names if name.startswith("ng")]
        self.must(APPEAR.format(test="-b", path=blocks[0]))
        self._place = Place(self.chario, tuple(blocks), tuple(generics))

    def _mount(self, holder: Holder) -> None:
        self.must(MAKE[holder].format(node=shlex.quote(self._place.node)))
        self._place = replace(self._place, folder=FOLDER)

    def _unmount(self) -> None:
        if self._holder is not None and self._holder.is_file_system:
            self.must(f"umount {FOLDER}")
