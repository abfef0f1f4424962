# SPDX-License-Identifier: MIT
"""What a drive had when it was reset is sent again as it was.

The drive is played: it answers nothing until it is reset, and the test says when the reset is over.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator

import pytest
from entries import FLUSH, FUA, READ, WRITE
from played import OK, Command, Opcode, Played, controller_page, played
from programs import compile_program
from rig import CALL_LIMIT_S, Rig
from shared_guest import Setup
from waiting import until

from chario_lab.guest import faults
from chario_lab.guest.job import Job
from chario_lab.guest.spec import RegisterFile

REGISTERS = 0
SETUP = Setup(drives=(RegisterFile(),), parameters="private_queues=0", qtest=True)
# CAP.TO: the driver waits two minutes for the drive to become ready, or to stop.
PATIENT = {faults.CAP: faults.PLAIN[faults.CAP] | 0xFF << 24}
ADMIN_TIMEOUT_MS, LIMIT_S = 200_000, 120
SHARED_QUEUE = 1
PAGE, MIB = 4096, 1 << 20
TWO_COMMANDS = 256 << 10
TRANSFER_FUA = 2
UNRECOVERED_READ = 0x281


class Kept:
    """A disk whose drive answers no command until it is reset."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.node = ""
        self.drive: Played
        self._answers = threading.Event()
        self._is_over = threading.Event()

    def take(self, drive: Played) -> None:
        """Bind the drive."""
        self.drive = drive
        (self.node,) = self.rig.take(drive.address)

    def status(self, queue: int, command: Command) -> int | None:
        """How a command ends; without its queues the drive is not sent any."""
        if queue:
            return OK if self._answers.is_set() else None
        if command.opcode == Opcode.CREATE_SQ and self._answers.is_set():
            self._is_over.wait(LIMIT_S)
        return OK

    def commands(self) -> list[Command]:
        """Reads, writes and flushes that the drive has been sent."""
        return [command for queue, command in self.drive.fetched if queue]

    def wait_commands(self, count: int) -> None:
        """Return when it has been sent so many."""
        until(lambda: len(self.commands()) >= count, "the drive is not sent what it should be")
        assert len(self.commands()) == count

    def begin_reset(self, ending: tuple[int, ...] = ()) -> None:
        """The drive fails; some of its commands end with an error while nothing can be sent to it."""
        self._answers.set()
        self.drive.fail(SHARED_QUEUE, ending, UNRECOVERED_READ)
        self.rig.wait_state(self.node, "recovering")

    def end_reset(self) -> None:
        """The drive takes commands again."""
        self._is_over.set()


@pytest.fixture
def kept(rig: Rig) -> Iterator[Kept]:
    """The disk, with a cache that is lost with the power."""
    kept = Kept(rig)
    page = controller_page(write_cache=1)
    rig.set_admin_timeout(ADMIN_TIMEOUT_MS)
    with played(rig, REGISTERS, controller=page, registers=PATIENT, status=kept.status) as drive:
        kept.take(drive)
        yield kept
        kept.end_reset()
    rig.set_admin_timeout()


# Programs and what they are to do; the last answer of each; the commands that come of it all, and which have FUA.
CALLS = (
    ("calls", ("dsync",), (f"pwrite 0 {TWO_COMMANDS}",)),
    ("calls", (), (f"pwrite {MIB} {PAGE}",)),
    ("calls", (), (f"pread {2 * MIB} {PAGE}",)),
    ("calls", (), ("fsync",)),
    ("buffers", (), (f"heap 0 {TWO_COMMANDS}", "register 0", f"write 0 0 {TWO_COMMANDS} {3 * MIB} {TRANSFER_FUA}")),
)
ANSWERS = [TWO_COMMANDS, PAGE, PAGE, 0, TWO_COMMANDS]
KINDS = Counter({(WRITE, True): 4, (WRITE, False): 1, (READ, False): 1, (FLUSH, False): 1})


def begin(kept: Kept) -> list[Job]:
    """Begin all calls."""
    guest = kept.rig.guest
    programs = {name: guest.push(compile_program(name)) for name in ("calls", "buffers")}
    return [guest.start([programs[name], kept.node, *flags], CALL_LIMIT_S, stdin="\n".join(lines) + "\n")
            for name, flags, lines in CALLS]  # fmt: skip


def answers(jobs: list[Job]) -> list[int]:
    """What each of them answered at last."""
    return [int(job.wait().check().stdout.split()[-1]) for job in jobs]


def kinds(commands: list[Command]) -> Counter[tuple[int, bool]]:
    """How many commands there are of each opcode, with FUA and without."""
    return Counter((command.opcode, bool(command.dword12 & FUA)) for command in commands)


def test_what_the_drive_had_is_sent_again(kept: Kept) -> None:
    """Each command once more, with the same blocks, memory and FUA, a flush too; then the calls succeed."""
    jobs = begin(kept)
    kept.wait_commands(KINDS.total())
    before = kept.commands()
    assert kinds(before) == KINDS
    kept.begin_reset()
    kept.end_reset()
    assert answers(jobs) == ANSWERS
    assert Counter(kept.commands()[len(before) :]) == Counter(before)
    kept.rig.wait_reset(kept.node)
    assert kept.rig.counters(kept.node)["errors"] == 0
