# SPDX-License-Identifier: MIT
"""A drive on loan: a note of how it was, which is kept until the drive is that way again.

The note survives a run that was killed.  The next run finds it and gives the drive back first.
"""

from __future__ import annotations

import fcntl
import shlex
import shutil
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

import msgspec
from msgspec.structs import replace

from chario_lab.guest.job import Result
from chario_lab.target.drive import SYSFS, Drive, Refused, driver_of, find_drive

NOTES = Path("/run/chario-lab")
MOUNTS = Path("/proc/self/mounts")
# Trace events of experiments go into a buffer of their own: no setting of another tracer changes.
TRACE_BUFFER = Path("/sys/kernel/tracing/instances/chario-lab")
STEP_LIMIT_S = 300.0
TRIES, PAUSE_S = 60, 0.5

Run = Callable[[list[str], float], Result]


class NotGivenBack(Exception):
    """A drive is not as it was; the message says what to do."""


class Note(msgspec.Struct, frozen=True):
    """How a drive was: the scheduler of each namespace, by its place; and how files of this machine's settings were."""

    schedulers: tuple[str, ...]
    settings: dict[str, str] = {}


class Loan(AbstractContextManager["Loan"]):
    """The right to use a drive, which one run at a time has.

    `folder` is where its file systems are mounted, `work` is for what a run needs meanwhile, which goes with the drive;
    `chario` is the program of that name.
    """

    def __init__(self, address: str, chario: str, run: Run, sysfs: Path = SYSFS, notes: Path = NOTES) -> None:
        self.address = address
        self.folder = notes / f"{address}.mount"
        self.work = notes / f"{address}.work"
        self._chario = chario
        self._run = run
        self._sysfs = sysfs
        for folder in (self.folder, self.work):
            folder.mkdir(parents=True, exist_ok=True)
        self._file = (notes / address).open("a+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise Refused(f"another run of chario-lab has {address}: wait until it has ended") from None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.work, ignore_errors=True)
        self._file.close()

    @property
    def note(self) -> Note | None:
        """What was noted of the drive, unless it was given back since."""
        self._file.seek(0)
        text = self._file.read()
        return msgspec.json.decode(text, type=Note) if text else None

    def begin(self, drive: Drive) -> None:
        """Note how the drive is."""
        self._keep(Note(tuple(self._scheduler(name) for name in drive.namespaces)))

    def begin_setting(self, path: str) -> None:
        """Note how a file of this machine's settings is before it is written for the first time."""
        note = self.note
        if note is not None and path not in note.settings:
            self._keep(replace(note, settings={**note.settings, path: Path(path).read_text()}))

    def _keep(self, note: Note) -> None:
        self._forget()
        self._file.write(msgspec.json.encode(note))
        self._file.flush()

    def _forget(self) -> None:
        self._file.truncate(0)

    def give_back(self) -> None:
        """Make the drive what it was before; raises NotGivenBack, and keeps the note, where that cannot be done."""
        note = self.note
        if note is None:
            return
        if is_mounted(self.folder):
            self._insist(["umount", str(self.folder)])
        if driver_of(self.address, self._sysfs) != "nvme":
            self._insist([self._chario, "unbind", self.address])
        if TRACE_BUFFER.exists():
            # A program that was killed has left it; it stays where another run uses it.
            self._run(["rmdir", str(TRACE_BUFFER)], STEP_LIMIT_S)
        for name, scheduler in zip(self._namespaces(len(note.schedulers)), note.schedulers, strict=False):
            self._set_scheduler(name, scheduler)
        for path, text in reversed(note.settings.items()):
            set_back(Path(path), text)
        self._forget()

    def _insist(self, words: list[str]) -> None:
        """Run a command until it succeeds: a program that was killed may still be about to end."""
        for _ in range(TRIES):
            result = self._run(words, STEP_LIMIT_S)
            if result.rc == 0:
                return
            time.sleep(PAUSE_S)
        raise NotGivenBack(
            f"{self.address} is not given back: {result.stderr.strip() or result.describe()}\n{self.way}"
        )

    @property
    def way(self) -> str:
        """What a user can do who does not want to run the experiment again."""
        folder = shlex.quote(str(self.folder))
        return f"The next run gives it back first, or: umount {folder}; chario unbind {self.address}"

    def _namespaces(self, count: int) -> tuple[str, ...]:
        """The disks of the drive, which appear some time after its driver has it."""
        for _ in range(TRIES):
            try:
                names = find_drive(self.address, self._sysfs).namespaces
            except (Refused, OSError):
                names = ()
            if len(names) >= count:
                return names
            time.sleep(PAUSE_S)
        raise NotGivenBack(
            f"{self.address} has lost disks, the kernel log says why; their schedulers are in {self._file.name}, "
            "remove it to forget them"
        )

    def _queue(self, name: str) -> Path:
        return self._sysfs / "class/block" / name / "queue/scheduler"

    def _scheduler(self, name: str) -> str:
        """The one in brackets, of "mq-deadline [none]"; a disk without one has a name alone, or nothing."""
        text = self._queue(name).read_text()
        return text.partition("[")[2].partition("]")[0] or text.strip()

    def _set_scheduler(self, name: str, scheduler: str) -> None:
        if scheduler and scheduler != self._scheduler(name):
            try:
                self._queue(name).write_text(scheduler)
            except OSError as error:
                raise NotGivenBack(
                    f"{name} had the scheduler {scheduler}, which is refused: {error.strerror}"
                ) from error


def set_back(path: Path, text: str) -> None:
    """Give a setting its old value; those of a disk of CharIO have gone with it."""
    if path.exists():
        try:
            path.write_text(text)
        except OSError as error:
            raise NotGivenBack(f"{path} was {text.strip()}, which is refused: {error.strerror}") from error


def is_mounted(folder: Path, mounts: Path = MOUNTS) -> bool:
    """Whether something is mounted in a folder, whose path has no blank."""
    return any(line.split()[1] == str(folder) for line in mounts.read_text().splitlines())
