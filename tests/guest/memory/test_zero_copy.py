# SPDX-License-Identifier: MIT
"""A sensor's memory goes to the drive without the CPU touching a byte, and stands in a recording."""

from dataclasses import dataclass

import pytest
from disks import HIDDEN, HIDDEN_BYTES, Programs
from rig import Rig
from shared_guest import Setup
from test_dmabuf import EXPORTERS, need

from chario_lab.guest.devices import nodes
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Namespace, Nvme

pytestmark = [
    pytest.mark.area("kernel/front/transfer", "kernel/front/ioctl", "kernel/memory/", "kernel/back/nvme/cmb"),
    pytest.mark.kernels("6.12"),
]  # fmt: skip

KINDS = ("heap", "inside", f"window {HIDDEN:#x}")
MEMORIES = (*KINDS, *EXPORTERS)
# Each recording has a disk of its own: what an earlier one has left there could not be told from it.
DRIVE = Nvme("sensor", (Namespace(128, 4096),) * len(MEMORIES), cmb_mib=16)
RECORDS = 80
# Of each segment, which holds seven records, the first block; with the last of them the recording is ended.
SEGMENTS, BLOCK = 12, 4096
# The table says that it has ended: both copies of a block, and the note of the change before and behind it.
BLOCKS = SEGMENTS + 4
COST = f"{RECORDS} {BLOCKS} {BLOCKS * BLOCK}"
LIMIT_S = 300


@dataclass(frozen=True)
class Recorder:
    """A guest with a drive that has memory of its own, and a window to RAM that Linux leaves alone."""

    guest: Guest
    disks: list[str]

    def cost(self, programs: Programs, kind: str) -> str:
        """What src/zero_copy.c says of a recording from this kind of memory."""
        program = self.guest.push(programs("zero_copy"))
        return self.guest.must(f"{program} {self.disks[MEMORIES.index(kind)]} {kind}", LIMIT_S)


SETUP = Setup(
    drives=(DRIVE,),
    parameters=f"windows={HIDDEN:#x}+{HIDDEN_BYTES}",
    bound=True,
    alone=True,
    append=f"memmap=16M${HIDDEN:#x}",
)


@pytest.fixture
def recorder(rig: Rig) -> Recorder:
    """The guest, for one test."""
    return Recorder(rig.guest, nodes(rig.guest, rig.address(0)))


@pytest.mark.parametrize("kind", KINDS, ids=[kind.split()[0] for kind in KINDS])
def test_a_recording(recorder: Recorder, guest_program: Programs, kind: str) -> None:
    """Each record is what the memory held when it was recorded, though it is written over as soon as it is released.

    Beside the commands of their data, as many as planned, there is one of a block a segment, and the end in the table.
    """
    assert recorder.cost(guest_program, kind) == COST


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_recording_of_a_dmabuf(recorder: Recorder, guest_program: Programs, exporter: str) -> None:
    """The drive takes the records from another driver's memory, also when its descriptor has been closed meanwhile.

    The memory is filled by the drive, is mapped nowhere in the program, and costs no command more than any other.
    Imports and records that are too long, or misaligned, are refused, and leave no trace in the recording.
    """
    need(recorder.guest, exporter)
    assert recorder.cost(guest_program, exporter) == COST
