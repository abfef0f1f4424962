# SPDX-License-Identifier: MIT
"""The block side in the hands of a user: chario bind --block, names that udev gives, and uses that are seen."""

import json
from collections.abc import Iterator

import pytest
from bind_lab import FAILED, OK, PARTITION, Machine, machine_keeper, plain_machine
from block_side import set_regions
from disks import MIB
from programs import TOP

from chario_lab.guest.devices import bdf
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Namespace, Nvme

pytestmark = [
    pytest.mark.area("kernel/front/block/", "kernel/memory/bios", "kernel/queue/isolation"), pytest.mark.stock,
]  # fmt: skip

PLAIN, PAIR, VOLUMES, LONG = range(4)
DRIVES = (
    Nvme("plain", (Namespace(64),)),
    Nvme("pair", (Namespace(64), Namespace(32, 4096, nsid=7))),
    Nvme("volumes", (Namespace(128, 4096),)),
    Nvme("long blocks", (Namespace(64, 8192),)),
)
MODEL = "nvme-QEMU_NVMe_Ctrl"
PART_MIB = 64


keeper = machine_keeper(DRIVES, "modprobe dm_mod && mkdir -p /run/mnt")
machine = plain_machine()


def bind(machine: Machine, drive: int, *words: str) -> list[str]:
    """Bind a drive with its block side; the nodes of its block disks."""
    done = machine.chario("bind", "--block", *words, machine.address(drive))
    assert done.rc == OK, done.describe()
    return [f"{disk}b" for disk in machine.disks(drive)]


def names(guest: Guest, node: str) -> set[str]:
    """The links in /dev/disk that lead to a node, but for the one that is new each time."""
    return set(guest.must(f"find -L /dev/disk -samefile {node} ! -path '*/by-diskseq/*' -printf '%P\\n'").split())


def test_each_disk_has_one(machine: Machine) -> None:
    """It is said, listed, and goes with the drive."""
    blocks = bind(machine, PAIR)
    assert [machine.must(f"blockdev --getss {block}") for block in blocks] == ["512", "4096"]
    listed = {
        disk["path"]: disk["block"] for disk in json.loads(machine.chario("list", "--json").check().stdout)["disks"]
    }
    assert listed == {block[:-1]: block for block in blocks}
    assert f"block disk         {blocks[0]}" in machine.chario("info", blocks[0][:-1]).check().stdout
    assert "from chario to nvme" in machine.chario("unbind", machine.address(PAIR)).check().stdout


def test_a_bound_drive_gets_one_later(machine: Machine) -> None:
    """And keeps it when it is bound once more without the word."""
    machine.chario("bind", machine.address(PLAIN)).check()
    (disk,) = machine.disks(PLAIN)
    assert machine.guest.run(f"test -e {disk}b").rc != 0
    (block,) = bind(machine, PLAIN)
    said = machine.chario("bind", machine.address(PLAIN)).check().stdout
    assert f"{disk}, {block}" in said


def test_a_drive_that_cannot_have_one_goes_back(machine: Machine) -> None:
    """It is said why, and how the drive can be used all the same."""
    done = machine.chario("bind", "--block", machine.address(LONG))
    assert done.rc == FAILED and "blocks are longer than a page" in done.stderr, done.describe()
    assert "without --block" in done.stderr and machine.driver(LONG) == "nvme"
    assert machine.chario("bind", machine.address(LONG)).rc == OK


def test_names_are_those_of_linuxs_driver(machine: Machine) -> None:
    """So /etc/fstab need not know who has the drive: by serial number, place, and content, also of a partition."""
    guest, before = machine.guest, machine.block(PLAIN)
    guest.must(f"mkfs.ext4 -q -F -L recorder {before} && udevadm trigger --settle {before}")
    wanted = names(guest, before)
    assert any(name.startswith("by-uuid/") for name in wanted) and f"by-id/{MODEL}_plain" in wanted
    (block,) = bind(machine, PLAIN)
    guest.must("udevadm settle")
    assert names(guest, block) == wanted
    guest.must(f"{PARTITION} add {block} 1 2048 65536 && udevadm settle")
    assert f"by-id/{MODEL}_plain-part1" in names(guest, f"{block}1")


@pytest.mark.parametrize("part", ["", "1"])
def test_a_use_is_seen(machine: Machine, part: str) -> None:
    """A mounted file system, on the disk or a partition of it, keeps the drive from being unbound."""
    guest = machine.guest
    (block,) = bind(machine, PLAIN)
    if part:
        guest.must(f"{PARTITION} add {block} 1 2048 65536")
    guest.must(f"mkfs.ext4 -q -F {block}{part} && mkdir -p /run/mnt && mount {block}{part} /run/mnt")
    done = machine.chario("unbind", machine.address(PLAIN))
    assert done.rc == FAILED and "/run/mnt" in done.stderr, done.describe()
    assert machine.driver(PLAIN) == "chario"
    guest.must("umount /run/mnt")
    assert machine.chario("unbind", machine.address(PLAIN)).rc == OK


def start_of_machine(machine: Machine, serial: str) -> str:
    """Run the initramfs's script, which is told of one drive; what it prints."""
    script = machine.guest.push(TOP / "packaging/initramfs/init-top")
    machine.must(f"mkdir -p /etc/chario && echo {machine.address(PLAIN)} {serial} >/etc/chario/boot")
    return machine.must(f"sh {script}; rm /etc/chario/boot")


def test_a_drive_that_nobody_can_take_at_the_start_keeps_a_driver(machine: Machine) -> None:
    """Linux's driver may be quicker, or part of the kernel: then udev has nothing to load that would take it again."""
    block = machine.block(PLAIN)
    assert "has a driver already" in start_of_machine(machine, "plain")
    assert machine.block(PLAIN) == block and machine.driver(PLAIN) == "nvme"
    machine.must(f"echo {machine.address(PLAIN)} >/sys/bus/pci/drivers/nvme/unbind")
    assert "cannot be bound" in start_of_machine(machine, "another")
    assert machine.driver(PLAIN) == "nvme" and machine.override(PLAIN) == ""
    machine.must(f"echo {machine.address(PLAIN)} >/sys/bus/pci/drivers/nvme/unbind")
    assert start_of_machine(machine, "plain") == ""
    (disk,) = machine.disks(PLAIN)
    assert machine.guest.run(f"test -b {disk}b").rc == 0


def test_a_kept_drive_has_it_again(machine: Machine) -> None:
    """The note of a kept drive says so."""
    guest, address = machine.guest, bdf(machine.guest, PLAIN)
    (block,) = bind(machine, PLAIN, "--keep")
    guest.must(
        f"echo {address} >/sys/bus/pci/drivers/chario/unbind && echo >/sys/bus/pci/devices/{address}/driver_override"
    )
    guest.must(f"echo {address} >/sys/bus/pci/drivers_probe && udevadm settle")
    machine.block(PLAIN)
    assert machine.chario("bind", "--if-kept", address).rc == OK
    assert guest.run(f"test -b {block}").rc == 0
    assert "is not kept any more" in machine.chario("unbind", address).stderr
    assert machine.chario("bind", "--if-kept", address).rc == OK and machine.driver(PLAIN) == "nvme"


@pytest.fixture
def volumes(machine: Machine) -> Iterator[str]:
    """A disk with a block disk, a partition for LVM and a region behind it, p2."""
    (block,) = bind(machine, VOLUMES)
    machine.guest.must(f"sfdisk -q --wipe always {block}", stdin=f"label: gpt\nsize={PART_MIB}MiB, type=lvm\n")
    machine.chario("region", "create", block[:-1], "16M").check()
    yield block[:-1]
    machine.must(f"vgchange -qan box; vgremove -qf box; pvremove -qy {block}1; wipefs -qa {block}; udevadm settle")


LVM = "pvcreate -qy {0}b1 && vgcreate -qs 1m box {0}b1 && lvcreate -qy -Wn -n lid -l 100%FREE box"
MOUNT = "mount /dev/box/lid /run/mnt"


def test_a_volume_of_lvm_beside_a_region(machine: Machine, volumes: str) -> None:
    """Made, filled, unmounted, checked and read by a new mount, while a recorder writes the region; both keep all."""
    kib = 40 << 10
    machine.must(f"head -c {kib << 10} /dev/urandom >/run/noise && head -c {16 * MIB} /dev/urandom >/run/recording")
    machine.must(LVM.format(volumes))
    turn = f"dd if=/run/recording of={volumes}p2 bs=64k conv=fsync status=none"
    recorder = machine.guest.start(f"touch /run/more; while [ -e /run/more ]; do {turn} || exit 1; done", 600)
    machine.must(f"mkfs.ext4 -q /dev/box/lid && {MOUNT} && cp /run/noise /run/mnt/a && umount /run/mnt")
    machine.must(f"vgchange -qan box && vgchange -qay box && e2fsck -fn /dev/box/lid && {MOUNT}")
    machine.must("cmp /run/noise /run/mnt/a && fstrim /run/mnt && cmp /run/noise /run/mnt/a && umount /run/mnt")
    machine.must("rm /run/more")
    recorder.wait().check()
    machine.must(f"cmp /run/recording {volumes}p2 && vgchange -qan box")


def test_a_claim_and_lvm(machine: Machine, volumes: str) -> None:
    """Whoever is first has the partition: LVM takes none that is claimed, and what it uses is not opened to write."""
    guest = machine.guest
    with machine.held_open(f"{volumes}p2", write=True):
        said = guest.run(f"pvcreate -qy {volumes}b2")
        assert said.rc != 0 and "exclusively" in said.stderr, said.describe()
    machine.must(f"pvcreate -qy {volumes}b2 && pvremove -qy {volumes}b2")
    # The region lies over the partition of LVM now.
    set_regions(guest, volumes, (3, MIB, PART_MIB * MIB))
    machine.must(LVM.format(volumes))
    for node in (f"{volumes}p3", volumes):
        said = guest.run(f"exec 5<>{node}")
        assert said.rc != 0 and "busy" in said.stderr, said.describe()
    machine.must(f"exec 5<{volumes}p3")
    machine.must("vgchange -qan box && udevadm settle")
    with machine.held_open(f"{volumes}p3", write=True):
        assert guest.run("vgchange -qay box").rc != 0
    machine.must(f"vgchange -qay box && mkfs.ext4 -q /dev/box/lid && {MOUNT} && umount /run/mnt")
