# SPDX-License-Identifier: MIT
"""Drives as the guest sees them: PCI addresses, drivers, device nodes.

All of it goes through sysfs, so that a test of the module does not depend on
the programs that are tested elsewhere.
"""

import re
import shlex
import time
from collections.abc import Sequence
from pathlib import Path

from chario_lab.guest.job import CommandFailed
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import AhciDisk, Nvme, SdCard, VirtioDisk, node_name, root_port_bdf

APPEAR_LIMIT_S = 60
SETTLE_LIMIT_S = 120
POLL_S = 0.2
FUNCTION = re.compile(r"0000:[0-9a-f]{2}:00\.0")
PCI = "/sys/bus/pci"
BLOCK = "/sys/block"
MODPROBE = "/etc/modprobe.d/chario.conf"
# Linux's drivers: of the controller, then of the disk.
DRIVERS: dict[type, tuple[str, ...]] = {
    Nvme: ("nvme",),
    AhciDisk: ("ahci", "sd_mod"),
    VirtioDisk: ("virtio_blk",),
    SdCard: ("sdhci-pci", "mmc_block"),
}
NO_MODULE = re.compile(r"Module (\S+) not found")


class DriverMissing(Exception):
    """The guest's kernel has no driver for a disk; the message names it."""


def bdf(guest: Guest, drive: int) -> str:
    """PCI address of a drive, by its place in the specification."""
    port = f"{PCI}/devices/{root_port_bdf(guest.place(drive))}"
    end = time.monotonic() + APPEAR_LIMIT_S
    while True:
        for name in guest.files.list(port):
            if FUNCTION.fullmatch(name):
                return name
        if time.monotonic() > end:
            raise CommandFailed(f"no drive below {port} after {APPEAR_LIMIT_S} s")
        time.sleep(POLL_S)


def load_module(guest: Guest, module: Path, parameters: str = "") -> None:
    """Load a module file of the host."""
    guest.must(f"insmod {guest.push(module)} {parameters}", timeout_s=SETTLE_LIMIT_S)


def offer_module(guest: Guest, module: Path, parameters: str = "") -> None:
    """Let modprobe find a module file of the host, and give it these parameters."""
    # $CMDLINE_OPTS is modprobe's own.
    install = f"install chario insmod {guest.push(module)} {parameters} $CMDLINE_OPTS"
    guest.must(f"mkdir -p {Path(MODPROBE).parent} && echo {shlex.quote(install)} >{MODPROBE}")


def bind(guest: Guest, address: str, driver: str = "chario") -> None:
    """Give a device to a driver, by name; raises when the driver refuses it.

    The message then carries what the kernel said in the meantime.
    """
    mark = guest.log_mark()
    result = guest.run(
        f"cd {PCI}/devices/{shlex.quote(address)} || exit 1\n"
        f"[ ! -e driver ] || echo {address} >driver/unbind || exit 1\n"
        f"echo {driver} >driver_override && echo {address} >{PCI}/drivers_probe",
        timeout_s=SETTLE_LIMIT_S,
    )
    if result.rc != 0 or driver_of(guest, address) != driver:
        said = "\n".join(guest.kernel_log(mark))
        raise CommandFailed(f"{driver} did not take {address}\n{result.describe()}\nkernel log:\n{said}")


def unbind(guest: Guest, address: str) -> None:
    """Take a device from its driver and forget which one was to have it."""
    guest.must(
        f"cd {PCI}/devices/{shlex.quote(address)} || exit 1\n"
        f"[ ! -e driver ] || echo {address} >driver/unbind || exit 1\n"
        "echo >driver_override",
        timeout_s=SETTLE_LIMIT_S,
    )


def driver_of(guest: Guest, address: str) -> str:
    """Name of the driver that has a device; empty when none has."""
    try:
        return Path(guest.files.resolve(f"{PCI}/devices/{address}/driver")).name
    except FileNotFoundError:
        return ""


def nodes(guest: Guest, address: str) -> list[str]:
    """Device nodes chario made for a PCI device, lowest namespace first."""
    try:
        names = guest.files.list(f"{PCI}/devices/{address}/chario")
    except FileNotFoundError:
        return []
    return [f"/dev/{name}" for name in sorted(names, key=lambda name: (len(name), name))]


def block_device(guest: Guest, drive: int) -> str:
    """Linux's node of a drive, whose drivers are loaded first; raises DriverMissing."""
    load_drivers(guest, DRIVERS[type(guest.spec.drives[guest.place(drive)])])
    return find_block(guest, bdf(guest, drive))


def find_block(guest: Guest, address: str, nsid: int = 1) -> str:
    """Linux's node of a disk, or of a namespace, which appears some time after the driver has the drive."""
    end = time.monotonic() + APPEAR_LIMIT_S
    while time.monotonic() < end:
        for name in guest.files.list(BLOCK):
            # With multipath nvme0c1n1 is the path, and nvme0n1 is what users see.
            node = "/dev/" + re.sub(r"^(nvme\d+)c\d+", r"\1", name)
            if is_of(guest, f"{BLOCK}/{name}", address, nsid) and guest.files.exists(node):
                return node
        time.sleep(POLL_S)
    raise CommandFailed(f"no block device of {address} after {APPEAR_LIMIT_S} s")


def is_of(guest: Guest, folder: str, address: str, nsid: int) -> bool:
    """Whether a folder of sysfs is that of a disk, or of this namespace, of the device at an address."""
    try:
        if f"/{address}/" not in guest.files.resolve(folder):
            return False
        # The kernel's release decides where it is; other disks have no such number.
        places = [f"{folder}/{name}" for name in ("nsid", "device/nsid") if guest.files.exists(f"{folder}/{name}")]
        return not places or guest.files.value(places[0]) == str(nsid)
    except OSError:  # it has gone meanwhile
        return False


def load_drivers(guest: Guest, names: Sequence[str]) -> None:
    """Load modules of the guest's kernel; raises DriverMissing when it does not have them all."""
    result = guest.run(["modprobe", "-a", *names], timeout_s=SETTLE_LIMIT_S)
    missing = NO_MODULE.findall(result.stderr)
    if missing:
        raise DriverMissing(f"Linux {guest.release} has no driver {' and no driver '.join(missing)}")
    result.check()


def bar_address(guest: Guest, address: str, bar: int = 0) -> int:
    """Physical address of a BAR of a device; 0 has an NVMe drive's registers, 2 its controller memory."""
    lines = guest.files.read(f"{PCI}/devices/{address}/resource").splitlines()
    return int(lines[bar].split()[0], 16)


def use_intx(guest: Guest, address: str) -> None:
    """Forbid message-signalled interrupts to one device; before bind()."""
    guest.files.write(f"{PCI}/devices/{address}/msi_bus", 0)


def command_counts(guest: Guest, drive: int, nsid: int = 1) -> tuple[int, int, int]:
    """Reads, writes and flushes the drive has served, as QEMU counts them.

    These are the numbers behind the SMART log's Host Read and Write Commands,
    had from outside the guest and without a driver.  There are none for an SdCard.
    """
    if isinstance(guest.spec.drives[guest.place(drive)], SdCard):
        raise ValueError("QEMU does not count the requests of an SD card")
    name = node_name(guest.place(drive), nsid)
    for entry in guest.qmp("query-blockstats"):
        if entry.get("qdev", "").split("/")[-1] == name or entry.get("node-name") == name:
            stats = entry["stats"]
            return stats["rd_operations"], stats["wr_operations"], stats["flush_operations"]
    raise KeyError(f"QEMU has no block device {name}")
