# SPDX-License-Identifier: MIT
"""Regions in the hands of a user: chario region and chario run, partition tables that others write, udev."""

import json

import pytest
from bind_lab import FAILED, OK, USAGE, Machine, MachineKeeper, machine_keeper
from block_side import is_taken
from disks import MIB

from chario_lab.guest.job import Result
from chario_lab.guest.spec import Namespace, Nvme
from chario_lab.waiting import until

pytestmark = [
    pytest.mark.area("kernel/disk/regions", "kernel/front/block/", "kernel/front/confine", "cli/region", "cli/table"),
    pytest.mark.stock, pytest.mark.slow,
]  # fmt: skip

SMALL, LARGE = range(2)
NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups"
DRIVES = (Nvme("small", (Namespace(256),)), Nvme("large", (Namespace(256, 4096),)))
AT_ONCE = 4
TYPE = "62D1C4A5-5B0E-4C2C-9A3F-1C4A7D9E6B08"
keeper = machine_keeper(DRIVES)


@pytest.fixture
def machine(keeper: MachineKeeper, request: pytest.FixtureRequest) -> Machine:
    """The guest, for one test; its drives are empty."""
    machine = keeper.get(request)
    for drive in (SMALL, LARGE):
        block = machine.block(drive)
        # A partition that udev looks at cannot be taken away; it looks at none while the drive is locked.
        machine.must(f"flock {block} sh -c 'blkdiscard -fz {block} && blockdev --rereadpt {block}'")
    return machine


@pytest.fixture(params=[SMALL, LARGE], ids=["512", "4096"])
def disk(machine: Machine, request: pytest.FixtureRequest) -> str:
    """An empty disk without a block disk."""
    return bind(machine, request.param)


def bind(machine: Machine, drive: int, *options: str) -> str:
    """Give a drive to CharIO; its disk."""
    machine.chario("bind", *options, machine.address(drive)).check()
    return machine.disks(drive)[0]


def regions(machine: Machine, *disk: str) -> list[tuple[str, int, int, str, bool]]:
    """What chario region list says."""
    listed = json.loads(machine.chario("region", "list", "--json", *disk).check().stdout)["regions"]
    return [(one["path"], one["offset"], one["bytes"], one["name"], one["set"]) for one in listed]


def refused(done: Result, *words: str, rc: int = FAILED) -> None:
    """A call has ended with this code and says these words."""
    assert done.rc == rc and all(word in done.stderr for word in words), done.describe()


def test_from_an_empty_disk_to_a_store(machine: Machine, disk: str) -> None:
    """The way of the manual: a table, two regions, a store on one; and back."""
    refused(machine.chario("region", "create", disk, "64M"), "--new-table")
    made = machine.chario("region", "create", disk, "64M", "--new-table", "--name", "camera").check().stdout
    assert made == f"{disk}p1  64 MiB\n"
    machine.chario("region", "create", disk).check()
    camera, rest = regions(machine, disk)
    assert camera == (f"{disk}p1", MIB, 64 * MIB, "camera", True)
    assert rest[:2] == (f"{disk}p2", 65 * MIB) and 185 * MIB < rest[2] < 192 * MIB
    refused(machine.chario("region", "create", disk, "1M"), "no hole")
    machine.must(
        f"chario format {disk}p1 && head -c 3000000 /dev/urandom >/run/a && chario put -q --store {disk}p1 /run/a a"
    )
    machine.must(f"chario cat --store {disk}p1 a | cmp - /run/a && sfdisk --verify {disk} 2>/dev/null; :")
    refused(machine.chario("region", "remove", f"{disk}p1"), "a store", "--force")
    info = json.loads(machine.chario("info", "--json", f"{disk}p1").check().stdout)
    assert (info["region"], info["offset_bytes"], info["capacity_bytes"]) == (1, MIB, 64 * MIB)
    shown = machine.chario("list").check().stdout
    assert f"{disk}p1" in shown and f"{disk}p2" in shown
    machine.chario("region", "remove", "--force", f"{disk}p1", f"{disk}p2").check()
    assert regions(machine, disk) == [] and not machine.guest.files.exists(f"{disk}p1")


def test_a_region_that_is_opened_as_soon_as_it_is_made(machine: Machine) -> None:
    """Its partition is busy and no other, although udev has the partition table read at that moment."""
    disk = bind(machine, SMALL, "--block")
    machine.chario("region", "create", disk, "64M", "--new-table").check()
    for _ in range(AT_ONCE):
        script = f"chario region create {disk} 64M && exec 5<>{disk}p2 && touch /run/open && exec sleep 999"
        job = machine.guest.start(script)
        until(lambda: machine.guest.files.exists("/run/open"), "the region is not opened")
        until(
            lambda: [is_taken(machine.guest, f"{disk}b{part}") for part in (1, 2)] == [False, True],
            "the wrong partitions are busy",
        )
        machine.must("rm /run/open")
        job.stop()
        machine.chario("region", "remove", "--force", f"{disk}p2").check()


def test_calls_at_once(machine: Machine, disk: str) -> None:
    """One after another has the table: each region is in it, and the module has all of them."""
    machine.chario("region", "create", disk, "1M", "--new-table").check()
    jobs = [machine.start_chario("region", "create", disk, "1M") for _ in range(AT_ONCE)]
    for job in jobs:
        job.wait().check()
    shown = regions(machine, disk)
    assert len({path for path, *_ in shown}) == len({offset for _, offset, *_ in shown}) == 1 + AT_ONCE
    assert all(is_set for *_, is_set in shown)


def test_it_comes_back_with_the_drive(machine: Machine, disk: str) -> None:
    """The table is on the drive: after unbind and bind the regions are there, at the same places."""
    machine.chario("region", "create", disk, "16M", "--new-table").check()
    before = regions(machine, disk)
    address = machine.must(f"basename $(readlink -f /sys/class/chario/{disk[5:]}/device)")
    machine.chario("unbind", address).check()
    until(lambda: machine.guest.run("ls /dev/nvme*n1p1").rc == 0, "Linux's driver has found no partition")
    block = machine.must("ls /dev/nvme*n1p1")
    assert TYPE.lower() in machine.must(f"blkid -p -s PART_ENTRY_TYPE -o value {block}").lower()
    machine.chario("bind", address).check()
    assert regions(machine) == before


def test_a_table_on_a_disk_with_content_is_refused(machine: Machine) -> None:
    """A file system or a store would be lost; --force says so and does it."""
    disk = bind(machine, SMALL, "--block")
    machine.must(f"mkfs.ext4 -q {disk}b")
    refused(machine.chario("region", "create", disk, "16M", "--new-table"), "a file system (ext4)", "--force")
    machine.must(f"mount {disk}b /mnt")
    refused(machine.chario("region", "create", disk, "16M", "--new-table", "--force"), "in use")
    machine.must(f"umount /mnt && e2fsck -fn {disk}b")
    machine.must(f"wipefs -qa {disk}b && chario format {disk}")
    refused(machine.chario("region", "create", disk, "16M", "--new-table"), "a store", "--force")
    machine.chario("region", "create", disk, "16M", "--new-table", "--force").check()


def test_beside_a_mounted_file_system(machine: Machine) -> None:
    """Regions are made and removed while another partition is mounted and another region is open."""
    disk = bind(machine, LARGE, "--block")
    table = f"label: gpt\nsize=64MiB\nsize=32MiB, type={TYPE}, name=here\n"
    machine.guest.must(f"sfdisk -q {disk}b", stdin=table)
    machine.must(f"mkfs.ext4 -q {disk}b1 && mount {disk}b1 /mnt && chario region apply {disk}")
    assert [region[3] for region in regions(machine, disk)] == ["here"]
    with machine.held_open(f"{disk}p2"):
        machine.chario("region", "create", disk, "16M", "--name", "new").check()
        refused(machine.chario("region", "remove", f"{disk}p2"), "is open")
    assert machine.guest.files.exists(f"{disk}p3") and machine.guest.files.exists(f"{disk}b3")
    machine.must(f"mkfs.ext4 -q {disk}b3 && mkdir -p /run/other && mount {disk}b3 /run/other")
    refused(machine.chario("region", "remove", "--force", f"{disk}p3"), "mounted or otherwise in use")
    assert machine.guest.files.exists(f"{disk}p3")
    machine.must("umount /run/other")
    refused(machine.chario("region", "remove", f"{disk}p3"), "ext4")
    machine.chario("region", "remove", "--force", f"{disk}p3").check()
    machine.must(f"echo here >/mnt/a && umount /mnt && e2fsck -fn {disk}b1")
    assert [region[3] for region in regions(machine, disk)] == ["here"]


def test_an_open_region_keeps_its_drive(machine: Machine) -> None:
    """chario unbind names who has it open: a region, or a file that is confined to an area of it."""
    disk = bind(machine, SMALL)
    machine.chario("region", "create", disk, "64M", "--new-table").check()
    with machine.held_open(f"{disk}p1"):
        refused(machine.chario("unbind", machine.address(SMALL)), "in use", "sleep")
    machine.must(f"chario format {disk}p1 && chario create --store {disk}p1 a 1M")
    job = machine.guest.start(
        f"chario run --store {disk}p1 -A a -- sh -c 'kill -9 $PPID; touch /run/runs; exec sleep 99'"
    )
    until(lambda: machine.guest.files.exists("/run/runs"), "the program has not begun")
    refused(machine.chario("unbind", machine.address(SMALL)), "in use", "sleep")
    machine.must("pkill sleep")
    job.wait()
    machine.chario("unbind", machine.address(SMALL)).check()


def test_udev_sets_them(machine: Machine) -> None:
    """When the disk appears, and when another program has written the table."""
    disk = bind(machine, SMALL, "--block")
    machine.guest.must(f"sfdisk -q {disk}b", stdin=f"label: gpt\nsize=32MiB, type={TYPE}\n")
    until(lambda: machine.guest.files.exists(f"{disk}p1"), "udev has not told the module")
    machine.must(f"sfdisk -q --delete {disk}b")
    until(lambda: not machine.guest.files.exists(f"{disk}p1"), "udev has not told the module")


def test_a_program_has_an_area_and_nothing_else(machine: Machine, disk: str) -> None:
    """Its descriptor is a disk of the size of the area; a user without rights reads and writes it."""
    machine.must(f"chario format {disk} && chario create --store {disk} one 4M && chario create --store {disk} two 4M")
    machine.must(f"head -c {4 * MIB} /dev/urandom >/run/a && chario run --store {disk} -A one -o -- dd if=/run/a bs=1M")
    machine.must(f"chario cat --store {disk} one | cmp - /run/a")
    machine.must(f"chario run --store {disk} -A two -o -- {NOBODY} dd if=/run/a bs=1M")
    machine.must(f"chario run --store {disk} -rA two -i -- {NOBODY} cmp - /run/a")
    size = machine.must(
        f"chario run --store {disk} -A two -- {NOBODY} chario info --json /dev/fd/3 | grep capacity_bytes"
    )
    assert str(4 * MIB) in size
    more = machine.guest.run(f"chario run --store {disk} -A one -o -- dd if=/dev/zero bs=1M count=5")
    refused(more, "No space left", rc=1)
    script = f"! echo x >{disk} && ! echo x >/dev/fd/3 && ! cat {disk}"
    machine.must(f"chario run --store {disk} -A two -- {NOBODY} sh -c '{script}' 2>/dev/null")
    machine.must(f"chario run --store {disk} -rA one -i -- sh -c '! echo x >&0' 2>/dev/null")
    # The area is locked as long as the program lives.
    with_lock = f"chario run --store {disk} -A one -- sh -c 'chario run --store {disk} -A one -- true; echo $?'"
    assert machine.must(f"{with_lock} 2>/dev/null") == "1"


@pytest.mark.parametrize("option", ["", "-r"], ids=["writes", "reads"])
def test_a_child_keeps_the_area(machine: Machine, disk: str, option: str) -> None:
    """The program has ended, and a child of it has the descriptor: the area stays where it is, and the store."""
    machine.must(f"chario format {disk} && chario create --store {disk} a 4M && chario create --store {disk} b 4M")
    child = "sleep 99 <&- >/dev/null 2>&1 & echo $! >/run/child"
    machine.must(f"chario run --store {disk} {option} -A b -- sh -c '{child}' && chario rm --store {disk} a")
    refused(machine.chario("rm", "--store", disk, "b"), "open elsewhere")
    refused(machine.chario("format", "--force", disk), "open in another process")
    machine.chario("defrag", disk)
    assert json.loads(machine.chario("stat", "--json", "-s", disk, "b").check().stdout)["disk_offset"] > 4 * MIB
    other = machine.chario("run", "--store", disk, "--area", "b", "--", "true")
    assert other.rc == (OK if option else FAILED), other.describe()
    machine.must("kill $(cat /run/child)")
    until(lambda: machine.chario("rm", "--store", disk, "b").rc == OK, "the area is still locked")
    machine.chario("format", "--force", disk).check()


def test_a_recording_is_kept(machine: Machine, disk: str) -> None:
    """A program is not let loose on one by mistake, nor on an area that is not there."""
    record = f"chario record -q --late-ms 600000 --store {disk} r --size 16M"
    machine.must(f"chario format {disk} && head -c 9000000 /dev/urandom | {record}")
    refused(machine.chario("run", "--store", disk, "--area", "r", "--", "true"), "is a recording", "--force")
    machine.chario("run", "--store", disk, "--area", "r", "--read-only", "--", "true").check()
    refused(machine.chario("run", "--store", disk, "--area", "none", "--", "true"), "none")
    assert machine.chario("run", "--store", disk, "--area", "r", "-r", "--", "/none").rc == 127
    machine.must("rm -f /run/file && chario format --size 16M /run/file && chario create --store /run/file a 1M")
    refused(machine.chario("run", "--store", "/run/file", "--area", "a", "--", "true"), "no character disk")


def test_a_region_that_is_shorter_than_the_store_on_it(machine: Machine, disk: str) -> None:
    """What lies before its end can be read, each verb says that the rest is missing, and nothing is written."""
    machine.chario("region", "create", disk, "128M", "--new-table").check()
    machine.must(f"chario format {disk}p1 && head -c 4096 /dev/urandom >/run/a && chario put -q -s {disk}p1 /run/a a")
    machine.chario("region", "remove", "--force", f"{disk}p1").check()
    machine.chario("region", "create", disk, "64M").check()
    for verb in ("df", "ls --store", "cat a --store"):
        done = machine.guest.run(f"chario {verb} {disk}p1")
        assert done.rc == OK and "what lies behind the end is missing" in done.stderr, done.describe()
    refused(machine.chario("check", f"{disk}p1"), "smaller than the store")
    refused(machine.chario("create", "--store", f"{disk}p1", "b", "1M"), "smaller than the store")
    refused(machine.chario("format", f"{disk}p1"), "a store", "1 area", "--force")
    refused(machine.chario("region", "remove", f"{disk}p1"), "a store", "--force")


def test_sizes_and_names_that_do_not_fit(machine: Machine, disk: str) -> None:
    """They are refused, and none is rounded, cut or put aside; a name is shown without its control characters."""
    chario = machine.chario
    chario("region", "create", disk, "1M", "-t", "-n", "ä" * 36).check()
    for size in (str((1 << 64) - 1), str((1 << 64) - (1 << 20) + 1), "16383P", "1P"):
        refused(chario("region", "create", disk, size), "largest hole")
    refused(chario("region", "create", disk, "-1M"), "not negative", rc=USAGE)
    for name in ("a" * 37, "ä" * 37, "\U0001f4f7"):
        refused(chario("region", "create", disk, "1M", "--name", name), "at most 36", rc=USAGE)
    chario("region", "create", disk, "1M", "--name", "a\033[31m\tb").check()
    assert [name for *_, name, _ in regions(machine, disk)] == ["ä" * 36, "a\033[31m\tb"]
    shown = chario("region", "list", disk).check().stdout
    assert r"a\x1b[31m\x09b" in shown and "\033" not in shown and "\t" not in shown


def test_a_table_that_is_full(machine: Machine) -> None:
    """There are 128 numbers; a message says so, and names no hole."""
    disk = bind(machine, SMALL, "--block")
    machine.guest.must(f"sfdisk -q {disk}b", stdin="label: gpt\n" + f"size=1MiB, type={TYPE}\n" * 128)
    refused(machine.chario("region", "create", disk, "1M"), "no number left", "128")
    machine.must(f"chario region remove --force {disk}p77")
    assert machine.chario("region", "create", disk, "1M").check().stdout == f"{disk}p77  1 MiB\n"


# The second partition begins where the first does; both checksums are right.
OVERLAP = """
import struct, sys, zlib
with open(sys.argv[1], "r+b") as disk:
    disk.seek(512)
    head = bytearray(disk.read(512))
    place, count, size = struct.unpack_from("<QII", head, 72)
    disk.seek(place * 512)
    entries = bytearray(disk.read(count * size))
    entries[size + 32 : size + 40] = entries[32:40]
    struct.pack_into("<I", head, 88, zlib.crc32(entries))
    struct.pack_into("<I", head, 16, 0)
    struct.pack_into("<I", head, 16, zlib.crc32(head[:92]))
    for at, what in ((place * 512, entries), (512, head)):
        disk.seek(at)
        disk.write(what)
"""
TWO = f"label: gpt\nsize=16MiB, type={TYPE}\nsize=16MiB, type={TYPE}\n"
DAMAGED = "is damaged or has no protective MBR"
# A table, what is done to it, and what is said of it.
ODD_TABLES = {
    "high": (f"label: gpt\ntable-length: 256\n200 : size=1MiB, type={TYPE}\n", ":", "partition 200", "1 to 128"),
    "overlap": (TWO, f"python3 -c '{OVERLAP}' $DISK", "regions 1 and 2 of", "overlap"),
    "no-mbr": (TWO, "dd if=/dev/zero of=$DISK bs=512 count=1 conv=notrunc", DAMAGED),
    "both-heads": (TWO, "for at in 1 $(($(blockdev --getsz $DISK) - 1)); do printf x | dd of=$DISK bs=1"
                   " seek=$((at * 512 + 16)) conv=notrunc; done", DAMAGED),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD_TABLES)
def test_a_table_that_gives_no_regions(machine: Machine, name: str) -> None:
    """Whoever lists the regions, or sets them, is told why."""
    disk = bind(machine, SMALL, "--block")
    table, act, *words = ODD_TABLES[name]
    machine.guest.must(f"sfdisk -q {disk}b", stdin=table)
    machine.must(f"udevadm settle && DISK={disk}b && {{ {act}; }} 2>/dev/null && udevadm settle")
    applied = machine.chario("region", "apply", disk)
    assert all(word in applied.stderr for word in words), applied.describe()
    if name != "overlap":
        listed = machine.chario("region", "list", disk).check().stderr
        assert all(word in listed for word in words) and "there is no region" not in listed, listed


def test_one_head_of_two_is_enough(machine: Machine) -> None:
    """The table is read from its copy."""
    disk = bind(machine, SMALL, "--block")
    machine.guest.must(f"sfdisk -q {disk}b", stdin=TWO)
    machine.must(f"udevadm settle && printf x | dd of={disk}b bs=1 seek=528 conv=notrunc 2>/dev/null; udevadm settle")
    assert len(regions(machine, disk)) == 2


def test_a_table_for_other_blocks(machine: Machine) -> None:
    """It is named, with the size of its blocks, and is not written over."""
    small, large = bind(machine, SMALL, "--block"), bind(machine, LARGE, "--block")
    machine.guest.must(f"sfdisk -q {small}b", stdin=TWO)
    machine.must(f"dd if={small}b of={large}b bs=64k count=1 conv=fsync 2>/dev/null && udevadm settle")
    words = ("a GPT for blocks of 512 bytes", "its blocks have 4096", "--new-table")
    refused(machine.chario("region", "create", large, "16M"), *words)
    assert all(word in machine.chario("region", "list", large).check().stderr for word in words)


def test_a_short_table_that_is_full(machine: Machine) -> None:
    """The message has the number of partitions for which there is room."""
    disk = bind(machine, SMALL, "--block")
    table = "label: gpt\ntable-length: 4\n" + f"size=1MiB, type={TYPE}\n" * 4
    machine.guest.must(f"sfdisk -q {disk}b", stdin=table)
    refused(machine.chario("region", "create", disk, "1M"), "has room for 4 partitions")


def test_a_region_that_the_module_refuses(machine: Machine) -> None:
    """It is not left in the table: another one, which has gone from there, is open."""
    disk = bind(machine, SMALL, "--block")
    table = f"label: gpt\nsize=32MiB, type={TYPE}\nsize=32MiB, type={TYPE}\n"
    machine.guest.must(f"sfdisk -q {disk}b", stdin=table)
    until(lambda: machine.guest.files.exists(f"{disk}p2"), "udev has not told the module")
    with machine.held_open(f"{disk}p2"):
        machine.must(f"sfdisk -q --delete {disk}b 2")
        refused(machine.chario("region", "create", disk, "16M"), "is open")
        assert [path for path, *_ in regions(machine, disk)] == [f"{disk}p1", f"{disk}p2"]
        assert "open, gone from the table" in machine.chario("region", "list", disk).check().stdout
        machine.guest.must(f"sfdisk -q --append {disk}b", stdin=f"size=16MiB, type={TYPE}\n")
        assert "open, moved in the table" in machine.chario("region", "list", disk).check().stdout
        machine.must(f"sfdisk -q --delete {disk}b 2")
    assert machine.chario("region", "create", disk, "16M").check().stdout == f"{disk}p2  16 MiB\n"


def test_a_file_in_the_place_of_a_region(machine: Machine, disk: str) -> None:
    """Whoever binds the drive, sets the region or lists it is told of the file, and what to do."""
    machine.chario("region", "create", disk, "16M", "--new-table").check()
    address = machine.must(f"basename $(readlink -f /sys/class/chario/{disk[5:]}/device)")
    machine.must(f"chario unbind {address} && echo lost >{disk}p1 && chario bind {address}")
    until(lambda: machine.guest.files.exists(f"/sys/class/chario/{disk[5:]}p1"), "udev has not told the module")
    for words in (("bind", address), ("region", "apply", disk), ("list",)):
        done = machine.chario(*words).check()
        assert f"{disk}p1: what stands at the path of the disk" in done.stderr and "mv" in done.stderr, done.describe()
    machine.must(f"rm {disk}p1")


def test_a_region_whose_partition_is_mounted(machine: Machine) -> None:
    """No store is made there, and the message says why; the block disk is a name of the disk."""
    disk = bind(machine, SMALL, "--block")
    machine.chario("region", "create", disk, "64M", "--new-table").check()
    machine.must(f"mkfs.ext4 -q {disk}b1 && mount {disk}b1 /mnt")
    refused(machine.chario("format", "--force", f"{disk}p1"), "is mounted")
    machine.must(f"umount /mnt && e2fsck -fn {disk}b1")
    for name in (f"{disk}b", f"{disk}b"[5:]):
        assert "chardisk" in machine.chario("info", name).check().stdout
        machine.chario("stat", name).check()
    refused(machine.chario("info", f"{disk}b1"), "not a disk of CharIO")
    refused(machine.guest.run(f"{NOBODY} chario region list {disk}"), "disk for a block disk")


def test_an_urgent_recording(machine: Machine) -> None:
    """Its writes are urgent as long as it lasts; on a file nobody could stand back."""
    disk = bind(machine, SMALL, "--block")
    machine.chario("region", "create", disk, "64M", "--new-table").check()
    machine.must(f"chario format {disk}p1")
    source = "head -c 20000000 /dev/urandom"
    record = f"chario record -q --urgent --late-ms 600000 --store {disk}p1 r --size 32M"
    machine.must(f"{source} | {record} && chario check -d {disk}p1")
    machine.must("rm -f /run/file && chario format --size 64M /run/file")
    refused(machine.guest.run(f"{source} | chario record -qu --store /run/file r --size 32M"), "character disk")


def test_wrong_arguments(machine: Machine, disk: str) -> None:
    """Each gets a message that says what would be right."""
    chario = machine.chario
    refused(chario("region", "make", disk), "list, create, remove or apply", rc=USAGE)
    refused(chario("region", "create"), rc=USAGE)
    refused(chario("region", "create", disk, "much"), "a size", rc=USAGE)
    refused(chario("region", "remove", disk), "name of a region")
    refused(chario("region", "remove", f"{disk}p9", "--force"), "no region 9")
    refused(chario("region", "remove", f"{disk}p1x", "--force"), "name of a region")
    refused(chario("region", "list", "chardisk99"), "chardisk99")
    refused(chario("region", "list", ""), "the name of the disk is empty")
    refused(chario("region", "remove", f"{disk}p9"), f"{disk}p9 is no region", "region apply")
    refused(chario("run", "--", "true"), "--area", rc=USAGE)
    refused(chario("export", f"{disk}p1"), "--listen", rc=USAGE)
    refused(chario("export", f"{disk}p1", "--listen", "here"), "address", rc=USAGE)
    refused(chario("export", f"{disk}p1", "--listen", "::1", "--host", "me"), "hostnqn", rc=USAGE)
    refused(chario("export", f"{disk}p1", "--listen", "[::1]:4420"), "no block disk")
    assert chario("region", "list").rc == OK
