# SPDX-License-Identifier: MIT
"""What a guest is made of: frozen descriptions, names, and what they may not say.

Every drive sits behind a PCIe root port of its own, so that it can be
unplugged, and every namespace has a block node of a predictable name, so that
a test can reach it through QMP:

    drive 0        subsystem "nv0-subsys", device "nv0" on root port "rp0", guest slot 0000:00:06.0
    namespace 1    device "nv0n1", block node "nv0n1", file node "nv0n1-file"
    throttled      throttle group "nv0n1-limits"

A drive that is not NVMe has one disk, with the names that a namespace 1 would have:

    AhciDisk       controller "nv1" on root port "rp1", device "nv1n1", block node "nv1n1", and so on
    VirtioDisk     the PCI function "nv2" is the disk, device "nv2/virtio-backend", block node "nv2n1"
    SdCard         host controller "nv3" on root port "rp3", device "nv3n1", block node "nv3n1"
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from chario_lab.cache import WrongUse

MIB = 1 << 20
# The slots below are for the host bridge and what the lab itself needs, the last one for the chipset.
FIRST_ROOT_PORT_SLOT = 0x06
MOST_DRIVES = 0x1F - FIRST_ROOT_PORT_SLOT
# Twice the largest block: no block alone is aligned to it.
ATOMIC_BYTES = 8192


class SpecError(WrongUse):
    """The specification asks for something that cannot be built."""


@dataclass(frozen=True)
class RawFile:
    """A sparse file, made for this guest unless a path is given.

    With `whole_blocks` a read sees each block as it was before a write of one
    block, or after it, as on any real drive.  QEMU and the host promise none
    of that: both copy to and from the host's page cache side by side, and such
    a read may have some bytes old and some new.  Longer writes are as they are
    without, and a discard of less than ATOMIC_BYTES does nothing.
    """

    path: Path | None = None
    whole_blocks: bool = False


@dataclass(frozen=True)
class NullCo:
    """No medium: reads give zeros, each request takes the given time, which QEMU's timers round up to milliseconds."""

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
    """A raw file that takes its time, and whose rates can be changed, down to a stall, while it runs.

    `bytes_per_s` and `iops` (requests per second) are rates, which all reads
    and writes share; after a pause the work of a tenth of a second passes at
    once.  `latency_ms` is the least time of each read, each write and each
    flush of something written, whatever its size and whatever else is under
    way.  Such a medium keeps its data, other than NullCo, and a discard does
    nothing.

    Throttle(iops=125, latency_ms=8) is like a hard disk, which does one thing
    at a time.  It has no seek that depends on the distance, and no cache that
    makes some requests faster.  The latency of an SSD is too short for QEMU's
    timers: a RawFile, whose requests take what emulation takes, comes nearest.
    """

    bytes_per_s: int = 0
    iops: int = 0
    latency_ms: int = 0
    path: Path | None = None


@dataclass(frozen=True)
class WriteLog:
    """A raw file with a log of every write, in the format of dm-log-writes."""

    path: Path | None = None


Backing = RawFile | NullCo | Blkdebug | Throttle | WriteLog


@dataclass(frozen=True)
class Namespace:
    """One namespace of a drive; nsid None numbers them 1, 2, ... in order.  A zoned one is whole zones of 128 MiB."""

    size_mib: int = 256
    lba_bytes: int = 512
    metadata_bytes: int = 0
    nsid: int | None = None
    write_cache: bool = True
    zoned: bool = False
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
class AhciDisk:
    """A SATA disk, in blocks of 512 bytes, alone on an AHCI controller like that of the chipset."""

    serial: str
    size_mib: int = 256
    write_cache: bool = True
    backing: Backing = field(default_factory=RawFile)


@dataclass(frozen=True)
class VirtioDisk:
    """A virtio-blk disk."""

    serial: str
    size_mib: int = 256
    lba_bytes: int = 512
    write_cache: bool = True
    backing: Backing = field(default_factory=RawFile)


@dataclass(frozen=True)
class SdCard:
    """An SD card, in blocks of 512 bytes, alone on an SDHCI controller; the guest does not see its serial number.

    QEMU stops the whole machine for each block, hides errors of the medium from
    the guest, and counts no request: hence no backing that fails or waits.
    """

    serial: str
    size_mib: int = 256
    backing: RawFile | WriteLog = field(default_factory=RawFile)


Disk = AhciDisk | VirtioDisk | SdCard
Medium = Namespace | Disk


@dataclass(frozen=True)
class RegisterFile:
    """A PCI function with an interrupt pin whose BAR 0 is nothing but memory.

    A driver finds whatever a test has written there (faults.load_registers()), and
    its own writes change nothing else: this is how a controller looks that
    never becomes ready, or whose registers read all ones.  It is QEMU's
    ati-vga, used for its BAR; it stands in the place of a drive.
    """

    serial: str = "registers"


Drive = Nvme | Disk | RegisterFile


@dataclass(frozen=True)
class Link:
    """A network cable to another guest: a UNIX socket, at which the guest that is started first listens.

    The guest has a virtio network card with this MAC address, "link" for QMP.
    """

    path: Path
    listens: bool
    mac: str = "52:54:00:00:00:01"


@dataclass(frozen=True)
class GuestSpec:
    """A guest: kernel by name, machine size, drives, and what else it needs.

    `native_hotplug` hands hotplug to pciehp instead of ACPI.  `qtest` opens
    the socket for register pokes.  `interrupts` is "msix", or "intx" to boot
    the guest without message-signalled interrupts.  `iommu` puts an Intel
    IOMMU between the drives and memory, and has the kernel use it strictly:
    what is unmapped is out of a drive's reach at once.  `can_sleep` boots the
    kernel as it is packed, see launch.py.  `link` is a cable to another guest.
    `initrd` replaces the initramfs that finds the root of the lab.
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
    link: Link | None = None
    initrd: Path | None = None


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


def media(drive: Drive) -> Iterator[tuple[int, Medium]]:
    """All of a drive that holds data, numbered: its namespaces, or the drive itself as number 1."""
    if isinstance(drive, Nvme):
        yield from numbered(drive)
    elif isinstance(drive, Disk):
        yield 1, drive


def node_name(index: int, nsid: int = 1) -> str:
    """Name of the block node of a namespace or disk."""
    return f"{drive_id(index)}n{nsid}"


def device_name(drive: Drive, index: int, nsid: int) -> str:
    """QEMU's name of the device that has the block node of a namespace or disk."""
    return f"{drive_id(index)}/virtio-backend" if isinstance(drive, VirtioDisk) else node_name(index, nsid)


def backing_path(medium: Medium, node: str, run_dir: Path) -> Path | None:
    """File below a namespace or disk; None where it has none."""
    if isinstance(medium.backing, NullCo):
        return None
    return medium.backing.path or run_dir / f"{node}.img"


def write_log_path(node: str, run_dir: Path) -> Path:
    """Log written by a WriteLog backing."""
    return run_dir / f"{node}.writes"


def files(spec: GuestSpec, run_dir: Path) -> Iterator[tuple[Path, int]]:
    """Every file QEMU expects to find, with its size in bytes."""
    for index, drive in enumerate(spec.drives):
        for nsid, medium in media(drive):
            node = node_name(index, nsid)
            path = backing_path(medium, node, run_dir)
            if path is not None:
                yield path, medium.size_mib * MIB
            if isinstance(medium.backing, WriteLog):
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
        check_drive(drive)


def check_drive(drive: Drive) -> None:
    """Refuse an impossible drive."""
    if not drive.serial or len(drive.serial) > 20:
        raise SpecError(f"serial must have 1 to 20 characters: {drive.serial!r}")
    ids = [nsid for nsid, _ in media(drive)]
    if len(set(ids)) != len(ids):
        raise SpecError(f"drive {drive.serial}: namespace ids {ids} repeat")
    for nsid, medium in media(drive):
        check_medium(f"drive {drive.serial} namespace {nsid}", medium)


def check_medium(name: str, medium: Medium) -> None:
    """Refuse an impossible namespace or disk."""
    if isinstance(medium, Namespace | VirtioDisk) and medium.lba_bytes not in (512, 4096, 8192):
        raise SpecError(f"{name}: LBA of {medium.lba_bytes} bytes")
    if medium.size_mib < 1:
        raise SpecError(f"{name}: size must be at least 1 MiB")
    if isinstance(medium, SdCard):
        check_card(medium)


def check_card(card: SdCard) -> None:
    """Refuse an SD card that QEMU does not make, or whose backing would not do what it promises."""
    if card.size_mib.bit_count() != 1:
        raise SpecError(f"SD card {card.serial}: size must be a power of two, not {card.size_mib} MiB")
    if not isinstance(card.backing, RawFile | WriteLog):
        raise SpecError(f"SD card {card.serial}: backing must be RawFile or WriteLog, not {card.backing}")
