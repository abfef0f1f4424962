# SPDX-License-Identifier: MIT
"""How many test files run side by side: files that compute take two seats each, files that wait take one.

There are two seats for each processor.  A worker of pytest takes seats before
the first test of a file and gives them back after its last one, so that two
files that compute keep two processors busy, and files that wait for deadlines
run beside each other.  The seats are locks on the bytes of a file: those of a
worker that dies are free at once.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import IO

SEATS_PER_CPU = 2
POLL_S = 0.1
GATE = 0  # the worker that collects seats has this byte; the seats are the bytes behind it


class Seats:
    """The seats of one run, as one worker sees them."""

    def __init__(self, path: Path, count: int) -> None:
        self._file: IO[bytes] = path.open("ab")
        self._count = count
        self._mine: list[int] = []

    def take(self, wanted: int) -> None:
        """Return when this worker has its seats; one at a time collects, so that no two wait for each other."""
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, GATE)
        while len(self._mine) < min(wanted, self._count):
            if not self._take_one():
                time.sleep(POLL_S)
        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, GATE)

    def _take_one(self) -> bool:
        for seat in range(1, self._count + 1):
            if seat in self._mine:
                continue
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, seat)
            except OSError:
                continue
            self._mine.append(seat)
            return True
        return False

    def give_back(self) -> None:
        """Somebody else may have them."""
        for seat in self._mine:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, seat)
        self._mine = []


def seats_of_machine() -> int:
    """How many seats there are here."""
    return SEATS_PER_CPU * len(os.sched_getaffinity(0))
