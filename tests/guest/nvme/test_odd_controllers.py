# SPDX-License-Identifier: MIT
"""Controllers that say what no emulated drive says: what is made of it, and what is refused."""

from typing import Any

import pytest
from played import (
    EVENTS,
    INVALID_FIELD,
    INVALID_SIZE,
    LIST,
    NAMESPACE_EVENTS,
    REGISTERS,
    Opcode,
    Status,
    controller_page,
    ending_with,
    health_page,
    namespace_page,
    played,
    set_up,
    taken,
)
from rig import Rig

from chario_lab.guest import faults
from chario_lab.guest.job import CommandFailed
from chario_lab.waiting import until

pytestmark = [
    pytest.mark.area("kernel/memory/dmabuf", "kernel/memory/cmb", "kernel/drive/", "kernel/back/nvme/"),
    pytest.mark.slow,
]  # fmt: skip

SETUP = set_up(private_queues=0)
# Registers and bits of section 3.1.3 of the NVMe Base Specification 2.0.
CAP_HIGH, COMMAND_SETS, CMBLOC, CMBSZ, CRTO = 0x04, 1 << 11, 0x38, 0x3C, 0x68
PLAIN_HIGH, MEMORY_BUFFER, READY_TIMES = faults.PLAIN[CAP_HIGH], 1 << 25, 1 << 27
READS_AND_WRITES, ALL_ELSEWHERE, PORTS = 0x18, 0x60, 1
SETS, KEY_VALUE, ZONED = {CAP_HIGH: PLAIN_HIGH | COMMAND_SETS}, 1, 2
READ = 2
SMBUS = "0000:00:1f.3"


def test_what_is_played_is_a_drive(rig: Rig) -> None:
    """What follows means something only if the driver takes an ordinary one, and its queues move commands."""
    with taken(rig, REGISTERS) as (controller, disk):
        assert dict(rig.calls(disk, "completion,2", "read,0,4096"))["read"] == 4096
        assert rig.show(disk, "state") == "live"
    assert [command.opcode for queue, command in controller.fetched if queue] == [READ]


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ({"controller": controller_page(cntrltype=2)}, "controller type 2 does no I/O"),
        ({"namespaces": {1: namespace_page(blocks=1 << 62)}}, "its size is not plausible"),
        ({"namespaces": {1: namespace_page(shift=17)}}, "its block size is not supported"),
        ({"namespaces": {1: namespace_page(blocks=0)}}, "it is empty or not active"),
        ({"controller": controller_page(mdts=1), "namespaces": {1: namespace_page(shift=16)}}, "the largest command"),
        ({"status": ending_with(Opcode.CREATE_CQ, INVALID_SIZE)}, "not bound: error"),
        ({"status": ending_with(Opcode.CREATE_SQ, INVALID_SIZE)}, "not bound: error"),
        ({"status": ending_with(Opcode.IDENTIFY, INVALID_FIELD, dword10=0)}, "does not describe it: status 0x002"),
        ({"registers": SETS, "command_sets": {1: ZONED}}, "namespace 1 refused: zoned"),
        ({"namespaces": {}}, "none is attached to the controller"),
    ],
    ids=["no-io", "too-large", "large-blocks", "empty", "small-commands", "no-cq", "no-sq", "no-page", "zoned", "none"],
)
def test_a_drive_that_is_refused(rig: Rig, what: dict[str, Any], reason: str) -> None:
    """Each with its reason, and nothing of it is left."""
    with played(rig, REGISTERS, **what) as controller:
        with pytest.raises(CommandFailed, match=reason):
            rig.take(controller.address)
        assert rig.release(controller.address) == ""


def test_a_function_that_is_no_drive(rig: Rig) -> None:
    """The chipset's SMBus controller has no registers in memory."""
    with pytest.raises(CommandFailed, match="refused: BAR 0 is too small"):
        rig.take(SMBUS)
    assert rig.release(SMBUS) == ""


def test_a_queue_that_was_made_by_half_is_taken_back(rig: Rig) -> None:
    """The completion queue is deleted when the drive refuses the submission queue."""
    with played(rig, REGISTERS, status=ending_with(Opcode.CREATE_SQ, INVALID_SIZE)) as controller:
        with pytest.raises(CommandFailed):
            rig.take(controller.address)
        asked = [(command.opcode, command.dword10 & 0xFFFF) for _, command in controller.fetched]
        assert (Opcode.DELETE_CQ, 1) in asked


def test_a_drive_without_a_list_of_namespaces(rig: Rig) -> None:
    """As before version 1.1: every number up to the largest is tried."""
    what = {"controller": controller_page(namespaces=2), "namespaces": {1: namespace_page(), 2: namespace_page()}}
    with played(rig, REGISTERS, status=ending_with(Opcode.IDENTIFY, INVALID_FIELD, dword10=LIST), **what) as controller:
        assert [rig.show(disk, "nsid") for disk in rig.take(controller.address)] == ["1", "2"]


def test_a_list_of_namespaces_that_cannot_be(rig: Rig) -> None:
    """One that is listed twice becomes one disk, and the number that means all of them none."""
    with played(rig, REGISTERS, listed=(1, 1, 0xFFFF_FFFF, 1)) as controller:
        assert [rig.show(disk, "nsid") for disk in rig.take(controller.address)] == ["1"]


def test_namespaces_that_are_left_out(rig: Rig) -> None:
    """Each is named once, with its reason, and the others are disks."""
    namespaces = {**{n: namespace_page() for n in range(1, 5)}, 5: namespace_page(ms=8)}
    what = {"namespaces": namespaces, "command_sets": {1: ZONED, 3: KEY_VALUE}, "being_formatted": {4}}
    page = controller_page(namespaces=5, oaes=NAMESPACE_EVENTS)
    with taken(rig, REGISTERS, controller=page, registers=SETS, **what) as (controller, disk):
        assert rig.show(disk, "nsid") == "2"
        rig.guest.must(f"echo 1 >/sys/bus/pci/devices/{controller.address}/rescan_controller")
        reasons = ["1 refused: zoned", "3 refused: its command set is", "5 refused: its format has metadata"]
        for reason in [*reasons, "4 refused: the drive does not describe it: status 0x084, format in progress"]:
            assert rig.said(rig.began).count(f"namespace {reason}") == 1, reason


def test_names_begin_with_a_letter(rig: Rig) -> None:
    """Blanks in front of a serial number are left out, and what cannot be printed is one."""
    with taken(rig, REGISTERS, controller=controller_page(serial=b" \x01\xffSN 7", model=b"  M")) as (_, disk):
        assert (rig.show(disk, "serial"), rig.show(disk, "model")) == ("SN 7", "M")


@pytest.mark.parametrize(
    ("fields", "bytes_"),
    [
        ({"nsfeat": 2, "nawupf": 7}, 4096),
        ({"nsfeat": 2, "nawupf": 7, "nabspf": 3}, 2048),
        ({"nawupf": 7}, 512),
        ({"nsfeat": 2, "nawupf": 7, "nabspf": 7, "nabo": 1}, 512),
        ({"nsfeat": 2, "nawupf": 7, "nabspf": 11}, 2048),
        ({"nsfeat": 2, "nawupf": 7, "noiob": 6}, 1024),
        ({"nsfeat": 2, "nawupf": 1023}, 128 << 10),
        ({"nsfeat": 2, "nawupf": 0xFFFF, "shift": 16}, 128 << 10),
    ],
    ids=["own", "boundary", "not-meant", "late-boundary", "odd-boundary", "split", "more-than-a-command", "overflow"],
)
def test_what_a_power_cut_does_not_tear(rig: Rig, fields: dict[str, int], bytes_: int) -> None:
    """A namespace's own number counts where it says so, within its boundaries and what one command writes."""
    with taken(rig, REGISTERS, namespaces={1: namespace_page(**fields)}) as (_, disk):
        assert rig.call(disk, "atomic") == bytes_


def test_a_namespace_that_is_read_only(rig: Rig) -> None:
    """It can be read, and opening it for writing is refused."""
    with taken(rig, REGISTERS, namespaces={1: namespace_page(nsattr=1)}) as (_, disk):
        assert rig.guest.run(f"exec 3<{disk}").rc == 0
        assert "Read-only file system" in rig.guest.run(f"exec 3>>{disk}").stderr


@pytest.mark.parametrize(
    ("registers", "reason"),
    [
        ({CMBSZ: 1 << 12}, "it does not take data of reads and of writes"),
        ({CMBSZ: 1 << 12 | READS_AND_WRITES}, "its data need commands or PRP lists there too"),
        ({CMBSZ: 1 << 12 | READS_AND_WRITES, CMBLOC: ALL_ELSEWHERE | 7}, "it does not lie in a BAR"),
        ({CMBSZ: 1 << 12 | READS_AND_WRITES, CMBLOC: ALL_ELSEWHERE | PORTS}, "it does not lie in a BAR"),
        ({CMBSZ: 1 << 12 | 15 << 8 | READS_AND_WRITES, CMBLOC: ALL_ELSEWHERE}, "it does not lie in a BAR"),
        ({CMBSZ: 16 << 12 | READS_AND_WRITES, CMBLOC: ALL_ELSEWHERE}, "it lies over the registers"),
        ({CMBSZ: 16 << 12 | READS_AND_WRITES, CMBLOC: ALL_ELSEWHERE | 1 << 12}, "it lies over the registers"),
    ],
    ids=["one-way", "all-there", "nowhere", "ports", "no-unit", "registers", "doorbells"],
)
def test_memory_of_a_controller_that_is_not_used(rig: Rig, registers: dict[int, int], reason: str) -> None:
    """The drive works without."""
    with played(rig, REGISTERS, registers={CAP_HIGH: PLAIN_HIGH | MEMORY_BUFFER, **registers}) as controller:
        assert rig.take(controller.address)
        rig.wait_said(rig.began, f"controller memory is not used: {reason}")


def test_memory_of_a_controller_behind_its_doorbells(rig: Rig) -> None:
    """It may lie in the BAR of the registers."""
    registers = {
        CAP_HIGH: PLAIN_HIGH | MEMORY_BUFFER,
        CMBSZ: 16 << 12 | READS_AND_WRITES,
        CMBLOC: ALL_ELSEWHERE | 2 << 12,
    }
    with played(rig, REGISTERS, registers=registers) as controller:
        assert rig.take(controller.address)
        rig.wait_said(rig.began, "controller memory of 64 KiB")


def test_a_time_to_become_ready_of_its_own(rig: Rig) -> None:
    """A drive that needs longer than CAP.TO says, one second here, says it in CRTO."""
    with (
        played(rig, REGISTERS, ready_after_s=3.0) as controller,
        pytest.raises(CommandFailed, match="does not become ready"),
    ):
        rig.take(controller.address)
    registers = {CAP_HIGH: PLAIN_HIGH | READY_TIMES, CRTO: 60}
    with played(rig, REGISTERS, registers=registers, ready_after_s=3.0) as controller:
        assert rig.take(controller.address)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (ending_with(Opcode.SET_FEATURES, INVALID_FIELD, dword10=EVENTS), "events cannot be asked for"),
        (ending_with(Opcode.ASYNC_EVENT, INVALID_FIELD), "no asynchronous events: status 0x002, invalid field"),
    ],
    ids=["feature", "request"],
)
def test_a_drive_without_events(rig: Rig, status: Status, words: str) -> None:
    """It is told, and the drive works without."""
    with taken(rig, REGISTERS, status=status) as (_, disk):
        # Without interrupts an answer is seen when the driver waits for another.
        until(
            lambda: rig.show(disk, "health/status") == "ok" and words in rig.said(rig.began),
            f"the log does not say: {words}",
        )
        assert dict(rig.calls(disk, "completion,2", "read,0,4096"))["read"] == 4096


@pytest.mark.parametrize(
    ("values", "status", "reasons"),
    [
        ({}, "ok", ""),
        ({"temperature_k": 340}, "warning", "temperature"),
        ({"temperature_k": 372}, "critical", "temperature"),
        ({"spare": 12}, "warning", "spare"),
        ({"used": 95}, "warning", "wear"),
        ({"media_errors": 1}, "warning", "media-errors"),
    ],
    ids=["well", "warm", "hot", "spare", "worn", "errors"],
)
def test_why_a_drive_is_not_well(rig: Rig, values: dict[str, int], status: str, reasons: str) -> None:
    """It is told before the drive itself warns."""
    controller = controller_page(warning_k=343, critical_k=373)
    with taken(rig, REGISTERS, controller=controller, health=health_page(**values)) as (_, disk):
        assert (rig.show(disk, "health/status"), rig.show(disk, "health/reasons")) == (status, reasons)
