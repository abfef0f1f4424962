# SPDX-License-Identifier: MIT
"""Drives that answer as no emulated drive does when a file asks for a queue of its own, or gives it back.

The file's owner may do nothing but read and write the disk.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EAGAIN, ENOSPC, ETIMEDOUT

import pytest
from played import (
    INVALID_FIELD,
    INVALID_SIZE,
    OK,
    REGISTERS,
    Command,
    Opcode,
    ending_with,
    is_admin,
    set_up,
    taken,
    well,
)
from rig import NOBODY, Rig, results

from chario_lab.waiting import until

pytestmark = [pytest.mark.area("kernel/drive/", "kernel/back/nvme/"), pytest.mark.kernels("debug"), pytest.mark.slow]

SETUP = set_up(private_queues=1)


def has_queue(rig: Rig, disk: str) -> bool:
    """Whether a file gets a queue of its own, and reads by it."""
    calls = rig.calls(disk, "completion,2", "own-queue", "read,0,4096", user=NOBODY)
    return calls[1:3] == [("own-queue", 0), ("read", 4096)]


def test_a_queue_of_ones_own_is_refused(rig: Rig) -> None:
    """The drive refuses the pair, which is made when a file asks for it; the file goes on without."""
    with taken(rig, REGISTERS) as (drive, disk):
        rig.open_to_all(disk)
        drive.status = ending_with(Opcode.CREATE_SQ, INVALID_SIZE)
        calls = rig.calls(disk, "completion,2", "own-queue", "read,0,4096", user=NOBODY)
        assert calls[1][1] < 0 and calls[1][1] != -EAGAIN and calls[2] == ("read", 4096)


def test_a_queue_of_ones_own_comes_back_late(rig: Rig) -> None:
    """Its file has gone, but the drive still has a command: a reset ends that, and the next file has the queue."""
    with taken(rig, REGISTERS, status=lambda queue, _: None if queue else OK) as (drive, disk):
        rig.open_to_all(disk)
        calls = rig.calls(disk, "deadline,200", "completion,2", "own-queue", "read,0,4096", user=NOBODY)
        assert calls[2:4] == [("own-queue", 0), ("read", -ETIMEDOUT)]
        assert rig.calls(disk, "completion,2", "own-queue", user=NOBODY)[1][1] < 0
        rig.wait_reset(disk)
        drive.status = well
        until(lambda: has_queue(rig, disk), "the queue does not come back")


class Unwilling:
    """A drive that says this to the next pair, a file's own, and keeps the first half of it."""

    def __init__(self, answer: int | None) -> None:
        self.answer = answer
        self._made = 0

    def status(self, queue: int, command: Command) -> int | None:
        """How a command ends."""
        if queue or command.opcode not in (Opcode.CREATE_SQ, Opcode.DELETE_CQ):
            return OK
        if command.opcode == Opcode.DELETE_CQ:
            return INVALID_FIELD if self._made == 1 else OK
        self._made += 1
        return self.answer if self._made == 1 else OK


@contextmanager
def unwilling(rig: Rig, answer: int | None) -> Iterator[str]:
    """Its disk."""
    with taken(rig, REGISTERS) as (drive, disk):
        drive.status = Unwilling(answer).status
        yield rig.open_to_all(disk)


@pytest.mark.parametrize("answer", [None, INVALID_SIZE], ids=["silent", "half"])
def test_a_queue_of_ones_own_is_not_made(rig: Rig, answer: int | None) -> None:
    """The drive does not say whether it has the pair, or keeps half of it: a reset helps, and the next file has it."""
    with unwilling(rig, answer) as disk:
        calls = rig.calls(disk, "completion,2", "own-queue", "read,0,4096", user=NOBODY)
        assert calls[1] == ("own-queue", -ETIMEDOUT)
        rig.wait_reset(disk)
        assert has_queue(rig, disk)


def test_many_who_ask_a_silent_drive_for_a_queue(rig: Rig) -> None:
    """One waits for the answer; the others ask nothing, and the reset comes next."""
    asked: list[int] = []
    with taken(rig, REGISTERS) as (drive, disk):

        def status(queue: int, command: Command) -> int | None:
            if not is_admin(queue, command, Opcode.CREATE_SQ):
                return OK
            number = command.dword10 & 0xFFFF
            # It makes its pairs again, from the first one on, after a reset.
            if number == 1:
                drive.status = well
                return OK
            asked.append(number)
            return None

        rig.open_to_all(disk)
        drive.status = status
        jobs = [rig.start(disk, "own-queue", user=NOBODY) for _ in range(6)]
        told = Counter(dict(results(job.wait()))["own-queue"] for job in jobs)
        rig.wait_reset(disk)
        assert told[-ETIMEDOUT] == 1 and set(told) <= {-ETIMEDOUT, -EAGAIN, -ENOSPC, 0}
        assert len(asked) == 1
        assert rig.said(rig.began).count("no answer in time") == 1
        assert rig.counters(disk)["resets"] == 1


@pytest.mark.parametrize("opcode", [Opcode.DELETE_SQ, Opcode.DELETE_CQ], ids=["submissions", "completions"])
@pytest.mark.parametrize("answer", [None, INVALID_FIELD], ids=["silent", "refused"])
def test_a_queue_of_ones_own_is_not_deleted(rig: Rig, opcode: Opcode, answer: int | None) -> None:
    """Its file has been closed and the drive does not let go of the pair: a reset does, and the next file has it."""
    with taken(rig, REGISTERS) as (drive, disk):
        rig.open_to_all(disk)
        drive.status = ending_with(opcode, answer)
        assert has_queue(rig, disk)
        rig.wait_reset(disk)
        drive.status = well
        until(lambda: has_queue(rig, disk), "the queue does not come back")
        assert rig.counters(disk)["resets"] == 1
