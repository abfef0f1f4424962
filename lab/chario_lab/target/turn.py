# SPDX-License-Identifier: MIT
"""Whose turn it is on this machine: a lock that a run holds together with all that it has started.

A run that was killed may leave programs that still wait for its drive, and write to it when it answers.
"""

from __future__ import annotations

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
    """The right to measure, which one run at a time has; `fd` is what its programs inherit."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not self._take():
            owner = os.pread(self.fd, 32, 0).decode().strip()
            if owner not in self._others():
                self.end_others()
            if not self._take():
                os.close(self.fd)
                raise Refused(
                    f"another run of chario-lab goes on, process {owner}: wait until it has ended, for two would "
                    "disturb each other's figures and settings"
                )
        os.ftruncate(self.fd, 0)
        os.pwrite(self.fd, f"{os.getpid()}\n".encode(), 0)

    def _take(self) -> bool:
        try:
            fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def end(self) -> None:
        """Let others have their turn, when the last program has ended."""
        os.close(self.fd)

    def end_others(self) -> None:
        """Kill all programs that a run has started and left; raises NotGivenBack where one does not end."""
        end = time.monotonic() + END_LIMIT_S
        while others := self._others():
            if time.monotonic() > end:
                named = ", ".join(f"{pid} ({name_of(pid)})" for pid in others)
                raise NotGivenBack(
                    f"programs of chario-lab do not end: {named}; they wait for a drive, which must answer or be "
                    "removed before anything is given back"
                )
            for pid in others:
                with suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
            time.sleep(PAUSE_S)

    def _others(self) -> list[str]:
        """Other processes that have the file open."""
        found = []
        for folder in PROC.glob("[0-9]*"):
            with suppress(OSError):
                if folder.name != str(os.getpid()) and any(map(self._is_ours, (folder / "fd").iterdir())):
                    found.append(folder.name)
        return found

    def _is_ours(self, link: Path) -> bool:
        with suppress(FileNotFoundError):
            return os.readlink(link) == str(self._path)
        return False


def name_of(pid: str) -> str:
    """What a process is called."""
    try:
        return (PROC / pid / "comm").read_text().strip()
    except OSError:
        return "gone"
