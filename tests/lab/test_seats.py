# SPDX-License-Identifier: MIT
"""Seats of test files: never more than there are, and those of the dead are free."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from chario_lab.testing.seats import Seats

HOLD = "import sys; from chario_lab.testing.seats import Seats; from pathlib import Path\n" \
       "s = Seats(Path(sys.argv[1]), 4); s.take(int(sys.argv[2])); print('has', flush=True)\n" \
       "input(); s.give_back(); print('gave', flush=True); input()"  # fmt: skip


class Worker:
    """Another process that takes seats."""

    def __init__(self, path: Path, wanted: int) -> None:
        command = [sys.executable, "-c", HOLD, str(path), str(wanted)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def say(self, word: str) -> None:
        """Return when it has said a word."""
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == f"{word}\n"

    def go_on(self) -> None:
        """Let it give its seats back."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> None:
        """It is killed."""
        self.process.kill()
        self.process.communicate()


def free_seats(path: Path) -> int:
    """How many seats nobody has."""
    mine = Seats(path, 4)
    count = 0
    while mine._take_one():
        count += 1
    mine.give_back()
    return count


def test_files_that_compute_take_two_seats(tmp_path: Path) -> None:
    """Two of them fill the machine; a third one waits until one gives back."""
    path = tmp_path / "seats"
    workers = [Worker(path, 2) for _ in range(2)]
    for worker in workers:
        worker.say("has")
    third = Worker(path, 1)
    workers[0].go_on()
    workers[0].say("gave")
    third.say("has")
    for worker in (*workers, third):
        worker.end()


@pytest.mark.parametrize("wanted", [1, 2])
def test_seats_of_a_dead_worker_are_free(tmp_path: Path, wanted: int) -> None:
    """Nobody has to tidy up after a worker that was killed."""
    path = tmp_path / "seats"
    worker = Worker(path, wanted)
    worker.say("has")
    assert free_seats(path) == 4 - wanted
    worker.end()
    assert free_seats(path) == 4
