# SPDX-License-Identifier: MIT
"""Buffers without tables of the drive, behind an IOMMU, which is strict and reports what is not mapped."""

import pytest
from disks import Programs
from rig import Rig
from shared_guest import Setup
from test_pieces import INSIDE, KINDS, PLAIN, moves_all_data
from test_pieces import SETUP as WITHOUT_IOMMU
from test_pieces import test_inside_a_drive as inside_a_drive
from test_pieces import test_the_largest_command as the_largest_command

from chario_lab.guest.devices import PCI

pytestmark = [pytest.mark.area("kernel/front/transfer", "kernel/front/ioctl", "kernel/memory/")]

SETUP = Setup(
    drives=WITHOUT_IOMMU.drives,
    parameters=WITHOUT_IOMMU.parameters,
    append=WITHOUT_IOMMU.append,
    alone=True,
    iommu=True,
)


def test_the_drives_are_behind_it(rig: Rig) -> None:
    """Each has an address space of its own."""
    for drive in (PLAIN, INSIDE):
        assert rig.guest.must(f"cat {PCI}/devices/{rig.address(drive)}/iommu_group/type") == "DMA"


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind(rig: Rig, guest_program: Programs, kind: str) -> None:
    """As without an IOMMU."""
    moves_all_data(rig, guest_program, rig.disk(PLAIN), KINDS[kind])


def test_inside_a_drive(rig: Rig, guest_program: Programs) -> None:
    """Its own memory as it is, and another drive's as a resource."""
    inside_a_drive(rig, guest_program)


@pytest.mark.parametrize("skew", [0, 4])
def test_the_largest_command(rig: Rig, guest_program: Programs, skew: int) -> None:
    """2 MiB at any offset, which the drive sees in one piece."""
    the_largest_command(rig, guest_program, skew)
