# SPDX-License-Identifier: MIT
"""What it costs to put a recording on a drive and to get it back, by whole programs.

The same data, from and to memory, by chario's store and streams, by dd, and by
GStreamer, on the character disk and on ext4 on the same drive in the same guest.  Counted are
the instructions of the guest's CPU and the drive's commands, from the start of a
program to its end, as the demonstration counts them.
"""

from pathlib import Path

from rich.console import Console

from chario_lab.experiment.book import open_book
from chario_lab.experiment.run import run as run_plan
from chario_lab.experiments.recorders.costs import costs_of
from chario_lab.experiments.recorders.pipelines import NEEDED, find_plugins
from chario_lab.experiments.recorders.plan import plan
from chario_lab.experiments.recorders.table import EXPLANATION, cost_table
from chario_lab.progress import Steps
from chario_lab.target.guest import guest_target

TOP = Path(__file__).resolve().parents[4]


def run(kernel_name: str) -> int:
    """Count and print; 0 when every program has done its job."""
    console = Console()
    plugins = find_plugins(TOP)
    with open_book("recorders", EXPLANATION) as book:
        run_plan(plan(kernel_name, plugins), guest_target, book, Steps(console))
    console.print(cost_table(costs_of(book.records)))
    if not plugins:
        console.print(f"left out: GStreamer's pipelines; install {NEEDED}", highlight=False)
    console.print(EXPLANATION, highlight=False, soft_wrap=True)
    return 0
