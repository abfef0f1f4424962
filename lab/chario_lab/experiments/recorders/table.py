# SPDX-License-Identifier: MIT
"""The table of what a MiB costs, and what has to be known to read it."""

from rich import box
from rich.table import Table

from chario_lab.experiments.recorders.costs import Costs
from chario_lab.experiments.recorders.plan import READ, REPEATS, SIZE_MIB, WRITE

REFERENCE = "dd, direct"

EXPLANATION = f"""\
commands  that the drive served for a MiB (SMART Host Read/Write Commands)
instr.    instructions of the guest's CPU for a MiB: a whole program and the kernel, from its
          start to its end, with interrupts, write-back and journal, until data are durable
ratio     those instructions, with dd on the character disk at 1.00

{SIZE_MIB} MiB from a file in memory and back to one, with cold caches, {REPEATS} times, of which the
middle one is shown; every program copies the data between that file and its own memory, and
what is read back is compared.  chario record computes a CRC-32C of the data.
filesink has no direct I/O; o-sync is what it has for data that must be on the drive.
Left out: the drive's own time, waiting, the idle task, timer ticks, caches and buses; bytes
that are copied by a string instruction, which counts as one: buffered ways copy twice."""


def cost_table(costs: Costs) -> Table:
    """A row a program."""
    table = Table(title="What a MiB of a recording costs", box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("")
    for direction in (WRITE, READ):
        for heading in (f"{direction}\ncommands", "\ninstr.", "\nratio"):
            table.add_column(heading, justify="right", no_wrap=True)
    for title in dict.fromkeys(title for title, _ in costs):
        table.add_row(title, *cells(costs, title, WRITE), *cells(costs, title, READ))
    return table


def cells(costs: Costs, title: str, direction: str) -> tuple[str, str, str]:
    """The three figures of a program and a direction; dashes where it has none."""
    cost, reference = costs.get((title, direction)), costs[REFERENCE, direction]
    if cost is None:
        return "-", "-", "-"
    return f"{cost.commands:.2f}", f"{cost.instructions:,.0f}", f"{cost.instructions / reference.instructions:.2f}"
