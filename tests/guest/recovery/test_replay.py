# SPDX-License-Identifier: MIT
"""What a drive had when it was reset is sent again as it was; what had to wait is sent when the reset is over.

The drive is played: it answers nothing until it is reset, and the test says when the reset is over.  The callers may
do nothing but read and write the disk.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from errno import EIO, ETIMEDOUT

import pytest
from entries import FLUSH, FUA, READ, WRITE
from played import OK, REGISTERS, Command, Opcode, Played, controller_page, played, set_up
from programs import compile_program
from python_calls import start_script
from rig import CALL_LIMIT_S, NOBODY, Rig, results

from chario_lab.guest import faults
from chario_lab.guest.job import Job
from chario_lab.waiting import until

pytestmark = [
    pytest.mark.area("kernel/front/", "kernel/drive/", "kernel/back/nvme/", "kernel/queue/"),
    pytest.mark.kernels("debug"), pytest.mark.slow,
]  # fmt: skip

SETUP = set_up(private_queues=0)
# CAP.TO: the driver waits two minutes for the drive to become ready, or to stop.
PATIENT = {faults.CAP: faults.PLAIN[faults.CAP] | 0xFF << 24}
ADMIN_TIMEOUT_MS, LIMIT_S = 200_000, 120
ON_FIRST_CPU = ("taskset", "-c", "0")
FIRST_QUEUE = 1  # of that processor
PAGE, BLOCKS, MIB = 4096, 8, 1 << 20
TWO_COMMANDS = 256 << 10
TRANSFER_FUA = 2
UNRECOVERED_READ, PLACE = 0x281, 0x3FF


class Kept:
    """A disk whose drive answers no command until it is reset."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.node = ""
        self.drive: Played
        self._fails, self._is_over, self._answers = (threading.Event() for _ in range(3))

    def take(self, drive: Played) -> None:
        """Bind the drive."""
        self.drive = drive
        (self.node,) = self.rig.take(drive.address)
        self.rig.open_to_all(self.node)

    def status(self, queue: int, command: Command) -> int | None:
        """How a command ends; during a reset the drive is slow to make a queue, so that it is sent none."""
        if queue:
            return OK if self._answers.is_set() else None
        if command.opcode == Opcode.CREATE_SQ and self._fails.is_set():
            self._is_over.wait(LIMIT_S)
        return OK

    def commands(self) -> list[Command]:
        """Reads, writes and flushes that the drive has been sent."""
        return [command for queue, command in self.drive.fetched if queue]

    def queue_of(self, command: Command) -> int:
        """The queue that the drive has been sent it on: that of the caller's processor."""
        return next(queue for queue, one in self.drive.fetched if one is command)

    def wait_commands(self, count: int) -> None:
        """Return when it has been sent so many."""
        until(lambda: len(self.commands()) >= count, "the drive is not sent what it should be")
        assert len(self.commands()) == count

    def wait_sleeping(self, count: int) -> None:
        """Return when so many programs have handed over all they had, and sleep."""
        stacks = "cat $(printf '/proc/%s/stack ' $(pidof fault_io calls buffers python3))"
        until(lambda: self.rig.guest.run(stacks).stdout.count("chario_flight_sleep") == count, "nobody sleeps")

    def begin_reset(self, ending: tuple[int, ...] = (), status: int = OK) -> None:
        """The drive fails; some of its commands end while nothing can be sent to it."""
        self._fails.set()
        self.drive.fail(FIRST_QUEUE, ending, status)
        assert self.rig.show(self.node, "state") == "recovering"

    def end_reset(self, answering: bool = True) -> None:
        """The drive takes commands again, and answers them."""
        if answering:
            self._answers.set()
        self._is_over.set()

    def keep(self) -> None:
        """The drive answers no more, as before the end of a reset."""
        self._answers.clear()

    def end(self, command: Command) -> list[Command]:
        """The drive ends a command, and answers all that come after it; what it was sent before."""

        def act() -> list[Command]:
            before = self.commands()
            self._answers.set()
            self.drive.complete(self.queue_of(command), [command.cid])
            return before

        return self.drive.run_between(act)


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
    return [guest.start([*NOBODY, programs[name], kept.node, *flags], CALL_LIMIT_S, stdin="\n".join(lines) + "\n")
            for name, flags, lines in CALLS]  # fmt: skip


def answers(jobs: list[Job]) -> list[int]:
    """What each of them answered at last."""
    return [int(job.wait().check().stdout.split()[-1]) for job in jobs]


def kinds(commands: list[Command]) -> Counter[tuple[int, bool]]:
    """How many commands there are of each opcode, with FUA and without."""
    return Counter((command.opcode, bool(command.dword12 & FUA)) for command in commands)


def in_place(commands: list[Command]) -> list[Command]:
    """The same, with the place in the queue in place of the identifier, which has a number above it."""
    return [replace(command, cid=command.cid & PLACE) for command in commands]


def test_what_the_drive_had_is_sent_again(kept: Kept) -> None:
    """Each command once more, with the same blocks, memory and FUA, a flush too; then the calls succeed.

    Only their identifiers are others, so that a late answer of the time before the reset ends none of them.
    """
    jobs = begin(kept)
    kept.wait_commands(KINDS.total())
    before = kept.commands()
    assert kinds(before) == KINDS
    kept.begin_reset()
    kept.end_reset()
    assert answers(jobs) == ANSWERS
    again = kept.commands()[len(before) :]
    assert Counter(in_place(again)) == Counter(in_place(before))
    assert {command.cid for command in again}.isdisjoint(command.cid for command in before)
    kept.rig.wait_reset(kept.node)
    assert kept.rig.counters(kept.node)["errors"] == 0


def test_what_comes_during_a_reset_is_sent_after_it(kept: Kept) -> None:
    """Each command once, writes with FUA if they are to be durable, and flushes."""
    first = kept.rig.start(kept.node, f"read,{4 * MIB},{PAGE}", user=NOBODY)
    kept.wait_commands(1)
    kept.begin_reset()
    jobs = begin(kept)
    kept.wait_sleeping(1 + len(jobs))
    assert len(kept.commands()) == 1
    kept.end_reset()
    assert answers(jobs) == ANSWERS
    assert results(first.wait())[0] == ("read", PAGE)
    assert kinds(kept.commands()) == KINDS + Counter({(READ, False): 2})


def test_a_deadline_passes_during_a_reset(kept: Kept) -> None:
    """A call is held; its deadline ends it all the same, and others wait on."""
    rig = kept.rig
    waits = rig.start(kept.node, f"read,0,{PAGE}", user=NOBODY)
    kept.wait_commands(1)
    kept.begin_reset()
    # Memory that a call has left behind is the drive's until recovery ends: each read has its own.
    steps = (f"read,0,{PAGE}", "unmap", "map", f"hipri,0,{PAGE}", f"write,0,{2 * PAGE}", "sync")
    told = rig.calls(kept.node, "deadline,200", *steps, user=NOBODY)
    assert [value for name, value in told[1:-1] if "map" not in name] == [-ETIMEDOUT] * 4
    assert rig.uring(kept.node, 4, PAGE, "deadline=200") == {-ETIMEDOUT: 4}
    assert len(kept.commands()) == 1
    kept.end_reset()
    assert results(waits.wait())[0] == ("read", PAGE)
    rig.wait_unpinned()


def test_who_waits_for_a_reset_can_be_killed(kept: Kept) -> None:
    """Whether the drive had the call, or it came later; by interrupt and by polling."""
    rig, read = kept.rig, f"read,0,{TWO_COMMANDS}"
    jobs = [rig.start(kept.node, *mode, read, user=NOBODY) for mode in ([], ["completion,2"])]
    kept.wait_commands(4)
    kept.begin_reset()
    jobs.append(rig.start(kept.node, "touch,/tmp/held", read, user=NOBODY))
    rig.wait_file("/tmp/held")
    assert all(job.kill() for job in jobs)
    assert [(job.wait().rc, job.wait().stuck) for job in jobs] == [(-9, None)] * 3
    kept.end_reset()
    rig.wait_unpinned()


# Prints what it has written, or -errno.
PART = """
fd = disk()
try:
    print(os.pwritev(fd, [b"p" * 100], 7, os.RWF_DSYNC))
except OSError as error:
    print(-error.errno)
"""


def write_both(kept: Kept) -> tuple[Job, Job, Command]:
    """Begin to write a part of a block, whose read the drive keeps, and then all of it: this waits for the first."""
    part = start_script(kept.rig.guest, kept.node, PART, before=[*ON_FIRST_CPU, *NOBODY])
    kept.wait_commands(1)
    whole = kept.rig.start(kept.node, f"write,0,{PAGE}", user=NOBODY)
    kept.wait_sleeping(2)
    (read,) = kept.commands()
    assert places([read]) == [(READ, 0, 1)]
    return part, whole, read


def places(commands: list[Command]) -> list[tuple[int, int, int]]:
    """Opcodes of reads and writes, their first blocks and how many there are."""
    return [(command.opcode, command.dword10, (command.dword12 & 0xFFFF) + 1) for command in commands]


def test_a_write_whose_block_is_let_go_during_a_reset(kept: Kept) -> None:
    """Who changes a part of the block fails while nothing can be sent: who waited is sent after the reset."""
    part, whole, read = write_both(kept)
    kept.begin_reset((read.cid,), UNRECOVERED_READ)
    assert answers([part]) == [-EIO]
    assert kept.commands() == [read]
    kept.end_reset()
    kept.wait_commands(2)
    assert results(whole.wait())[0] == ("write", PAGE)
    assert places(kept.commands()[1:]) == [(WRITE, 0, BLOCKS)]


def test_a_write_still_waits_for_its_block_after_a_reset(kept: Kept) -> None:
    """Who changes a part of the block has read it and is to write it back: who waited is sent when that has ended."""
    part, whole, read = write_both(kept)
    kept.begin_reset((read.cid,))
    until(lambda: kept.rig.counters(kept.node)["write_commands"] == 2, "the block is not written back")
    kept.wait_sleeping(2)
    assert kept.commands() == [read]
    kept.end_reset(answering=False)
    until(lambda: len(kept.commands()) > 1, "the block is not sent back")
    back = kept.commands()[1]
    assert kept.end(back) == [read, back]
    assert results(whole.wait())[0] == ("write", PAGE)
    assert answers([part]) == [100]
    assert places(kept.commands()) == [(READ, 0, 1), (WRITE, 0, 1), (WRITE, 0, BLOCKS)]


def test_a_write_that_somebody_waits_for_is_sent_again_first(kept: Kept) -> None:
    """Who changes a part of the block waits for a write that the drive has: after a reset it still comes first."""
    whole = kept.rig.start(kept.node, f"write,0,{PAGE}", user=NOBODY)
    kept.wait_commands(1)
    part = start_script(kept.rig.guest, kept.node, PART, before=NOBODY)
    stack = "cat /proc/$(pidof python3)/stack"
    until(lambda: "chario_edge_lock" in kept.rig.guest.run(stack).stdout, "nobody waits for the write")
    kept.begin_reset()
    kept.end_reset()
    assert answers([part]) == [100]
    assert results(whole.wait())[0] == ("write", PAGE)
    assert places(kept.commands()) == [(WRITE, 0, BLOCKS)] * 2 + [(READ, 0, 1), (WRITE, 0, 1)]
    assert kept.rig.counters(kept.node)["timeouts"] == 0
