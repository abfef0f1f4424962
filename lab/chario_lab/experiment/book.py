# SPDX-License-Identifier: MIT
"""Where the records of experiments are kept, and how a run of one begins."""

import subprocess
from datetime import UTC, datetime
from pathlib import Path

from chario_lab.cache import cache_dir
from chario_lab.records import PACKED, Book, RecordError, RunRecord, first_record

# How the names of files end that have records of this machine.
HARDWARE = "-hardware"
TOP = Path(__file__).resolve().parents[3]


class ExperimentError(Exception):
    """An experiment cannot go on, or has shown a mistake; the message says what to do."""


def book_path(experiment: str, folder: Path | None = None, *, here: bool = False) -> Path:
    """The file of an experiment's records, of guests or of this machine; in the cache, unless a folder is named."""
    return (folder or cache_dir() / "records") / f"{experiment}{HARDWARE if here else ''}.jsonl"


def find_book(experiment: str, folder: Path | None = None, *, here: bool = False) -> Path:
    """The same where it is read, packed or not."""
    path = book_path(experiment, folder, here=here)
    packed = path.with_name(path.name + PACKED)
    return packed if packed.exists() and not path.exists() else path


def open_book(
    experiment: str, excluded: str, path: Path | None = None, *, short: bool = False, cases: tuple[str, ...] = ()
) -> Book:
    """A book in which a run of the experiment has begun."""
    path = path or book_path(experiment)
    check_book(path, experiment)
    book = Book(path)
    started, checkout = datetime.now(UTC).isoformat(timespec="seconds"), describe_checkout()
    book.add(
        RunRecord(
            experiment=experiment, started=started, checkout=checkout, excluded=excluded, short=short, cases=cases
        )
    )
    return book


def check_book(path: Path, experiment: str) -> None:
    """Raise unless records of this experiment can be appended to a file."""
    first = first_record(path)
    if isinstance(first, RunRecord) and first.experiment != experiment:
        raise RecordError(f"{path} has records of {first.experiment}, not of {experiment}: name another file")


def describe_checkout() -> str:
    """The commit, and whether something was changed since; empty where this is no clone."""
    command = ["git", "-C", str(TOP), "describe", "--always", "--dirty", "--abbrev=12"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()
