# SPDX-License-Identifier: MIT
"""A sensor's memory goes to the drive without the CPU touching a byte, and stands in a recording."""

from __future__ import annotations

import pytest
from conftest import Launcher
from disks import MIB, Programs

from chario_lab.guest.devices import bdf, bind, nodes
from chario_lab.guest.spec import Namespace, Nvme

HIDDEN, HIDDEN_BYTES = 0x3000_0000, 16 * MIB
DRIVE = Nvme("sensor", (Namespace(128, 4096),), cmb_mib=16)
PARAMETERS = f"windows={HIDDEN:#x}+{HIDDEN_BYTES} deadline_ms=200000"
RECORDS = 80
LIMIT_S = 300


@pytest.mark.parametrize("kind", ["heap", "inside", f"window {HIDDEN:#x}"], ids=["heap", "inside", "window"])
def test_a_recording(fresh_guest: Launcher, guest_program: Programs, kind: str) -> None:
    """Each record is what the memory held when it was recorded, though it is written over as soon as it is released."""
    guest = fresh_guest(drives=(DRIVE,), parameters=PARAMETERS, append=f"memmap=16M${HIDDEN:#x}")
    bind(guest, bdf(guest, 0))
    disk = nodes(guest, bdf(guest, 0))[0]
    assert guest.must(f"{guest.push(guest_program('zero_copy'))} {disk} {kind}", LIMIT_S) == str(RECORDS)
