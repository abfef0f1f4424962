# SPDX-License-Identifier: MIT
"""What a guest is made of: frozen descriptions, names, and what they may not say.

Every NVMe drive sits behind a PCIe root port of its own, so that it can be
unplugged, and every namespace has a block node of a predictable name, so that
a test can reach it through QMP:

    drive 0        subsystem "nv0-subsys", device "nv0" on root port "rp0", guest slot 0000:00:06.0
    namespace 1    device "nv0n1", block node "nv0n1", file node "nv0n1-file"
    throttled      throttle group "nv0n1-limits"
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MIB = 1 << 20
# The slots below are for the host bridge and what the lab itself needs, the last one for the chipset.
FIRST_ROOT_PORT_SLOT = 0x06
MOST_DRIVES = 0x1F - FIRST_ROOT_PORT_SLOT


class SpecError(Exception):
    """The specification asks for something that cannot be built."""


@dataclass(frozen=True)
class RawFile:
    """A sparse file, made for this guest unless a path is given."""

    path: Path | None = None


@dataclass(frozen=True)
class NullCo:
    """No medium: reads give zeros, each request takes the given time."""

    latency_us: int = 0


@dataclass(frozen=True)
class ErrorRule:
    """One fault of the medium.

    `sector` counts 512-byte units whatever the block size of the namespace;
    None means every sector.  `iotype` is one of read, write, write-zeroes,
    discard, flush.  `once` makes only the first matching request fail.
    """

    iotype: str
    sector: int | None = None
    errno: int = 5
    once: bool = False


@dataclass(frozen=True)
class Blkdebug:
    """A raw file that fails as the rules say, and whose requests can be held."""

    rules: tuple[ErrorRule, ...] = ()
    path: Path | None = None


@dataclass(frozen=True)
class Throttle:
    """A raw file whose rate can be changed, down to a stall, while it runs."""

    bytes_per_s: int = 0
    path: Path | None = None


@dataclass(frozen=True)
class WriteLog:
    """A raw file with a log of every write, in the format of dm-log-writes."""

    path: Path | None = None


Backing = RawFile | NullCo | Blkdebug | Throttle | WriteLog


@dataclass(frozen=True)
class Namespace:
    """One namespace of a drive; nsid None numbers them 1, 2, ... in order."""

    size_mib: int = 256
    lba_bytes: int = 512
    metadata_bytes: int = 0
    nsid: int | None = None
    write_cache: bool = True
    backing: Backing = field(default_factory=RawFile)


@dataclass(frozen=True)
class Nvme:
    """One NVMe controller; None leaves QEMU's default."""

    serial: str
    namespaces: tuple[Namespace, ...] = (Namespace(),)
    msix_vectors: int | None = None
    max_ioqpairs: int | None = None
    mqes: int | None = None
    mdts: int | None = None
    cmb_mib: int = 0
    shadow_doorbells: bool = False


@dataclass(frozen=True)
class RegisterFile:
    """A PCI function with an interrupt pin whose BAR 0 is nothing but memory.

    A driver finds whatever a test has written there (faults.load_registers()), and
    its own writes change nothing else: this is how a controller looks that
    never becomes ready, or whose registers read all ones.  It is QEMU's
    ati-vga, used for its BAR; it stands in the place of a drive.
    """

    serial: str = "registers"


Drive = Nvme | RegisterFile


@dataclass(frozen=True)
class GuestSpec:
    """A guest: kernel by name, machine size, drives, and what else it needs.

    `native_hotplug` hands hotplug to pciehp instead of ACPI.  `qtest` opens
    the socket for register pokes.  `interrupts` is "msix", or "intx" to boot
    the guest without message-signalled interrupts.  `iommu` puts an Intel
    IOMMU between the drives and memory, and has the kernel use it strictly:
    what is unmapped is out of a drive's reach at once.  `can_sleep` boots the
    kernel as it is packed, see launch.py.
    """

    kernel: str = "6.1"
    drives: tuple[Drive, ...] = ()
    cpus: int = 2
    memory_mib: int = 1024
    append: str = ""
    native_hotplug: bool = False
    qtest: bool = False
    interrupts: str = "msix"
    iommu: bool = False
    can_sleep: bool = False


def drive_id(index: int) -> str:
    """QEMU's name of the drive at this place in the specification."""
    return f"nv{index}"


def root_port_bdf(index: int) -> str:
    """PCI address, in the guest, of the root port above a drive."""
    return f"0000:00:{FIRST_ROOT_PORT_SLOT + index:02x}.0"


def numbered(drive: Nvme) -> Iterator[tuple[int, Namespace]]:
    """The namespaces of a drive with the ids they will have."""
    for place, namespace in enumerate(drive.namespaces, start=1):
        yield namespace.nsid or place, namespace


def node_name(index: int, nsid: int) -> str:
    """Name of the block node (and of the device) of a namespace."""
    return f"{drive_id(index)}n{nsid}"


def backing_path(namespace: Namespace, node: str, run_dir: Path) -> Path | None:
    """File below a namespace; None where there is no medium."""
    if isinstance(namespace.backing, NullCo):
        return None
    return namespace.backing.path or run_dir / f"{node}.img"


def write_log_path(node: str, run_dir: Path) -> Path:
    """Log written by a WriteLog backing."""
    return run_dir / f"{node}.writes"


def files(spec: GuestSpec, run_dir: Path) -> Iterator[tuple[Path, int]]:
    """Every file QEMU expects to find, with its size in bytes."""
    for index, drive in enumerate(spec.drives):
        if not isinstance(drive, Nvme):
            continue
        for nsid, namespace in numbered(drive):
            node = node_name(index, nsid)
            path = backing_path(namespace, node, run_dir)
            if path is not None:
                yield path, namespace.size_mib * MIB
            if isinstance(namespace.backing, WriteLog):
                yield write_log_path(node, run_dir), 0


def check(spec: GuestSpec) -> None:
    """Refuse what QEMU would refuse later with a worse message."""
    if spec.interrupts not in ("msix", "intx"):
        raise SpecError(f"interrupts must be msix or intx, not {spec.interrupts!r}")
    if len(spec.drives) > MOST_DRIVES:
        raise SpecError(f"too many drives: {len(spec.drives)}")
    serials = [drive.serial for drive in spec.drives]
    if len(set(serials)) != len(serials):
        raise SpecError(f"two drives with one serial: {', '.join(serials)}")
    for drive in spec.drives:
        if isinstance(drive, Nvme):
            check_drive(drive)


def check_drive(drive: Nvme) -> None:
    """Refuse an impossible drive."""
    if not drive.serial or len(drive.serial) > 20:
        raise SpecError(f"serial must have 1 to 20 characters: {drive.serial!r}")
    ids = [nsid for nsid, _ in numbered(drive)]
    if len(set(ids)) != len(ids):
        raise SpecError(f"drive {drive.serial}: namespace ids {ids} repeat")
    for nsid, namespace in numbered(drive):
        if namespace.lba_bytes not in (512, 4096):
            raise SpecError(f"drive {drive.serial} namespace {nsid}: LBA of {namespace.lba_bytes} bytes")
        if namespace.size_mib < 1:
            raise SpecError(f"drive {drive.serial} namespace {nsid}: size must be at least 1 MiB")
