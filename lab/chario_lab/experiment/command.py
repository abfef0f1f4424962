# SPDX-License-Identifier: MIT
"""The commands `chario-lab list` and `chario-lab run`."""

import argparse
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from chario_lab.cache import WrongUse
from chario_lab.experiment.book import book_path, check_book
from chario_lab.experiment.catalogue import EXPERIMENTS
from chario_lab.experiment.chapter import compose_newest
from chario_lab.experiment.perform import perform
from chario_lab.experiment.plan import Case, Plan, chosen
from chario_lab.experiment.spec import Choice, Experiment
from chario_lab.experiment.terminal import print_chapter
from chario_lab.kernel import NAMES
from chario_lab.progress import Steps, wide_console
from chario_lab.records import FailureRecord, of_kind, read, split_runs
from chario_lab.target.guest import guest_target
from chario_lab.target.local import local_target

LOCAL = "local"
# Of the cases that there are, where one is asked for that there is not.
NAMED = 8
KERNELS = ("6.1",)


def main_list(argv: Sequence[str] | None = None) -> int:
    """Name the experiments."""
    argparse.ArgumentParser(prog="chario-lab list", description="Name the experiments.").parse_args(argv)
    console = Console()
    for experiment in EXPERIMENTS.values():
        console.print(f"[bold]{experiment.name}[/bold]  {experiment.title}", highlight=False)
        console.print(f"        {experiment.paper}", style="dim", highlight=False)
    return 0


def main_run(argv: Sequence[str] | None = None) -> int:
    """Run one experiment, and show what came of it; the exit code is 0 unless something has failed."""
    options = parse_run(argv)
    experiment, choice, console = EXPERIMENTS[options.experiment], choice_of(options, KERNELS), wide_console()
    choice = replace(choice, here=options.target == LOCAL, cases=tuple(options.case or ()))
    if choice.cases:
        few = choose_cases(experiment, choice)
        experiment = replace(experiment, plan=lambda choice: few)
    path, steps = options.records or book_path(experiment.name, here=choice.here), Steps(console)
    # Before a drive changes hands.
    check_book(path, experiment.name)
    with local_target(options.device, steps) if choice.here else nullcontext(guest_target) as make:
        records = perform(experiment, choice, make, steps, path)
    print_chapter(console, compose_newest(experiment, split_runs(read(path))))
    console.print(f"\nthe records are in {path}", highlight=False)
    return 1 if of_kind(records, FailureRecord) else 0


def check_target(options: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """End with a wrong use unless a drive whose data are given up is named where the experiment needs one."""
    if options.target != LOCAL:
        if options.device or options.destroy_data:
            parser.error(f"--device and --destroy-data are for --target {LOCAL}: a guest has its own drive")
    elif options.kernel:
        parser.error(f"--target {LOCAL} runs on the kernel that is running: leave --kernel out")
    elif not options.device:
        parser.error("name the drive by --device ADDRESS, such as 0000:01:00.0: chario list --all shows them")
    elif not options.destroy_data:
        parser.error(f"all data on drive {options.device} would be lost: add --destroy-data where they may be")


def choose_cases(experiment: Experiment, choice: Choice) -> Plan:
    """The part of a plan with the cases that are wanted."""
    plan = experiment.plan(choice)
    for pattern in choice.cases:
        if not chosen(plan, [pattern]):
            keys = sorted({step.key for station in plan for step in station.steps if isinstance(step, Case)})
            some = ", ".join(keys[:: max(1, len(keys) // NAMED)])
            raise WrongUse(f"{experiment.name} has no case {pattern}; it has {len(keys)}, such as {some}")
    return chosen(plan, choice.cases)


def parse_run(argv: Sequence[str] | None) -> argparse.Namespace:
    """What is to be run."""
    parser = argparse.ArgumentParser(
        prog="chario-lab run",
        description="Run one experiment and show its figures: in a guest with an emulated drive, or on this machine "
        "with a drive whose data may be lost.",
        epilog="On this machine, as root: chario-lab run table1 --target local --device 0000:01:00.0 --destroy-data. "
        "The drive is refused when it is in use, and goes back to the driver nvme however the run ends. The module has "
        "to be installed for the running kernel: make && sudo make install.",
    )
    parser.add_argument("experiment", choices=list(EXPERIMENTS), help="one that chario-lab list names")
    add_choice(parser, KERNELS)
    parser.add_argument(
        "--case", action="append", metavar="PATTERN", help="only cases of such names, 'ext4/*'; may be repeated"
    )
    parser.add_argument("--records", type=Path, metavar="FILE", help="append to FILE (default: one in the cache)")
    parser.add_argument("--target", choices=("guest", LOCAL), default="guest", help="where it runs (default: guest)")
    parser.add_argument("--device", metavar="ADDRESS", help=f"with --target {LOCAL}: the PCI address of the drive")
    parser.add_argument(
        "--destroy-data", action="store_true", help=f"with --target {LOCAL}: all data on the drive may be lost"
    )
    options = parser.parse_args(argv)
    check_target(options, parser)
    return options


def add_choice(parser: argparse.ArgumentParser, kernels: Sequence[str]) -> None:
    """Options that say how experiments run; `kernels` are those that are meant where none is named."""
    names = " and ".join(kernels)
    parser.add_argument(
        "--kernel", action="append", choices=NAMES, help=f"of the guest; may be repeated (default: {names})"
    )
    parser.add_argument("--short", action="store_true", help="few calls of each kind: shows that it works")


def choice_of(options: argparse.Namespace, kernels: Sequence[str]) -> Choice:
    """The same as experiments are told."""
    return Choice(kernels=tuple(options.kernel or kernels), short=options.short)
