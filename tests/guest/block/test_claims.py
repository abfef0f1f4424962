# SPDX-License-Identifier: MIT
"""One disk, a file system and a recorder: neither writes under the other, whichever comes first."""

import json
import os
from collections.abc import Iterator

import pytest
from bind_lab import PARTITION
from block_side import REGION_CALLS, disable, enable, is_taken, noise, set_regions
from disks import KIB, MIB, Programs, counters, folder, grown
from rig import CALL_LIMIT_S, WAITS_TO_UNBIND, Rig, unbinding
from shared_guest import Setup

from chario_lab.guest import faults
from chario_lab.guest.job import Job
from chario_lab.guest.spec import Blkdebug, Namespace, Nvme, RawFile
from chario_lab.waiting import until

pytestmark = [
    pytest.mark.area("kernel/disk/regions", "kernel/front/block/", "kernel/front/confine", "kernel/front/node.c",
                     "cli/region", "cli/table"),
    pytest.mark.kernels("6.12", "debug"), pytest.mark.cpus(2), pytest.mark.slow,
]  # fmt: skip

OWN, SHARED, HOLDS = range(3)
# As on a real drive, but not on an emulated one unless it is asked to.
WHOLE = RawFile(whole_blocks=True)
DRIVES = (
    Nvme("own", (Namespace(256, backing=WHOLE),)),
    Nvme("shared", (Namespace(256, 4096, backing=WHOLE),), max_ioqpairs=4),
    Nvme("holds", (Namespace(256, backing=Blkdebug()),)),
)
SETUP = Setup(drives=DRIVES)
CLAIM_TURNS = int(os.environ.get("CLAIM_TURNS", "30"))
# Region 1 is the character side's, partition 2 the block side's.
TABLE = "label: gpt\nstart=1MiB, size=64MiB, type=62D1C4A5-5B0E-4C2C-9A3F-1C4A7D9E6B08\nstart=65MiB, size=128MiB\n"
START = 1 * MIB


@pytest.fixture(params=[OWN, SHARED], ids=["own-queues", "shared-queues"])
def disk(rig: Rig, request: pytest.FixtureRequest) -> Iterator[str]:
    """A disk with a block disk, a region and a partition."""
    yield prepare(rig, request.param)
    rig.guest.run("umount /run/mnt")
    rig.unbind(request.param)


@pytest.fixture
def own(rig: Rig) -> Iterator[str]:
    """The same, of the drive with queues to spare."""
    yield prepare(rig, OWN)
    rig.guest.run("umount /run/mnt")
    rig.unbind(OWN)


def prepare(rig: Rig, drive: int) -> str:
    """Bind a drive, give it a block disk and a partition table, and its region to the module."""
    disk = rig.disk(drive)
    block = enable(rig.guest, disk)
    rig.guest.must(f"mkdir -p /run/mnt; wipefs -qa {block}; sfdisk -q --wipe always {block}", stdin=TABLE)
    set_regions(rig.guest, disk, (1, START, 64 * MIB))
    assert rig.guest.files.exists(f"{disk}p1") and rig.guest.files.exists(f"{block}2")
    return disk


def refused(rig: Rig, command: str) -> str:
    """What a command that has to fail says."""
    done = rig.guest.run(command)
    assert done.rc != 0, f"{command} succeeded"
    return done.stderr


def holding(rig: Rig, node: str, flags: str = "<>") -> Job:
    """Keep a node open until the job is killed."""
    rig.remove("/run/open")
    job = rig.guest.start(f"exec 5{flags}{node} && touch /run/open && exec sleep 1000", timeout_s=CALL_LIMIT_S)
    rig.wait_file("/run/open")
    return job


def test_an_open_region_is_busy_for_the_block_side(rig: Rig, disk: str) -> None:
    """mkfs, mount and swap say so; whoever does not ask is refused, by whichever node; the rest of the disk is free."""
    guest, block = rig.guest, f"{disk}b"
    guest.must(f"mkfs.ext4 -q {block}1 && mkswap -q {block}2 2>/dev/null; :")
    mark = guest.log_mark()
    job = holding(rig, f"{disk}p1")
    assert "in use" in refused(rig, f"mkfs.ext4 -q {block}1")
    assert "busy" in refused(rig, f"mount {block}1 /run/mnt")
    assert "busy" in refused(rig, f"mkswap {block}1 && swapon {block}1").lower()
    assert "in use" in refused(rig, f"mkfs.ext4 -q {block}")
    for node, at in ((f"{block}1", 0), (block, 1), (block, 64)):
        assert "exchange" in refused(rig, f"dd if=/dev/zero of={node} bs=1M seek={at} count=1 oflag=direct")
    # A request that begins before the region and ends in it is refused, too.
    before = f"seek={MIB - 64 * KIB} count=1 oflag=direct,seek_bytes"
    assert "exchange" in refused(rig, f"dd if=/dev/zero of={block} bs=128k {before}")
    assert "exchange" in refused(rig, f"blkdiscard -f {block}1") and "exchange" in refused(
        rig, f"blkdiscard -fz {block}1"
    )
    assert "was refused: a character disk is open for writing there" in rig.said(mark)
    guest.must(f"dd if={block}1 of=/dev/null bs=1M count=1 iflag=direct")
    guest.must(f"mkfs.ext4 -qF {block}2 && mount {block}2 /run/mnt")
    guest.must("dd if=/dev/zero of=/run/mnt/a bs=1M count=4 conv=fsync && umount /run/mnt")
    job.stop()
    guest.must(f"mkfs.ext4 -qF {block}1 && mount {block}1 /run/mnt && umount /run/mnt")


def test_a_recorder_that_may_use_its_region_alone(rig: Rig, own: str) -> None:
    """Its cgroup has no block device: neither a claim needs the right to one, nor he who wants a block disk made."""
    guest, group = rig.guest, "/run/devices/recorder"
    if guest.run("grep -q ^devices /proc/cgroups").rc != 0:
        pytest.skip("this kernel has no cgroups of devices")
    guest.must("mkdir -p /run/devices && mount -t cgroup -o devices none /run/devices && mkdir /run/devices/recorder")
    numbers = [int(word, 16) for word in guest.must(f"stat -c '%t %T' {own}p1").split()]
    guest.must(f"echo a >{group}/devices.deny && echo 'c {numbers[0]}:{numbers[1]} rw' >{group}/devices.allow")
    enter = f"echo $$ >{group}/cgroup.procs"
    assert "not permitted" in refused(rig, f"sh -c '{enter} && exec 5<{own}b1'")
    guest.must(f"sh -c '{enter} && exec 5<>{own}p1'")
    assert disable(guest, own) == 0
    guest.must(f"sh -c '{enter} && echo 1 >{folder(own)}/block'")
    assert guest.files.exists(f"{own}b2")
    guest.must("rmdir /run/devices/recorder && umount /run/devices")


def test_what_is_mounted_is_not_opened_for_writing(rig: Rig, disk: str) -> None:
    """Neither by its region nor by the whole disk; for reading it is; other regions are free."""
    guest, block = rig.guest, f"{disk}b"
    guest.must(f"mkfs.ext4 -q {block}1 && mkfs.ext4 -q {block}2 && mount {block}1 /run/mnt")
    assert rig.guest.run(f"exec 5<>{disk}p1").rc and rig.guest.run(f"exec 5<>{disk}").rc
    guest.must(f"exec 5<{disk}p1 6<{disk}")
    guest.must("umount /run/mnt")
    guest.must(f"exec 5<>{disk}p1")
    guest.must(f"mount {block}2 /run/mnt && exec 5<>{disk}p1")
    assert rig.guest.run(f"exec 5<>{disk}").rc
    guest.must(f"umount /run/mnt && exec 5<>{disk}")


def test_swap_is_a_use_like_a_mount(rig: Rig, disk: str) -> None:
    """A claimed partition does not become swap; while one is swap its region and the whole disk are only read."""
    guest, part, region = rig.guest, f"{disk}b1", f"{disk}p1"
    guest.must(f"mkswap -q {part}")
    job = holding(rig, region)
    assert "busy" in refused(rig, f"swapon {part}")
    job.stop()
    guest.must(f"swapon {part}")
    for node in (region, disk):
        assert "busy" in refused(rig, f"exec 5<>{node}")
    guest.must(f"exec 5<{region} 6<{disk} && swapoff {part} && exec 5<>{region}")


def test_the_whole_disk_open_for_writing_is_busy(rig: Rig, own: str) -> None:
    """Nothing is mounted then, and no partition is written to; a reader is in nobody's way."""
    guest, block = rig.guest, f"{own}b"
    guest.must(f"mkfs.ext4 -q {block}2")
    job = holding(rig, own)
    assert "busy" in refused(rig, f"mount {block}2 /run/mnt")
    assert "exchange" in refused(rig, f"dd if=/dev/zero of={block}2 bs=4k count=1 oflag=direct")
    job.stop()
    job = holding(rig, own, "<")
    guest.must(f"mount {block}2 /run/mnt && umount /run/mnt")
    job.stop()


def test_what_was_written_before_stays(rig: Rig, own: str) -> None:
    """What the block side's page cache has goes to the disk before the region is open, and is read anew after."""
    guest, block, path = rig.guest, f"{own}b", noise(rig.guest, 256)
    guest.must(f"dd if={path} of={block}1 bs=64k conv=notrunc status=none")
    # Somebody keeps the partition open, so that it is not written at a close.
    keep, zeros = f"exec 6<>{block}1", f"dd if=/dev/zero of={own}p1 bs=256k count=1 status=none"
    dirty = f"{keep} && dd if={path} of={block}1 bs=64k conv=notrunc status=none"
    guest.must(f"{dirty} && exec 7<>{own}p1 && cmp -n 262144 {own}p1 {path}")
    guest.must(f"{keep} && cmp -n 262144 {block}1 {path} && {zeros} && cmp -n 262144 {block}1 /dev/zero")


@pytest.mark.parametrize("node", ["b", "b1"])
@pytest.mark.parametrize("part", ["", "p1"], ids=["whole disk", "region"])
def test_nothing_old_comes_after_a_claim(rig: Rig, own: str, node: str, part: str) -> None:
    """What the page cache of any block device has, from before and from meanwhile, is not written when it has ended."""
    guest, old, new = rig.guest, noise(rig.guest, 256), noise(rig.guest, 256, "/run/new")
    at = f"seek={START}" if node == "b" else "seek=0"
    to = f"seek={START}" if not part else "seek=0"
    cached = f"dd if={old} of={own}{node} bs=64k oflag=seek_bytes {at} conv=notrunc status=none"
    ours = f"dd if={new} of={own}{part} bs=64k oflag=seek_bytes {to} conv=notrunc,fsync status=none"
    # Somebody keeps the block device open, so that no close writes its pages.
    guest.must(
        f"exec 6<>{own}{node} && {cached} && exec 7<>{own}{part} && {ours} && {cached} && exec 7>&- && "
        f"sync && echo 3 >/proc/sys/vm/drop_caches && cmp -n 262144 {new} {own}p1"
    )


@pytest.mark.parametrize("half", [32 * MIB, 32 * MIB + 2 * KIB], ids=["page", "in-page"])
@pytest.mark.parametrize("when", ["before", "during"])
def test_nothing_old_comes_from_a_partition_that_was_longer(rig: Rig, own: str, when: str, half: int) -> None:
    """Nor is it in the way: what has been written to it, where a region is, is dropped although it ends before that."""
    old, new = noise(rig.guest, 256), noise(rig.guest, 256, "/run/new")
    short, long = (f"{PARTITION} resize {own}b 1 {START // 512} {size // 512}" for size in (half, half + MIB))
    rig.guest.must(short)
    set_regions(rig.guest, own, (1, START + half, 32 * MIB))
    cached = f"{long} && dd if={old} of={own}b1 bs=64k oflag=seek_bytes seek={half} conv=notrunc status=none && {short}"
    before, during = (cached, ":") if when == "before" else (":", cached)
    rig.guest.must(
        f"exec 6<>{own}b1 && {before} && exec 7<>{own}p1 && {during} && dd if={new} of={own}p1 bs=64k conv=fsync && "
        f"exec 7>&- && {long} && sync && echo 3 >/proc/sys/vm/drop_caches && cmp -n 262144 {new} {own}p1",
        timeout_s=CALL_LIMIT_S,
    )


MAPPED = """
import mmap, sys
region, block, place = sys.argv[1], os.open(sys.argv[2], os.O_RDWR), int(sys.argv[3])
memory = mmap.mmap(block, 1 << 20, offset=place)
memory[:] = b"o" * len(memory)
part = os.open(region, os.O_RDWR)
memory[:] = b"m" * len(memory)
assert os.pwrite(part, b"n" * len(memory), 0) == len(memory)
os.fsync(part)
memory[: len(memory) // 2] = b"p" * (len(memory) // 2)
os.close(part)
seen = memory[:]
failed = False
try:
    memory.flush()
    os.fsync(block)
except OSError:
    failed = True
print(json.dumps([failed, sorted(set(seen)), sorted(set(open(region, "rb").read(len(memory))))]))
"""


@pytest.mark.parametrize("node", ["b", "b1"])
def test_what_a_program_has_mapped_is_not_written_after_a_claim(rig: Rig, own: str, node: str) -> None:
    """Its pages are dropped although it has changed them; it sees what the region wrote, and its sync fails."""
    command = ["python3", "-c", f"import json\n{REGION_CALLS}{MAPPED}", f"{own}p1", f"{own}{node}"]
    place = str(START if node == "b" else 0)
    for _ in range(5):
        failed, seen, there = json.loads(rig.guest.must([*command, place], timeout_s=CALL_LIMIT_S))
        assert (failed, seen, there) == (True, [ord("n")], [ord("n")])


BESIDE = """
import threading, sys
region, block = sys.argv[1:3]
OLD, NEW = b"o" * (256 << 10), b"n" * (256 << 10)
def keep_writing(claimed):
    fd = os.open(block, os.O_RDWR)
    while not claimed.is_set():
        os.pwrite(fd, OLD, 0)
    os.close(fd)
lost = 0
keep = os.open(block, os.O_RDONLY)
for _ in range(20):
    claimed = threading.Event()
    writer = threading.Thread(target=keep_writing, args=(claimed,))
    writer.start()
    part = os.open(region, os.O_RDWR)
    claimed.set()
    writer.join()
    assert os.pwrite(part, NEW, 0) == len(NEW)
    os.fsync(part)
    os.close(part)
    os.sync()
    lost += open(region, "rb").read(len(NEW)) != NEW
print(lost)
"""


# Linux warns where a page cache is changed just as an earlier write of the same block fails.
@pytest.mark.allow_log(r"WARNING: .* mark_buffer_dirty", r"Call Trace:")
def test_what_is_written_while_a_claim_begins_does_not_come_after_it(rig: Rig, own: str) -> None:
    """Pages that are changed again and again while they are dropped are dropped all the same."""
    command = ["python3", "-c", REGION_CALLS + BESIDE, f"{own}p1", f"{own}b1"]
    assert rig.guest.must(command, timeout_s=CALL_LIMIT_S) == "0"


@pytest.mark.parametrize("at", [START, START + 64 * MIB], ids=["into the region", "out of it"])
def test_merged_requests_are_refused_in_part(rig: Rig, own: str, at: int) -> None:
    """The block layer merges neighbours across the end of a region: those outside of it are written."""
    guest, block = rig.guest, f"{own}b"
    guest.must("yes aaa | tr -d '\\n' | head -c 128k >/run/letters")
    job = holding(rig, f"{own}p1")
    to = f"of={block} bs=128k oflag=seek_bytes seek={at - 64 * KIB} conv=notrunc,fsync status=none"
    assert refused(rig, f"dd if=/run/letters {to}")
    job.stop()
    inside, outside = (at, at - 64 * KIB) if at == START else (at - 64 * KIB, at)
    letters = "iflag=direct,skip_bytes,count_bytes count=64k bs=4k status=none | tr -d a | wc -c"
    assert guest.must(f"dd if={block} skip={outside} {letters}") == "0"
    assert guest.must(f"dd if={block} skip={inside} {letters}") != "0"


def hold_write(rig: Rig, part: int) -> tuple[str, Job]:
    """A disk whose drive holds a write to a partition until it resumes, and the writer."""
    disk = prepare(rig, HOLDS)
    rig.set(disk, "deadline_ms", 200000)
    before = counters(rig.guest, disk)
    faults.hold(rig.guest, HOLDS, event="write_aio")
    writer = rig.guest.start(f"dd if=/dev/zero of={disk}b{part} bs=4k count=1 oflag=direct", timeout_s=CALL_LIMIT_S)
    until(lambda: grown(rig.guest, disk, before).get("write_commands") == 1, "the write is not with the drive")
    return disk, writer


def test_a_request_under_way_ends_before_the_region_is_open(rig: Rig) -> None:
    """A write of the block side that the drive holds cannot land on what the new owner writes."""
    guest = rig.guest
    disk, writer = hold_write(rig, part=1)
    job = guest.start(f"exec 5<>{disk}p1 && touch /run/open && exec sleep 1000", timeout_s=CALL_LIMIT_S)
    guest.must("sleep 1")
    assert not guest.files.exists("/run/open")
    faults.resume(guest, HOLDS)
    writer.wait().check()
    rig.wait_file("/run/open")
    job.stop()
    rig.unbind(HOLDS)


def test_a_request_under_way_elsewhere_holds_nobody_up(rig: Rig) -> None:
    """The drive holds a write to a partition: the other is opened, this one read; an opener who waits can be killed."""
    guest = rig.guest
    disk, writer = hold_write(rig, part=2)
    guest.must(f"exec 5<>{disk}p1 && dd if={disk}b2 of=/dev/null bs=1M count=4 iflag=direct")
    opener = guest.start(f"exec 5<>{disk}", timeout_s=CALL_LIMIT_S)
    guest.must("sleep 1")
    assert opener.poll() is None
    opener.stop()
    faults.resume(guest, HOLDS)
    writer.wait().check()
    rig.unbind(HOLDS)


@pytest.mark.parametrize("end", ["resume", "unbind"])
@pytest.mark.parametrize("kind", ["read", "write"], ids=["table", "pages"])
def test_an_opener_is_killed_while_the_drive_is_silent(rig: Rig, kind: str, end: str) -> None:
    """While a partition table is read, or pages are written: who opens ends, and who reads waits for no claim."""
    guest, disk = rig.guest, prepare(rig, HOLDS)
    rig.set(disk, "deadline_ms", 200000)
    keeper, before = holding(rig, f"{disk}b1" if kind == "write" else "/dev/null"), counters(guest, disk)
    guest.must(f"[ {kind} = read ] || dd if=/dev/zero of={disk}b1 bs=4k count=1 status=none")
    faults.hold(guest, HOLDS, event=f"{kind}_aio")
    table_reader = guest.start(f"[ {kind} = write ] || blockdev --rereadpt {disk}b", timeout_s=CALL_LIMIT_S)
    if kind == "write":
        table_reader.wait()
    else:
        until(lambda: "read_commands" in grown(guest, disk, before), "the table is not read")
    opener = guest.start(f"exec 5<>{disk}p1", timeout_s=CALL_LIMIT_S)
    waits = f"cat /proc/$(pgrep -f 'exec 5<>{disk}p[1]')/stack | grep -q chario_open"
    until(lambda: guest.run(waits).rc == 0, "nobody waits")
    guest.must(f"exec 5<{disk}p1", timeout_s=CALL_LIMIT_S)
    opener.kill()
    until(lambda: opener.poll() is not None, "it is not to be killed")
    if end == "unbind":
        job = guest.start(unbinding(rig.address(HOLDS)), timeout_s=CALL_LIMIT_S)
        until(lambda: guest.run(WAITS_TO_UNBIND).rc == 0, "the claim is not waited for")
    faults.resume(guest, HOLDS)
    table_reader.wait()
    if end == "unbind":
        job.wait().check()
    else:
        guest.must(f"exec 5<>{disk}p1 && dd if=/dev/zero of={disk}p1 bs=4k count=1 status=none")
    keeper.stop()
    # An open file, or what is left of one, would keep the number.
    assert rig.disk(HOLDS) == disk
    rig.unbind(HOLDS)


def test_a_block_disk_that_comes_later(rig: Rig, own: str) -> None:
    """What is open for writing when it is made is claimed at once; while a claim holds it, it stays."""
    guest, block = rig.guest, f"{own}b"
    assert disable(guest, own) == 0
    job = holding(rig, f"{own}p1")
    enable(guest, own)
    assert "in use" in refused(rig, f"mkfs.ext4 -q {block}1")
    assert "exchange" in refused(rig, f"dd if=/dev/zero of={block}1 bs=4k count=1 oflag=direct")
    assert disable(guest, own) != 0
    job.stop()
    assert disable(guest, own) == 0


def test_a_region_without_a_partition_holds_the_whole_block_disk(rig: Rig, own: str) -> None:
    """The table of the kernel is another one: nothing of the block disk is mounted meanwhile, nor any region opened."""
    guest, block = rig.guest, f"{own}b"
    guest.must(f"mkfs.ext4 -q {block}2")
    set_regions(rig.guest, own, (1, START, 64 * MIB), (8, 199 * MIB, MIB), (9, 200 * MIB, MIB))
    for first, second, together in (("p9", "p8", True), ("p9", "", False), ("p9", "p1", False), ("p1", "", False)):
        for one, other in ((first, second), (second, first)):
            assert (guest.run(f"exec 5<>{own}{one} 6<>{own}{other}").rc == 0) == together, (one, other)
    job = holding(rig, f"{own}p9")
    assert "busy" in refused(rig, f"mount {block}2 /run/mnt")
    job.stop()
    guest.must(f"mount {block}2 /run/mnt")
    assert rig.guest.run(f"exec 5<>{own}p9").rc


@pytest.mark.timeout(1800 + 2 * CLAIM_TURNS)
def test_a_claim_holds_its_partitions_while_the_table_is_read(rig: Rig, own: str, guest_program: Programs) -> None:
    """The region's partition and no other is busy beside BLKRRPART, and one that is held is noticed, see claims.c."""
    command = [rig.guest.push(guest_program("claims")), own, str(CLAIM_TURNS)]
    wrong = json.loads(rig.guest.must(command, timeout_s=1200 + 2 * CLAIM_TURNS))
    assert not {what: times for what, times in wrong.items() if times}


OPEN_ALONE = "import os, time; os.open({!r}, os.O_RDONLY | os.O_EXCL); os.mkdir('/run/alone'); time.sleep(1000)"


@pytest.mark.parametrize("end", ["let go", "unbind"])
def test_a_partition_that_somebody_had_first(rig: Rig, end: str) -> None:
    """Who has opened it alone before the claim could is told of once; when he has let go, the claim holds it."""
    guest, half, mark = rig.guest, 32 * MIB // 512, rig.guest.log_mark()
    disk, writer = hold_write(rig, part=2)
    block = f"{disk}b"
    guest.must(f"{PARTITION} delete {block} 1 && {PARTITION} add {block} 1 {START // 512} {half}")
    set_regions(guest, disk, (1, START, 64 * MIB), (2, START + 64 * MIB, 128 * MIB))
    job = holding(rig, f"{disk}p1")
    # Whoever waits for the write keeps the worker that follows the partitions waiting.
    opener = guest.start(f"exec 5<>{disk}p2", timeout_s=CALL_LIMIT_S)
    waits = "cat /proc/[0-9]*/stack 2>/dev/null | grep -q chario_block_wait"
    until(lambda: guest.run(waits).rc == 0, "nobody waits for the write")
    for number, place in ((3, 0), (4, half // 2)):
        guest.must(f"{PARTITION} add {block} {number} {START // 512 + half + place} {half // 2}")
    user = guest.start(["python3", "-c", OPEN_ALONE.format(f"{block}3")], timeout_s=CALL_LIMIT_S)
    rig.wait_file("/run/alone")
    faults.resume(guest, HOLDS)
    for waiting in (writer, opener):
        waiting.wait().check()
    rig.wait_said(mark, "a partition was made where")
    until(lambda: is_taken(rig.guest, f"{block}4"), "one that is busy keeps another one from being held")
    if end == "unbind":
        rig.unbind(HOLDS)
    user.stop()
    if end == "let go":
        until(lambda: is_taken(rig.guest, f"{block}3"), "the partition is not held")
    job.stop()
    assert rig.said(mark).count("a partition was made where") == 1
    guest.must("rmdir /run/alone")
    rig.unbind(HOLDS)


@pytest.mark.parametrize("before", [False, True], ids=["none there", "half there"])
def test_a_partition_that_is_made_during_a_claim_is_held(rig: Rig, own: str, before: bool) -> None:
    """It is busy then, as sfdisk makes it, and no other is, also if the claim had to hold all till then."""
    guest, block, half = rig.guest, f"{own}b", 32 * MIB // 512
    guest.must(f"{PARTITION} delete {block} 1")
    if before:
        guest.must(f"{PARTITION} add {block} 1 {START // 512} {half}")
    job = holding(rig, f"{own}p1")
    assert is_taken(rig.guest, f"{block}2") != before
    guest.must(f"{PARTITION} add {block} 3 {START // 512 + half} {half}")
    until(
        lambda: is_taken(rig.guest, f"{block}3") and not is_taken(rig.guest, f"{block}2"),
        "the wrong partitions are held",
    )
    assert not before or is_taken(rig.guest, f"{block}1")
    job.stop()
    guest.must(f"{PARTITION} delete {block} 3")


def test_unbound_under_a_claim(rig: Rig, own: str) -> None:
    """The claim lets go of the block disk first; the open file gives ENODEV, and the drive can be bound again."""
    guest = rig.guest
    job = holding(rig, f"{own}p1")
    rig.unbind(OWN)
    assert not guest.files.exists(f"{own}b") and not guest.files.exists(f"{own}p1")
    job.stop()
    assert rig.guest.files.exists(prepare(rig, OWN))


TORN = """
import threading, json, sys
part = os.open(sys.argv[1], os.O_RDWR)
assert any_size(part) == 0
block = os.open(sys.argv[2], os.O_RDONLY | os.O_DIRECT)
BLOCK, PLACES, TURNS = int(sys.argv[3]), 16, 249
def commands():
    return int(open(f"/sys/class/chario/{sys.argv[4]}/counters/write_commands").read())
for at in range(PLACES):
    write(part, at * BLOCK, BLOCK, 0)
os.fsync(part)
done, torn = threading.Event(), []
def look():
    memory = aligned(PLACES * BLOCK)
    while not done.is_set():
        os.preadv(block, [memory], 0)
        for at in range(PLACES):
            # Writers change the first and the last third by turns, each to one value.
            here = bytes(memory[at * BLOCK : (at + 1) * BLOCK])
            third = BLOCK // 3
            parts = (here[:third], here[third:-third], here[-third:])
            if any(piece != piece[:1] * len(piece) for piece in parts) or parts[1][0]:
                torn.append((at, [sorted(set(piece)) for piece in parts]))
reader = threading.Thread(target=look)
before = commands()
reader.start()
third = BLOCK // 3
for turn in range(1, TURNS + 1):
    for at in range(PLACES):
        where = at * BLOCK if turn % 2 else (at + 1) * BLOCK - third
        assert write(part, where, third, turn % 255 + 1, os.RWF_DSYNC) == third
done.set()
reader.join()
print(json.dumps([torn[:3], (commands() - before) / (PLACES * TURNS)]))
"""


def test_the_block_side_sees_no_torn_block(rig: Rig, disk: str) -> None:
    """Parts of blocks written by a file of any size while the block side reads: each block is old or new.

    A change is one write command, of a drive that tears no block: what is torn would be the module's doing.  The disk
    in memory does tear blocks: it copies them as the host does, on all processors at once.
    """
    size = rig.show(disk, "logical_block_size")
    command = ["python3", "-c", REGION_CALLS + TORN, f"{disk}p1", f"{disk}b1", size, disk.removeprefix("/dev/")]
    assert json.loads(rig.guest.must(command, timeout_s=CALL_LIMIT_S)) == [[], 1]
