# SPDX-License-Identifier: MIT
"""Two controllers of one drive show the same namespace, each as a disk of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENODEV

import pytest
from python_calls import run_script, start_script
from rig import Rig
from shared_guest import Setup
from test_replay import PART

from chario_lab.guest import faults
from chario_lab.guest.spec import Blkdebug, Namespace, Nvme, Throttle
from chario_lab.waiting import until

pytestmark = [
    pytest.mark.area("kernel/front/", "kernel/queue/edge", "kernel/queue/medium"),
    pytest.mark.kernels("debug"), pytest.mark.cpus(2),
]  # fmt: skip

FIRST, PLACE, SLOW, ZONED = range(4)
SHARED = Nvme("shared", (Namespace(64, 4096, backing=Blkdebug()),))
STALLS = Nvme("stalls", (Namespace(64, 4096, backing=Throttle()),))
SETUP = Setup(drives=(SHARED, Nvme("gives-way"), STALLS, Nvme("zoned", (Namespace(128, zoned=True), Namespace(64)))))
PAGE = 4096
WRITER = """
fd = disk({any_size})
os.pwrite(fd, {data}, {at})
os.fsync(fd)
"""


@contextmanager
def twins_of(rig: Rig, first: int) -> Iterator[tuple[str, str]]:
    """The two disks.  The second controller stands in the place of another drive."""
    faults.unplug(rig.guest, PLACE)
    faults.plug(rig.guest, PLACE, twin_of=first)
    yield rig.disk(first), rig.disk(PLACE)
    faults.unplug(rig.guest, PLACE)
    faults.plug(rig.guest, PLACE)


@pytest.fixture
def twins(rig: Rig) -> Iterator[tuple[str, str]]:
    """Disks whose requests can be held one by one."""
    with twins_of(rig, FIRST) as both:
        yield both


def test_they_can_be_told_apart(rig: Rig, twins: tuple[str, str]) -> None:
    """They have one name in the world, and the log says of the second that it is the same."""
    names = [rig.show(disk, "wwid") for disk in twins]
    assert names[0] == names[1] != ""
    mark = rig.guest.log_mark()
    rig.unbind(PLACE)
    (second,) = rig.disks(PLACE)
    first = twins[0].removeprefix("/dev/")
    rig.wait_said(mark, f"{second.removeprefix('/dev/')} and {first} are the same namespace of one drive")


def test_a_block_that_the_other_changes_in_part(rig: Rig, twins: tuple[str, str]) -> None:
    """A write of the whole block waits until the other controller has written its part; neither is lost."""
    one, other = twins
    before = rig.counters(one)["write_commands"]
    faults.hold(rig.guest, FIRST, event="write_aio")
    part = start_script(rig.guest, one, WRITER.format(any_size=True, data='b"part"', at=7))
    until(lambda: rig.counters(one)["write_commands"] == before + 1, "the part is not written")
    whole = start_script(rig.guest, other, WRITER.format(any_size=False, data=f'b"w" * {PAGE}', at=0))
    until(lambda: rig.counters(other)["write_commands"] >= 1, "the whole block is not asked for")
    elsewhere = rig.call(other, f"write,{PAGE},{PAGE}")
    faults.resume(rig.guest, FIRST)
    part.wait().check()
    whole.wait().check()
    read = f"fd = disk(False)\nprint(json.dumps(read(fd, {PAGE}, 0).decode()))"
    assert elsewhere == PAGE
    assert run_script(rig.guest, one, read) == "w" * PAGE


def test_a_zoned_namespace(rig: Rig) -> None:
    """It is left out, and the log says so; the one beside it is a disk."""
    mark = rig.guest.log_mark()
    assert [rig.show(disk, "nsid") for disk in rig.disks(ZONED)] == ["2"]
    rig.wait_said(mark, "namespace 1 refused: zoned")


# Linux's driver, which has the other controller, detaches a namespace (1) from both, and attaches it (0) to the first:
# QEMU 7.2 refuses to attach what is attached to the controller that is asked.
ATTACH = """
import ctypes, fcntl, os, struct, sys
page = ctypes.create_string_buffer(struct.pack("<HHH", 1 + int(sys.argv[2]), 0, 1), 4096)
command = struct.pack("<BBHIIIQQIIIIIIIIII", 0x15, 0, 0, 1, 0, 0, 0, ctypes.addressof(page), 0, 4096,
                      int(sys.argv[2]), 0, 0, 0, 0, 0, 0, 0)
print(fcntl.ioctl(os.open(sys.argv[1], os.O_RDWR), 0xC0484E41, bytearray(command)))
"""


def test_a_namespace_that_is_detached_and_attached(rig: Rig) -> None:
    """The disk goes, with its block disk; both come again with the namespace."""
    rig.unbind(FIRST)
    faults.unplug(rig.guest, PLACE)
    disk = rig.disk(FIRST)
    rig.set(disk, "block", 1)
    faults.plug(rig.guest, PLACE, twin_of=FIRST)
    rig.guest.must(f"modprobe nvme; cd /sys/bus/pci/devices/{rig.address(PLACE)}; [ -e driver ] || "
                   f"echo {rig.address(PLACE)} >/sys/bus/pci/drivers/nvme/bind")  # fmt: skip
    until(lambda: rig.guest.run(f"ls /sys/bus/pci/devices/{rig.address(PLACE)}/nvme").rc == 0, "Linux has it not")
    node = "/dev/" + rig.guest.must(f"ls /sys/bus/pci/devices/{rig.address(PLACE)}/nvme").strip()
    assert rig.guest.must(["python3", "-c", ATTACH, node, "1"]).strip() == "0"
    until(lambda: not rig.guest.files.exists(f"{disk}b") and not rig.guest.files.exists(disk), "the disk stays")
    assert rig.guest.must(["python3", "-c", ATTACH, node, "0"]).strip() == "0"
    until(lambda: rig.guest.files.exists(f"{disk}b") and rig.guest.files.exists(disk), "there is no disk")
    assert rig.call(disk, f"read,0,{PAGE}") == PAGE
    faults.unplug(rig.guest, PLACE)
    faults.plug(rig.guest, PLACE)


def test_one_is_taken_away_while_its_caller_waits_for_the_other(rig: Rig) -> None:
    """Both change a part of one block, and the drive keeps the first one's read: the second disk goes all the same."""
    with twins_of(rig, SLOW) as (one, other):
        faults.stall(rig.guest, SLOW, bytes_per_s=1)
        assert rig.call(one, f"read,{PAGE},{PAGE}") == PAGE
        before = rig.counters(one)["read_commands"]
        first = start_script(rig.guest, one, PART)
        until(lambda: rig.counters(one)["read_commands"] == before + 1, "the block is not read")
        second = start_script(rig.guest, other, PART)
        stacks = "cat $(printf '/proc/%s/stack ' $(pidof python3))"
        until(lambda: "chario_edge_lock" in rig.guest.run(stacks).stdout, "nobody waits for the block")
        rig.unbind(PLACE)
        assert second.wait().check().stdout == f"{-ENODEV}\n"
        assert not first.poll()
        rig.unbind(SLOW)
        assert first.wait().check().stdout == f"{-ENODEV}\n"
        faults.let_go(rig.guest, SLOW)
