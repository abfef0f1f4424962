# SPDX-License-Identifier: MIT
"""The block side: a disk as a block device, beside its character device, with what the drive has of its own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from block_side import REGION_CALLS, disable, enable, holds, noise, queue, write
from disks import KIB, counters, folder, grown
from rig import CALL_LIMIT_S, Rig
from shared_guest import FileGuest, Setup

from chario_lab.guest.devices import command_counts, load_module
from chario_lab.guest.spec import Namespace, Nvme

pytestmark = [
    pytest.mark.area("kernel/front/block/", "kernel/memory/bios", "kernel/queue/isolation", "kernel/drive/watch"),
    pytest.mark.kernels("6.12", "6.12-rt", "debug"), pytest.mark.cpus(2),
]  # fmt: skip

OWN, SHARED, TWINS, LONG = range(4)
DRIVES = (
    Nvme("own", (Namespace(256),)),
    # Few queue pairs: none is left for the block side.
    Nvme("shared", (Namespace(256, 4096),), max_ioqpairs=4),
    Nvme("twins", (Namespace(64), Namespace(64, 4096))),
    Nvme("long blocks", (Namespace(64, 8192),)),
)
SETUP = Setup(drives=DRIVES)


@pytest.fixture(params=[OWN, SHARED], ids=["own-queues", "shared-queues"])
def disk(rig: Rig, request: pytest.FixtureRequest) -> Iterator[str]:
    """A disk, bound afresh."""
    yield rig.disk(request.param)
    rig.unbind(request.param)


@pytest.fixture
def own(rig: Rig) -> Iterator[str]:
    """The disk of the drive with queues to spare."""
    yield rig.disk(OWN)
    rig.unbind(OWN)


def test_there_is_none_unless_it_is_asked_for(rig: Rig, disk: str) -> None:
    """Nothing looks at recordings as if they were a file system."""
    guest = rig.guest
    assert rig.show(disk, "block") == "0" and not guest.files.exists(f"{disk}b")
    block = enable(guest, disk)
    assert rig.show(disk, "block") == "1"
    assert guest.must(f"blockdev --getsize64 {block}") == guest.must(f"blockdev --getsize64 {disk}")
    assert guest.must(f"blockdev --getss {block}") == guest.must(f"blockdev --getss {disk}")
    rig.set(disk, "block", 1)
    assert disable(guest, disk) == 0
    assert rig.show(disk, "block") == "0" and not guest.files.exists(block)


def test_it_goes_as_soon_as_it_has_come(rig: Rig, disk: str) -> None:
    """Whoever has read the partitions of the new disk, and is about to close it, keeps nobody from that."""
    switch = f"import os; f = os.open('{folder(disk)}/block', os.O_WRONLY)\n"
    rig.guest.must(["python3", "-"], stdin=switch + "for i in range(40): os.pwrite(f, b'10'[i % 2 : i % 2 + 1], 0)")


@pytest.mark.smoke
def test_both_sides_see_the_same_bytes(rig: Rig, disk: str) -> None:
    """What one writes the other reads, in either direction; the block side's commands are in the counters."""
    guest, path = rig.guest, noise(rig.guest, 1024)
    block = enable(guest, disk)
    before = counters(guest, disk)
    write(guest, block, path, at_kib=64)
    assert holds(guest, disk, path, at_kib=64)
    change = grown(guest, disk, before)
    assert change["write_bytes"] == 1024 * KIB and change["write_commands"] >= 2
    other = noise(guest, 256, "/run/other")
    write(guest, disk, other, at_kib=128)
    assert holds(guest, block, other, at_kib=128)


def test_a_file_system_is_whole(rig: Rig, disk: str) -> None:
    """Made, filled, unmounted, checked, and read by a new mount."""
    guest = rig.guest
    block = enable(guest, disk)
    guest.must(f"mkfs.ext4 -q {block} && mkdir -p /run/mnt && mount {block} /run/mnt")
    fill = "for i in $(seq 12); do head -c $((i * 40000)) /dev/urandom >$i; done && md5sum [0-9]* >sums"
    guest.must(f"cd /run/mnt && {fill}", CALL_LIMIT_S)
    assert disable(guest, disk) != 0 and rig.show(disk, "block") == "1"
    guest.must(
        f"umount /run/mnt && e2fsck -fn {block} && mount {block} /run/mnt && cd /run/mnt && md5sum -c --quiet sums"
    )
    guest.must("umount /run/mnt")
    assert disable(guest, disk) == 0


def test_fio_verifies_at_depth(rig: Rig, disk: str) -> None:
    """Many requests in flight on both processors, of all sizes, while the character side reads."""
    guest = rig.guest
    block = enable(guest, disk)
    reads = rig.start_uring(disk, 32, 64 * KIB, "deadline=200000")
    job = f"fio --name=v --filename={block} --rw=randwrite --bsrange=4k-512k --ioengine=libaio --direct=1 --iodepth=32"
    job += " --size=32M --verify=crc32c --numjobs=2 --offset_increment=32M --group_reporting --output=/dev/null"
    guest.must(job, timeout_s=600)
    assert reads.wait().check().rc == 0


def test_a_flush_reaches_the_drive(rig: Rig, own: str) -> None:
    """fsync is a flush; what a file system wants to be durable by itself is written with FUA."""
    guest, path = rig.guest, noise(rig.guest, 64)
    block = enable(guest, own)
    assert queue(guest, block, "write_cache") == "write back" and queue(guest, block, "fua") == "1"
    before = counters(guest, own)
    guest.must(f"dd if={path} of={block} bs=64k oflag=direct conv=notrunc,fsync status=none")
    assert grown(guest, own, before)["flush_commands"] == 1
    guest.must(f"mkfs.ext4 -q {block} && mkdir -p /run/mnt && mount {block} /run/mnt")
    guest.must("cd /sys/kernel/tracing && echo >trace && echo 1 >events/chario/post/enable")
    guest.must(f"cp {path} /run/mnt && umount /run/mnt")
    posted = guest.must("cd /sys/kernel/tracing && echo 0 >events/chario/post/enable && cat trace")
    assert "op=write fua=1" in posted and "op=flush" in posted


def test_discards_and_zeroes_are_the_drives_own(rig: Rig, disk: str) -> None:
    """No data is moved for them: neither is a write."""
    guest, path = rig.guest, noise(rig.guest, 1024)
    block = enable(guest, disk)
    write(guest, block, path)
    before, served = counters(guest, disk), command_counts(guest, OWN)
    guest.must(f"blkdiscard -f --offset 0 --length {512 * KIB} {block}")
    guest.must(f"blkdiscard -f -z --offset {512 * KIB} --length {512 * KIB} {block}")
    change = grown(guest, disk, before)
    assert (change["discard_commands"], change["discard_bytes"]) == (1, 512 * KIB)
    assert change["write_zeroes_bytes"] == 512 * KIB and "write_bytes" not in change
    guest.must("head -c 524288 /dev/zero >/run/zeros")
    assert holds(guest, disk, "/run/zeros", at_kib=512)
    assert served[1] == command_counts(guest, OWN)[1]


def test_it_can_be_polled(rig: Rig, own: str) -> None:
    """Where the drive has queues for the block side alone: no interrupt comes."""
    guest = rig.guest
    block = enable(guest, own)
    before = counters(guest, own)
    guest.must(
        f"fio --name=p --filename={block} --rw=randread --bs=4k --ioengine=io_uring --hipri=1 --direct=1 --iodepth=8 "
        "--size=4M --output=/dev/null"
    )
    change = grown(guest, own, before)
    assert change["read_commands"] >= 1024 and change.get("interrupts", 0) < 16


def test_nobody_polls_for_a_while(rig: Rig, own: str) -> None:
    """The watchdog ends what a stopped program does not poll for, in a place where the kernel does not complain."""
    guest = rig.guest
    block = enable(guest, own)
    job = guest.start(
        f"fio --name=p --filename={block} --rw=randread --bs=4k --ioengine=io_uring --hipri=1 --direct=1 --iodepth=16 "
        "--size=4M --time_based --runtime=4 --output=/dev/null"
    )
    guest.must("for turn in 1 2 3 4 5 6; do sleep 0.3; pkill -STOP fio; sleep 0.6; pkill -CONT fio; done; true")
    job.wait().check()


def test_namespaces_share_what_the_drive_has(rig: Rig) -> None:
    """Each has a block disk; one goes, the other stays."""
    guest, path = rig.guest, noise(rig.guest, 128)
    first, second = rig.disks(TWINS)
    blocks = [enable(guest, disk) for disk in (first, second)]
    for block in blocks:
        write(guest, block, path)
    assert disable(guest, first) == 0
    assert holds(guest, blocks[1], path) and holds(guest, first, path)
    assert enable(guest, first) == blocks[0] and holds(guest, blocks[0], path)
    rig.unbind(TWINS)
    assert not guest.files.exists(blocks[0]) and not guest.files.exists(blocks[1])


def test_an_unbound_drive_has_what_was_written(rig: Rig, own: str) -> None:
    """A mounted file system loses nothing that it has written, although nobody unmounts it before."""
    guest = rig.guest
    block = enable(guest, own)
    guest.must(f"mkfs.ext4 -q {block} && mkdir -p /run/mnt && mount {block} /run/mnt")
    guest.must("head -c 3000000 /dev/urandom >/run/mnt/file && md5sum </run/mnt/file >/run/sum && sync")
    rig.unbind(OWN)
    assert guest.run("dd if=/dev/zero of=/run/mnt/more bs=4k count=1 conv=fsync").rc != 0
    guest.must("umount /run/mnt")
    block = enable(guest, rig.disk(OWN))
    guest.must(f"mount {block} /run/mnt && md5sum </run/mnt/file | cmp - /run/sum && umount /run/mnt")
    guest.must(f"e2fsck -fn {block}")


def test_blocks_longer_than_a_page(rig: Rig) -> None:
    """Linux has no block devices of such, and some releases of it no check: there is a character disk only."""
    disk = rig.disk(LONG)
    refused = rig.guest.run(f"echo 1 | tee {folder(disk)}/block")
    assert refused.rc != 0 and "not supported" in refused.stderr.lower(), refused.describe()
    assert rig.call(disk, "read,0,8192") == 8192
    rig.unbind(LONG)


@contextmanager
def in_memory(rig: Rig, module: Path, parameters: str) -> Iterator[str]:
    """A disk in memory, instead of all others."""
    rig.guest.must("rmmod chario")
    load_module(rig.guest, module, parameters)
    yield "/dev/chardisk0"
    rig.guest.must("rmmod chario")
    load_module(rig.guest, module)


# Vectors of a page each that begin inside one page and end in the next; between them lies memory of others.
ACROSS = """
import mmap, sys
HUGETLB = 0x40000
memory = mmap.mmap(-1, 2 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | HUGETLB)
fd = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
vectors = [memoryview(memory)[at : at + 4096] for at in range(512, 32 * 8192, 8192)]
for number, vector in enumerate(vectors):
    vector[:] = bytes([number]) * 4096
print(os.pwritev(fd, vectors, 0))
for number, vector in enumerate(vectors):
    vector[:] = bytes(4096)
print(os.preadv(fd, vectors, 0), all(bytes(vector) == bytes([number]) * 4096 for number, vector in enumerate(vectors)))
"""


def test_segments_are_those_that_the_block_layer_counts(
    keeper: FileGuest, module: Path, request: pytest.FixtureRequest
) -> None:
    """A device that takes short segments gets no more of them than its commands have, wherever they begin."""
    rig = keeper.get(request)
    with in_memory(rig, module, "loopback_mib=64 loopback_segment_pages=1 loopback_segments=33") as disk:
        block = enable(rig.guest, disk)
        rig.guest.must("echo 4 >/proc/sys/vm/nr_hugepages")
        said = rig.guest.must(["python3", "-c", REGION_CALLS + ACROSS, block])
        assert said.split() == ["131072", "131072", "True"]
        assert counters(rig.guest, disk)["write_commands"] == 1


# Calls that take all commands of a queue, and a buffer that is destroyed when the block side has half of them.
LENT = """
import fcntl, struct, sys, threading, time
POOL, BYTES = 2, 4096
os.sched_setaffinity(0, [0])
fd = os.open(sys.argv[1], os.O_RDWR)
create = bytearray(struct.pack("=IIIIQQQIiII", 56, POOL, 0, 0, 0, BYTES, 0, 0, 0, 0, 0))
fcntl.ioctl(fd, 0xC410, create)
name = struct.unpack_from("=I", create, 12)[0]
def transfer():
    fcntl.ioctl(fd, 0xC420, bytearray(struct.pack("=IIIIQQQQQQ", 64, 0, 0, name, 0, 0, BYTES, 0, 0, 0)))
calls = [threading.Thread(target=transfer) for _ in range(256)]
for call in calls:
    call.start()
for call in calls:
    call.join()
Path("/run/moved").touch()
while not Path("/run/lent").exists():
    time.sleep(0.01)
fcntl.ioctl(fd, 0xC411, struct.pack("=II", 8, name))
print("destroyed")
"""


def test_commands_for_the_block_side_have_no_buffers(
    keeper: FileGuest, module: Path, request: pytest.FixtureRequest
) -> None:
    """A buffer that was in a command before the block side got it is destroyed as any other."""
    rig = keeper.get(request)
    with in_memory(rig, module, "loopback_mib=64 loopback_delay_us=20000") as disk:
        job = rig.guest.start(["python3", "-c", REGION_CALLS + LENT, disk], timeout_s=CALL_LIMIT_S)
        rig.wait_file("/run/moved")
        enable(rig.guest, disk)
        rig.touch("/run/lent")
        assert job.wait().check().stdout == "destroyed\n"
        assert disable(rig.guest, disk) == 0


@pytest.mark.parametrize("how", ["loopback_submits=N", "loopback_submits=Y", "loopback_segment_pages=4"])
def test_a_disk_in_memory_has_one_too(
    keeper: FileGuest, module: Path, request: pytest.FixtureRequest, how: str
) -> None:
    """Whether it takes commands under the lock of their queue or not, has a DMA device or not."""
    rig = keeper.get(request)
    guest, path = rig.guest, noise(rig.guest, 1024)
    with in_memory(rig, module, f"loopback_mib=64 {how}") as disk:
        block = enable(guest, disk)
        write(guest, block, path)
        assert holds(guest, disk, path) and holds(guest, block, path)
        guest.must(f"mkfs.ext4 -q {block} && mkdir -p /run/mnt && mount {block} /run/mnt")
        guest.must("cp /run/noise /run/mnt && umount /run/mnt")
        guest.must(f"mount {block} /run/mnt && cmp /run/mnt/noise /run/noise && fstrim /run/mnt && umount /run/mnt")
        guest.must(f"e2fsck -fn {block}")
        assert counters(guest, disk)["discard_bytes"] > 0
