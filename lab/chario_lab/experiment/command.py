# SPDX-License-Identifier: MIT
"""The commands `chario-lab list`, `run` and `report`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from chario_lab.experiment.book import ExperimentError, book_path, open_book
from chario_lab.experiment.catalogue import EXPERIMENTS
from chario_lab.experiment.run import run
from chario_lab.experiment.spec import Choice, Experiment
from chario_lab.experiment.terminal import print_section
from chario_lab.kernel import NAMES
from chario_lab.progress import Steps
from chario_lab.records import FailureRecord, last_run, of_kind, read
from chario_lab.target.guest import guest_target


def main_list(argv: Sequence[str] | None = None) -> int:
    """Name the experiments."""
    argparse.ArgumentParser(prog="chario-lab list", description="Name the experiments.").parse_args(argv)
    console = Console()
    for experiment in EXPERIMENTS.values():
        console.print(f"[bold]{experiment.name}[/bold]  {experiment.title}", highlight=False)
        console.print(f"        {experiment.paper}", style="dim", highlight=False)
    return 0


def main_run(argv: Sequence[str] | None = None) -> int:
    """Run one experiment, and show what came of it; the exit code is 0 when all was measured."""
    options = parse_run(argv)
    experiment, console = find(options.experiment), Console()
    choice = Choice(kernels=tuple(options.kernel or ("6.1",)), short=options.short)
    with open_book(experiment.name, experiment.excluded, options.records) as book:
        run(experiment.plan(choice), guest_target, book, Steps(console))
    print_section(console, experiment.section(book.records))
    console.print(f"\nthe records are in {book.path}", highlight=False)
    return 1 if of_kind(book.records, FailureRecord) else 0


def main_report(argv: Sequence[str] | None = None) -> int:
    """Show what the newest run of each experiment has recorded."""
    parser = argparse.ArgumentParser(prog="chario-lab report", description="Show what was recorded.")
    parser.parse_args(argv)
    console = Console()
    for experiment in EXPERIMENTS.values():
        path = book_path(experiment.name)
        if path.exists():
            print_section(console, experiment.section(last_run(read(path))))
        else:
            console.print(f"{experiment.name}: not run yet", highlight=False)
    return 0


def find(name: str) -> Experiment:
    """An experiment by its name."""
    if name not in EXPERIMENTS:
        raise ExperimentError(f"there is no experiment {name}: the names are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


def parse_run(argv: Sequence[str] | None) -> argparse.Namespace:
    """What is to be run."""
    parser = argparse.ArgumentParser(prog="chario-lab run", description="Run one experiment and show its figures.")
    parser.add_argument("experiment", help="one that chario-lab list names")
    parser.add_argument("--kernel", action="append", choices=NAMES, help="of the guest; may be repeated (default: 6.1)")
    parser.add_argument("--short", action="store_true", help="few calls of each kind: shows that it works")
    parser.add_argument("--records", type=Path, metavar="FILE", help="append to FILE (default: one in the cache)")
    return parser.parse_args(argv)
