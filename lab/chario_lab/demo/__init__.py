# SPDX-License-Identifier: MIT
"""The main job, shown: record to a character disk, read back, compare - and what it costs.

A recording made by sox on the host is written to /dev/chardisk0 with dd, read
back and compared by SHA-256.  Then the same drive in the same guest serves the
same calls as a character disk, as a block device and below ext4, while two
things are counted: the drive's commands, and the instructions of the guest's
CPU, by a plugin in QEMU.  Neither depends on how fast the host is: the timer
ticks that fall into a series are taken out.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from chario_lab.cache import check_room
from chario_lab.counting.build import build_tools
from chario_lab.demo.job import give_back, show_job, take
from chario_lab.demo.programs import build_chario, build_repeat
from chario_lab.demo.recording import make_recording
from chario_lab.demo.screen import show, step
from chario_lab.demo.table import EXPLANATION, GOING_ON, cost_table
from chario_lab.demo.workload import Costs, Counter, check_plan, check_smart, measure, measure_disk
from chario_lab.guest.launch import Plugin, launch
from chario_lab.guest.spec import GuestSpec, Namespace, Nvme
from chario_lab.kernel import build_module, get_kernel

TOP = Path(__file__).resolve().parents[3]
DRIVE = Nvme("demo", (Namespace(size_mib=1024, lba_bytes=4096),))
# What is written to the drive's sparse image, and the recording that comes back.
ROOM_BYTES = 600 << 20


def run(kernel_name: str) -> int:
    """Show it all; 0 when the data came back as it went."""
    console = Console()
    started = time.monotonic()
    with ExitStack() as stack:
        with step(console, "making the recording: eight channels of 16 bits at 96 kHz, by sox"):
            recording = make_recording()
        show(console, str(recording))
        with step(console, f"building the module for Linux {kernel_name}, and the program chario"):
            module = build_module(get_kernel(kernel_name), TOP / "kernel")
            tools, chario, repeat = build_tools(), build_chario(TOP), build_repeat()
        # A drive whose image has no room reports errors of its medium.
        check_room(ROOM_BYTES, "the emulated drive")
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chario-demo-")))
        plugin = Plugin(tools.plugin, f"map={folder / 'map'},out={folder / 'counts'}")
        spec = GuestSpec(kernel=kernel_name, drives=(DRIVE,), cpus=1, append="nvme_core.multipath=N")
        with step(console, f"booting Linux {kernel_name} with an emulated NVMe SSD of 1 GiB, blocks of 4 KiB"):
            guest = stack.enter_context(launch(spec, plugin=plugin))
        disk = take(console, guest, module, chario)
        show_job(console, guest, disk, recording)
        counter = Counter(guest, repeat, folder / "map", folder / "counts")
        costs: Costs = measure_disk(console, counter, disk)
        check_plan(guest, chario, disk, costs)
        give_back(console, guest, chario)
        costs |= measure(console, guest, counter)
        reads, writes = check_smart(guest)
        guest.check_log()
    console.print(cost_table(costs))
    console.print(EXPLANATION, highlight=False, soft_wrap=True)
    console.print(f"The drive's SMART log agrees: {reads:,} reads and {writes:,} writes in all.", highlight=False)
    console.print(GOING_ON, highlight=False, soft_wrap=True)
    console.print(f"All of this took {time.monotonic() - started:.0f} s.", highlight=False)
    return 0
