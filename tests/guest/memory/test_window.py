# SPDX-License-Identifier: MIT
"""Physical memory outside System RAM: opened by root, used by who may, refused where it is somebody's."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from disks import HIDDEN, HIDDEN_BYTES, MIB, Programs, limited
from rig import Rig
from shared_guest import Setup
from test_buffers import BLOCK, run
from test_pool import PAGE, SIZES, STREAMING, round_trip

from chario_lab.guest.devices import PCI, bar_address, bdf, bind, load_module, unbind
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Namespace, Nvme, RegisterFile
from chario_lab.waiting import until

pytestmark = [pytest.mark.area("kernel/memory/window")]

WINDOWS = "/sys/module/chario/parameters/windows"
WINDOW, PHYSICAL, READ, WRITE = 3, 8, 0, 1


@dataclass(frozen=True)
class Board:
    """A guest with RAM that Linux leaves alone, and a PCI function that no driver has."""

    guest: Guest
    disk: str
    bar: int


# A window is open from the start.
SETUP = Setup(
    drives=(Nvme("disk", (Namespace(64),)), RegisterFile()),
    parameters=f"windows={HIDDEN:#x}+{HIDDEN_BYTES}",
    alone=True,
    append=f"memmap=16M${HIDDEN:#x}",
)


@pytest.fixture
def board(rig: Rig) -> Board:
    """The guest, for one test."""
    rig.guest.files.write(f"{PCI}/devices/{rig.address(1)}/enable", 1)
    return Board(rig.guest, rig.disk(0), bar_address(rig.guest, rig.address(1)))


def change(board: Board, text: str) -> str:
    """Write to the file of windows; what the shell says of it."""
    return board.guest.run(f"echo '{text}' | dd of={WINDOWS} 2>&1 | grep -o 'error writing.*' || true").stdout.strip()


def open_windows(board: Board) -> list[str]:
    """What is open."""
    return board.guest.must(f"cat {WINDOWS}").split()


@pytest.mark.smoke
def test_hidden_memory_as_source_and_target(board: Board, guest_program: Programs) -> None:
    """Slices of many sizes, both ways; the CPU sees what the drive has written, and the other way round."""
    script, expect = round_trip(SIZES)
    begin = [f"window 0 {HIDDEN} {8 * MIB}"]
    end = [f"sync 0 0 {MIB} 2", "free 0", "locked"]
    assert run(board.guest, guest_program, board.disk, [*begin, *script, *end]) == ["0", *expect, "0", "0", "0"]


def test_a_window_may_be_synced(board: Board, guest_program: Programs) -> None:
    """One that is made to be synced is like any other: nothing has to be handed over."""
    script = [f"window 0 {HIDDEN} {MIB} {STREAMING}", "fill 0 3", f"sync 0 0 {MIB} 1", f"write 0 0 {MIB} 0",
              "clear 0", f"read 0 0 {MIB} 0", f"sync 0 0 {MIB} 2", f"match 0 3 0 {MIB} 0", "free 0"]  # fmt: skip
    assert run(board.guest, guest_program, board.disk, script) == ["0", "0", "0", str(MIB), "0", str(MIB), "0", "1",
                                                                   "0"]  # fmt: skip


def test_a_bar_as_source_and_target(board: Board, guest_program: Programs) -> None:
    """Memory of another device, opened and closed at run time, its lines in /proc/iomem meanwhile."""
    text = f"{board.bar:#x}+{8 * MIB:#x}"
    assert change(board, f"{board.bar:#x}+8M") == ""
    assert open_windows(board) == [f"{HIDDEN:#x}+{HIDDEN_BYTES:#x}", text]
    assert "chario window" in board.guest.must(f"grep -i '{board.bar:x}-.*chario' /proc/iomem")
    script, expect = round_trip([BLOCK, 3 * BLOCK, MIB])
    answers = run(board.guest, guest_program, board.disk, [f"window 0 {board.bar} {8 * MIB}", *script])
    assert answers == ["0", *expect]
    assert change(board, f"-{text}") == ""
    assert open_windows(board) == [f"{HIDDEN:#x}+{HIDDEN_BYTES:#x}"]


def test_transfers_that_name_a_physical_address(board: Board, guest_program: Programs) -> None:
    """Start block, number of blocks, physical address: looked up among the windows of the file, and nowhere else."""
    second = HIDDEN + 8 * MIB
    script = [f"window 0 {HIDDEN} {MIB}", f"window 1 {second} {MIB}", "fill 0 1", "fill 1 2", f"heap 2 {MIB}",
              f"raw {WRITE} {PHYSICAL} 0 {second + 4} 0 {MIB // 2}", f"pread 2 0 {MIB // 2} 0",
              f"match 2 2 0 {MIB // 2} 4", f"raw {READ} {PHYSICAL | 1} 0 {HIDDEN + PAGE} 0 {2 * BLOCK}",
              f"match 0 2 {PAGE} {2 * BLOCK} 4"]  # fmt: skip
    expect = ["0"] * 5 + [str(MIB // 2)] * 2 + ["1", str(2 * BLOCK), "1"]
    elsewhere = (0, 0x10_0000, HIDDEN - BLOCK, HIDDEN + MIB)
    refused = [f"raw {READ} {PHYSICAL} 0 {address} 0 {BLOCK}" for address in elsewhere]
    wrong = [f"raw {READ} {PHYSICAL} 1 {HIDDEN} 0 {BLOCK}", f"raw {READ} {PHYSICAL} 0 {HIDDEN + 2} 0 {BLOCK}",
             f"raw {READ} {PHYSICAL} 0 {HIDDEN + MIB - BLOCK} 0 {2 * BLOCK}",
             f"raw {READ} {PHYSICAL} 0 {HIDDEN} 0 {2**64 - BLOCK}", f"raw 2 {PHYSICAL} 0 0 0 0"]  # fmt: skip
    after = ["free 1", f"raw {READ} {PHYSICAL} 0 {second} 0 {BLOCK}"]
    answers = run(board.guest, guest_program, board.disk, [*script, *refused, *wrong, *after])
    assert answers == [*expect, *["ENOENT"] * len(refused), *["EINVAL"] * len(wrong), "0", "ENOENT"]


def test_buffers_that_are_refused(board: Board, guest_program: Programs) -> None:
    """Outside of what is open, in System RAM, misaligned, overflowing, or without CAP_SYS_RAWIO."""
    outside = [(HIDDEN - PAGE, 2 * PAGE), (HIDDEN + HIDDEN_BYTES - PAGE, 2 * PAGE), (0x10_0000, PAGE), (0, PAGE),
               (board.bar, PAGE), (2**64 - PAGE, 2 * PAGE), (HIDDEN, 2**40)]  # fmt: skip
    script = [f"create {WINDOW} 0 {address} {size}" for address, size in outside]
    assert run(board.guest, guest_program, board.disk, script) == ["ENXIO"] * len(script)
    misaligned = [f"create {WINDOW} 0 {HIDDEN + 4} {PAGE}", f"create {WINDOW} 0 {HIDDEN} {PAGE + 512}",
               f"create {WINDOW} 4 {HIDDEN} {PAGE}", f"create {WINDOW} 0 {HIDDEN} 0"]  # fmt: skip
    assert run(board.guest, guest_program, board.disk, misaligned) == ["EINVAL"] * len(misaligned)
    program = board.guest.push(guest_program("buffers"))
    line = f"create {WINDOW} 0 {HIDDEN} {PAGE}\n"
    assert limited(board.guest, board.disk, f"{program} {board.disk}", line) == ["EPERM"]


def test_windows_that_are_refused(board: Board) -> None:
    """System RAM, what a driver or another window has, misaligned and endless ranges; the log says why."""
    registers = bar_address(board.guest, bdf(board.guest, 0))
    because = {
        "0x1000000+1M": ("Operation not permitted", "System RAM"),
        f"{HIDDEN - MIB:#x}+2M": ("Operation not permitted", "System RAM"),
        f"{registers:#x}+4K": ("Device or resource busy", "a driver or another window has"),
        f"{HIDDEN:#x}+4K": ("Device or resource busy", "a driver or another window has"),
        f"{board.bar + 16:#x}+4K": ("Invalid argument", "not whole pages"),
        f"{board.bar:#x}+100": ("Invalid argument", "not whole pages"),
        f"{board.bar:#x}+0": ("Invalid argument", "not whole pages"),
        "0xfffffffffffff000+8K": ("Invalid argument", "behind the end of all memory"),
        "0x8000000000000000+4K": ("Invalid argument", "behind the end of all memory"),
    }
    if "Local APIC" in board.guest.must("cat /proc/iomem"):
        because["0xfee00000+4K"] = ("Device or resource busy", "a driver or another window has")
    for text, (error, reason) in because.items():
        mark = board.guest.log_mark()
        assert error in change(board, text), text
        assert reason in "\n".join(board.guest.kernel_log(mark)), text
    for text in ("nonsense", "0x1000", "0x1000+", "+4K", "0x1000+4Kx", ",", "-"):
        assert "Invalid argument" in change(board, text), text
    assert "No such file" in change(board, f"-{board.bar:#x}+4K")
    assert open_windows(board) == [f"{HIDDEN:#x}+{HIDDEN_BYTES:#x}"]
    assert board.guest.must(f"stat -c %a {WINDOWS}") == "600"


def test_a_window_in_use_stays_open(board: Board, guest_program: Programs) -> None:
    """A buffer keeps it, and so does a mapping whose buffer has gone; both end with their process."""
    for use in (f"create {WINDOW} 0 {HIDDEN} {PAGE}", f"window 0 {HIDDEN} {PAGE}\ndestroy 1"):
        command = [board.guest.push(guest_program("buffers")), board.disk]
        hold = f"{{ printf '{use}\\nlocked\\n'; while ! test -e /run/let-go; do sleep 0.1; done; }}"
        job = board.guest.start(f"{hold} | {' '.join(command)} >/run/answers", timeout_s=240)
        board.guest.must("sleep 3")
        assert "busy" in change(board, f"-{HIDDEN:#x}+16M")
        board.guest.must("touch /run/let-go")
        job.wait()
        until(lambda: change(board, f"-{HIDDEN:#x}+16M") == "", "the window stays in use")
        assert open_windows(board) == []
        assert change(board, f"{HIDDEN:#x}+16M") == ""
        board.guest.must("rm /run/let-go")


def test_a_refused_window_keeps_the_module_out(board: Board, module: Path) -> None:
    """Loading fails as opening would, and leaves nothing claimed."""
    guest = board.guest
    unbind(guest, bdf(guest, 0))
    guest.must("rmmod chario")
    loading = guest.run(f"insmod {guest.push(module)} windows={HIDDEN:#x}+4K,0x1000000+4K")
    assert "Operation not permitted" in loading.stderr
    assert guest.must("grep -c 'chario window' /proc/iomem || true") == "0"
    load_module(guest, module, f"windows={HIDDEN:#x}+{HIDDEN_BYTES}")
    bind(guest, bdf(guest, 0))
