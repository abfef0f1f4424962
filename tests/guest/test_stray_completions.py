# SPDX-License-Identifier: MIT
"""A drive that completes commands which nobody has sent: they change nothing, and what they name is not looked at."""

from __future__ import annotations

from played import OK, Command, Opcode, Played, played
from rig import Rig
from shared_guest import Setup

from chario_lab.guest.spec import RegisterFile

REGISTERS = 0
SETUP = Setup(drives=(RegisterFile(),), parameters="private_queues=1", qtest=True)
NO_COMMAND, PIN_RETRY = 0xFFFF, 1 << 4
# Identifiers of admin commands are below; the next is that of the request for events.
ADMIN_COMMANDS, ADMIN_DEPTH = 14, 16


def test_of_an_io_queue(rig: Rig) -> None:
    """Two that cannot be, and one that is not in flight, are logged, and the next completion counts."""
    drives: list[Played] = []
    strays: list[int] = []

    def status(queue: int, command: Command) -> int:
        if queue:
            drives[0].complete(queue, [*strays, command.cid ^ 1])
        return OK

    mark = rig.guest.log_mark()
    with played(rig, REGISTERS, status=status) as drive:
        drives.append(drive)
        (disk,) = rig.take(drive.address)
        strays += [NO_COMMAND, int(rig.show(disk, "queue_depth"))]
        assert dict(rig.calls(disk, "completion,2", "read,0,4096"))["read"] == 4096
        rig.wait_said(mark, f"completion of command {strays[0]}, which is not in flight")
        rig.wait_said(mark, f"completion of command {strays[1]}, which is not in flight")
        assert rig.said(mark).count("which is not in flight") == 3


def test_of_the_admin_queue(rig: Rig) -> None:
    """With each command two that cannot be and three that are free: there is room for as many commands as before."""
    drives: list[Played] = []
    sent: list[int] = []
    silent = [False]

    def status(queue: int, command: Command) -> int | None:
        if queue:
            return OK
        if silent[0] and command.opcode == Opcode.GET_FEATURES:
            return None
        others = [cid for cid in range(ADMIN_COMMANDS) if cid != command.cid]
        free = [others[(3 * len(sent) + more) % len(others)] for more in range(3)]
        drives[0].complete(0, [ADMIN_DEPTH - 1, NO_COMMAND, *free])
        sent.append(command.cid)
        return OK

    with played(rig, REGISTERS, status=status) as drive:
        drives.append(drive)
        (disk,) = rig.take(drive.address)
        assert len(sent) * 3 >= ADMIN_COMMANDS, "each has not been completed once"
        # The drive keeps the one that is in use: there have to be others.
        silent[0] = True
        rig.set_admin_timeout(1)
        rig.calls(disk, f"pin,{PIN_RETRY}", "pin,0")
        rig.set_admin_timeout()
        silent[0] = False
        calls = rig.calls(disk, f"pin,{PIN_RETRY}", "in-force", "pin,0")
        assert calls[:3] == [("pin", 0), ("in-force", PIN_RETRY), ("pin", 0)]
        assert rig.call(disk, "read,0,4096") == 4096
