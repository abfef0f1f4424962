# SPDX-License-Identifier: MIT
"""What a guest is made of, and the QEMU command line that builds it.

Everything here is pure: a frozen specification and a description of the host
go in, a list of strings comes out.  Nothing is started, opened or created.

Every NVMe drive sits behind a PCIe root port of its own, so that it can be
unplugged, and every namespace has a block node of a predictable name, so that
a test can reach it through QMP:

    drive 0        subsystem "nv0-subsys", device "nv0" on root port "rp0", guest slot 0000:00:10.0
    namespace 1    device "nv0n1", block node "nv0n1", file node "nv0n1-file"
    throttled      throttle group "nv0n1-limits"
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MIB = 1 << 20
FIRST_ROOT_PORT_SLOT = 0x10
EXIT_PORT = 0xF4
AGENT_PORT = "agent-port"

JsonDict = dict[str, object]


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

    A driver finds whatever a test has written there (Guest.registers), and
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
    the guest without message-signalled interrupts.  `can_sleep` boots the
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
    can_sleep: bool = False


@dataclass(frozen=True)
class Host:
    """What the host contributes: programs, files and inherited descriptors."""

    qemu: Path
    data_dirs: tuple[Path, ...]
    kvm: bool
    kernel: Path
    modules: Path
    initrd: Path
    run_dir: Path
    agent_fd: int
    qmp_fd: int
    qtest_fd: int | None = None
    terminal: bool = False

    @property
    def share(self) -> Path:
        """Folder that host and guest both write, /share in the guest."""
        return self.run_dir / "share"

    @property
    def console(self) -> Path:
        """Where the console is kept for a human."""
        return self.run_dir / "console.log"


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
    if len(spec.drives) > 0x1F - FIRST_ROOT_PORT_SLOT:
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


def argv(spec: GuestSpec, host: Host) -> list[str]:
    """The whole command line."""
    check(spec)
    return [
        str(host.qemu),
        *machine_args(spec, host),
        *boot_args(spec, host),
        *channel_args(host),
        *share_args(host),
        *drive_args(spec, host.run_dir),
    ]


def machine_args(spec: GuestSpec, host: Host) -> list[str]:
    """Machine, accelerator, processors and memory."""
    accel = ["-accel", "kvm", "-cpu", "host"] if host.kvm else ["-accel", "tcg,thread=multi", "-cpu", "max"]
    hotplug = ["-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off"] if spec.native_hotplug else []
    data = [word for folder in host.data_dirs for word in ("-L", str(folder))]
    return [
        *data,
        "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
        "-machine", "q35", *accel, *hotplug,
        "-smp", str(spec.cpus), "-m", f"{spec.memory_mib}M",
        "-device", f"isa-debug-exit,iobase={EXIT_PORT:#x},iosize=1",
    ]  # fmt: skip


def boot_args(spec: GuestSpec, host: Host) -> list[str]:
    """Kernel, initramfs and kernel command line."""
    words = [
        "console=ttyS0",
        "loglevel=4",
        "panic=-1",
        "nokaslr",
        "mitigations=off",
        "random.trust_cpu=on",
        "log_buf_len=4M",
        # An emulated CPU on a loaded host stands still for seconds: that is
        # not the guest's fault and must not look like one in the log.
        "watchdog_thresh=60",
        "rcupdate.rcu_cpu_stall_timeout=120",
        "sysctl.kernel.hung_task_timeout_secs=300",
        f"lab_modules={host.modules}",
    ]
    if spec.interrupts == "intx":
        words.append("pci=nomsi")
    if spec.append:
        words.append(spec.append)
    return [
        "-kernel", str(host.kernel), "-initrd", str(host.initrd),
        "-append", " ".join(words),
    ]  # fmt: skip


def channel_args(host: Host) -> list[str]:
    """Console, agent port, QMP and, where asked for, qtest."""
    if host.terminal:
        console = f"stdio,id=console,mux=on,signal=off,logfile={host.console}"
    else:
        console = f"file,id=console,path={host.console}"
    args = [
        "-chardev", console, "-serial", "chardev:console",
        "-chardev", f"socket,id=agent,fd={host.agent_fd}",
        "-device", "virtio-serial-pci,disable-legacy=on",
        "-device", f"virtserialport,id={AGENT_PORT},chardev=agent,name=chario.agent",
        "-chardev", f"socket,id=qmp,fd={host.qmp_fd}", "-mon", "chardev=qmp,mode=control",
    ]  # fmt: skip
    if host.qtest_fd is not None:
        args += ["-chardev", f"socket,id=qtest,fd={host.qtest_fd}"]
        args += ["-object", "qtest,id=qtest0,chardev=qtest,log=/dev/null"]
    return args


def share_args(host: Host) -> list[str]:
    """The host's root, read-only, and the folder shared by both."""
    return [
        "-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
        "-device", "virtio-9p-pci,fsdev=root,mount_tag=root,disable-legacy=on",
        "-fsdev", f"local,id=share,path={host.share},security_model=none,multidevs=remap",
        "-device", "virtio-9p-pci,fsdev=share,mount_tag=share,disable-legacy=on",
    ]  # fmt: skip


def drive_args(spec: GuestSpec, run_dir: Path) -> list[str]:
    """Root ports, controllers, namespaces and their block nodes."""
    args: list[str] = []
    for index, drive in enumerate(spec.drives):
        slot = FIRST_ROOT_PORT_SLOT + index
        args += ["-device", f"pcie-root-port,id=rp{index},bus=pcie.0,addr={slot:#x},chassis={index + 1},slot={slot}"]
        if isinstance(drive, RegisterFile):
            args += ["-device", f"ati-vga,id={drive_id(index)},bus=rp{index},romfile="]
        else:
            args += nvme_args(index, drive, run_dir)
    return args


def nvme_args(index: int, drive: Nvme, run_dir: Path) -> list[str]:
    """One controller with its namespaces."""
    # The namespaces belong to the subsystem, so they outlive an unplugged controller.
    subsystem = {"driver": "nvme-subsys", "id": f"{drive_id(index)}-subsys", "nqn": drive.serial}
    args = ["-device", json.dumps(subsystem), "-device", json.dumps(nvme_device(index, drive))]
    nodes: list[str] = []
    for nsid, namespace in numbered(drive):
        node = node_name(index, nsid)
        if isinstance(namespace.backing, Throttle):
            nodes += ["-object", json.dumps(throttle_group(node, namespace.backing))]
        nodes += ["-blockdev", json.dumps(block_node(node, namespace, run_dir))]
        args += ["-device", json.dumps(namespace_device(index, nsid, namespace))]
    return nodes + args


def nvme_device(index: int, drive: Nvme) -> JsonDict:
    """Properties of the controller, as for QMP's device_add."""
    wanted: JsonDict = {
        "msix_qsize": drive.msix_vectors,
        "max_ioqpairs": drive.max_ioqpairs,
        "mqes": drive.mqes,
        "mdts": drive.mdts,
        "cmb_size_mb": drive.cmb_mib or None,
    }
    device: JsonDict = {
        "driver": "nvme",
        "id": drive_id(index),
        "bus": f"rp{index}",
        "subsys": f"{drive_id(index)}-subsys",
        "serial": drive.serial,
        "dbcs": drive.shadow_doorbells,
    }
    return device | {name: value for name, value in wanted.items() if value is not None}


def namespace_device(index: int, nsid: int, namespace: Namespace) -> JsonDict:
    """Properties of a namespace, as for QMP's device_add."""
    node = node_name(index, nsid)
    return {
        "driver": "nvme-ns",
        "id": node,
        "bus": drive_id(index),
        "drive": node,
        "nsid": nsid,
        "logical_block_size": namespace.lba_bytes,
        "physical_block_size": namespace.lba_bytes,
        "ms": namespace.metadata_bytes,
        "write-cache": "on" if namespace.write_cache else "off",
    }


def throttle_group(node: str, backing: Throttle) -> JsonDict:
    """The object whose limits are changed at run time."""
    group: JsonDict = {"qom-type": "throttle-group", "id": f"{node}-limits"}
    if backing.bytes_per_s:
        group["limits"] = {"bps-total": backing.bytes_per_s}
    return group


def block_node(node: str, namespace: Namespace, run_dir: Path) -> JsonDict:
    """The block node below a namespace, as for QMP's blockdev-add."""
    backing = namespace.backing
    if isinstance(backing, NullCo):
        return {
            "driver": "null-co",
            "node-name": node,
            "size": namespace.size_mib * MIB,
            "latency-ns": backing.latency_us * 1000,
            "read-zeroes": True,
        }
    file = file_node(node, backing_path(namespace, node, run_dir))
    if isinstance(backing, Blkdebug):
        # The raw node above announces reads and writes to blkdebug, so that they can be held.
        debug: JsonDict = {"driver": "blkdebug", "node-name": f"{node}-faults", "image": file}
        if backing.rules:
            debug["inject-error"] = [inject_error(rule) for rule in backing.rules]
        return {"driver": "raw", "node-name": node, "file": debug}
    if isinstance(backing, Throttle):
        return {"driver": "throttle", "node-name": node, "throttle-group": f"{node}-limits", "file": file}
    if isinstance(backing, WriteLog):
        log = {"driver": "file", "filename": str(write_log_path(node, run_dir))}
        return {"driver": "blklogwrites", "node-name": node, "file": file, "log": log, "log-sector-size": 512}
    return {"driver": "raw", "node-name": node, "file": file}


def file_node(node: str, path: Path | None) -> JsonDict:
    """The file at the bottom.  Host flushes are left out: the guest's data
    lives no longer than the guest, and a busy host takes seconds for one."""
    return {
        "driver": "file",
        "node-name": f"{node}-file",
        "filename": str(path),
        "discard": "unmap",
        "cache": {"direct": False, "no-flush": True},
    }


def inject_error(rule: ErrorRule) -> JsonDict:
    """One blkdebug rule that fires before the request reaches the file."""
    injected: JsonDict = {
        "event": "none",
        "iotype": rule.iotype,
        "errno": rule.errno,
        "once": rule.once,
        "immediately": True,
    }
    if rule.sector is not None:
        injected["sector"] = rule.sector
    return injected
