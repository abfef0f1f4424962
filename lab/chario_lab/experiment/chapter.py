# SPDX-License-Identifier: MIT
"""All that is known of one experiment: what it has shown, on what, and what is missing."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from chario_lab.cache import explain, trace
from chario_lab.experiment.book import HARDWARE, find_book
from chario_lab.experiment.page import Section
from chario_lab.experiment.repeatability import find_before, same_again
from chario_lab.experiment.spec import Experiment
from chario_lab.records import (
    AnyRecord,
    ComplaintRecord,
    EndRecord,
    FailureRecord,
    MachineRecord,
    OmissionRecord,
    RecordError,
    RunRecord,
    of_kind,
    read,
    split_runs,
)


@dataclass(frozen=True)
class Gap:
    """What is missing, in a line; `text` is what was said of it, `logs` the folder with more."""

    title: str
    text: str = ""
    logs: str = ""


@dataclass(frozen=True)
class Chapter:
    """An experiment and its newest run; without one there is no section, but a gap that says so."""

    experiment: Experiment
    section: Section | None
    gaps: Sequence[Gap]
    run: RunRecord | None = None
    end: EndRecord | None = None
    machines: Sequence[MachineRecord] = ()

    @property
    def excluded(self) -> str:
        """What the figures leave out."""
        here = any(machine.is_hardware for machine in self.machines)
        return self.experiment.excluded_here if here else self.experiment.excluded


def collect(experiments: Iterable[Experiment], folder: Path | None = None, *, newest: bool = False) -> list[Chapter]:
    """A chapter of each, from the records in a folder; of what was run on this machine, one more.

    It is of the run that says most, or of the newest.
    """
    chapters = []
    for experiment in experiments:
        chapters.append(load(experiment, find_book(experiment.name, folder), newest=newest))
        path = find_book(experiment.name, folder, here=True)
        if path.exists():
            own = replace(experiment, name=experiment.name + HARDWARE, title=f"{experiment.title}, on hardware")
            chapters.append(load(replace(own, excluded=own.excluded_here), path))
    return chapters


def load(experiment: Experiment, path: Path, *, newest: bool = False) -> Chapter:
    """The newest run of a file, or the newest that says most."""
    if not path.exists():
        return Chapter(experiment, None, [Gap("not run yet: there are no records")])
    try:
        runs = split_runs(read(path))
        others = {of_kind(run, RunRecord)[0].experiment for run in runs} - {experiment.name.removesuffix(HARDWARE)}
        if others:
            return Chapter(experiment, None, [Gap(f"the records are of {', '.join(sorted(others))}: {path}")])
        return compose_newest(experiment, runs if newest else best_of(runs))
    except RecordError as error:
        return Chapter(experiment, None, [Gap("the records cannot be read", str(error))])


def best_of(runs: Sequence[Sequence[AnyRecord]]) -> Sequence[Sequence[AnyRecord]]:
    """Those with all cases, of these those that came to their end, and of these those that are not the short form.

    Where there is none of a kind, that makes no difference: one that is tried must not hide one that took an hour.
    """
    wholes: tuple[Callable[[Sequence[AnyRecord]], bool], ...] = (
        lambda run: not of_kind(run, RunRecord)[0].cases,
        lambda run: bool(of_kind(run, EndRecord)),
        lambda run: not of_kind(run, RunRecord)[0].short,
    )
    for is_whole in wholes:
        runs = [run for run in runs if is_whole(run)] or runs
    return runs


def compose_newest(experiment: Experiment, runs: Sequence[Sequence[AnyRecord]]) -> Chapter:
    """Of the last of these runs, beside one before it."""
    return compose(experiment, runs[-1] if runs else [], find_before(runs))


def compose(experiment: Experiment, records: Sequence[AnyRecord], before: Sequence[AnyRecord] = ()) -> Chapter:
    """Of the records of one run, beside those of the run before."""
    run = next(iter(of_kind(records, RunRecord)), None)
    end = next(iter(of_kind(records, EndRecord)), None)
    gaps = list(find_gaps(records))
    if run and run.cases:
        gaps.append(Gap(f"only some cases were run: {', '.join(run.cases)}"))
    try:
        section = experiment.section(records)
        # Only parts of which something was measured are shown.
        parts = [part for part in (*section.parts, *same_again(before, records)) if part.rows]
        section = replace(section, parts=parts)
        gaps += [Gap(text) for text in section.gaps]
    except Exception as error:
        # Where much is missing an experiment may be unable to make its tables: that is a gap as well.
        trace()
        section, gaps = None, [*gaps, Gap("no figures can be made of what was recorded", explain(error))]
    return Chapter(experiment, section, gaps, run, end, of_kind(records, MachineRecord))


def find_gaps(records: Sequence[AnyRecord]) -> Iterator[Gap]:
    """What failed, what was left out, what a kernel complained of; cases with the same reason stand together."""
    failures = of_kind(records, FailureRecord)
    for (machine, reason, logs), cases in groupby(failures, key=lambda each: (each.machine, each.reason, each.logs)):
        first, more, _ = reason.partition("\n")
        yield Gap(f"{name_cases(machine, [each.case for each in cases])}: {first}", reason if more else "", logs)
    omissions = of_kind(records, OmissionRecord)
    for (machine, needs), left_out in groupby(omissions, key=lambda each: (each.machine, each.needs)):
        yield Gap(f"{name_cases(machine, [each.case for each in left_out])}: left out, it needs {needs}")
    for complaint in of_kind(records, ComplaintRecord):
        yield Gap(f"{complaint.machine}: the kernel complained", complaint.text)
    if not failures and not of_kind(records, EndRecord):
        yield Gap("this run has not come to its end: it was interrupted, or goes on")


def name_cases(machine: str, cases: Sequence[str]) -> str:
    """Where a failure belongs."""
    if not machine:
        return "the experiment failed"
    if not cases[0]:
        return f"{machine}, after its last case"
    more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
    return f"{machine}, {cases[0]}{more}"
