# SPDX-License-Identifier: MIT
"""Keeps others from the disks of a drive that is about to be overwritten."""

import os
from collections.abc import Sequence
from contextlib import suppress

from chario_lab.target.drive import Refused


class Claim:
    """Exclusive descriptors of block devices: with them nobody can mount the disks or build on them.

    Programs that only read or write a disk are not kept from it.
    """

    def __init__(self) -> None:
        self._descriptors: list[int] = []

    def take(self, nodes: Sequence[str]) -> None:
        """Claim these disks; raises Refused where somebody else has."""
        for node in nodes:
            try:
                self._descriptors.append(os.open(node, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
            except OSError as error:
                self.drop()
                raise Refused(f"{node} is in use, and nothing more is written to it: {error.strerror}") from error

    def drop(self) -> None:
        """Leave the disks to others."""
        while self._descriptors:
            with suppress(OSError):
                os.close(self._descriptors.pop())
