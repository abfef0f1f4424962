# SPDX-License-Identifier: MIT
"""Running all experiments: what ends one of them does not end the others, and what was said is kept."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from chario_lab.experiment.chapter import load
from chario_lab.experiment.page import Section
from chario_lab.experiment.plan import Act, Plan, Station
from chario_lab.experiment.spec import Choice, Experiment
from chario_lab.guest.session import GuestDied
from chario_lab.guest.spec import GuestSpec
from chario_lab.kernel import KernelError
from chario_lab.progress import Progress
from chario_lab.records import EndRecord, FailureRecord, RunRecord, of_kind, read
from chario_lab.report.command import run_all
from chario_lab.target.machine import Machine
from chario_lab.target.place import Holder
from chario_lab.target.target import Target


class Rig:
    """Runs experiments on machines that cannot be had."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.shown = io.StringIO()
        self.failure: Exception = KernelError("no such kernel")

    @contextmanager
    def make(self, machine: Machine, progress: Progress) -> Iterator[Target]:
        """A machine, if it could be had."""
        with progress.step("booting"):
            raise self.failure
        yield

    def run(self, *experiments: Experiment, short: bool = False) -> list[str]:
        """Names of those that failed."""
        console = Console(file=self.shown, width=200)
        return run_all(experiments, Choice(short=short), self.make, console, self.folder)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    """With an empty folder."""
    return Rig(tmp_path / "records")


def experiment(name: str, *stations: Station) -> Experiment:
    """One with this plan."""
    return Experiment(name, f"title of {name}", "a paper", "", "", lambda _: stations, lambda _: Section(()))


def station() -> Station:
    """A station with one thing to do."""
    return Station("raw", Machine("6.1", GuestSpec()), Holder.BLOCK, (Act("job", "doing it", lambda target: None),))


def test_one_that_fails_leaves_the_others_alone(rig: Rig) -> None:
    """Its reason is recorded and shown; who waits sees which of how many is under way."""
    assert rig.run(experiment("first", station()), experiment("second"), short=True) == ["first"]
    first, second = (read(rig.folder / f"{name}.jsonl") for name in ("first", "second"))
    assert [record.reason for record in of_kind(first, FailureRecord)] == ["no such kernel"]
    assert len(of_kind(second, EndRecord)) == 1
    assert [record.short for record in of_kind(second, RunRecord)] == [True]
    (gap,) = load(experiment("first"), rig.folder / "first.jsonl").gaps
    assert gap.title == "6.1, job: no such kernel"
    shown = rig.shown.getvalue()
    assert "second  title of second (experiment 2 of 2, after " in shown
    assert "failed  booting" in shown


def test_a_mistake_of_the_lab_is_named(rig: Rig) -> None:
    """The message of an exception of Python says little without its name."""

    def fail(choice: Choice) -> Plan:
        raise KeyError("6.1")

    assert rig.run(Experiment("first", "", "", "", "", fail, lambda _: Section(()))) == ["first"]
    assert of_kind(read(rig.folder / "first.jsonl"), FailureRecord)[0].reason == "KeyError: '6.1'"


def test_records_that_cannot_be_written(rig: Rig) -> None:
    """The failure is shown, and the next experiment runs."""
    (rig.folder / "first.jsonl").mkdir(parents=True)
    assert rig.run(experiment("first"), experiment("second")) == ["first"]
    assert "first.jsonl cannot be read: Is a directory" in rig.shown.getvalue()
    assert (rig.folder / "second.jsonl").is_file()


def test_what_a_dead_machine_said_is_kept(rig: Rig, tmp_path: Path) -> None:
    """The folder of its run goes when there are newer ones."""
    run_dir = tmp_path / "20261126-120000-001-7"
    run_dir.mkdir()
    for name in ("console.log", "qemu.log"):
        (run_dir / name).write_text(f"{name}: Oops")
    rig.failure = GuestDied("the guest died\nOops", run_dir)
    assert rig.run(experiment("first", station())) == ["first"]
    (failure,) = of_kind(read(rig.folder / "first.jsonl"), FailureRecord)
    logs = Path(failure.logs)
    assert (failure.case, logs) == ("job", rig.folder / "logs" / f"first-{run_dir.name}")
    assert [(path.name, path.read_text()) for path in sorted(logs.iterdir())] == [
        ("console.log", "console.log: Oops"),
        ("qemu.log", "qemu.log: Oops"),
    ]
    assert "failed: the guest died" in rig.shown.getvalue()


def test_logs_that_cannot_be_kept_hide_nothing(rig: Rig, tmp_path: Path) -> None:
    """As on a full disk: the reason is recorded all the same."""
    rig.folder.mkdir()
    (rig.folder / "logs").touch()
    rig.failure = GuestDied("the guest died", tmp_path)
    rig.run(experiment("first", station()))
    (failure,) = of_kind(read(rig.folder / "first.jsonl"), FailureRecord)
    assert (failure.reason, failure.logs) == ("the guest died", "")
