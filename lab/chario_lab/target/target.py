# SPDX-License-Identifier: MIT
"""What an experiment asks of a machine, whichever it is.

    target.must("lspci -nn")            run a command
    target.push(program)                make a file of the checkout known there
    target.give(Holder.EXT4)            give the drive to somebody; where it is found then
    target.commands()                   what the drive has served

The drive changes hands as a user changes them: by the program chario.
"""

import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from chario_lab.counting.counter import Counter
from chario_lab.guest.job import Result
from chario_lab.progress import Progress
from chario_lab.records import Commands, MachineRecord
from chario_lab.target.energy import Energy
from chario_lab.target.machine import Machine
from chario_lab.target.place import FOLDER, MAKE, WORK, Holder, Place

STEP_LIMIT_S = 600.0
PCI = "/sys/bus/pci/devices"
# The column of /sys/block/*/stat with flush requests that were completed.
BLOCK_STAT_FLUSHES = 15
APPEAR = """
for i in $(seq 300); do set -- {path}; [ {test} "$1" ] && [ $# -ge {least} ] && exit; sleep 0.1; done
echo 'no {path} after 30 s' >&2; exit 1"""
# A path to a namespace that several controllers may show has this in its name.
PATH_PART = re.compile(r"c\d+(?=n\d+$)")


class TargetError(Exception):
    """The machine cannot do what the experiment needs; the message says what."""


class TargetStuck(TargetError):
    """A program has not ended in time: the machine is not what it was, and figures of it would mislead."""


class Target(ABC):
    """A machine with a drive under test.

    `chario` is the path of the program there; `counter` counts what its processors execute, where
    that can be done.  File systems are mounted in `folder`; `work` is a folder in memory for what is
    needed meanwhile.
    """

    counter: Counter | None = None
    nr_namespaces = 1  # that the drive has at least
    folder: str = FOLDER
    work: str = WORK

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

    def energy(self) -> Energy | None:
        """What the processors have used until now, where that is counted."""
        return None

    def must(self, command: str | Sequence[str], timeout_s: float = STEP_LIMIT_S) -> str:
        """Run a command that has to succeed; its output without the last newline."""
        return self.run(command, timeout_s).check().stdout.rstrip("\n")

    # The drive

    def commands(self) -> Commands:
        """What the drive has served until now; flushes, which no drive counts, by the counters of whoever has it."""
        names = [node.rpartition("/")[2] for node in self._place.nodes]
        if self._holder is Holder.CHARIO:
            flushes = [self.read(f"/sys/class/chario/{name}/counters/flush_commands") for name in names]
        else:
            flushes = [self.read(f"/sys/class/block/{name}/stat").split()[BLOCK_STAT_FLUSHES] for name in names]
        return Commands(*self.served(), sum(map(int, flushes)))

    def give(self, holder: Holder, namespace: int = 0) -> Place:
        """Give the drive to somebody, who uses one of its namespaces; a file system is new.  Where it is found then."""
        if self._holder is not None and self._holder.is_file_system:
            self.must(f"umount {self.folder}")
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
        self._find_chario_disks()

    def _find_chario_disks(self) -> None:
        names = self.must(f"ls {PCI}/{self.address}/chario").split()
        self._place = Place(self.chario, tuple(f"/dev/{name}" for name in in_order(names)), work=self.work)

    def _unbind(self) -> None:
        with self.progress.step(f"giving the drive back: chario unbind {self.address}"):
            said = self.must([self.chario, "unbind", self.address])
        self.progress.show(said)

    def _find_block_device(self) -> None:
        pattern = f"{PCI}/{self.address}/nvme/nvme*/nvme*n[0-9]*"
        self.must(f"modprobe nvme; {APPEAR.format(test='-e', path=pattern, least=self.nr_namespaces)}")
        paths = self.must(f"ls -d {pattern}").split()
        found = {PATH_PART.sub("", path.rpartition("/")[2]) for path in paths}
        # Linux numbers disks as they come, which need not be the order of their namespaces.
        names = sorted(found, key=lambda name: int(self.read(f"/sys/class/block/{name}/nsid")))
        blocks = tuple(f"/dev/{name}" for name in names)
        self.must(APPEAR.format(test="-b", path=blocks[0], least=1))
        generics = self.must(f"ls -U {' '.join(f'/dev/ng{name[4:]}' for name in names)} 2>/dev/null; :").split()
        self._place = Place(self.chario, blocks, tuple(generics), work=self.work)

    def _mount(self, holder: Holder) -> None:
        self.must(MAKE[holder].format(node=shlex.quote(self._place.node), folder=self.folder))
        self._place = replace(self._place, folder=self.folder)


# Makes a target of a machine, for as long as a block runs.
Maker = Callable[[Machine, Progress], AbstractContextManager[Target]]


def in_order(names: Iterable[str]) -> list[str]:
    """Names that end with numbers, by these."""
    return sorted(names, key=lambda name: (len(name), name))
