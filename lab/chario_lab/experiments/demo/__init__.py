# SPDX-License-Identifier: MIT
"""The main job, shown: record to a character disk, read back, compare - and what it costs.

A recording made by sox on the host is written to /dev/chardisk0 with dd, read
back and compared by SHA-256.  Then the same drive in the same guest serves the
same calls as a character disk, as a block device and below ext4, while two
things are counted: the drive's commands, and the instructions of the guest's
CPU, by a plugin in QEMU.  Neither depends on how fast the host is: the timer
ticks that fall into a series are taken out.
"""

import time

from rich.console import Console

from chario_lab.experiment.book import open_book
from chario_lab.experiment.run import run as run_plan
from chario_lab.experiments.demo.costs import check_plan, check_smart, costs_of
from chario_lab.experiments.demo.plan import plan
from chario_lab.experiments.demo.recording import make_recording
from chario_lab.experiments.demo.table import EXPLANATION, GOING_ON, cost_table
from chario_lab.progress import Steps
from chario_lab.target.guest import guest_target


def run(kernel_name: str) -> int:
    """Show it all; 0 when the data came back as it went."""
    console = Console()
    progress = Steps(console)
    started = time.monotonic()
    with progress.step("making the recording: eight channels of 16 bits at 96 kHz, by sox"):
        recording = make_recording()
    progress.show(str(recording))
    with open_book("demo", EXPLANATION) as book:
        run_plan(plan(kernel_name, recording), guest_target, book, progress)
    costs = costs_of(book.records)
    check_plan(book.records, costs)
    reads, writes = check_smart(book.records)
    console.print(cost_table(costs))
    console.print(EXPLANATION, highlight=False, soft_wrap=True)
    console.print(f"The drive's SMART log agrees: {reads:,} reads and {writes:,} writes in all.", highlight=False)
    console.print(GOING_ON, highlight=False, soft_wrap=True)
    console.print(f"All of this took {time.monotonic() - started:.0f} s.", highlight=False)
    return 0
