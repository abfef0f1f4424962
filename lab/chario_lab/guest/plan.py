# SPDX-License-Identifier: MIT
"""The QEMU command line that builds a guest.

Everything here is pure: a specification (spec.py) and a description of the
host go in, a list of strings comes out.  Nothing is started, opened or created.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from chario_lab.guest.spec import (
    ATOMIC_BYTES,
    FIRST_ROOT_PORT_SLOT,
    MIB,
    AhciDisk,
    Blkdebug,
    Disk,
    ErrorRule,
    GuestSpec,
    Link,
    Medium,
    Namespace,
    NullCo,
    Nvme,
    RawFile,
    RegisterFile,
    Throttle,
    VirtioDisk,
    WriteLog,
    backing_path,
    check,
    drive_id,
    node_name,
    numbered,
    write_log_path,
)

EXIT_PORT = 0xF4
AGENT_PORT = "agent-port"

JsonDict = dict[str, object]


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


def argv(spec: GuestSpec, host: Host) -> list[str]:
    """The whole command line."""
    check(spec)
    return [
        str(host.qemu),
        *machine_args(spec, host),
        *iommu_args(spec),
        *firmware_args(spec),
        *boot_args(spec, host),
        *channel_args(host),
        *share_args(host),
        *(link_args(spec.link) if spec.link else []),
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


def iommu_args(spec: GuestSpec) -> list[str]:
    """The IOMMU, in front of every device that it is to see.

    Interrupts are not its business: remapping them would need another interrupt controller under KVM.  The lab's
    own devices go around it, as virtio does unless told otherwise.
    """
    return ["-device", "intel-iommu,intremap=off"] if spec.iommu else []


def firmware_args(spec: GuestSpec) -> list[str]:
    """QEMU's own small firmware, where there is an AHCI disk.

    The SeaBIOS of Debian 12 asks such a disk whether it is a CD drive, does not see that QEMU 10 refuses, and
    waits half a minute.
    """
    return ["-bios", "qboot.rom"] if any(isinstance(drive, AhciDisk) for drive in spec.drives) else []


def boot_args(spec: GuestSpec, host: Host) -> list[str]:
    """Kernel, initramfs and kernel command line."""
    words = [
        "console=ttyS0",
        "loglevel=5",  # warnings too: the console is all that is left of a guest that has died
        "panic=-1",
        "nokaslr",
        "mitigations=off",
        "random.trust_cpu=on",
        # The kernel's ciphers are not our business; their tests take a quarter of a second.
        "cryptomgr.notests",
        # A busy host delays the timer that the kernel would test, and it would then refuse to boot.
        "no_timer_check",
        "log_buf_len=4M",
        # An emulated CPU on a loaded host stands still for seconds: that is
        # not the guest's fault and must not look like one in the log.
        "watchdog_thresh=60",
        # A CPU that has lost its timer while booting is to be told soon; once up, Guest.wait_ready() allows more.
        "rcupdate.rcu_cpu_stall_timeout=40",
        "sysctl.kernel.hung_task_timeout_secs=300",
        f"lab_modules={host.modules}",
    ]
    if spec.interrupts == "intx":
        words.append("pci=nomsi")
    if spec.iommu:
        words += ["intel_iommu=on", "iommu.strict=1"]
    if spec.append:
        words.append(spec.append)
    return ["-kernel", str(host.kernel), "-initrd", str(spec.initrd or host.initrd), "-append", " ".join(words)]


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


def link_args(link: Link) -> list[str]:
    """The network card and its cable."""
    server = "on" if link.listens else "off"
    return [
        "-netdev", f"stream,id=cable,server={server},addr.type=unix,addr.path={link.path}",
        "-device", f"virtio-net-pci,id=link,netdev=cable,mac={link.mac},romfile=,disable-legacy=on",
    ]  # fmt: skip


def drive_args(spec: GuestSpec, run_dir: Path) -> list[str]:
    """Root ports, controllers, namespaces and their block nodes."""
    args: list[str] = []
    for index, drive in enumerate(spec.drives):
        slot = FIRST_ROOT_PORT_SLOT + index
        args += ["-device", f"pcie-root-port,id=rp{index},bus=pcie.0,addr={slot:#x},chassis={index + 1},slot={slot}"]
        if isinstance(drive, RegisterFile):
            args += ["-device", f"ati-vga,id={drive_id(index)},bus=rp{index},romfile="]
        elif isinstance(drive, Nvme):
            args += nvme_args(index, drive, run_dir)
        else:
            args += disk_args(index, drive, spec.iommu, run_dir)
    return args


def nvme_args(index: int, drive: Nvme, run_dir: Path) -> list[str]:
    """One controller with its namespaces."""
    # The namespaces belong to the subsystem, so they outlive an unplugged controller.
    subsystem = {"driver": "nvme-subsys", "id": f"{drive_id(index)}-subsys", "nqn": drive.serial}
    args = ["-device", json.dumps(subsystem), "-device", json.dumps(nvme_device(index, drive))]
    nodes: list[str] = []
    for nsid, namespace in numbered(drive):
        nodes += node_args(node_name(index, nsid), namespace, run_dir)
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
        "write-cache": on_off(namespace.write_cache),
        "zoned": namespace.zoned,
    }


def on_off(value: bool) -> str:
    """A switch, as QEMU spells it."""
    return "on" if value else "off"


def disk_args(index: int, disk: Disk, iommu: bool, run_dir: Path) -> list[str]:
    """One disk that is not NVMe, with its controller and its block node."""
    args = node_args(node_name(index), disk, run_dir)
    for device in disk_devices(index, disk, iommu):
        args += ["-device", json.dumps(device)]
    return args


def disk_devices(index: int, disk: Disk, iommu: bool) -> list[JsonDict]:
    """Controller and disk; a virtio disk is both, and has to be sent through the IOMMU."""
    controller, port, node = drive_id(index), f"rp{index}", node_name(index)
    if isinstance(disk, VirtioDisk):
        return [{
            "driver": "virtio-blk-pci",
            "id": controller,
            "bus": port,
            "drive": node,
            "serial": disk.serial,
            "logical_block_size": disk.lba_bytes,
            "physical_block_size": disk.lba_bytes,
            "write-cache": on_off(disk.write_cache),
            "iommu_platform": iommu,
            "werror": "report",
        }]  # fmt: skip
    if isinstance(disk, AhciDisk):
        return [
            {"driver": "ich9-ahci", "id": controller, "bus": port},
            {
                "driver": "ide-hd",
                "id": node,
                "bus": f"{controller}.0",
                "drive": node,
                "serial": disk.serial,
                "write-cache": on_off(disk.write_cache),
                "werror": "report",
            },
        ]
    # Every SDHCI controller calls its bus the same: only the whole path is one bus.
    return [
        {"driver": "sdhci-pci", "id": controller, "bus": port},
        {"driver": "sd-card", "id": node, "bus": f"{port}/{controller}/sd-bus", "drive": node},
    ]


def node_args(node: str, medium: Medium, run_dir: Path) -> list[str]:
    """The block node of a namespace or disk, and its throttle group."""
    args = ["-blockdev", json.dumps(block_node(node, medium, run_dir))]
    if isinstance(medium.backing, Throttle):
        return ["-object", json.dumps(throttle_group(node, medium.backing)), *args]
    return args


def throttle_group(node: str, backing: Throttle) -> JsonDict:
    """The object whose limits are changed at run time."""
    limits = {"bps-total": backing.bytes_per_s, "iops-total": backing.iops}
    return {"qom-type": "throttle-group", "id": f"{node}-limits", "limits": limits}


def block_node(node: str, medium: Medium, run_dir: Path) -> JsonDict:
    """The block node below a namespace or disk, as for QMP's blockdev-add."""
    backing, size_bytes = medium.backing, medium.size_mib * MIB
    if isinstance(backing, NullCo):
        return {"node-name": node, **null_node(size_bytes, backing.latency_us)}
    file = file_node(node, backing_path(medium, node, run_dir))
    if isinstance(backing, Blkdebug):
        # The raw node above announces reads and writes to blkdebug, so that they can be held.
        debug: JsonDict = {"driver": "blkdebug", "node-name": f"{node}-faults", "image": file}
        if backing.rules:
            debug["inject-error"] = [inject_error(rule) for rule in backing.rules]
        return {"driver": "raw", "node-name": node, "file": debug}
    if isinstance(backing, Throttle):
        if backing.latency_ms:
            file = slow_node(file, size_bytes, backing.latency_ms)
        return {"driver": "throttle", "node-name": node, "throttle-group": f"{node}-limits", "file": file}
    if isinstance(backing, WriteLog):
        log = {"driver": "file", "filename": str(write_log_path(node, run_dir))}
        return {"driver": "blklogwrites", "node-name": node, "file": file, "log": log, "log-sector-size": 512}
    if isinstance(backing, RawFile) and backing.whole_blocks:
        file = whole_node(file)
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


def whole_node(file: JsonDict) -> JsonDict:
    """A node where a write of one block and a read of it never overlap.

    A write that is not aligned as its node wants is read, changed and written by QEMU, which keeps other requests of
    the same bytes waiting meanwhile.
    """
    return {"driver": "blkdebug", "align": ATOMIC_BYTES, "image": file}


def null_node(size_bytes: int, latency_us: int) -> JsonDict:
    """No medium: zeros, after some time."""
    return {"driver": "null-co", "size": size_bytes, "latency-ns": latency_us * 1000, "read-zeroes": True}


def slow_node(file: JsonDict, size_bytes: int, latency_ms: int) -> JsonDict:
    """A node whose requests take some time, and then have the result of the file.

    QEMU has no filter that waits, but quorum sends each request to all its
    children and waits for all of them.  The result is that of one child that
    has succeeded.  The first child here is the wait, which never succeeds: it
    is another quorum, which wants two of its children to succeed, and one
    always fails.
    """
    fails: JsonDict = {"driver": "blkdebug", "image": null_node(size_bytes, 0)}
    fails["inject-error"] = [{"event": "none", "errno": 5, "immediately": True}]
    wait = {"driver": "quorum", "vote-threshold": 2, "children": [null_node(size_bytes, latency_ms * 1000), fails]}
    return {"driver": "quorum", "vote-threshold": 1, "children": [wait, file]}


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
