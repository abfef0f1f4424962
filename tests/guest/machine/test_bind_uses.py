# SPDX-License-Identifier: MIT
"""A drive that is used stays where it is, unless chario is told twice.

LVM and MD are Debian's own programs; dm-crypt and a plain table of the device
mapper stand for all that is made by dmsetup.
"""

import contextlib
from collections.abc import Iterator
from errno import ENODEV

import pytest
from bind_lab import FAILED, OK, PARTITION, Machine, machine_keeper, plain_machine
from programs import compile_program

from chario_lab.guest.spec import Namespace, Nvme
from chario_lab.waiting import until

pytestmark = [pytest.mark.area("lib/src/machine/", "cli/cmd-bind", "cli/keep", "packaging/"), pytest.mark.stock]

USED, OTHER = range(2)
DRIVES = (Nvme("used", (Namespace(64), Namespace(64))), Nvme("other", (Namespace(64),)))
MKFS = "mkfs.ext4 -q -F -E nodiscard"


keeper = machine_keeper(DRIVES, "modprobe -a loop dm_mod dm_crypt raid1 && mkdir -p /mnt/a /mnt/b")
machine = plain_machine()


def check_refused(machine: Machine, *lines: str) -> None:
    """The drive stays with nvme, also with one --force; each use has a line, and the way out is said."""
    address = machine.address(USED)
    for force in ([], ["--force"]):
        said = machine.chario("bind", *force, address)
        assert (said.rc, said.stdout) == (FAILED, ""), said.describe()
        shown = said.stderr.splitlines()
        assert shown[0] == f"chario bind: {address} is in use and stays with nvme:"
        assert shown[1:-1] == [f"  {line}" for line in lines]
        assert "end the use first; --force --force binds it all the same" in shown[-1]
    assert machine.driver(USED) == "nvme" and machine.override(USED) == ""


def check_free(machine: Machine) -> None:
    """What kept the drive has gone: it can be bound."""
    bound = machine.chario("bind", machine.address(USED))
    assert bound.rc == OK, bound.describe()
    assert machine.chario("unbind", machine.address(USED)).rc == OK


@contextlib.contextmanager
def use(machine: Machine, begin: str, end: str) -> Iterator[None]:
    """A use of a drive, by shell commands, and its end."""
    machine.must(begin)
    try:
        yield
    finally:
        machine.must(f"{end}; udevadm settle")


def name(path: str) -> str:
    """A device without /dev/."""
    return path.removeprefix("/dev/")


def test_a_mounted_namespace(machine: Machine) -> None:
    """Refused with the mount point; the file system goes on working, and when it is gone the drive is free."""
    block = machine.block(USED, 2)
    with use(machine, f"{MKFS} {block} && mount {block} /mnt/a && echo text >/mnt/a/file", "umount /mnt/a"):
        check_refused(machine, f"{name(block)} is mounted at /mnt/a")
        machine.must("sync; echo 3 >/proc/sys/vm/drop_caches; grep text /mnt/a/file && touch /mnt/a/more")
    check_free(machine)


# How the drive's namespaces $a and $b are used, how that ends, and what is said of {0} and {1}, which they are.
USES = {
    # Named by its own name; a mount point with a blank is shown as it is.
    "partition": (
        f"{PARTITION} add $a 1 2048 65536; udevadm settle; {MKFS} ${{a}}p1 && mkdir -p '/mnt/a b' && "
        "mount -r ${a}p1 '/mnt/a b'",
        f"umount '/mnt/a b'; {PARTITION} delete $a 1",
        "{0}p1 is mounted at /mnt/a b",
    ),
    "mounts": (
        f"{MKFS} $a && {MKFS} $b && mount $a /mnt/a && mount $b /mnt/b",
        "umount /mnt/a /mnt/b",
        "{0} is mounted at /mnt/a", "{1} is mounted at /mnt/b",
    ),
    # A drive whose mount has gone from view still holds a layer of an overlay.
    "overlay": (
        f"{MKFS} $a && mount $a /mnt/a && mkdir /mnt/a/upper /mnt/a/work && "
        "mount -t overlay -o lowerdir=/etc,upperdir=/mnt/a/upper,workdir=/mnt/a/work overlay /mnt/b",
        "umount /mnt/b /mnt/a",
        "{0} is mounted at /mnt/a", "{0} is mounted at /mnt/b",
    ),
    "swap": ("mkswap $a && swapon $a", "swapoff $a", "{0} is swap space, /dev/{0}"),
    "swap in a file": (
        f"{MKFS} $b && mount $b /mnt/a && dd if=/dev/zero of=/mnt/a/swap bs=1M count=16 && "
        "chmod 600 /mnt/a/swap && mkswap /mnt/a/swap && swapon /mnt/a/swap",
        "swapoff /mnt/a/swap; umount /mnt/a",
        "{1} is mounted at /mnt/a",
    ),
    # MD on two namespaces, and swap on it: every layer is named.
    "array": (
        "mdadm --create /dev/md7 --quiet --run --level=1 --assume-clean --raid-devices=2 $a $b && "
        "mkswap /dev/md7 && swapon /dev/md7",
        "swapoff /dev/md7; mdadm --quiet --stop /dev/md7; mdadm --quiet --zero-superblock $a $b",
        "md7 is swap space, /dev/md7", "{0} is below md7",
    ),
    # It holds the drive without being a holder of it in sysfs.
    "loop": ("losetup /dev/loop5 $a", "losetup -d /dev/loop5", "{0} is below loop device loop5"),
}  # fmt: skip


@pytest.mark.parametrize("kind", USES)
def test_a_use_is_named(machine: Machine, kind: str) -> None:
    """With a line for each of its parts, and whatever it has of its own."""
    begin, end, *lines = USES[kind]
    blocks = [machine.block(USED, number) for number in (1, 2)]
    where = "a={} b={}; ".format(*blocks)
    with use(machine, where + begin, where + end):
        check_refused(machine, *(line.format(*map(name, blocks)) for line in lines))


def test_a_mount_that_only_others_see(machine: Machine) -> None:
    """A mount in another mount namespace shows nowhere: the exclusive open tells of it."""
    block = machine.block(USED)
    script = f"mount {block} /mnt/a && touch /run/mounted && exec sleep 3000"
    machine.must(f"{MKFS} {block}")
    job = machine.guest.start(["unshare", "--mount", "sh", "-c", script], 3000)
    try:
        until(lambda: machine.guest.run("rm /run/mounted").rc == 0, "it was not mounted")
        machine.must("! grep /mnt/a /proc/self/mountinfo")
        said = "is in exclusive use, perhaps mounted in another mount namespace"
        check_refused(machine, f"{name(block)} {said}")
    finally:
        job.stop()
    check_free(machine)


# A root of ext4 that borrows its programs from the old one.
NEW_ROOT = """
cd /mnt/a && mkdir -p etc proc sys dev run usr old && ln -sf usr/bin usr/sbin usr/lib usr/lib64 . &&
for d in usr etc proc sys dev run; do mount --rbind /$d $d || exit 1; done
mount --make-rprivate / && pivot_root . old && cd / && exec "$@"
"""


def test_the_root_file_system(machine: Machine) -> None:
    """A drive that holds the root of those who ask is told from any other mount, and comes first."""
    block = machine.block(USED)
    machine.must(f"{MKFS} {block}")
    script = f"mount {block} /mnt/a && {NEW_ROOT.strip()}"
    said = machine.guest.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", "/usr/local/bin/chario", "bind", machine.address(USED)], 300
    )
    assert (said.rc, said.stdout) == (FAILED, ""), said.describe()
    assert said.stderr.splitlines()[1] == f"  {name(block)} holds the root file system, /"
    assert "--force --force" in said.stderr and machine.driver(USED) == "nvme"


def test_a_volume_of_lvm(machine: Machine) -> None:
    """An active logical volume keeps its physical volume, mounted or not; an inactive one does not."""
    block = machine.block(USED)
    lvm = f"pvcreate -qy {block} && vgcreate -q box {block} && lvcreate -qy -Wn -n lid -L 16m box"
    with use(machine, lvm, f"vgchange -qan box; vgremove -qf box; pvremove -q {block}"):
        dm = machine.must("basename $(readlink -f /dev/box/lid)")
        check_refused(machine, f"{name(block)} is below {dm} (LVM box-lid)")
        with use(machine, f"{MKFS} /dev/box/lid && mount /dev/box/lid /mnt/a", "umount /mnt/a"):
            check_refused(machine, f"{dm} is mounted at /mnt/a", f"{name(block)} is below {dm} (LVM box-lid)")
        machine.must("vgchange -qan box; udevadm settle")
        check_free(machine)
        machine.block(USED)
        machine.must("udevadm settle")


@pytest.mark.parametrize("table", ["0 2048 linear BLOCK 0", f"0 2048 crypt aes-xts-plain64 {'5a' * 32} 0 BLOCK 0"])
def test_the_device_mapper(machine: Machine, table: str) -> None:
    """A mapping made by hand keeps the drive, and is told by its name."""
    block = machine.block(USED, 2)
    table = table.replace("BLOCK", block)
    with use(machine, f"dmsetup create layer --table '{table}'", "dmsetup remove --retry layer"):
        dm = machine.must("basename $(readlink -f /dev/mapper/layer)")
        check_refused(machine, f"{name(block)} is below {dm} (dm layer)")


def test_an_open_file(machine: Machine) -> None:
    """A process that has it open, also a partition or the namespace's generic device, is named."""
    block = machine.block(USED)
    generic = block.replace("nvme", "ng")
    paths = [block, *([generic] if machine.guest.run(["test", "-e", generic]).rc == 0 else [])]
    for path in paths:
        with machine.held_open(path) as pid:
            check_refused(machine, f"{name(path)} is open in process {pid} (sleep)")


def test_told_twice(machine: Machine) -> None:
    """A mounted drive is bound all the same, the way back is said, and the file system's end harms nobody else."""
    address, block = machine.address(USED), machine.block(USED)
    machine.must(f"{MKFS} {block} && mount {block} /mnt/a && sync")
    said = machine.chario("bind", "--force", "-f", address)
    assert said.rc == OK, said.describe()
    assert said.stdout.splitlines()[0] == f"{address}: from nvme to chario"
    assert said.stdout.splitlines()[-1] == f"  undo: chario unbind {address}"
    disk = machine.disks(USED)[0]
    machine.must(f"dd if={disk} of=/dev/null bs=1M count=4 && umount /mnt/a")
    assert machine.chario("unbind", address).stdout == f"{address}: from chario to nvme\n"
    machine.must(f"mount {machine.block(USED)} /mnt/a && touch /mnt/a/file && umount /mnt/a")


def test_another_drive_is_not_kept(machine: Machine) -> None:
    """Uses of one drive are no uses of another."""
    block = machine.block(USED)
    with use(machine, f"{MKFS} {block} && mount {block} /mnt/a", "umount /mnt/a"):
        assert machine.chario("bind", machine.address(OTHER)).rc == OK
        assert machine.chario("unbind", machine.address(OTHER)).rc == OK
        machine.must("touch /mnt/a/file")


def test_unbinding_an_open_disk(machine: Machine) -> None:
    """Refused, and the process is named; with --force it goes, and the process gets ENODEV."""
    address = machine.address(USED)
    assert machine.chario("bind", address).rc == OK
    disk = machine.disks(USED)[0]
    program = machine.guest.push(compile_program("fault_io"))
    job = machine.guest.start([program, disk, "read,0,4096", "touch,/run/open", "await,/run/gone", "read,0,4096"])
    until(lambda: machine.guest.run("test -e /run/open").rc == 0, "the disk was not opened")
    said = machine.chario("unbind", address)
    assert (said.rc, said.stdout) == (FAILED, "")
    assert f"{address} is in use and stays with chario:" in said.stderr
    assert "is open in process" in said.stderr and "(fault_io)" in said.stderr and "--force" in said.stderr
    assert machine.driver(USED) == "chario"
    assert machine.chario("unbind", "--force", address).stdout == f"{address}: from chario to nvme\n"
    machine.must("touch /run/gone")
    assert f"read {-ENODEV}" in job.wait().check().stdout.splitlines()
    machine.must("rm /run/open /run/gone")
