# SPDX-License-Identifier: MIT
"""Whose turn it is on this machine, and what a run that is over has left running.

A run that was killed may leave programs that still wait for its drive, and write to it when it answers.
"""

import fcntl
import os
import signal
import time
from contextlib import suppress
from pathlib import Path

from chario_lab.target.drive import Refused

PROC = Path("/proc")
END_LIMIT_S, PAUSE_S = 30.0, 0.1


class NotGivenBack(Exception):
    """A drive or a setting is not as it was; the message says what to do."""


class Turn:
    """The right to measure, which one run at a time has: a lock that goes with its process.

    `fd` is what its programs inherit, so that the next run finds those that are left.
    """

    def __init__(self, path: Path) -> None:
        self._programs = path.with_name(f"{path.name}.programs")
        self._lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise Refused(
                f"another run of chario-lab goes on, process {' '.join(holders(path))}: wait until it has ended, for "
                "two would disturb each other's figures and settings"
            ) from None
        self.end_programs()
        self.fd = os.open(self._programs, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def end(self) -> None:
        """Let others have their turn."""
        os.close(self.fd)
        os.close(self._lock)

    def end_programs(self) -> None:
        """Kill all programs that a run has started and left; raises NotGivenBack where one does not end."""
        end = time.monotonic() + END_LIMIT_S
        while left := [pid for pid in holders(self._programs) if pid != str(os.getpid())]:
            if time.monotonic() > end:
                named = ", ".join(f"{pid} ({name_of(pid)})" for pid in left)
                raise NotGivenBack(
                    f"programs of chario-lab do not end: {named}; they wait for a drive, which must answer or be "
                    "removed before anything is given back"
                )
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            time.sleep(PAUSE_S)


def holders(path: Path) -> list[str]:
    """Processes that have a file open."""
    found = []
    for folder in PROC.glob("[0-9]*"):
        with suppress(OSError):
            if any(is_link_to(link, path) for link in (folder / "fd").iterdir()):
                found.append(folder.name)
    return found


def is_link_to(link: Path, path: Path) -> bool:
    """Whether a file descriptor, which may be gone, is of a file."""
    with suppress(FileNotFoundError):
        return os.readlink(link) == str(path)
    return False


def name_of(pid: str) -> str:
    """What a process is called."""
    try:
        return (PROC / pid / "comm").read_text().strip()
    except OSError:
        return "gone"
