# SPDX-License-Identifier: MIT
"""The table of costs, and what has to be known to read it."""

from rich import box
from rich.table import Table

from chario_lab.experiments.demo.costs import Costs
from chario_lab.experiments.demo.plan import DIRECTIONS, DISK, REPEATS, SIZES, WAYS

SERIES = ", ".join(f"{size.calls} of {size.title}" for size in SIZES)

EXPLANATION = f"""\
commands  that the drive served for one call (SMART Host Read/Write Commands)
instr.    instructions of the guest's CPU for one call: program and kernel, with
          interrupts, write-back, allocation and journal; one fsync at the end
          of a series of writes is shared among its calls
ratio     those instructions, with chardisk at 1.00

Calls go along the disk or a new file, with cold caches:
{SERIES}; each series {REPEATS} times, of which
the middle one's instructions are shown.
The block layer's commands for 1 MiB depend on how the buffer's pages lie.
Buffered ways read ahead and gather writes: a call may cost no command, but its
data is then in memory, not on the drive.  chardisk and O_DIRECT move each call.
Left out: the drive's own time, waiting, the idle task, timer ticks, stalls of
caches and buses, and the bytes that buffered ways copy (a string instruction
counts as one).  All is emulated: times would mean nothing, so there are none."""

GOING_ON = """
Go on:  make guest    a shell in such a guest, to try things by hand
        make check    static checks, and the tests that a change has to pass
        make bench    one call taken apart, layer by layer
        README.md     the same on real hardware"""


def cost_table(costs: Costs) -> Table:
    """A section a call size, a row a way; commands, instructions and their ratio."""
    table = Table(title="What one call costs", box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("")
    for direction in DIRECTIONS:
        for heading in (f"{direction}\ncommands", "\ninstr.", "\nratio"):
            table.add_column(heading, justify="right", no_wrap=True)
    for size in SIZES:
        table.add_row(f"[bold]calls of {size.title}[/bold]")
        for way in WAYS:
            cells: list[str] = []
            for direction in DIRECTIONS:
                cost, disk = (costs[each.title, direction, size.title] for each in (way, DISK))
                ratio = cost.instructions / disk.instructions
                cells += [f"{cost.commands:.2f}", f"{cost.instructions:,.0f}", f"{ratio:.2f}"]
            table.add_row(f"  {way.title}", *cells, end_section=way is WAYS[-1])
    return table
