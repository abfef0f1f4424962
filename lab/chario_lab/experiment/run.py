# SPDX-License-Identifier: MIT
"""Runs a plan, machine after machine, and writes down what was measured.

Nothing that goes wrong ends the run: a case that fails is recorded as such, and a machine that dies
or on which a program hangs takes the rest of its own cases with it, but not those of the next machine.  What a
machine that died has said is kept beside the records.
"""

from collections.abc import Sequence
from itertools import groupby

from chario_lab.cache import explain, trace
from chario_lab.experiment.logs import keep_logs
from chario_lab.experiment.measure import failed, measure, omitted
from chario_lab.experiment.plan import Act, Case, Plan, Station
from chario_lab.progress import Progress
from chario_lab.records import Book, ComplaintRecord, FailureRecord, TextRecord
from chario_lab.target.place import NEEDS
from chario_lab.target.target import Maker, Target


def run(plan: Plan, make: Maker, book: Book, progress: Progress) -> None:
    """All stations of a plan, each machine's in one of its own."""
    for machine, group in groupby(plan, key=lambda station: station.machine):
        stations = list(group)
        left = [(station, step) for station in stations for step in station.steps]
        try:
            with make(machine, progress) as target:
                book.add(target.describe())
                for station in stations:
                    visit(target, station, book, left)
                complaint = target.complaint()
                if complaint:
                    book.add(ComplaintRecord(machine=machine.name, text=complaint))
        except Exception as failure:
            # Whatever it is: the next machine may do well.  Where nothing can be recorded any more, that ends the run.
            trace()
            logs = keep_logs(failure, book.path)
            progress.show(f"failed: {explain(failure).partition(chr(10))[0]}")
            for station, step in left:
                book.add(failed(station, step, failure, logs))
            if not left:
                reason = explain(failure)
                book.add(FailureRecord(machine=machine.name, station="", case="", reason=reason, logs=logs))


def visit(target: Target, station: Station, book: Book, left: list[tuple[Station, Case | Act]]) -> None:
    """Give the drive to whom the station names, and do its steps; those that are done leave `left`."""
    need = NEEDS.get(station.holder)
    if need and target.run(need.test).rc != 0:
        for step in station.steps:
            book.add(omitted(station, step, need))
            left.remove((station, step))
        return
    place = target.give(station.holder, station.namespace)
    for path, text in station.settings:
        target.write(place.fill(path), text)
    for command in station.prepare:
        target.must(place.fill(command))
    target.learn(station.points)
    for line, steps in groupby(station.steps, key=lambda step: step.line):
        with target.progress.step(line):
            texts = [text for step in steps for text in take(target, station, step, book, left)]
        for text in texts:
            target.progress.show(text)


def take(
    target: Target, station: Station, step: Case | Act, book: Book, left: list[tuple[Station, Case | Act]]
) -> Sequence[str]:
    """Do one step; what is to be shown of it."""
    shown: list[str] = []
    if isinstance(step, Act):
        text = step.do(target)
        if text is not None:
            book.add(TextRecord(machine=station.machine.name, station=station.name, case=step.key, text=text))
            shown += [text] if step.shown else []
    else:
        missing = measure(target, station, step, book)
        shown += [f"{step.title}: {missing}"] if missing else []
    left.remove((station, step))
    return shown
