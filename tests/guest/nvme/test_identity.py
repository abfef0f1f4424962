# SPDX-License-Identifier: MIT
"""What was asked of one drive is not done to another: after a reset, and at the drive's word, it is looked at again.

The drive is played: it answers nothing until it is reset, and is another one by then, or has another namespace.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from errno import ECANCELED, ENODEV
from typing import Any

import pytest
from block_side import enable
from entries import WRITE
from played import (
    CHANGED_NAMESPACES,
    CONTROLLER,
    EVENTS,
    LIST,
    NAMESPACE,
    NAMESPACE_EVENTS,
    OK,
    REGISTERS,
    Command,
    Opcode,
    Played,
    controller_page,
    is_admin,
    namespace_page,
    played,
    set_up,
    taken,
)
from rig import CALL_LIMIT_S, WAITS_TO_UNBIND, Rig, results, unbinding
from test_replay import ADMIN_TIMEOUT_MS, FIRST_QUEUE, PAGE, PATIENT, Kept

from chario_lab.guest import faults
from chario_lab.guest.devices import PCI, nodes
from chario_lab.waiting import until

pytestmark = [
    pytest.mark.area("kernel/drive/", "kernel/back/nvme/", "kernel/queue/replay"),
    pytest.mark.kernels("debug"),
]

SETUP = set_up(private_queues=0)
EUI64, NGUID = b"ABCDEFGH", b"0123456789abcdef"
ABORT_REQUESTED, INTERNAL_ERROR, INTERRUPTED, NOT_READY, DO_NOT_RETRY = 0x007, 0x006, 0x021, 0x082, 0x4000
LONG_MS, ZONED = 30_000, 2
RETRIES, PIN_RETRY = 0x05, 1 << 4


class Pair(Kept):
    """A drive with two namespaces, both disks of which have a write in flight; another is used meanwhile."""

    nodes: list[str]

    def take(self, drive: Played) -> None:
        """Bind the drive."""
        self.drive = drive
        self.nodes = self.rig.take(drive.address)
        self.node = self.nodes[1]


@contextmanager
def kept_pair(rig: Rig) -> Iterator[Pair]:
    """The drive while the block lasts."""
    pair = Pair(rig)
    rig.set_admin_timeout(ADMIN_TIMEOUT_MS)
    page = controller_page(namespaces=2, firmware=b"one", oaes=NAMESPACE_EVENTS)
    spaces = {1: namespace_page(eui64=EUI64, nguid=NGUID), 2: namespace_page(eui64=EUI64[::-1])}
    with played(rig, REGISTERS, controller=page, namespaces=spaces, registers=PATIENT, status=pair.status) as drive:
        pair.take(drive)
        yield pair
        pair.end_reset()
    rig.set_admin_timeout()


@pytest.fixture
def pair(rig: Rig) -> Iterator[Pair]:
    """As above."""
    with kept_pair(rig) as pair:
        yield pair


def change(pair: Pair, uuid: bytes = b"", command_set: int = 0, **values: Any) -> None:
    """Have the first namespace be another one."""
    pair.drive.uuids, pair.drive.command_sets = {1: uuid}, {1: command_set}
    usual: dict[str, Any] = {"eui64": EUI64, "nguid": NGUID}
    pair.drive.namespaces = {**pair.drive.namespaces, 1: namespace_page(**{**usual, **values})}


def test_another_drive_in_the_slot(pair: Pair) -> None:
    """It has another serial number: no command is sent to it, and calls give ENODEV."""
    jobs = [pair.rig.start(node, f"write,0,{PAGE}") for node in pair.nodes]
    pair.wait_commands(2)
    pair.drive.controller = controller_page(namespaces=2, serial=b"other")
    pair.begin_reset()
    pair.end_reset()
    assert [results(job.wait())[0] for job in jobs] == [("write", -ENODEV)] * 2
    assert len(pair.commands()) == 2
    assert pair.rig.calls(pair.nodes[0], f"write,0,{PAGE}")[0] in [("write", -ENODEV), ("open", -ENODEV)]
    pair.rig.wait_said(
        pair.rig.began, 'another drive is in the slot: its serial number is "other", that of the disks was "played"'
    )
    assert pair.rig.show(pair.nodes[0], "state") == "dead"


def test_other_firmware_is_no_other_drive(pair: Pair) -> None:
    """A reset may be what activates it."""
    job = pair.rig.start(pair.node, f"write,0,{PAGE}")
    pair.wait_commands(1)
    pair.drive.controller = controller_page(namespaces=2, firmware=b"two", oaes=NAMESPACE_EVENTS)
    pair.begin_reset()
    pair.end_reset()
    assert results(job.wait())[0] == ("write", PAGE)


CHANGES: dict[str, dict[str, Any] | None] = {
    "size": {"blocks": 1 << 16},
    "format": {"shift": 12},
    "eui64": {"eui64": b"another!"},
    "nguid": {"nguid": NGUID[::-1]},
    "uuid": {"uuid": NGUID},
    "command set": {"command_set": ZONED},
    "gone": None,
    "being formatted": None,
}


@pytest.mark.parametrize("name", CHANGES)
def test_another_namespace_after_a_reset(pair: Pair, name: str) -> None:
    """What was in flight on it gives ENODEV and is not sent again; it gets a new disk, and the other goes on."""
    jobs = [pair.rig.start(node, f"write,0,{PAGE}") for node in pair.nodes]
    pair.wait_commands(2)
    held = pair.rig.start(pair.nodes[0], "touch,/run/open", "await,/run/go", "touch,/run/held", f"write,0,{PAGE}")
    pair.rig.wait_file("/run/open")
    values = CHANGES[name]
    if values:
        change(pair, **values)
    elif name == "gone":
        pair.drive.namespaces = {2: pair.drive.namespaces[2]}
    else:
        pair.drive.being_formatted = {1}
    pair.begin_reset()
    pair.rig.touch("/run/go")
    pair.rig.wait_file("/run/held")
    pair.end_reset()
    assert results(jobs[0].wait())[0] == ("write", -ENODEV)
    assert dict(results(held.wait()))["write"] == -ENODEV
    assert results(jobs[1].wait())[0] == ("write", PAGE)
    assert [(command.opcode, command.nsid) for command in pair.commands()[2:]] == [(WRITE, 2)]
    pair.rig.wait_said(
        pair.rig.began,
        "namespace 1 has another size, format, identifier or command set, or has gone; calls give ENODEV",
    )
    now = "not there any more" if name == "gone" else "another one now"
    pair.rig.wait_said(pair.rig.began, f"taken away, namespace 1 is {now}")
    wanted = ["1", "2"] if values and name != "command set" else ["2"]
    until(lambda: sorted(nsid for _, nsid in namespaces(pair)) == wanted, "the disks are others")
    assert pair.rig.show(pair.nodes[1], "state") == "live"


@pytest.mark.parametrize("kind", [NAMESPACE, CONTROLLER], ids=["namespace", "controller"])
@pytest.mark.parametrize("status", [INTERNAL_ERROR, INTERRUPTED, NOT_READY], ids=["internal", "cut", "not-ready"])
def test_a_drive_that_cannot_say_yet(pair: Pair, kind: int, status: int) -> None:
    """After a reset it is asked again until it answers: neither of the disks is lost."""
    jobs = [pair.rig.start(node, f"write,0,{PAGE}") for node in pair.nodes]
    pair.wait_commands(2)
    pair.begin_reset()
    asked = answer_some(pair, kind, lambda: status, often=3)
    pair.end_reset()
    assert [results(job.wait())[0] for job in jobs] == [("write", PAGE)] * 2
    assert len(asked) == 3


def test_a_format_before_events_are_asked_for(rig: Rig) -> None:
    """The drive tells of none that was earlier: the namespace is looked at once more."""
    with played(rig, REGISTERS, controller=controller_page(oaes=NAMESPACE_EVENTS)) as drive:

        def status(queue: int, command: Command) -> int:
            if is_admin(queue, command, Opcode.SET_FEATURES, EVENTS):
                drive.namespaces = {1: namespace_page(shift=12)}
            return OK

        drive.status = status
        (disk,) = rig.take(drive.address)
        until(lambda: rig.show(disk, "state") == "removed", "the disk is still there")


def is_healthy(rig: Rig, disk: str) -> bool:
    """What the drive says, and that is when an event is seen; nothing while it is being reset."""
    try:
        return rig.show(disk, "health/status") == "ok"
    except BlockingIOError:
        return False


@pytest.mark.parametrize("often", [3, 1000], ids=["for a while", "for ever"])
def test_a_log_page_that_cannot_be_read(rig: Rig, often: int) -> None:
    """It is asked for again, for the drive tells of no other format before; if that does not help, a reset does."""
    refused: list[Command] = []
    said = rig.guest.log_mark()

    def status(queue: int, command: Command) -> int:
        if not is_admin(queue, command, Opcode.GET_LOG, CHANGED_NAMESPACES):
            return OK
        refused.append(command)
        return INTERNAL_ERROR if len(refused) <= often else OK

    with taken(rig, REGISTERS, controller=controller_page(oaes=NAMESPACE_EVENTS), status=status) as (drive, disk):
        drive.wait_request()
        drive.tell(CHANGED_NAMESPACES)
        until(lambda: is_healthy(rig, disk) and len(drive.admin_commands(Opcode.ASYNC_EVENT)) > 1, "no second request")
        if often > 5:
            rig.wait_said(said, "the log page of an event, 0x04, cannot be read")
            rig.wait_reset(disk)
        assert (len(refused), rig.counters(disk)["resets"]) == ((4, 0) if often == 3 else (5, 1))


def test_a_namespace_that_is_formatted_anew(pair: Pair) -> None:
    """The drive tells of it: open files give ENODEV, a new disk replaces it; a word about nothing changes nothing."""
    pair.end_reset()
    pair.drive.wait_request()
    wishes = [command.dword11 & NAMESPACE_EVENTS for command in pair.drive.admin_commands(Opcode.SET_FEATURES, EVENTS)]
    assert wishes == [NAMESPACE_EVENTS]
    mark = len(pair.drive.fetched)
    pair.drive.tell(CHANGED_NAMESPACES)
    until(lambda: looks(pair) and identified(pair, mark) == [1, 2], "the namespaces have not been looked at")
    assert pair.rig.call(pair.nodes[0], f"write,0,{PAGE}") == PAGE
    pair.drive.wait_request(2)
    job = pair.rig.start(pair.nodes[0], "touch,/run/open", "await,/run/go", f"write,0,{PAGE}")
    pair.rig.wait_file("/run/open")
    lose_first(pair)
    pair.rig.touch("/run/go")
    assert dict(results(job.wait()))["write"] == -ENODEV
    ((first, _),) = [disk for disk in namespaces(pair) if disk[1] == "1"]
    assert pair.rig.show(first, "logical_block_size") == "4096"
    assert [pair.rig.call(node, f"write,0,{PAGE}") for node in (first, pair.nodes[1])] == [PAGE, PAGE]


def namespaces(pair: Pair) -> list[tuple[str, str]]:
    """The disks of the drive, and their namespaces."""
    found = list[tuple[str, str]]()
    for node in nodes(pair.rig.guest, pair.drive.address):
        # One may go meanwhile.
        with suppress(FileNotFoundError):
            found.append((node, pair.rig.show(node, "nsid")))
    return found


def test_namespaces_that_come_and_go(pair: Pair) -> None:
    """One that is attached becomes a disk; the disk of one that is detached goes, and comes again with it."""
    pair.drive.wait_request()
    usual = dict(pair.drive.namespaces)
    pair.rig.calls(pair.nodes[1], f"pin,{PIN_RETRY}")  # what is set for each namespace is listed from here on
    pair.drive.namespaces = {**usual, 3: namespace_page()}
    pair.drive.tell(CHANGED_NAMESPACES)
    until(lambda: looks(pair) and len(namespaces(pair)) == 3, "there is no third disk")
    third, nsid = namespaces(pair)[2]
    pair.end_reset()
    assert (nsid, pair.rig.call(third, f"write,0,{PAGE}")) == ("3", PAGE)
    assert pair.commands()[-1].nsid == 3
    assert pair.rig.calls(third, f"pin,{PIN_RETRY}", "in-force")[:2] == [("pin", 0), ("in-force", PIN_RETRY)]
    assert 3 in [command.nsid for command in pair.drive.admin_commands(Opcode.GET_FEATURES, RETRIES)]
    # A file that is open keeps its disk, without a node, and not its namespace from having another one.
    job = pair.rig.start(third, "touch,/run/open", "await,/run/go", f"write,0,{PAGE}")
    pair.rig.wait_file("/run/open")
    pair.drive.namespaces = usual
    pair.drive.tell(CHANGED_NAMESPACES)
    until(lambda: looks(pair) and len(namespaces(pair)) == 2, "the third disk stays")
    pair.drive.namespaces = {**usual, 3: namespace_page()}
    # What a drive without events has, and an administrator knows of.
    rescan = rescanning(pair)
    pair.rig.guest.must(rescan)
    (fourth,) = [node for node, nsid in namespaces(pair) if nsid == "3"]
    assert fourth != third and pair.rig.call(fourth, f"write,0,{PAGE}") == PAGE
    pair.rig.touch("/run/go")
    assert dict(results(job.wait()))["write"] == -ENODEV
    pair.drive.namespaces = usual
    pair.rig.guest.must(rescan)
    pair.drive.namespaces = {**usual, 3: namespace_page()}
    pair.rig.guest.must(rescan)
    assert third in [node for node, _ in namespaces(pair)], "a number is not used again"
    # Another namespace with this number, of which the drive has reported neither the end nor the beginning.
    pair.drive.namespaces = {**usual, 3: namespace_page(shift=12)}
    pair.rig.guest.must(rescan)
    ((again, _),) = [disk for disk in namespaces(pair) if disk[1] == "3"]
    assert pair.rig.show(again, "logical_block_size") == "4096"


class Flapping(dict[int, bytes]):
    """Namespaces of which the first is another one each time that it is asked for."""

    def __getitem__(self, nsid: int) -> bytes:
        return namespace_page(eui64=os.urandom(8)) if nsid == 1 else super().__getitem__(nsid)


def test_a_namespace_that_never_is_the_same(pair: Pair) -> None:
    """It has no disk, and whoever looks for it is told; others get theirs, and several may look at once."""
    pair.end_reset()
    pair.drive.namespaces = Flapping({**pair.drive.namespaces, 3: namespace_page()})
    assert pair.rig.guest.run(rescanning(pair), timeout_s=CALL_LIMIT_S).rc != 0
    assert sorted(nsid for _, nsid in namespaces(pair)) == ["2", "3"]
    pair.drive.namespaces = dict(pair.drive.namespaces.items())
    pair.rig.guest.must(f"for i in 1 2 3 4; do {rescanning(pair)} || touch /run/told & done; wait; [ ! -e /run/told ]")
    assert sorted(nsid for _, nsid in namespaces(pair)) == ["1", "2", "3"]


def rescanning(pair: Pair) -> str:
    """The command that looks for namespaces."""
    return f"echo 1 >{PCI}/devices/{pair.drive.address}/rescan_controller"


def answer_some(
    pair: Pair, kind: int, act: Callable[[], int | None], often: int = 1, skip: int = 0, nsid: int | None = None
) -> list[Command]:
    """Have the drive end the next IDENTIFY of a kind, after some others, as `act` says; where they will be."""
    usual, asked = pair.drive.status, list[Command]()

    def status(queue: int, command: Command) -> int | None:
        if not is_admin(queue, command, Opcode.IDENTIFY, kind) or nsid not in (None, command.nsid):
            return usual(queue, command)
        if len(asked) == skip + often:
            return usual(queue, command)
        asked.append(command)
        return usual(queue, command) if len(asked) <= skip else act()

    pair.drive.status = status
    return asked


@pytest.mark.parametrize("how", ["error", "failure"])
def test_a_search_that_is_cut_off(pair: Pair, how: str) -> None:
    """Who has asked for it is told of an error; or waits for the reset, and it has been repeated when he goes on."""
    pair.drive.wait_request()
    # As long as the drive has a command it is looked after.
    job = pair.rig.start(pair.node, f"write,0,{PAGE}")
    pair.wait_commands(1)
    pair.drive.namespaces = {**pair.drive.namespaces, 3: namespace_page()}
    answer_some(pair, LIST, lambda: INTERNAL_ERROR | DO_NOT_RETRY if how == "error" else pair.drive.report_failure())
    done = pair.rig.guest.run(rescanning(pair), timeout_s=CALL_LIMIT_S)
    if how == "error":
        assert done.rc != 0 and "I/O error" in done.stderr
        pair.rig.guest.must(rescanning(pair))
    else:
        done.check()
    assert "3" in [nsid for _, nsid in namespaces(pair)]
    # The last it was sent, perhaps once more after the reset.
    pair.end(pair.commands()[-1])
    assert results(job.wait())[0] == ("write", PAGE)


def test_a_namespace_that_comes_while_the_link_fails(pair: Pair) -> None:
    """The search is repeated when the link is up again, and the disk has a block disk then."""
    guest, mark = pair.rig.guest, pair.rig.guest.log_mark()
    pair.end_reset()
    for node in pair.nodes:
        enable(guest, node)
    usual, pair.drive.namespaces = pair.drive.namespaces, {}
    guest.must(rescanning(pair))
    assert namespaces(pair) == []
    # The last look at the new namespace.
    asked = answer_some(pair, NAMESPACE, lambda: None, skip=1)
    pair.drive.namespaces = {3: usual[2]}
    job = guest.start(rescanning(pair), timeout_s=CALL_LIMIT_S)
    until(lambda: len(asked) == 2, "the namespace is not looked at")
    faults.fail_link(guest, REGISTERS)
    pair.rig.wait_said(mark, "the link has failed")
    job.wait()
    until(lambda: namespaces(pair) != [], "there is no disk")
    ((node, _),) = namespaces(pair)
    until(lambda: guest.files.exists(f"{node}b"), "there is no block disk")
    assert pair.rig.show(node, "state") == "live" and "has no block disk" not in pair.rig.said(mark)


@pytest.mark.parametrize("rescans", [False, True], ids=["alone", "beside-a-rescan"])
def test_unbinding_while_partitions_of_a_new_disk_are_read(pair: Pair, rescans: bool) -> None:
    """Nobody needs them then: what the drive does not answer is not sent again when it has been reset."""
    guest = pair.rig.guest
    pair.end_reset()
    enable(guest, pair.nodes[0])
    pair.keep()
    before = len(pair.commands())
    pair.drive.namespaces = {**pair.drive.namespaces, 3: namespace_page()}
    guest.must(rescanning(pair), timeout_s=CALL_LIMIT_S)
    until(lambda: len(pair.commands()) > before, "no partition is read")
    sent = len(pair.commands())
    if rescans:
        # It waits for the end of the first disk, which waits for the reading.
        change(pair, shift=12)
        rescan = guest.start(rescanning(pair), timeout_s=CALL_LIMIT_S)
        ends = "cat /proc/[0-9]*/stack | grep -q chario_disk_unregister"
        until(lambda: guest.run(ends).rc == 0, "nothing is taken away")
    job = guest.start(unbinding(pair.drive.address), timeout_s=CALL_LIMIT_S)
    until(lambda: guest.run(WAITS_TO_UNBIND).rc == 0, "nobody waits")
    pair.drive.fail(FIRST_QUEUE)
    job.wait().check()
    assert pair.commands()[sent:] == []
    if rescans:
        rescan.wait()


def test_a_list_that_is_wrong(pair: Pair) -> None:
    """A namespace that is not in the list, and can still be identified, keeps its disk."""
    pair.drive.listed = (2,)
    pair.rig.guest.must(rescanning(pair))
    pair.end_reset()
    assert [nsid for _, nsid in namespaces(pair)] == ["1", "2"]
    assert pair.rig.call(pair.nodes[0], f"write,0,{PAGE}") == PAGE


def test_a_disk_that_was_lost_before_a_reset(pair: Pair) -> None:
    """What it had in flight is not sent again when the controller is reset later."""
    pair.drive.wait_request()
    job = pair.rig.start(pair.nodes[0], f"write,0,{PAGE}")
    pair.wait_commands(1)
    lose_first(pair)
    pair.begin_reset()
    pair.end_reset()
    assert results(job.wait())[0] == ("write", -ENODEV)
    assert len(pair.commands()) == 1


def test_a_write_that_waits_for_a_part_of_its_block(pair: Pair) -> None:
    """The disk is lost meanwhile: when the part has ended, the write gives ENODEV and is not sent."""
    disk = pair.nodes[0]
    pair.drive.wait_request()
    part = pair.rig.start(disk, f"deadline,{LONG_MS}", "any-size", "write,7,5", "sync")
    pair.wait_commands(1)
    (read,) = pair.commands()
    before = pair.rig.counters(disk)["write_commands"]
    whole = pair.rig.start(disk, f"deadline,{LONG_MS}", f"write,0,{PAGE}")
    until(lambda: pair.rig.counters(disk)["write_commands"] > before, "the whole block is not asked for")
    time.sleep(0.5)
    lose_first(pair)
    assert pair.end(read) == [read]
    assert results(whole.wait())[-2] == ("write", -ENODEV)
    assert results(part.wait())[-2] == ("sync", -ENODEV)
    assert pair.commands() == [read]


def test_a_write_that_the_drive_aborts(pair: Pair) -> None:
    """Drives that format a namespace may do so: of a disk that has been lost, it is not sent again."""
    pair.drive.wait_request()
    job = pair.rig.start(pair.nodes[0], f"deadline,{LONG_MS}", f"write,0,{PAGE}")
    pair.wait_commands(1)
    lose_first(pair)
    (write,) = pair.commands()
    pair.end_reset()
    pair.drive.run_between(lambda: pair.drive.complete(pair.queue_of(write), [write.cid], status=ABORT_REQUESTED))
    assert results(job.wait())[-2] == ("write", -ECANCELED)
    assert pair.commands() == [write]


def test_memory_of_a_lost_disk_while_the_drive_has_it(pair: Pair) -> None:
    """The drive tells of a format and fails: as long as it has not stopped, its callers wait and their memory stays."""
    pair.drive.wait_request()
    job = pair.rig.start(pair.nodes[0], f"deadline,{LONG_MS}", f"write,0,{PAGE}")
    pair.wait_commands(1)
    looked = answer_some(pair, NAMESPACE, lambda: None, nsid=1)
    pair.drive.tell(CHANGED_NAMESPACES)
    until(lambda: looks(pair) and bool(looked), "the namespace is not looked at")
    change(pair, shift=12)
    assert pair.drive.run_between(lambda: pair.drive.fail_slowly(looked[0], lambda: job.poll() is None))
    assert results(job.wait())[-2] == ("write", -ENODEV)


def lose_first(pair: Pair) -> None:
    """The first namespace, whose disk is open, is formatted; the drive tells of it."""
    change(pair, shift=12)
    pair.drive.tell(CHANGED_NAMESPACES)
    old = (pair.nodes[0], "1")
    until(lambda: looks(pair) and old not in namespaces(pair), "the disk is still there")
    until(lambda: looks(pair) and len(namespaces(pair)) == 2, "no disk has replaced it")


def looks(pair: Pair) -> bool:
    """Have the driver wait for an answer: without interrupts, it sees an event only then."""
    return pair.rig.show(pair.nodes[1], "health/status") == "ok"


def identified(pair: Pair, since: int) -> list[int]:
    """Which namespaces have been asked for."""
    sent = pair.drive.fetched[since:]
    return [command.nsid for queue, command in sent if is_admin(queue, command, Opcode.IDENTIFY, NAMESPACE)]
