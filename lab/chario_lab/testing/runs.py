# SPDX-License-Identifier: MIT
"""A run of table1 as it would be recorded, for tests of what is shown of records."""

import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Console

from chario_lab.counting.layers import USER
from chario_lab.experiment.chapter import compose
from chario_lab.experiment.plan import SPIN, Case
from chario_lab.experiment.spec import Choice, Experiment
from chario_lab.experiment.terminal import print_chapter
from chario_lab.experiments import table1
from chario_lab.records import (
    AnyRecord,
    Book,
    Commands,
    EndRecord,
    FailureRecord,
    MachineRecord,
    RunRecord,
    SeriesRecord,
)
from chario_lab.testing.series import operation, record

RELEASE = "6.1.0-56-amd64"
# A way that fails everywhere, and why.
FAILED, REASON = "passthrough", "chario-bench: /dev/ng0n1: Invalid argument"
SAID: dict[str, object] = {"elapsed_us": 1000, "idle_us": [200], "user_us": [100], "kernel_us": [700], "cached_kib": 0}


def show(experiment: Experiment, records: Sequence[AnyRecord]) -> str:
    """The chapter as a wide terminal shows it."""
    output = io.StringIO()
    print_chapter(Console(file=output, width=260), compose(experiment, records))
    return output.getvalue()


def write_book(path: Path, records: Iterable[AnyRecord]) -> list[AnyRecord]:
    """Write a file of records, or what follows those that it has; returns what was added."""
    with Book(path) as book:
        for each in records:
            book.add(each)
    return book.records


def table1_run() -> Iterator[AnyRecord]:
    """Every case of the plan, each dearer than the one before; one way has failed."""
    started = "2026-11-26T12:00:00+00:00"
    yield RunRecord(experiment="table1", started=started, checkout="0123456789ab", excluded="", short=True)
    yield MachineRecord(
        machine="6.1", kernel="6.1", release=RELEASE, kernel_command="quiet", processor="emulated", cpus=1,
        memory_mib=1024, emulator="QEMU 10.0.2", command="qemu-system-x86_64 -nodefaults", device="a drive",
    )  # fmt: skip
    for station in table1.EXPERIMENT.plan(Choice(short=True)):
        for place, case in enumerate(step for step in station.steps if isinstance(step, Case)):
            if case.key.partition("/")[0] == FAILED:
                yield FailureRecord(machine="6.1", station=station.name, case=case.key, reason=REASON)
            else:
                yield measured(station.name, case, place)
    yield EndRecord(took_s=100)


def measured(station: str, case: Case, place: int) -> SeriesRecord:
    """The record of one case."""
    cost = {USER: 1000, "vfs": 100 * (place + 1) + case.call_bytes // 100}
    once = operation(cost, ticks=int(case.key == SPIN.key))
    return record(
        case.key,
        [once] * case.operations,
        station=station,
        call_bytes=case.call_bytes,
        commands=Commands(case.operations, 0, 0),
        events={"copied_bytes": case.call_bytes, "irqs": 1, "switches": 2},
        layers=cost,
        said=SAID,
    )
