# SPDX-License-Identifier: MIT
"""Windows that the device tree of a board opens: what it reserves for us, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from disks import HIDDEN, MIB, Programs
from programs import SOURCES
from shared_guest import FileGuest, Setup
from test_buffers import BLOCK, run
from test_pool import round_trip
from test_window import WINDOWS

from chario_lab.guest.devices import bdf, bind, load_module, nodes
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Namespace, Nvme
from chario_lab.kernel import Kernel, build_module

pytestmark = [pytest.mark.area("kernel/memory/window"), pytest.mark.kernels("debug"), pytest.mark.cpus(2)]

# As in src/board/board.c.
FIRST, SECOND = (HIDDEN, 8 * MIB), (HIDDEN + 9 * MIB, MIB)
RAM = (0x1000_0000, MIB)
SETUP = Setup(drives=(Nvme("disk", (Namespace(64),)),), parameters=None, append=f"memmap=16M${HIDDEN:#x}")


@pytest.fixture
def board(keeper: FileGuest, kernel: Kernel, module: Path, request: pytest.FixtureRequest) -> Iterator[Guest]:
    """A guest with such a tree, and the module; at the end nothing is left."""
    if not kernel.debug:
        pytest.skip("Debian's kernels for this machine know no device tree; the debug kernel does")
    guest = keeper.get(request).guest
    load_module(guest, build_module(kernel, SOURCES / "board", name="board"))
    load_module(guest, module, "deadline_ms=200000")
    yield guest
    guest.must("rmmod chario board", timeout_s=120)
    assert guest.must("grep -c 'chario window' /proc/iomem || true") == "0"


def test_what_the_tree_reserves_is_open(board: Guest, guest_program: Programs) -> None:
    """Each range of each node that is ours and available; System RAM is refused, told of, and no reason to fail."""
    assert board.must(f"cat {WINDOWS}").split() == [f"{start:#x}+{size:#x}" for start, size in (FIRST, SECOND)]
    refused = f"chario: window {RAM[0]:#x}+{RAM[1]:#x} refused: part of it is System RAM"
    assert any(refused in line for line in board.kernel_log())
    bind(board, bdf(board, 0))
    script, expect = round_trip([BLOCK, 3 * BLOCK, MIB])
    begin = [f"window 0 {FIRST[0]} {FIRST[1]}"]
    disk = nodes(board, bdf(board, 0))[0]
    assert run(board, guest_program, disk, [*begin, *script]) == ["0", *expect]


def test_a_window_of_the_tree_can_be_closed(board: Guest) -> None:
    """By its file, as any other."""
    board.must(f"echo -{SECOND[0]:#x}+{SECOND[1]:#x} >{WINDOWS}")
    assert board.must(f"cat {WINDOWS}") == f"{FIRST[0]:#x}+{FIRST[1]:#x}"
