# SPDX-License-Identifier: MIT
"""Disks of each bus, held against Linux's own drivers.

Experiments compare media on other buses: these disks must be what their
specification says, and their faults the faults they claim to be.
"""

import time

import pytest
from rig import Rig
from shared_guest import Setup

from chario_lab.guest import faults, spec
from chario_lab.guest.devices import DriverMissing, block_device, command_counts
from chario_lab.guest.session import Guest

pytestmark = [pytest.mark.area("lab/"), pytest.mark.kernels("6.12", "6.12-rt")]

BLOCK = 4096
# The block of 4 KiB that has sector 16.
BAD_BLOCK = 2
FAILS = spec.Blkdebug((spec.ErrorRule("read", sector=16),))
SLOW = spec.Throttle(iops=100_000, latency_ms=2)

DRIVES = (
    spec.AhciDisk("ahci", 64),
    spec.VirtioDisk("virtio", 32, lba_bytes=4096, write_cache=False),
    spec.SdCard("card", 16),
    spec.AhciDisk("ahci-fails", 8, write_cache=False, backing=FAILS),
    spec.VirtioDisk("virtio-fails", 8, backing=FAILS),
    spec.AhciDisk("ahci-slow", 8, backing=SLOW),
    spec.VirtioDisk("virtio-slow", 8, backing=SLOW),
    spec.VirtioDisk("nothing", 8, backing=spec.NullCo(100)),
    spec.Nvme("nvme-fails", (spec.Namespace(8, backing=FAILS),)),
    spec.Nvme("nvme-slow", (spec.Namespace(8, backing=SLOW),)),
)
AHCI, VIRTIO, CARD, AHCI_FAILS, VIRTIO_FAILS, AHCI_SLOW, VIRTIO_SLOW, NOTHING, NVME_FAILS, NVME_SLOW = range(10)

SETUP = Setup(drives=DRIVES, parameters=None)


class Disk:
    """One disk of the guest, and calls past the page cache."""

    def __init__(self, guest: Guest, drive: int) -> None:
        self.guest, self.drive = guest, drive
        self.node = block_device(guest, drive)

    def show(self, attribute: str) -> str:
        """What Linux knows of the disk."""
        return self.guest.files.value(f"/sys/block/{self.node.removeprefix('/dev/')}/{attribute}")

    def read(self, block: int = 0, count: int = 1) -> str:
        """A command that reads blocks of 4 KiB, one by one."""
        return f"dd if={self.node} of=/dev/null bs={BLOCK} skip={block} count={count} iflag=direct"

    def write(self, source: str, block: int = 0, count: int = 1) -> str:
        """A command that writes blocks of 4 KiB, one by one."""
        return f"dd if={source} of={self.node} bs={BLOCK} seek={block} count={count} oflag=direct conv=notrunc"

    def counts(self) -> tuple[int, int, int]:
        """Reads, writes and flushes so far, counted outside the guest."""
        return command_counts(self.guest, self.drive)


@pytest.fixture
def disk(rig: Rig, request: pytest.FixtureRequest) -> Disk:
    """The disk that a test is for; a kernel without a driver of it has no such test."""
    try:
        return Disk(rig.guest, request.param)
    except DriverMissing as missing:
        pytest.skip(str(missing))


def on(*drives: int) -> pytest.MarkDecorator:
    """Run a test once for each of some disks."""
    return pytest.mark.parametrize("disk", drives, ids=[DRIVES[drive].serial for drive in drives], indirect=True)


@on(AHCI, VIRTIO, CARD, AHCI_FAILS)
def test_a_disk_is_as_specified(disk: Disk) -> None:
    """Linux sees the size, the block size and the write cache of the specification."""
    wanted = DRIVES[disk.drive]
    assert not isinstance(wanted, spec.Nvme)
    cache = "write back" if getattr(wanted, "write_cache", False) else "write through"
    assert int(disk.show("size")) * 512 == wanted.size_mib << 20
    assert int(disk.show("queue/logical_block_size")) == getattr(wanted, "lba_bytes", 512)
    assert disk.show("queue/write_cache") == cache


@on(AHCI, VIRTIO, CARD, AHCI_SLOW, VIRTIO_SLOW, NVME_SLOW)
def test_data_comes_back(disk: Disk) -> None:
    """What was written is on the medium: neither the page cache has it, nor does a latency lose it."""
    disk.guest.must(f"dd if=/dev/urandom of=/run/data bs={BLOCK} count=64 && {disk.write('/run/data', 7, 64)}")
    disk.guest.files.write("/proc/sys/vm/drop_caches", 3)
    disk.guest.must(f"dd if={disk.node} bs={64 * BLOCK} skip={7 * BLOCK}B count=1 iflag=direct | cmp - /run/data")


@on(AHCI, VIRTIO, AHCI_SLOW, VIRTIO_SLOW, NVME_SLOW)
def test_commands_are_counted_outside_the_guest(disk: Disk) -> None:
    """QEMU's counts grow by one for each direct read and write, and for a flush where there is a cache."""
    before = disk.counts()
    disk.guest.must(f"{disk.read(0, 5)} && {disk.write('/dev/zero', 0, 3)},fsync")
    grown = tuple(now - then for now, then in zip(disk.counts(), before, strict=True))
    # QEMU counts no flushes of NVMe.
    flushes = disk.drive != NVME_SLOW and disk.show("queue/write_cache") == "write back"
    assert grown == (5, 3, int(flushes))


@on(CARD)
def test_a_card_has_no_counts(disk: Disk) -> None:
    """QEMU's counts of an SD card stay at zero: whoever asks for them is told."""
    with pytest.raises(ValueError, match="does not count"):
        disk.counts()


@on(AHCI_FAILS, VIRTIO_FAILS, NVME_FAILS)
def test_a_bad_sector_fails_and_its_neighbour_does_not(disk: Disk) -> None:
    """An error of the medium is EIO in the guest, with NVMe ENODATA."""
    result = disk.guest.run(disk.read(BAD_BLOCK))
    assert result.rc == 1
    assert ("No data available" if disk.drive == NVME_FAILS else "Input/output error") in result.stderr
    disk.guest.must(f"{disk.read(BAD_BLOCK - 1)} && {disk.read(BAD_BLOCK + 1)}")


@on(AHCI_FAILS, VIRTIO_FAILS, NVME_FAILS)
def test_a_held_request_waits_until_it_is_let_go(disk: Disk) -> None:
    """One request can be kept in the disk."""
    faults.hold(disk.guest, disk.drive)
    job = disk.guest.start(disk.read(5))
    time.sleep(0.5)
    assert job.poll() is None
    faults.resume(disk.guest, disk.drive)
    job.wait().check()


@on(AHCI_SLOW, VIRTIO_SLOW, NVME_SLOW)
def test_a_limit_changes_while_the_disk_is_in_use(disk: Disk) -> None:
    """A stalled disk keeps its second request; it is let go, and the other limit stays as it was."""
    faults.stall(disk.guest, disk.drive, bytes_per_s=2 * BLOCK)
    job = disk.guest.start(disk.read(0, 3))
    time.sleep(0.5)
    assert job.poll() is None
    faults.let_go(disk.guest, disk.drive)
    job.wait().check()
    group = f"/objects/{spec.node_name(disk.guest.place(disk.drive))}-limits"
    limits = disk.guest.qmp("qom-get", path=group, property="limits")
    assert (limits["bps-total"], limits["iops-total"]) == (0, SLOW.iops)


@on(NOTHING)
def test_no_medium_reads_zeros(disk: Disk) -> None:
    """A NullCo forgets what is written."""
    disk.guest.must(disk.write("/dev/urandom"))
    disk.guest.must(f"dd if={disk.node} bs={BLOCK} count=1 iflag=direct | cmp -n {BLOCK} - /dev/zero")
