# SPDX-License-Identifier: MIT
"""The commands `chario-lab list` and `chario-lab run`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from chario_lab.experiment.book import ExperimentError, book_path
from chario_lab.experiment.catalogue import EXPERIMENTS
from chario_lab.experiment.chapter import compose
from chario_lab.experiment.perform import perform
from chario_lab.experiment.spec import Choice, Experiment
from chario_lab.experiment.terminal import print_chapter
from chario_lab.kernel import NAMES
from chario_lab.progress import Steps
from chario_lab.records import FailureRecord, of_kind
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
    path = options.records or book_path(experiment.name)
    records = perform(experiment, choice_of(options), guest_target, Steps(console), path)
    print_chapter(console, compose(experiment, records))
    console.print(f"\nthe records are in {path}", highlight=False)
    return 1 if of_kind(records, FailureRecord) else 0


def find(name: str) -> Experiment:
    """An experiment by its name."""
    if name not in EXPERIMENTS:
        raise ExperimentError(f"there is no experiment {name}: the names are {', '.join(EXPERIMENTS)}")
    return EXPERIMENTS[name]


def parse_run(argv: Sequence[str] | None) -> argparse.Namespace:
    """What is to be run."""
    parser = argparse.ArgumentParser(prog="chario-lab run", description="Run one experiment and show its figures.")
    parser.add_argument("experiment", help="one that chario-lab list names")
    add_choice(parser)
    parser.add_argument("--records", type=Path, metavar="FILE", help="append to FILE (default: one in the cache)")
    return parser.parse_args(argv)


def add_choice(parser: argparse.ArgumentParser) -> None:
    """Options that say how experiments run."""
    parser.add_argument("--kernel", action="append", choices=NAMES, help="of the guest; may be repeated (default: 6.1)")
    parser.add_argument("--short", action="store_true", help="few calls of each kind: shows that it works")


def choice_of(options: argparse.Namespace) -> Choice:
    """The same as experiments are told."""
    return Choice(kernels=tuple(options.kernel or ("6.1",)), short=options.short)
