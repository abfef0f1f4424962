# SPDX-License-Identifier: MIT
"""A drive that completes commands which nobody has sent: they change nothing, and what they name is not looked at."""

import re

import pytest
from played import INVALID_FIELD, OK, REGISTERS, UNRECOVERED_READ, Command, Opcode, played, set_up, taken
from rig import Rig

from chario_lab.waiting import until

pytestmark = [pytest.mark.area("kernel/drive/", "kernel/back/nvme/"), pytest.mark.kernels("debug")]

SETUP = set_up(private_queues=1)
NO_COMMAND, PIN_RETRY = 0xFFFF, 1 << 4
# Places of admin commands are below; the next is that of the request for events.  Above, an identifier is a number.
ADMIN_COMMANDS, ADMIN_DEPTH, PLACE = 14, 16, 15
# More often than there are identifiers for a place in a queue.
OFTEN = 70


def test_of_an_io_queue(rig: Rig) -> None:
    """Two that cannot be, and one that is not in flight, are logged, and the next completion counts."""
    with taken(rig, REGISTERS) as (drive, disk):
        strays = [NO_COMMAND, int(rig.show(disk, "queue_depth"))]

        def status(queue: int, command: Command) -> int:
            if queue:
                drive.complete(queue, [*strays, command.cid ^ 1])
            return OK

        drive.status = status
        assert dict(rig.calls(disk, "completion,2", "read,0,4096"))["read"] == 4096
        rig.wait_said(rig.began, f"completion of command {strays[0]}, which is not in flight")
        rig.wait_said(rig.began, f"completion of command {strays[1]}, which is not in flight")
        assert rig.said(rig.began).count("which is not in flight") == 3


def test_of_the_admin_queue(rig: Rig) -> None:
    """With each command two that cannot be and three that are free: there is room for as many commands as before."""
    sent: list[int] = []
    silent = [False]
    with played(rig, REGISTERS) as drive:

        def status(queue: int, command: Command) -> int | None:
            if queue:
                return OK
            if silent[0] and command.opcode == Opcode.GET_FEATURES:
                return None
            others = [command.cid & ~PLACE | place for place in range(ADMIN_COMMANDS) if place != command.cid & PLACE]
            free = [others[(3 * len(sent) + more) % len(others)] for more in range(3)]
            drive.complete(0, [ADMIN_DEPTH - 1, NO_COMMAND, *free])
            sent.append(command.cid)
            return OK

        drive.status = status
        (disk,) = rig.take(drive.address)
        rig.wait_said(rig.began, f"admin queue: completion of command {NO_COMMAND}, which is not in flight")
        assert len(sent) * 3 >= ADMIN_COMMANDS, "each has not been completed once"
        # The drive keeps the one that is in use: there have to be others.
        silent[0] = True
        rig.set_admin_timeout(100)
        rig.calls(disk, f"pin,{PIN_RETRY}", "pin,0")
        rig.set_admin_timeout()
        silent[0] = False
        calls = rig.calls(disk, f"pin,{PIN_RETRY}", "in-force", "pin,0")
        assert calls[:3] == [("pin", 0), ("in-force", PIN_RETRY), ("pin", 0)]
        assert rig.call(disk, "read,0,4096") == 4096


def test_twice(rig: Rig) -> None:
    """What a drive says once more of the command before is not taken for the end of the next in the same place."""
    last: dict[int, int] = {}
    with taken(rig, REGISTERS) as (drive, disk):

        def status(queue: int, command: Command) -> int:
            if queue or command.opcode == Opcode.GET_FEATURES:
                if queue in last:
                    drive.complete(queue, [last[queue]], UNRECOVERED_READ if queue else INVALID_FIELD)
                last[queue] = command.cid
            return OK

        def is_told_of_reads() -> bool:
            reads = rig.calls(disk, "completion,2", *["read,0,4096"] * OFTEN)
            assert set(reads[1:-1]) == {("read", 4096)}
            return re.search(r" queue \d+: completion of command", rig.said(rig.began)) is not None

        def is_told_of_questions() -> bool:
            calls = rig.calls(disk, *[f"pin,{PIN_RETRY}", "in-force", "pin,0"] * 2)
            assert calls[:6] == [("pin", 0), ("in-force", PIN_RETRY), ("pin", 0)] * 2
            return "admin queue: completion of command" in rig.said(rig.began)

        drive.status = status
        # The log takes some of them every few seconds.
        until(is_told_of_reads, "the log does not say that a read has ended twice")
        until(is_told_of_questions, "the log does not say that a question has ended twice")
        assert rig.counters(disk)["errors"] == 0
