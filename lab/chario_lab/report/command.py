# SPDX-License-Identifier: MIT
"""The command `chario-lab report`: one page of all experiments, which it runs before if it is told to."""

import argparse
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.markup import escape

from chario_lab.cache import cache_dir, explain
from chario_lab.experiment.book import ExperimentError, book_path
from chario_lab.experiment.catalogue import EXPERIMENTS
from chario_lab.experiment.chapter import Chapter, collect
from chario_lab.experiment.command import add_choice, choice_of
from chario_lab.experiment.perform import perform
from chario_lab.experiment.spec import Choice, Experiment
from chario_lab.experiment.terminal import print_chapter
from chario_lab.progress import Steps, wide_console
from chario_lab.records import FailureRecord, of_kind
from chario_lab.target.guest import guest_target
from chario_lab.target.target import Maker

# The second has what the first lacks, among it a way to attach many eBPF programs at once.
KERNELS = ("6.1", "6.12")
Writer = Callable[[Sequence[Chapter], Path], Path]


def main(argv: Sequence[str] | None = None) -> int:
    """Show the newest run of each experiment; the exit code is 0 unless one that was run here has failed."""
    options, console = parse(argv), wide_console()
    # Before hours of measuring.
    write = None if options.terminal else find_writer()
    experiments = list(EXPERIMENTS.values())
    failed = (
        run_all(experiments, choice_of(options, KERNELS), guest_target, console, options.records) if options.run else []
    )
    chapters = collect(experiments, options.records, newest=options.run)
    if write is None:
        for chapter in chapters:
            print_chapter(console, chapter)
    else:
        page = write(chapters, options.output or cache_dir() / "report")
        console.print(f"the report is {page}", highlight=False, soft_wrap=True)
    if failed:
        console.print(f"[red]not all was measured[/red]: {', '.join(failed)}", highlight=False)
    return 1 if failed else 0


def run_all(
    experiments: Sequence[Experiment], choice: Choice, make: Maker, console: Console, folder: Path | None
) -> list[str]:
    """Run one after the other; the names of those that have failed."""
    started, failed = time.monotonic(), []
    for number, experiment in enumerate(experiments, start=1):
        elapsed = timedelta(seconds=round(time.monotonic() - started))
        title = f"{experiment.title} (experiment {number} of {len(experiments)}, after {elapsed})"
        console.print(f"\n[bold]{escape(experiment.name)}[/bold]  {escape(title)}", highlight=False)
        try:
            records = perform(experiment, choice, make, Steps(console), book_path(experiment.name, folder))
        except Exception as error:
            # Nothing can be recorded: the next experiment may still show something.
            console.print(f"[red]failed[/red]  {escape(explain(error))}", highlight=False)
            failed.append(experiment.name)
            continue
        if of_kind(records, FailureRecord):
            failed.append(experiment.name)
    return failed


def find_writer() -> Writer:
    """The function that writes the page, if the libraries that draw are there."""
    try:
        write: Writer = import_module("chario_lab.report.write").write
    except ModuleNotFoundError as error:
        raise ExperimentError(
            f"the library {error.name} is missing, which draws: use `make report`, or the Python that "
            "`scripts/setup.sh --report` prepares; `chario-lab report --terminal` needs none"
        ) from None
    return write


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """What is wanted."""
    parser = argparse.ArgumentParser(
        prog="chario-lab report",
        description="Make one page of the newest run of each experiment, with pictures, and the same as Markdown.",
    )
    parser.add_argument("--run", action="store_true", help="run every experiment first; those that fail become gaps")
    add_choice(parser, KERNELS)
    parser.add_argument("--records", type=Path, metavar="FOLDER", help="of the records (default: records in the cache)")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="for the report (default: report in the cache)")
    parser.add_argument("--terminal", action="store_true", help="show tables here, and write nothing")
    options = parser.parse_args(argv)
    if options.records and not options.run and not options.records.is_dir():
        parser.error(f"--records {options.records}: there is no such folder")
    if not options.run and (options.short or options.kernel):
        parser.error("--short and --kernel say how experiments run: they need --run")
    return options
