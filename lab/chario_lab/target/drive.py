# SPDX-License-Identifier: MIT
"""An NVMe drive of this machine, as sysfs shows it."""

import re
from dataclasses import dataclass
from pathlib import Path

from chario_lab.cache import WrongUse

SYSFS = Path("/sys")
NVME_CLASS = "0x010802"
SECTOR_BYTES = 512
ADDRESS = re.compile(r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
NAMESPACE = re.compile(r"(nvme\d+)(?:c\d+)?(n\d+)")


class Refused(Exception):
    """Nothing was done with a drive; the message says why, and what to do."""


@dataclass(frozen=True)
class Drive:
    """A drive that Linux's own driver has."""

    address: str
    controller: str
    model: str
    serial: str
    firmware: str
    namespaces: tuple[str, ...]
    size_bytes: int

    def __str__(self) -> str:
        names = ", ".join(self.namespaces)
        size = f"{self.size_bytes / 1e9:,.1f} GB"
        return f"{self.model}, serial {self.serial}, firmware {self.firmware}, {size} ({self.address}, {names})"


def full_address(text: str) -> str:
    """A PCI address with its domain; raises WrongUse unless it is one."""
    address = text.lower()
    if not ADDRESS.fullmatch(address):
        raise WrongUse(f"--device {text} is no PCI address such as 0000:01:00.0: chario list --all shows the drives")
    return address if address.count(":") == 2 else f"0000:{address}"


def driver_of(address: str, sysfs: Path = SYSFS) -> str:
    """The driver that has a device; empty where none has."""
    link = sysfs / "bus/pci/devices" / address / "driver"
    return link.resolve().name if link.exists() else ""


def find_drive(address: str, sysfs: Path = SYSFS) -> Drive:
    """A drive that the driver nvme has; raises Refused where there is none."""
    folder = sysfs / "bus/pci/devices" / address
    if not folder.exists():
        raise Refused(f"there is no PCI device {address}: chario list --all shows the NVMe drives")
    if (folder / "class").read_text().strip() != NVME_CLASS:
        raise Refused(f"{address} is no NVMe drive: chario list --all shows them")
    driver = driver_of(address, sysfs)
    if driver != "nvme":
        give = f": chario unbind {address}" if driver == "chario" else ""
        raise Refused(f"{address} is with {driver or 'no driver'}, give it to nvme first{give}")
    controllers = sorted((folder / "nvme").glob("nvme*"))
    if not controllers:
        raise Refused(f"{address} does not work with the driver nvme; the kernel log says why")
    return read_drive(address, controllers[0], sysfs)


def read_name(path: Path) -> str:
    """What a drive says of itself, without what would command a terminal."""
    text = path.read_text(encoding="ascii", errors="replace").strip()
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def read_drive(address: str, controller: Path, sysfs: Path) -> Drive:
    """What sysfs says of a controller and its namespaces."""
    # Where several controllers may show a namespace, nvme0c1n1 is a path to the disk nvme0n1.
    found = [NAMESPACE.fullmatch(path.name) for path in controller.iterdir()]
    names = sorted({match[1] + match[2] for match in found if match}, key=lambda name: (len(name), name))
    sizes = [sysfs / "class/block" / name / "size" for name in names]
    model, serial, firmware = (read_name(controller / name) for name in ("model", "serial", "firmware_rev"))
    size_bytes = sum(int(path.read_text()) * SECTOR_BYTES for path in sizes)
    return Drive(address, controller.name, model, serial, firmware, tuple(names), size_bytes)
