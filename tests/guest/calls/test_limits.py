# SPDX-License-Identifier: MIT
"""The limits of a device: commands keep to them, and limits that contradict each other are refused.

The device is the disk in memory, which takes segments as a device with DMA does, and ends what it cannot take with EIO.
"""

from errno import EINVAL
from pathlib import Path

import pytest
from disks import HIDDEN, HIDDEN_BYTES, MIB, NODE, Programs, counters
from rig import CALL_LIMIT_S, Rig
from shared_guest import Setup
from test_buffers import BLOCK, run
from test_pieces import KINDS, moves_all_data

from chario_lab.guest.devices import load_module

pytestmark = [
    pytest.mark.area("kernel/back/loopback/", "kernel/front/transfer", "kernel/front/ioctl", "kernel/memory/"),
    pytest.mark.cpus(2),
]  # fmt: skip

SIZE_MIB = 64
# The largest command is of 128 KiB, which may touch so many pages.
MOST = 33
SETUP = Setup(drives=(), parameters=None, append=f"memmap=16M${HIDDEN:#x}", alone=True)


def load(rig: Rig, module: Path, *parameters: str) -> None:
    """The disk in memory, with these parameters."""
    rig.guest.must("! grep -q ^chario /proc/modules || rmmod chario; echo 12 >/proc/sys/vm/nr_hugepages")
    load_module(rig.guest, module, f"loopback_mib={SIZE_MIB} deadline_ms=600000 {' '.join(parameters)}")


@pytest.mark.parametrize("pages", [1, 3, 256])
def test_segments_keep_to_the_limits(rig: Rig, guest_program: Programs, module: Path, pages: int) -> None:
    """Ordinary calls from memory in a row or scattered, io_uring, and buffers: no command has a segment too long."""
    load(rig, module, f"loopback_segment_pages={pages}", f"loopback_segments={MOST}")
    rig.guest.must(f"{rig.guest.push(guest_program('exercise'))} {NODE} 1 40 0 {SIZE_MIB * MIB} 2", CALL_LIMIT_S)
    for flags in ("", "fixed skew"):
        rig.guest.must(f"{rig.guest.push(guest_program('uring'))} {NODE} 32 100 65536 {flags}", CALL_LIMIT_S)
    for kind in ("registered", "misaligned", "huge", "pool"):
        moves_all_data(rig, guest_program, NODE, KINDS[kind], "ring")
    assert counters(rig.guest, NODE)["errors"] == 0
    rig.guest.must("rmmod chario")


def test_memory_that_such_a_device_does_not_reach(rig: Rig, guest_program: Programs, module: Path) -> None:
    """A window outside of RAM: EIO, and its pages are not touched."""
    load(rig, module, "loopback_segment_pages=1", f"windows={HIDDEN:#x}+{HIDDEN_BYTES}")
    script = [f"window 0 {HIDDEN} {MIB}", f"write 0 0 {BLOCK} 0", "free 0"]
    assert run(rig.guest, guest_program, NODE, script) == ["0", "EIO", "0"]
    rig.guest.must("rmmod chario")


@pytest.mark.parametrize("grain", [1, 64])
def test_a_device_with_units_smaller_than_a_block(rig: Rig, module: Path, grain: int) -> None:
    """Calls of whole units are one command each, without reads around them, and change nothing else; others are EINVAL.

    The logical block that programs see stays what it is.
    """
    load(rig, module, f"loopback_grain={grain}")
    assert rig.calls(NODE, "fill,1,0,4096", "write,0,4096")[1] == ("write", 4096)
    before = rig.counters(NODE)
    steps = ("fill,2,0,4096", f"write,{grain},{3 * grain}", f"read,{grain},{3 * grain}", f"match,2,0,{3 * grain}")
    assert [end for _, end in rig.calls(NODE, *steps)[1:4]] == [3 * grain, 3 * grain, 1]
    after = rig.counters(NODE)
    assert [after[name] - before[name] for name in ("write_commands", "read_commands")] == [1, 1]
    assert rig.calls(NODE, f"read,0,{grain}", f"match,1,0,{grain}")[1] == ("match", 1)
    assert rig.show(NODE, "logical_block_size") == "512"
    if grain > 1:
        assert rig.call(NODE, f"read,{grain // 2},{grain}") == -EINVAL
    rig.guest.must("rmmod chario")


@pytest.mark.parametrize("parameters", ["", "loopback_segment_pages=1"], ids=["pages", "segments"])
def test_memory_that_nobody_has_touched(rig: Rig, module: Path, parameters: str) -> None:
    """It is one page of zeros of the kernel, and is written like any other."""
    load(rig, module, parameters)
    rig.guest.must("echo never >/sys/kernel/mm/transparent_hugepage/enabled")
    assert rig.calls(NODE, "fill,1,0,65536", "write,0,65536")[1] == ("write", 65536)
    assert rig.call(NODE, "write,0,65536") == 65536
    rig.guest.must("rmmod chario")


@pytest.mark.parametrize(
    ("wrong", "limit"),
    [(f"loopback_segments={MOST - 1}", "segments of a command"), ("loopback_grain=3", "unit of reads")],
)
def test_limits_that_contradict_each_other(rig: Rig, module: Path, wrong: str, limit: str) -> None:
    """Fewer segments than the largest command may have pages, an odd unit: a message, and no disk."""
    mark, file = rig.guest.log_mark(), rig.guest.push(module)
    parameters = f"loopback_mib={SIZE_MIB} loopback_segment_pages=1"
    refused = rig.guest.run(f"insmod {file} {parameters} {wrong}")
    assert refused.rc != 0 and "Invalid" in refused.stderr
    rig.wait_said(mark, f"chardisk0 is refused: the limits of the device contradict each other ({limit}")
    rig.guest.must(f"! test -e {NODE}")
    load(rig, module, "loopback_segment_pages=1", f"loopback_segments={MOST}")
    rig.guest.must("rmmod chario")
