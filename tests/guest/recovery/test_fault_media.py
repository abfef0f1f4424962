# SPDX-License-Identifier: MIT
"""The medium fails: the caller learns how far it came and why it ended there."""

from errno import EIO

import pytest
from disks import KIB, MIB, Programs
from rig import Rig
from shared_guest import Setup
from test_buffers import run

from chario_lab.guest.spec import Blkdebug, ErrorRule, Namespace, Nvme

pytestmark = [pytest.mark.area("kernel/drive/", "kernel/back/nvme/")]

SECTOR = 512
COMMAND = 128 * KIB

BAD_READ, BAD_WRITE, BAD_FAR_READ = 512 * KIB, 2 * MIB, 10 * MIB
RULES = (
    ErrorRule("read", sector=BAD_READ // SECTOR),
    ErrorRule("write", sector=BAD_WRITE // SECTOR),
    ErrorRule("read", sector=BAD_FAR_READ // SECTOR),
)
DRIVES = (
    Nvme("bad", (Namespace(64, backing=Blkdebug(RULES)), Namespace(64, backing=Blkdebug((ErrorRule("flush"),))))),
)
SETUP = Setup(drives=DRIVES)


@pytest.mark.parametrize(
    ("call", "place", "status"),
    [("read", BAD_READ, "0x281, unrecovered read error"), ("write", BAD_WRITE, "0x280, write fault")],
)
def test_a_bad_sector_gives_eio(rig: Rig, call: str, place: int, status: str) -> None:
    """A call that fails in the drive gives EIO, is counted, logged and kept as last error."""
    disk = rig.disk(0)
    mark = rig.guest.log_mark()
    assert rig.show(disk, "last_error") == "0"
    assert rig.call(disk, f"{call},{place},4096") == -EIO
    assert rig.counters(disk)["errors"] == 1
    assert rig.show(disk, "last_error") == str(EIO)
    rig.wait_said(mark, f"{call} at byte {place}, 4096 bytes: status {status}")


def test_a_flush_that_fails_reaches_fsync(rig: Rig) -> None:
    """fsync() does not hide what the drive says about its cache."""
    disk = rig.disks(0)[1]
    assert rig.calls(disk, "write,0,4096", "sync") == [("write", 4096), ("sync", -EIO), ("close", 0)]


def test_neighbours_of_a_bad_sector_are_served(rig: Rig) -> None:
    """An error concerns its command only; the disk stays live without any recovery."""
    disk = rig.disk(0)
    near = BAD_READ - 4096
    assert rig.calls(
        disk, f"fill,7,{near},4096", f"write,{near},4096", f"read,{BAD_READ},4096", f"read,{near},4096",
        f"match,7,{near},4096",
    ) == [("fill", 0), ("write", 4096), ("read", -EIO), ("read", 4096), ("match", 1), ("close", 0)]  # fmt: skip
    counters = rig.counters(disk)
    assert (counters["aborts"], counters["resets"], rig.show(disk, "state")) == (0, 0, "live")


@pytest.mark.parametrize("before", [1, 2, 3])
def test_a_read_ends_in_front_of_the_first_failed_command(rig: Rig, before: int) -> None:
    """A call of many commands gives the bytes of those before the failure, the next call the error."""
    disk = rig.disk(0)
    start = BAD_READ - before * COMMAND
    calls = rig.calls(disk, f"read,{start},{MIB}", f"read,{start + before * COMMAND},{COMMAND}")
    assert calls == [("read", before * COMMAND), ("read", -EIO), ("close", 0)]


def test_a_write_ends_in_front_of_the_first_failed_command(rig: Rig) -> None:
    """As for reads; and what is reported as written is on the disk."""
    disk = rig.disk(0)
    start = BAD_WRITE - 2 * COMMAND
    calls = rig.calls(
        disk, f"fill,3,{start},{MIB}", f"write,{start},{MIB}", f"write,{BAD_WRITE},{COMMAND}", "unmap", "map",
        f"read,{start},{2 * COMMAND}", f"match,3,{start},{2 * COMMAND}",
    )  # fmt: skip
    assert calls[1:3] == [("write", 2 * COMMAND), ("write", -EIO)]
    assert calls[5:7] == [("read", 2 * COMMAND), ("match", 1)]


def test_a_failure_in_the_second_chunk_keeps_the_first(rig: Rig) -> None:
    """Chunks in the air behind a failure do not count, those in front of it do."""
    disk = rig.disk(0)
    assert rig.call(disk, f"read,{4 * MIB},{16 * MIB}") == BAD_FAR_READ - 4 * MIB


def test_polled_and_asynchronous_callers_learn_it_too(rig: Rig) -> None:
    """RWF_HIPRI, a polling file and io_uring get the same EIO."""
    disk = rig.disk(0)
    assert rig.calls(disk, f"hipri,{BAD_READ},4096", "completion,2", f"read,{BAD_READ},4096")[::2] == [
        ("hipri", -EIO),
        ("read", -EIO),
    ]
    # The fifth of eight requests of 128 KiB holds the sector, with interrupts and without.
    for options in ((), ("iopoll",), ("fixed",)):
        assert rig.uring(disk, 8, COMMAND, *options) == {COMMAND: 7, -EIO: 1}
    assert rig.counters(disk)["errors"] == 5


def test_transfers_learn_it_too(rig: Rig, guest_program: Programs) -> None:
    """A call of two commands whose first fails gives EIO; one whose second fails gives the bytes before it."""
    first, second, size = BAD_READ, BAD_READ - COMMAND, 2 * COMMAND
    script = [f"pool 0 {size}", f"read 0 0 {size} {first}", f"read 0 0 {size} {second}"]
    assert run(rig.guest, guest_program, rig.disk(0), script) == ["0", "EIO", str(COMMAND)]


def test_no_page_stays_pinned_after_errors(rig: Rig) -> None:
    """Memory of failed commands is given back."""
    disk = rig.disk(0)
    for step in (f"read,{BAD_READ},{MIB}", f"write,{BAD_WRITE},{MIB}", f"read,0,{MIB}", f"read,{4 * MIB},{16 * MIB}"):
        rig.call(disk, step)
    assert rig.pinned_pages() == 0
