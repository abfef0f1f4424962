# SPDX-License-Identifier: MIT
"""A sensor's memory goes to the drive without the CPU touching a byte, and stands in a recording."""

from __future__ import annotations

import pytest
from conftest import Launcher
from disks import MIB, Programs
from test_dmabuf import EXPORTERS, need

from chario_lab.guest.devices import bdf, bind, nodes
from chario_lab.guest.spec import Namespace, Nvme

HIDDEN, HIDDEN_BYTES = 0x3000_0000, 16 * MIB
DRIVE = Nvme("sensor", (Namespace(128, 4096),), cmb_mib=16)
PARAMETERS = f"windows={HIDDEN:#x}+{HIDDEN_BYTES} deadline_ms=200000"
RECORDS = 80
# Of each segment, which holds seven records, the first block; with the last of them the recording is ended.
SEGMENTS, BLOCK = 12, 4096
COST = f"{RECORDS} {SEGMENTS} {SEGMENTS * BLOCK}"
LIMIT_S = 300


@pytest.mark.parametrize("kind", ["heap", "inside", f"window {HIDDEN:#x}"], ids=["heap", "inside", "window"])
def test_a_recording(fresh_guest: Launcher, guest_program: Programs, kind: str) -> None:
    """Each record is what the memory held when it was recorded, though it is written over as soon as it is released.

    Beside the commands of their data, as many as planned, there is one of a block a segment.
    """
    guest = fresh_guest(drives=(DRIVE,), parameters=PARAMETERS, append=f"memmap=16M${HIDDEN:#x}")
    bind(guest, bdf(guest, 0))
    disk = nodes(guest, bdf(guest, 0))[0]
    assert guest.must(f"{guest.push(guest_program('zero_copy'))} {disk} {kind}", LIMIT_S) == COST


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_recording_of_a_dmabuf(fresh_guest: Launcher, guest_program: Programs, exporter: str) -> None:
    """The drive takes the records from another driver's memory, also when its descriptor has been closed meanwhile.

    The memory is filled by the drive, is mapped nowhere in the program, and costs no command more than any other.
    Imports and records that are too long, or crooked, are refused, and leave no trace in the recording.
    """
    guest = fresh_guest(drives=(DRIVE,), parameters="deadline_ms=200000")
    need(guest, exporter)
    bind(guest, bdf(guest, 0))
    disk = nodes(guest, bdf(guest, 0))[0]
    assert guest.must(f"{guest.push(guest_program('zero_copy'))} {disk} {exporter}", LIMIT_S) == COST
