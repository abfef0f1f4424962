# SPDX-License-Identifier: MIT
"""What an experiment asks of the machine that it runs on."""

from dataclasses import dataclass

from chario_lab.guest.spec import AhciDisk, Drive, GuestSpec, Namespace, Nvme, RegisterFile, SdCard, VirtioDisk

KINDS: dict[type, str] = {Nvme: "NVMe SSD", AhciDisk: "SATA disk", VirtioDisk: "virtio disk", SdCard: "SD card"}


@dataclass(frozen=True)
class Machine:
    """A machine with one drive under test, the first of the specification of a guest.

    `name` is what tables call it.  `guest` is None for the machine that the lab runs on.  `module_parameters` are
    given to chario.ko when it is loaded in a guest.
    """

    name: str
    guest: GuestSpec | None
    module_parameters: str = ""

    @property
    def spec(self) -> GuestSpec:
        """The specification of a guest."""
        assert self.guest is not None, f"{self.name} is no guest"
        return self.guest

    def describe(self) -> str:
        """In words, for a human who waits for it."""
        return f"Linux {self.spec.kernel} with an emulated {drive_words(self.spec.drives[0])}"


def drive_words(drive: Drive) -> str:
    """What kind of drive it is, and how large."""
    medium = drive.namespaces[0] if isinstance(drive, Nvme) else drive
    assert not isinstance(medium, RegisterFile)
    block = medium.lba_bytes if isinstance(medium, Namespace | VirtioDisk) else 512
    size = f"{block >> 10} KiB" if block >= 1024 else f"{block} bytes"
    return f"{KINDS[type(drive)]} of {medium.size_mib / 1024:g} GiB, blocks of {size}"


# The machine that the lab runs on, with its drive.
THIS_MACHINE = Machine("this machine", None)
