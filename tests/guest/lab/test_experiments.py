# SPDX-License-Identifier: MIT
"""Each experiment in its short form: all that it plans is measured, and all that it shows can be shown."""

from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from chario_lab.counting.layers import IDLE, OTHER
from chario_lab.counting.stats import UNASSIGNED_LIMIT
from chario_lab.experiment.catalogue import EXPERIMENTS
from chario_lab.experiment.chapter import compose
from chario_lab.experiment.perform import perform
from chario_lab.experiment.plan import SERIES, Act, Case, Station
from chario_lab.experiment.run import run
from chario_lab.experiment.spec import Choice
from chario_lab.experiment.terminal import print_chapter
from chario_lab.guest.spec import GuestSpec, Nvme
from chario_lab.kernel import Kernel
from chario_lab.progress import Steps
from chario_lab.records import (
    Book,
    ComplaintRecord,
    FailureRecord,
    MachineRecord,
    OmissionRecord,
    SeriesRecord,
    of_kind,
)
from chario_lab.target.guest import guest_target
from chario_lab.target.machine import Machine
from chario_lab.target.place import Holder
from chario_lab.target.target import Target

pytestmark = [pytest.mark.area("lab/", "kernel/"), pytest.mark.stock, pytest.mark.slow]

LIMIT_S = 1800
CRASH_LIMIT_S = 300
HANG_LIMIT_S = 5
# What Linux 6.1 lacks that an experiment asks for, by the beginning of its name.
LACKED_ON_6_1 = ("a probe where layers begin",)
# Sentences that a guest cannot judge: two are about time, one needs what Linux 6.1 lacks.
UNJUDGED = ("21 % of the time", "eBPF puts", "CharIO uses the least kernel CPU time")


@pytest.mark.timeout(LIMIT_S)
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_all_of_it(name: str, kernel: Kernel, tmp_path: Path) -> None:
    """No case is missing, layers add up to the total, and each sentence is judged."""
    experiment = EXPERIMENTS[name]
    choice = Choice(kernels=(kernel.name,), short=True)
    plan = experiment.plan(choice)
    records = perform(experiment, choice, guest_target, Steps(Console()), tmp_path / "records.jsonl")
    assert of_kind(records, FailureRecord) == []
    assert of_kind(records, ComplaintRecord) == []
    omissions = of_kind(records, OmissionRecord)
    assert [one for one in omissions if not one.needs.startswith(LACKED_ON_6_1)] == []
    series = of_kind(records, SeriesRecord)
    planned = {step.key for station in plan for step in station.steps if isinstance(step, Case)}
    assert {one.case for one in series} | {one.case for one in omissions} == planned
    for one in series:
        assert sum(count for layer, count in one.layers.items() if layer != IDLE) == sum(one.instructions), one.case
        # What a tracer or a profiler brings along is not of the kernel that is measured.
        if one.call_bytes and not one.report:
            assert one.counted.unassigned <= UNASSIGNED_LIMIT, (one.case, functions_of(one, OTHER))
    section = experiment.section(records)
    print_chapter(Console(width=200), compose(experiment, records))
    machines = {record.machine for record in of_kind(records, MachineRecord)}
    assert machines == {station.machine.name for station in plan}
    assert section.parts
    unjudged = [verdict.sentence for verdict in section.verdicts if verdict.holds is None]
    assert [sentence for sentence in unjudged if not sentence.startswith(UNJUDGED)] == []


def functions_of(series: SeriesRecord, layer: str) -> list[tuple[str, int]]:
    """Those of the median call that are in a layer."""
    counted = series.counted
    return [(name, count) for name, count in counted.functions.items() if counted.function_layers[name] == layer]


def station(kernel: Kernel, name: str, *steps: Case | Act) -> Station:
    """What is done on a machine of its own."""
    return Station("raw", Machine(name, GuestSpec(kernel.name, (Nvme("spare"),), cpus=1)), Holder.BLOCK, steps)


def crash(target: Target) -> None:
    """The kernel panics while a program runs."""
    target.must("echo c >/proc/sysrq-trigger")


@pytest.mark.timeout(CRASH_LIMIT_S)
def test_guests_that_crash_hang_or_talk_nonsense(kernel: Kernel, tmp_path: Path) -> None:
    """Each ends as a failure in bounded time, with what the guest has said; the next one is measured."""
    good = Case("good", "a call", ("pread", "{node}", "4096", "joined", "free", "1"), call_bytes=4096)
    hangs = Case("hangs", "sleeping", ("run", "/bin/sleep", "1000"), SERIES, limit_s=HANG_LIMIT_S)
    garbage = Case("garbage", "talking", ("run", "/bin/echo", "{nonsense"), SERIES)
    plan = [
        station(kernel, "first", good, Act("crash", "crashing", crash), replace(good, key="never")),
        station(kernel, "second", hangs, replace(good, key="never")),
        station(kernel, "third", garbage, good),
    ]
    with Book(tmp_path / "records.jsonl") as book:
        run(plan, guest_target, book, Steps(Console()))
    failures = {(one.machine, one.case): one for one in of_kind(book.records, FailureRecord)}
    assert set(failures) == {
        *(("first", "crash"), ("first", "never")),
        *(("second", "hangs"), ("second", "never")),
        ("third", "garbage"),
    }
    assert "Kernel panic" in failures["first", "crash"].reason
    assert f"no end after {HANG_LIMIT_S} s" in failures["second", "hangs"].reason
    assert "is no JSON" in failures["third", "garbage"].reason
    assert "sysrq triggered crash" in (Path(failures["first", "crash"].logs) / "console.log").read_text().lower()
    assert [(one.machine, one.case) for one in of_kind(book.records, SeriesRecord)] == [
        ("first", "good"),
        ("third", "good"),
    ]
