# SPDX-License-Identifier: MIT
"""Drives that answer as no emulated drive does when a file asks for a queue of its own, or gives it back.

The file's owner may do nothing but read and write the disk.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EAGAIN, ENOSPC, ETIMEDOUT

import pytest
from played import INVALID_FIELD, INVALID_SIZE, OK, Command, Opcode, played
from rig import NOBODY, Rig, results
from shared_guest import Setup
from waiting import until

from chario_lab.guest.spec import RegisterFile

pytestmark = [
    pytest.mark.area("kernel/drive/", "kernel/back/nvme/"), pytest.mark.kernels("debug"),
    pytest.mark.slow,
]  # fmt: skip

REGISTERS = 0
SETUP = Setup(drives=(RegisterFile(),), parameters="private_queues=1", qtest=True)


def test_a_queue_of_ones_own_is_refused(rig: Rig) -> None:
    """The drive refuses the pair, which is made when a file asks for it; the file goes on without."""
    refuse = [False]

    def status(queue: int, command: Command) -> int:
        return INVALID_SIZE if refuse[0] and queue == 0 and command.opcode == Opcode.CREATE_SQ else OK

    with played(rig, REGISTERS, status=status) as drive:
        (disk,) = rig.take(drive.address)
        rig.open_to_all(disk)
        refuse[0] = True
        calls = rig.calls(disk, "completion,2", "own-queue", "read,0,4096", user=NOBODY)
        assert calls[1][1] < 0 and calls[1][1] != -EAGAIN and calls[2] == ("read", 4096)


def test_a_queue_of_ones_own_comes_back_late(rig: Rig) -> None:
    """Its file has gone, but the drive still has a command: a reset ends that, and the next file has the queue."""
    answers = [False]

    def status(queue: int, command: Command) -> int | None:
        return None if queue and not answers[0] else OK

    with played(rig, REGISTERS, status=status) as drive:
        (disk,) = rig.take(drive.address)
        rig.open_to_all(disk)
        calls = rig.calls(disk, "deadline,200", "completion,2", "own-queue", "read,0,4096", user=NOBODY)
        assert calls[2:4] == [("own-queue", 0), ("read", -ETIMEDOUT)]
        assert rig.calls(disk, "completion,2", "own-queue", user=NOBODY)[1][1] < 0
        rig.wait_reset(disk)
        answers[0] = True
        steps, fine = (("completion,2", "own-queue", "read,0,4096"), [("own-queue", 0), ("read", 4096)])
        until(lambda: rig.calls(disk, *steps, user=NOBODY)[1:3] == fine, "the queue does not come back")


class Unwilling:
    """A drive that says this to the first pair after its binding, a file's own, and keeps the first half of it."""

    def __init__(self, answer: int | None) -> None:
        self.answer = answer
        self.is_bound = False
        self._made = 0

    def status(self, queue: int, command: Command) -> int | None:
        """How a command ends."""
        if queue or not self.is_bound or command.opcode not in (Opcode.CREATE_SQ, Opcode.DELETE_CQ):
            return OK
        if command.opcode == Opcode.DELETE_CQ:
            return INVALID_FIELD if self._made == 1 else OK
        self._made += 1
        return self.answer if self._made == 1 else OK


@contextmanager
def unwilling(rig: Rig, answer: int | None) -> Iterator[str]:
    """Its disk."""
    one = Unwilling(answer)
    with played(rig, REGISTERS, status=one.status) as drive:
        (disk,) = rig.take(drive.address)
        one.is_bound = True
        yield rig.open_to_all(disk)


@pytest.mark.parametrize("answer", [None, INVALID_SIZE], ids=["silent", "half"])
def test_a_queue_of_ones_own_is_not_made(rig: Rig, answer: int | None) -> None:
    """The drive does not say whether it has the pair, or keeps half of it: a reset helps, and the next file has it."""
    with unwilling(rig, answer) as disk:
        steps = ("completion,2", "own-queue", "read,0,4096")
        assert rig.calls(disk, *steps, user=NOBODY)[1] == ("own-queue", -ETIMEDOUT)
        rig.wait_reset(disk)
        assert rig.calls(disk, *steps, user=NOBODY)[1:3] == [("own-queue", 0), ("read", 4096)]


def test_many_who_ask_a_silent_drive_for_a_queue(rig: Rig) -> None:
    """One waits for the answer; the others ask nothing, and the reset comes next."""
    asked: list[int] = []
    silent = [False]

    def status(queue: int, command: Command) -> int | None:
        if queue or command.opcode != Opcode.CREATE_SQ or not silent[0]:
            return OK
        number = command.dword10 & 0xFFFF
        # It makes its pairs again, from the first one on, after a reset.
        silent[0] = number != 1
        if silent[0]:
            asked.append(number)
        return None if silent[0] else OK

    mark = rig.guest.log_mark()
    with played(rig, REGISTERS, status=status) as drive:
        (disk,) = rig.take(drive.address)
        rig.open_to_all(disk)
        silent[0] = True
        jobs = [rig.start(disk, "own-queue", user=NOBODY) for _ in range(6)]
        told = Counter(dict(results(job.wait()))["own-queue"] for job in jobs)
        rig.wait_reset(disk)
        assert told[-ETIMEDOUT] == 1 and set(told) <= {-ETIMEDOUT, -EAGAIN, -ENOSPC, 0}
        assert len(asked) == 1
        assert rig.said(mark).count("no answer in time") == 1
        assert rig.counters(disk)["resets"] == 1


@pytest.mark.parametrize("opcode", [Opcode.DELETE_SQ, Opcode.DELETE_CQ], ids=["submissions", "completions"])
@pytest.mark.parametrize("answer", [None, INVALID_FIELD], ids=["silent", "refused"])
def test_a_queue_of_ones_own_is_not_deleted(rig: Rig, opcode: Opcode, answer: int | None) -> None:
    """Its file has been closed and the drive does not let go of the pair: a reset does, and the next file has it."""
    unwilling = [False]

    def status(queue: int, command: Command) -> int | None:
        return answer if unwilling[0] and queue == 0 and command.opcode == opcode else OK

    with played(rig, REGISTERS, status=status) as drive:
        (disk,) = rig.take(drive.address)
        rig.open_to_all(disk)
        unwilling[0] = True
        steps, fine = (("completion,2", "own-queue", "read,0,4096"), [("own-queue", 0), ("read", 4096)])
        assert rig.calls(disk, *steps, user=NOBODY)[1:3] == fine
        rig.wait_reset(disk)
        unwilling[0] = False
        until(lambda: rig.calls(disk, *steps, user=NOBODY)[1:3] == fine, "the queue does not come back")
        assert rig.counters(disk)["resets"] == 1
