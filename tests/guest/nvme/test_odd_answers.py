# SPDX-License-Identifier: MIT
"""Controllers that come up as others do, and then answer as no emulated drive does."""

import time
from errno import ECANCELED, EIO, ETIMEDOUT

import pytest
from disks import folder
from played import (
    HEALTH_LOG,
    INVALID_FIELD,
    NUMBER_OF_QUEUES,
    OK,
    REGISTERS,
    UNRECOVERED_READ,
    Command,
    Opcode,
    Status,
    controller_page,
    ending_with,
    health_page,
    is_admin,
    played,
    set_up,
    taken,
    well,
)
from rig import Rig, results, uring_results

from chario_lab.waiting import until

pytestmark = [pytest.mark.area("kernel/drive/", "kernel/back/nvme/", "kernel/queue/complete"), pytest.mark.slow]

SETUP = set_up(private_queues=1)
READ, ABORT_REQUESTED, OUT_OF_RANGE = 0x02, 0x007, 0x080
BLOCK_BYTES, COMMAND_BYTES, COMMANDS = 512, 128 << 10, 64
RETRIES, PIN_APST, PIN_RETRY = 0x05, 1 << 0, 1 << 4
SLOW_S = 0.4
ADMIN_COMMANDS = 14


def keeping(opcode: Opcode) -> Status:
    """The drive answers neither I/O commands nor admin commands of a kind."""
    return lambda queue, command: None if queue or command.opcode == opcode else OK


def test_interrupts_that_do_not_come(rig: Rig) -> None:
    """The watchdog finds what has completed, and counts it."""
    with taken(rig, REGISTERS) as (_, disk):
        assert rig.call(disk, "read,0,4096") == 4096
        counters = rig.counters(disk)
        assert (counters["late_reaps"], counters["interrupts"]) == (1, 0)


def test_a_drive_that_slows_down(rig: Rig) -> None:
    """Its health says so for some time after its counters have changed."""
    with taken(rig, REGISTERS) as (drive, disk):
        assert rig.show(disk, "health/reasons") == ""
        drive.health = health_page(throttle_light_count=1)
        until(lambda: rig.show(disk, "health/reasons") == "throttled", "it is not told")


def test_news_of_health(rig: Rig) -> None:
    """What a drive tells by itself is counted, and its log page is read anew."""
    with taken(rig, REGISTERS) as (drive, disk):
        drive.wait_request()
        drive.tell(HEALTH_LOG)
        # Without interrupts an answer is seen when the driver waits for another.
        until(lambda: rig.show(disk, "health/status") == "ok" and rig.show(disk, "health/events") == "1", "no event")


def test_news_of_health_that_cannot_be_read(rig: Rig) -> None:
    """The drive refuses its log page when it has told of it: that is counted, and the next reader has the page."""
    with taken(rig, REGISTERS) as (drive, disk):
        drive.wait_request()
        drive.status = ending_with(Opcode.GET_LOG, INVALID_FIELD)
        before = len(drive.admin_commands(Opcode.GET_LOG))
        drive.tell(HEALTH_LOG)
        asks = f"cat {folder(disk)}/health/status"
        until(
            lambda: rig.guest.run(asks).rc != 0 and len(drive.admin_commands(Opcode.GET_LOG)) > before + 2,
            "nobody asks for the page",
        )
        drive.status = well
        reads = f"cat {folder(disk)}/health/events"
        until(lambda: rig.guest.run(reads).stdout == "1\n", "the event is not counted")


def test_more_failures_than_are_told(rig: Rig) -> None:
    """All at once: some have their line in the log, the others are counted there."""
    waiting: list[int] = []
    with taken(rig, REGISTERS) as (drive, disk):

        def status(queue: int, command: Command) -> int | None:
            if not queue:
                return OK
            waiting.append(command.cid)
            if len(waiting) == COMMANDS:
                drive.complete(queue, waiting, UNRECOVERED_READ)
            return None

        drive.status = status
        assert dict(rig.calls(disk, "completion,2", f"read,0,{COMMANDS * COMMAND_BYTES}"))["read"] == -EIO
        rig.wait_said(rig.began, "more failed commands")
        assert rig.counters(disk)["errors"] == COMMANDS


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0)], ids=["in-order", "backwards"])
@pytest.mark.parametrize(
    ("failures", "result"),
    [({1: UNRECOVERED_READ, 3: OUT_OF_RANGE}, COMMAND_BYTES), ({0: UNRECOVERED_READ, 2: OUT_OF_RANGE}, -EIO)],
    ids=["second", "first"],
)
def test_failures_in_any_order(rig: Rig, failures: dict[int, int], result: int, order: tuple[int, ...]) -> None:
    """A call of four commands ends at the first place that failed, whichever failure the drive tells first."""
    waiting: dict[int, int] = {}
    with taken(rig, REGISTERS) as (drive, disk):

        def status(queue: int, command: Command) -> int | None:
            if not queue:
                return OK
            waiting[command.dword10 * BLOCK_BYTES // COMMAND_BYTES] = command.cid
            if len(waiting) == len(order):
                for place in order:
                    drive.complete(queue, [waiting[place]], failures.get(place, OK))
            return None

        drive.status = status
        assert dict(rig.calls(disk, "completion,2", f"read,0,{len(order) * COMMAND_BYTES}"))["read"] == result
        assert rig.counters(disk)["errors"] == len(failures)


def test_a_drive_that_aborts_everything(rig: Rig) -> None:
    """Once it may have been an abort that was meant for an earlier command; twice it is the drive's own failure."""
    with taken(rig, REGISTERS, status=lambda queue, _: ABORT_REQUESTED if queue else OK) as (drive, disk):
        assert rig.calls(disk, "completion,2", "read,0,4096", "read,0,4096")[1:3] == [("read", -ECANCELED)] * 2
        assert len([command for queue, command in drive.fetched if queue]) == 4
        assert rig.counters(disk)["errors"] == 2


def test_aborts_that_take_long(rig: Rig) -> None:
    """They share a second; then the drive is reset."""

    def status(queue: int, command: Command) -> int | None:
        if queue:
            return None
        if command.opcode == Opcode.ABORT:
            time.sleep(SLOW_S)
        return OK

    with taken(rig, REGISTERS, status=status) as (_, disk):
        assert uring_results(rig.start_uring(disk, 8, 4096, "deadline=200").wait()) == {-ETIMEDOUT: 8}
        rig.wait_reset(disk)
        assert 0 < rig.counters(disk)["aborts"] < 8


def test_aborts_that_are_not_answered(rig: Rig) -> None:
    """The first one is waited for; then the drive is reset."""
    with taken(rig, REGISTERS, status=keeping(Opcode.ABORT)) as (drive, disk):
        rig.set_admin_timeout(2000)
        assert uring_results(rig.start_uring(disk, 2, 4096, "deadline=200").wait()) == {-ETIMEDOUT: 2}
        rig.wait_reset(disk)
        assert rig.counters(disk)["aborts"] == 0
        assert len(drive.admin_commands(Opcode.ABORT)) == 1
    rig.set_admin_timeout()


def test_answers_that_come_too_late(rig: Rig) -> None:
    """Nobody waits for them any more, but their commands are free again: more often than there are commands."""
    late: list[int] = []
    with taken(rig, REGISTERS) as (drive, disk):

        def status(queue: int, command: Command) -> int | None:
            if not is_admin(queue, command, Opcode.GET_FEATURES, RETRIES):
                return OK
            if late:
                drive.complete(0, [late.pop()])
            late.append(command.cid)
            return None

        drive.status = status
        rig.set_admin_timeout(100)
        asked = [step for _ in range(ADMIN_COMMANDS + 1) for step in (f"pin,{PIN_RETRY}", "pin,0")]
        assert {value for name, value in rig.calls(disk, *asked) if name == "pin"} == {0}
        drive.status = well
        rig.set_admin_timeout()
        calls = rig.calls(disk, f"pin,{PIN_RETRY}", "in-force", "pin,0")
        assert calls[:3] == [("pin", 0), ("in-force", PIN_RETRY), ("pin", 0)]


def test_a_shutdown_that_does_not_end(rig: Rig) -> None:
    """The log says so, and the drive is let go all the same."""
    with played(rig, REGISTERS, shuts_down=False) as drive:
        assert rig.take(drive.address)
        assert rig.release(drive.address) == ""
        rig.wait_said(rig.began, "no clean shutdown")


def test_a_question_that_a_reset_cuts_off(rig: Rig) -> None:
    """Who asks for the drive's health is told to ask again; who waits behind him can be killed."""
    with taken(rig, REGISTERS, status=keeping(Opcode.GET_LOG)) as (drive, disk):
        rig.set_admin_timeout(200_000)
        show = ["cat", f"{folder(disk)}/health/status"]
        first = rig.guest.start(show)
        until(lambda: bool(drive.admin_commands(Opcode.GET_LOG)), "nobody asks")
        second = rig.guest.start(show)
        until(lambda: len(rig.guest.run("pidof cat").stdout.split()) == 2, "nobody waits behind him")
        assert second.stop().rc == -9
        assert results(rig.start(disk, "deadline,200", "read,0,4096").wait())[1] == ("read", -ETIMEDOUT)
        ended = first.wait()
        assert ended.rc == 1 and "Resource temporarily unavailable" in ended.stderr
        rig.wait_said(rig.began, "cut off by a reset")
        rig.wait_reset(disk)
    rig.set_admin_timeout()


def test_queues_that_are_made_after_a_reset(rig: Rig) -> None:
    """A reset asks for as many as there will be: those of a block disk are made when it is."""
    with taken(rig, REGISTERS) as (drive, disk):
        drive.run_between(drive.report_failure)
        rig.call(disk, "read,0,4096")
        until(lambda: rig.counters(disk)["resets"] == 1, "it is not reset")
        first, second = drive.admin_commands(Opcode.SET_FEATURES, NUMBER_OF_QUEUES)
        assert second.dword11 == first.dword11
    rig.release(rig.address(REGISTERS))


@pytest.mark.parametrize("failures", [1, 2])
def test_a_drive_that_fails_again_while_it_is_reset(rig: Rig, failures: int) -> None:
    """It is reset once more, and the call goes on; one that fails a third time is given up."""
    left = [failures]
    with taken(rig, REGISTERS) as (drive, disk):

        def status(queue: int, command: Command) -> int | None:
            if queue:
                return None if left[0] else OK
            if command.opcode == Opcode.IDENTIFY and left[0]:
                left[0] -= 1
                drive.report_failure()
                return None
            return OK

        drive.status = status
        job = rig.start(disk, "read,0,4096")
        until(lambda: any(queue for queue, _ in drive.fetched), "the drive is not asked")
        drive.run_between(drive.report_failure)
        if failures == 1:
            assert results(job.wait())[0] == ("read", 4096)
            assert rig.counters(disk)["resets"] == 1
        else:
            assert results(job.wait())[0] == ("read", -EIO)
            rig.wait_said(rig.began, "does not come up again")
        assert rig.said(rig.began).count("the controller has failed") == failures
    rig.release(rig.address(REGISTERS))


def test_a_drive_that_keeps_every_question(rig: Rig) -> None:
    """When it can be asked nothing any more it is reset."""
    with taken(rig, REGISTERS, status=ending_with(Opcode.GET_FEATURES, None)) as (drive, disk):
        # Long enough for what the reset asks, on a busy host too.
        rig.set_admin_timeout(1000)
        rig.calls(disk, *[f"pin,{PIN_RETRY}", "pin,0"] * (ADMIN_COMMANDS + 2))
        drive.status = well
        rig.wait_reset(disk)
        rig.set_admin_timeout()
        calls = rig.calls(disk, f"pin,{PIN_RETRY}", "in-force", "pin,0")
        assert calls[:3] == [("pin", 0), ("in-force", PIN_RETRY), ("pin", 0)]


def test_a_setting_that_stays(rig: Rig) -> None:
    """A drive takes a setting, and does not take the old one back: the log says which stays."""

    def status(queue: int, command: Command) -> int:
        is_back = is_admin(queue, command, Opcode.SET_FEATURES, RETRIES) and command.dword11 == 0
        return INVALID_FIELD if is_back else OK

    page = controller_page(autonomous=1, power_states=1)
    with taken(rig, REGISTERS, controller=page, status=status) as (_, disk):
        calls = rig.calls(disk, f"pin,{PIN_RETRY | PIN_APST}", "in-force", "pin,0")
        assert calls[:3] == [("pin", 0), ("in-force", PIN_RETRY | PIN_APST), ("pin", 0)]
        rig.wait_said(rig.began, f"feature 0x{RETRIES:02x} stays changed: status 0x002")
