# SPDX-License-Identifier: MIT
"""What it costs to put a recording on a drive and to get it back, by whole programs.

The same data, from and to memory, by chario's store and streams, by dd, and by
GStreamer, on the character disk and on ext4 on the same drive in the same guest.  Counted are
the instructions of the guest's CPU and the drive's commands, from the start of a
program to its end, as the demonstration counts them.
"""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from chario_lab.cache import check_room
from chario_lab.counting.build import build_tools
from chario_lab.demo.job import give_back, take
from chario_lab.demo.programs import build_chario, build_repeat
from chario_lab.demo.screen import step
from chario_lab.demo.workload import Counter
from chario_lab.guest.launch import Plugin, launch
from chario_lab.guest.spec import GuestSpec, Namespace, Nvme
from chario_lab.kernel import build_module, get_kernel
from chario_lab.recorders.pipelines import NEEDED, build_plugins, prepare_pipelines
from chario_lab.recorders.programs import SIZE_MIB, Costs, measure_disk, measure_ext4, prepare
from chario_lab.recorders.table import EXPLANATION, cost_table

TOP = Path(__file__).resolve().parents[3]
DRIVE = Nvme("recorders", (Namespace(size_mib=1024, lba_bytes=4096),))
MEMORY_MIB = 1536


def run(kernel_name: str) -> int:
    """Count and print; 0 when every program has done its job."""
    console = Console()
    with ExitStack() as stack:
        with step(console, f"building the module for Linux {kernel_name}, and the programs"):
            module = build_module(get_kernel(kernel_name), TOP / "kernel")
            tools, chario, repeat = build_tools(), build_chario(TOP), build_repeat()
            plugins = build_plugins(TOP)
        check_room(DRIVE.namespaces[0].size_mib << 20, "the emulated drive")
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chario-recorders-")))
        plugin = Plugin(tools.plugin, f"map={folder / 'map'},out={folder / 'counts'}")
        spec = GuestSpec(
            kernel=kernel_name, drives=(DRIVE,), cpus=1, memory_mib=MEMORY_MIB, append="nvme_core.multipath=N"
        )
        with step(console, f"booting Linux {kernel_name} with an emulated NVMe SSD, blocks of 4 KiB"):
            guest = stack.enter_context(launch(spec, plugin=plugin))
        disk = take(console, guest, module, chario)
        counter = Counter(guest, repeat, folder / "map", folder / "counts")
        with step(console, f"making {SIZE_MIB} MiB in memory"):
            prepare(guest)
            if plugins:
                prepare_pipelines(guest, plugins)
        costs: Costs = measure_disk(console, counter, chario, disk, pipelines=bool(plugins))
        give_back(console, guest, chario)
        costs |= measure_ext4(console, counter, pipelines=bool(plugins))
        guest.check_log()
    console.print(cost_table(costs))
    if not plugins:
        console.print(f"left out: GStreamer's pipelines; install {NEEDED}", highlight=False)
    console.print(EXPLANATION, highlight=False, soft_wrap=True)
    return 0
