# SPDX-License-Identifier: MIT
"""The block side behind an IOMMU, which is strict: what a bio has given back, no drive reaches."""

from dataclasses import replace

import pytest
from rig import Rig
from test_block import SETUP as WITHOUT_IOMMU
from test_block import disk, own
from test_block import test_a_file_system_is_whole as a_file_system_is_whole
from test_block import test_both_sides_see_the_same_bytes as both_sides_see_the_same_bytes
from test_block import test_discards_and_zeroes_are_the_drives_own as discards_and_zeroes_are_the_drives_own
from test_block import test_fio_verifies_at_depth as fio_verifies_at_depth

from chario_lab.guest.devices import PCI

pytestmark = [
    pytest.mark.area("kernel/front/block/", "kernel/memory/bios", "kernel/queue/isolation"), pytest.mark.cpus(2),
]  # fmt: skip

__all__ = ["disk", "own"]

SETUP = replace(WITHOUT_IOMMU, alone=True, iommu=True)


def test_the_drive_is_behind_it(rig: Rig, own: str) -> None:
    """It has an address space of its own."""
    assert rig.guest.must(f"cat {PCI}/devices/{rig.address(0)}/iommu_group/type") == "DMA"


def test_both_sides_see_the_same_bytes(rig: Rig, disk: str) -> None:
    """As without an IOMMU."""
    both_sides_see_the_same_bytes(rig, disk)


def test_a_file_system_is_whole(rig: Rig, disk: str) -> None:
    """As without an IOMMU."""
    a_file_system_is_whole(rig, disk)


def test_fio_verifies_at_depth(rig: Rig, disk: str) -> None:
    """As without an IOMMU."""
    fio_verifies_at_depth(rig, disk)


def test_discards_and_zeroes_are_the_drives_own(rig: Rig, disk: str) -> None:
    """As without an IOMMU."""
    discards_and_zeroes_are_the_drives_own(rig, disk)
