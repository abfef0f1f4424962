# SPDX-License-Identifier: MIT
"""The QEMU command line that builds a guest.

Everything here is pure: a specification (spec.py) and a description of the
host go in, a list of strings comes out.  Nothing is started, opened or created.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from chario_lab.guest.spec import (
    FIRST_ROOT_PORT_SLOT,
    MIB,
    Blkdebug,
    ErrorRule,
    GuestSpec,
    Namespace,
    NullCo,
    Nvme,
    RegisterFile,
    Throttle,
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


def iommu_args(spec: GuestSpec) -> list[str]:
    """The IOMMU, in front of every device that it is to see.

    Interrupts are not its business: remapping them would need another interrupt controller under KVM.  The lab's
    own devices go around it, as virtio does unless told otherwise.
    """
    return ["-device", "intel-iommu,intremap=off"] if spec.iommu else []


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
