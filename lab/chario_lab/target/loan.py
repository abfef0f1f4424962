# SPDX-License-Identifier: MIT
"""A drive on loan: notes of how it and this machine's settings were, which are kept until all is that way again.

The notes survive a run that was killed.  The next run finds them and gives back first, after it has ended what the
killed one has left running: see turn.py.
"""

import re
import shlex
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

import msgspec

from chario_lab.guest.job import Result
from chario_lab.target.drive import SYSFS, Drive, Refused, driver_of, find_drive
from chario_lab.target.turn import NotGivenBack, Turn

NOTES = Path("/run/chario-lab")
MOUNTS = Path("/proc/self/mounts")
# Trace events of experiments go into a buffer of their own: no setting of another tracer changes.
TRACE_BUFFER = Path("/sys/kernel/tracing/instances/chario-lab")
STEP_LIMIT_S = 60.0
TRIES, PAUSE_S = 60, 0.5

# Settings of disks, whose files go with them.
OF_DISKS = ("/sys/class/chario/", "/sys/class/block/", "/sys/block/")
# How files of the kernel's tracer say that nothing is set.
REMARKS = ("#", "no pid")
EXPANDED = re.compile(r"\(expanded: (\d+)\)")

Noted = TypeVar("Noted")
Run = Callable[[list[str], float], Result]


class Note(msgspec.Struct, frozen=True):
    """How a drive was: the scheduler of each namespace, by its place."""

    schedulers: tuple[str, ...]


class Loan(AbstractContextManager["Loan"]):
    """The right to use a drive, and to measure on this machine, which one run at a time has.

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
        self._note, self._settings = notes / address, notes / "settings"
        notes.mkdir(parents=True, exist_ok=True)
        # Nobody else may put something in the way of what root writes below.
        notes.chmod(0o700)
        self._turn = Turn(notes / "lock")
        for folder in (self.folder, self.work):
            folder.mkdir(exist_ok=True)

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.work, ignore_errors=True)
        self._turn.end()

    @property
    def inherited(self) -> int:
        """What every program that is started has to inherit, so that it can be found: a file descriptor."""
        return self._turn.fd

    @property
    def note(self) -> Note | None:
        """What was noted of the drive, unless it was given back since."""
        return self._read(self._note, Note)

    @property
    def settings(self) -> dict[str, str]:
        """How files of this machine's settings were that a run has written, whichever drive it had."""
        return self._read(self._settings, dict[str, str]) or {}

    def _read(self, path: Path, kind: type[Noted]) -> Noted | None:
        try:
            return msgspec.json.decode(path.read_bytes(), type=kind)
        except FileNotFoundError:
            return None
        except msgspec.MsgspecError as error:
            raise NotGivenBack(f"the note {path} cannot be read ({error}): {self.way}; then remove the note") from error

    def begin(self, drive: Drive) -> None:
        """Note how the drive is."""
        keep(self._note, Note(tuple(self._scheduler(name) for name in drive.namespaces)))

    def begin_setting(self, path: str) -> None:
        """Note how a file of this machine's settings is before it is written for the first time.

        What a disk is told is forgotten with it, and another one may have its name then.
        """
        settings = self.settings
        if not path.startswith(OF_DISKS) and path not in settings:
            keep(self._settings, {**settings, path: Path(path).read_text()})

    def give_back(self) -> None:
        """Make drive and settings what they were before; raises NotGivenBack, and keeps notes of what cannot be."""
        wrong = list(self._set_back())
        try:
            self._turn.end_programs()
            note = self.note
            if note is not None:
                self._give_drive_back(note)
        except NotGivenBack as error:
            wrong.append(str(error))
        if TRACE_BUFFER.exists():
            # A program that was killed has left it.
            self._run(["rmdir", str(TRACE_BUFFER)], STEP_LIMIT_S)
        if wrong:
            raise NotGivenBack("\n".join(wrong))

    def _set_back(self) -> Iterator[str]:
        """Give settings their old values, the last written first; what is wrong with those that stay."""
        settings = self.settings
        for path, text in reversed(list(settings.items())):
            try:
                set_back(Path(path), text)
            except OSError as error:
                yield f"{path} is not set back to {text.strip()}: {error.strerror}"
            else:
                del settings[path]
        if settings:
            keep(self._settings, settings)
        else:
            self._settings.unlink(missing_ok=True)

    def _give_drive_back(self, note: Note) -> None:
        if is_mounted(self.folder):
            self._insist(["umount", str(self.folder)])
        if driver_of(self.address, self._sysfs) != "nvme":
            self._insist([self._chario, "unbind", self.address])
        for name, scheduler in zip(self._namespaces(len(note.schedulers)), note.schedulers, strict=False):
            self._set_scheduler(name, scheduler)
        self._note.unlink(missing_ok=True)

    def _insist(self, words: list[str]) -> None:
        """Run a command until it succeeds: a program that was killed may still be about to end."""
        end = time.monotonic() + STEP_LIMIT_S
        for _ in range(TRIES):
            result = self._run(words, max(1.0, end - time.monotonic()))
            if result.rc == 0:
                return
            time.sleep(PAUSE_S)
            if time.monotonic() > end:
                break
        raise NotGivenBack(
            f"{self.address} is not given back: {result.stderr.strip() or result.describe()}\n{self.way}"
        )

    @property
    def way(self) -> str:
        """What a user can do who does not want to run the experiment again."""
        folder = shlex.quote(str(self.folder))
        settings = f"; old values of settings are in {self._settings}" if self._settings.exists() else ""
        return f"The next run gives it back first, or: umount {folder}; chario unbind {self.address}{settings}"

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
            f"{self.address} has lost disks, the kernel log says why; their schedulers are in {self._note}, "
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


def keep(path: Path, note: object) -> None:
    """Write a note so that there is always the old one or the new one."""
    new = path.with_name(f"{path.name}.new")
    new.write_bytes(msgspec.json.encode(note))
    new.replace(path)


def set_back(path: Path, text: str) -> None:
    """Give a setting its old value, where it is still there.

    A list that is empty begins with a remark; a buffer that was not used yet tells how large it would become.
    """
    if path.exists():
        expanded = EXPANDED.search(text)
        path.write_text("" if text.startswith(REMARKS) else expanded[1] if expanded else text)


def is_mounted(folder: Path, mounts: Path = MOUNTS) -> bool:
    """Whether something is mounted in a folder, whose path has no blank."""
    return any(line.split()[1] == str(folder) for line in mounts.read_text().splitlines())
