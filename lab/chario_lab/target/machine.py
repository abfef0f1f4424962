# SPDX-License-Identifier: MIT
"""What an experiment asks of the machine that it runs on."""

from __future__ import annotations

from dataclasses import dataclass

from chario_lab.guest.spec import AhciDisk, GuestSpec, Namespace, Nvme, RegisterFile, SdCard, VirtioDisk

KINDS: dict[type, str] = {Nvme: "NVMe SSD", AhciDisk: "SATA disk", VirtioDisk: "virtio disk", SdCard: "SD card"}


@dataclass(frozen=True)
class Machine:
    """A machine with one drive under test, the first of the specification.

    `name` is what tables call it.  `module_parameters` are given to chario.ko when it is loaded.
    """

    name: str
    guest: GuestSpec
    module_parameters: str = ""

    def describe(self) -> str:
        """In words, for a human who waits for it."""
        drive = self.guest.drives[0]
        medium = drive.namespaces[0] if isinstance(drive, Nvme) else drive
        assert not isinstance(medium, RegisterFile)
        kind, size_mib = KINDS[type(drive)], medium.size_mib
        block = medium.lba_bytes if isinstance(medium, Namespace | VirtioDisk) else 512
        words = f"Linux {self.guest.kernel} with an emulated {kind} of {size_mib / 1024:g} GiB"
        return f"{words}, blocks of {block_size(block)}"


def block_size(size_bytes: int) -> str:
    """A size of a block, with the unit in which people say it."""
    return f"{size_bytes >> 10} KiB" if size_bytes >= 1024 else f"{size_bytes} bytes"
