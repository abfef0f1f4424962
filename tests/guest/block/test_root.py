# SPDX-License-Identifier: MIT
"""A machine whose root file system is on a block disk: the hook of initramfs-tools, and the way back."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bind_lab import Machine, keep
from programs import TOP

from chario_lab.cache import cache_dir
from chario_lab.guest.image import build_agent, find_busybox, module_members
from chario_lab.guest.launch import launch
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import GuestSpec, Namespace, Nvme, RawFile
from chario_lab.kernel import Kernel

pytestmark = [pytest.mark.area("packaging/initramfs/", "kernel/front/block/"), pytest.mark.stock, pytest.mark.slow]

SIZE_MIB = 256
LIMIT_S = 600
# The drive of the root file system, and one that is not CharIO's.
ROOT, OTHER = range(2)
TABLE = "label: gpt\nsize=128MiB, name=root\nsize=64MiB, type=62D1C4A5-5B0E-4C2C-9A3F-1C4A7D9E6B08\n"
HOOKS = "/usr/share/initramfs-tools"
# What a user writes to /etc/initramfs-tools; a list, because "most" takes minutes in an emulated guest.
CONFIG = "MODULES=list\nCOMPRESS=gzip\nCOMPRESSLEVEL=1\nBUSYBOX=auto\nKEYMAP=n\nRESUME=none\n"


@dataclass
class Built:
    """An image of a drive with a root file system, and the initramfs that finds it."""

    image: Path
    initrd: Path


def drives(image: Path, serial: str = "root") -> tuple[Nvme, ...]:
    """The drive with the root file system, and another one."""
    return (Nvme(serial, (Namespace(SIZE_MIB, backing=RawFile(image)),)), Nvme("other", (Namespace(16),)))


def fill_root(machine: Machine, kernel: Kernel, block: str) -> None:
    """A root file system whose init tells what its root is, and then goes on as that of any guest does."""
    guest = machine.guest
    init = (TOP / "lab/guest/init").read_text()
    told = "cat /proc/mounts >/root/run/lab/root-mounts\nexec $busybox chroot"
    assert "exec $busybox switch_root" in init
    init = init.replace("exec $busybox switch_root", told).replace(
        "mkdir -p /proc", "mkdir -p /lower /upper /root /proc"
    )
    members = {"init": init.encode(), "agent": build_agent().read_bytes(), "bin/busybox": find_busybox().read_bytes()}
    members |= module_members(kernel.modules)
    machine.must(f"mkfs.ext4 -q {block} && mkdir -p /run/new && mount {block} /run/new")
    with tempfile.TemporaryDirectory(dir=guest.host.share) as folder:
        for name, content in members.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o755)
        machine.must(f"cp -r /share/{Path(folder).name}/. /run/new/ && ln -s busybox /run/new/bin/cat")
    machine.must(
        "cd /run/new && mkdir -p lower upper root proc sys dev run etc sbin && ln -s /init sbin/init && "
        "umount -l /run/new"
    )


def make_initrd(machine: Machine, kernel: Kernel) -> None:
    """What a user does: name the drive, update the initramfs."""
    guest, release = machine.guest, kernel.modules.name
    over = "lowerdir=/lib/modules/{0},upperdir=/run/m/upper,workdir=/run/m/work"
    machine.must(
        f"mkdir -p /run/m/upper /run/m/work && mount -t overlay over -o {over.format(release)} /lib/modules/{release}"
    )
    module = machine.must("sed -n 's/^install chario insmod \\([^ ]*\\).*/\\1/p' /etc/modprobe.d/chario.conf")
    machine.must(f"mkdir -p /lib/modules/{release}/updates && cp {module} /lib/modules/{release}/updates/chario.ko")
    machine.must(f"rm /etc/modprobe.d/chario.conf && depmod {release}")
    for name, place in (("hook", "hooks"), ("init-top", "scripts/init-top")):
        pushed = guest.push(TOP / "packaging/initramfs" / name)
        machine.must(f"cp {pushed} {HOOKS}/{place}/chario && chmod 755 {HOOKS}/{place}/chario")
    machine.guest.must("cat >/etc/initramfs-tools/initramfs.conf", stdin=CONFIG)
    machine.guest.must("cat >/etc/initramfs-tools/modules", stdin="nvme\next4\n")
    machine.must(f"mkdir -p /etc/chario && echo '# root\n{machine.address(ROOT)}' >/etc/chario/boot")
    config = guest.push(kernel.build / ".config")
    machine.must(f"mkdir -p /boot && cp {config} /boot/config-{release}")
    guest.must(f"mkinitramfs -o /share/initrd {release}", LIMIT_S)


@pytest.fixture(scope="module")
def built(kernel: Kernel, module: Path, cpus: int, request: pytest.FixtureRequest) -> Iterator[Built]:
    """Made in a guest that has the drive with Linux's driver, as a user's machine has it before."""
    with tempfile.TemporaryDirectory(dir=cache_dir()) as folder:
        image, initrd = Path(folder) / "root.img", Path(folder) / "initrd"
        with keep(kernel, module, drives(image), cpus=cpus) as keeper:
            machine = keeper.get(request)
            block = machine.block(ROOT)
            machine.guest.must(f"sfdisk -q {block}", stdin=TABLE)
            fill_root(machine, kernel, f"{block}p1")
            make_initrd(machine, kernel)
            initrd.write_bytes((machine.guest.host.share / "initrd").read_bytes())
        yield Built(image, initrd)


def boot(kernel: Kernel, cpus: int, built: Built, append: str, serial: str = "root") -> Iterator[Guest]:
    """The machine after its next start."""
    spec = GuestSpec(kernel=kernel.name, cpus=cpus, drives=drives(built.image, serial), initrd=built.initrd,
                     append=f"rw rootwait {append}")  # fmt: skip
    with launch(spec) as guest:
        yield guest


def root_of(guest: Guest) -> str:
    """What is mounted at the root of the first program."""
    return guest.must("awk '$2 == \"/\" { print $1 }' /run/lab/root-mounts").split("\n")[-1]


def test_the_root_file_system_is_on_a_block_disk(kernel: Kernel, cpus: int, built: Built) -> None:
    """Its drive is CharIO's before nvme sees it, and the other one is not."""
    for guest in boot(kernel, cpus, built, "root=/dev/chardisk0b1"):
        assert root_of(guest) == "/dev/chardisk0b1"
        assert guest.must("readlink /sys/class/block/chardisk0b/device/device/driver").endswith("/chario")
        assert guest.must("ls /sys/class/nvme") == "nvme0"
        # The root file system is in use: its disk cannot be opened for writing.
        assert guest.run("exec 5<>/dev/chardisk0").rc != 0


@pytest.mark.parametrize("why", ["nochario", "another drive"])
def test_the_way_back(kernel: Kernel, cpus: int, built: Built, why: str) -> None:
    """By a word on the kernel's command line, or because the drive is another one: Linux's driver has the root."""
    append, serial = ("root=PARTLABEL=root nochario", "root") if why == "nochario" else ("root=PARTLABEL=root", "twin")
    for guest in boot(kernel, cpus, built, append, serial):
        assert root_of(guest).startswith("/dev/nvme")
        assert guest.run("ls /sys/class/chario/*").rc != 0


def test_found_by_its_label(kernel: Kernel, cpus: int, built: Built) -> None:
    """The same line boots with either driver: udev gives the block disk the names in /dev/disk."""
    for guest in boot(kernel, cpus, built, "root=PARTLABEL=root"):
        assert root_of(guest) == "/dev/chardisk0b1"
