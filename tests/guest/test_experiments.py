# SPDX-License-Identifier: MIT
"""Each experiment in its short form: all that it plans is measured, and all that it shows can be shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from chario_lab.counting.layers import IDLE
from chario_lab.experiment.catalogue import EXPERIMENTS
from chario_lab.experiment.chapter import compose
from chario_lab.experiment.perform import perform
from chario_lab.experiment.plan import Case
from chario_lab.experiment.spec import Choice
from chario_lab.experiment.terminal import print_chapter
from chario_lab.kernel import Kernel
from chario_lab.progress import Steps
from chario_lab.records import (
    ComplaintRecord,
    FailureRecord,
    MachineRecord,
    OmissionRecord,
    SeriesRecord,
    of_kind,
)
from chario_lab.target.guest import guest_target

LIMIT_S = 1800
# What Linux 6.1 lacks that an experiment asks for, by the beginning of its name.
LACKED_ON_6_1 = ("probe where layers begin",)
# Sentences that a guest cannot judge: one is about time, one needs what Linux 6.1 lacks.
UNJUDGED = ("21 % of the time", "eBPF puts")


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
    section = experiment.section(records)
    print_chapter(Console(width=200), compose(experiment, records))
    machines = {record.machine for record in of_kind(records, MachineRecord)}
    assert machines == {station.machine.name for station in plan}
    assert section.parts
    unjudged = [verdict.sentence for verdict in section.verdicts if verdict.holds is None]
    assert [sentence for sentence in unjudged if not sentence.startswith(UNJUDGED)] == []
