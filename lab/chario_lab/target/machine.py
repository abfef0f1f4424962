# SPDX-License-Identifier: MIT
"""What an experiment asks of the machine that it runs on."""

from __future__ import annotations

from dataclasses import dataclass

from chario_lab.guest.spec import MIB, GuestSpec, Nvme


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
        words = f"Linux {self.guest.kernel} with an emulated NVMe SSD"
        drive = self.guest.drives[0] if self.guest.drives else None
        if isinstance(drive, Nvme):
            first = drive.namespaces[0]
            words += f" of {first.size_mib * MIB / 2**30:g} GiB, blocks of {block_size(first.lba_bytes)}"
        return words


def block_size(size_bytes: int) -> str:
    """A size of a block, with the unit in which people say it."""
    return f"{size_bytes >> 10} KiB" if size_bytes >= 1024 else f"{size_bytes} bytes"
