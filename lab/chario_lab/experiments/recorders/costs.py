# SPDX-License-Identifier: MIT
"""What a MiB of a recording costs by each program, from records."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from chario_lab.experiment.book import ExperimentError
from chario_lab.experiment.ticks import without_ticks
from chario_lab.experiments.recorders.plan import ON_DISK, ON_EXT4, SIZE_MIB
from chario_lab.records import AnyRecord, FailureRecord, SeriesRecord, of_kind


@dataclass(frozen=True)
class Cost:
    """What a MiB costs."""

    commands: float
    instructions: float


# By title and direction.
Costs = dict[tuple[str, str], Cost]


def costs_of(records: Sequence[AnyRecord]) -> Costs:
    """Of every program that ran; raises what has failed."""
    for failure in of_kind(records, FailureRecord):
        raise ExperimentError(f"{failure.case}: {failure.reason}")
    series = of_kind(records, SeriesRecord)
    ran = {each.case for each in series}
    programs = [program for program in (*ON_DISK, *ON_EXT4) if program.key in ran]
    return {(program.title, program.direction): cost_of(series, program.key) for program in programs}


def cost_of(series: Sequence[SeriesRecord], key: str) -> Cost:
    """The median of each figure."""
    found = [each for each in series if each.case == key]
    station = [each for each in series if each.station == found[0].station]
    return Cost(
        statistics.median((each.commands.reads + each.commands.writes) / SIZE_MIB for each in found),
        statistics.median(without_ticks(each, station) / SIZE_MIB for each in found),
    )
