# SPDX-License-Identifier: MIT
"""Mistakes are planted one at a time, and the test that is said to see each has to fail.

The list is tests/mutants/*.toml.  Each test is first seen to pass without a mistake.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from chario_lab.cache import cache_dir, locked, say
from chario_lab.mutants.catalogue import GUEST, UNIT, Killer, MutantError, Mutation, Outcome, in_order, read_all, select
from chario_lab.mutants.tree import Tree, copy_tree, evidence

TOP = Path(__file__).resolve().parents[3]
SHOWN_LINES = 40
LOG_COLUMNS = 180


@dataclass(frozen=True)
class Report:
    """What became of a mutation, how long it took, and what explains it."""

    mutation: Mutation
    outcome: Outcome
    seconds: float
    output: str


def run(pattern: str, kernel: str) -> int:
    """Try all mutations that match a pattern; 0 when each was killed."""
    mutations = in_order(select(read_all(TOP / "tests/mutants"), pattern))
    with locked(cache_dir() / "mutants", "mutations"):
        tree = Tree(copy_tree(TOP), kernel)
        check_tests(tree, sorted({mutation.test for mutation in mutations}))
        reports = [
            try_one(tree, mutation, f"{place}/{len(mutations)}") for place, mutation in enumerate(mutations, start=1)
        ]
    show(reports)
    return 0 if all(report.outcome.is_good for report in reports) else 1


def check_tests(tree: Tree, tests: Sequence[Killer]) -> None:
    """Raise unless all tests pass without a mutation: a test that always fails kills everything."""
    for kind in (UNIT, GUEST):
        mine = [test for test in tests if test.kind == kind]
        if not mine:
            continue
        say(f"without a mutation: {len(mine)} tests ({kind})")
        built = tree.build_for(mine, "kernel/") or (tree.build_for(mine, "lib/") if kind == GUEST else "")
        if built:
            raise MutantError(f"the tree does not build as it is:\n{last_lines(built)}")
        ended = tree.run(mine)
        if ended.rc != 0:
            raise MutantError(f"these tests do not pass without a mutation:\n{last_lines(ended.output)}")


def try_one(tree: Tree, mutation: Mutation, place: str) -> Report:
    """Try one mutation, and say what became of it."""
    say(f"{place} {mutation.name} ({mutation.test})")
    begin = time.monotonic()
    outcome, output = tree.try_out(mutation)
    seconds = time.monotonic() - begin
    seen = evidence(output) if outcome.is_good else ""
    say(f"{place} {mutation.name}: {outcome.value} in {seconds:.0f} s{': ' if seen else ''}{seen}")
    return Report(mutation, outcome, seconds, output)


def show(reports: Sequence[Report]) -> None:
    """A table of all, after what is to be done about those that were not killed."""
    # A log has room for the longest line.
    console = Console(width=None if sys.stdout.isatty() else LOG_COLUMNS)
    for report in reports:
        if not report.outcome.is_good:
            console.rule(f"{report.mutation.name}: {report.outcome.value}")
            console.print(f"{report.mutation.why}\n{last_lines(report.output)}", markup=False, highlight=False)
    table = Table(title="mutations")
    for heading in ("mutation", "file", "test", "outcome", "seconds"):
        table.add_column(heading, justify="right" if heading == "seconds" else "left")
    for report in reports:
        mutation, seconds = report.mutation, f"{report.seconds:.0f}"
        table.add_row(mutation.name, mutation.file, str(mutation.test), report.outcome.value, seconds)
    console.print(table, markup=False)
    killed = sum(report.outcome.is_good for report in reports)
    console.print(f"{killed} of {len(reports)} mutations were killed")


def last_lines(text: str) -> str:
    """The end of an output, which has the reason."""
    return "\n".join(text.rstrip().splitlines()[-SHOWN_LINES:])
