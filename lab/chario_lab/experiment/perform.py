# SPDX-License-Identifier: MIT
"""A run of one experiment, from its first record to its last."""

import time
from collections.abc import Sequence
from pathlib import Path

from chario_lab.cache import explain, trace
from chario_lab.experiment.book import open_book
from chario_lab.experiment.run import run
from chario_lab.experiment.spec import Choice, Experiment
from chario_lab.progress import Progress
from chario_lab.records import AnyRecord, EndRecord, FailureRecord
from chario_lab.target.target import Maker


def perform(
    experiment: Experiment, choice: Choice, make: Maker, progress: Progress, path: Path | None = None
) -> Sequence[AnyRecord]:
    """Its records; whatever ends it early is the last of them."""
    started = time.monotonic()
    excluded = experiment.excluded_here if choice.here else experiment.excluded
    with open_book(experiment.name, excluded, path, short=choice.short, cases=choice.cases) as book:
        try:
            run(experiment.plan(choice), make, book, progress)
        except Exception as error:
            trace()
            reason = explain(error)
            progress.show(f"failed: {reason}")
            book.add(FailureRecord(machine="", station="", case="", reason=reason))
        else:
            book.add(EndRecord(took_s=round(time.monotonic() - started)))
    return book.records
