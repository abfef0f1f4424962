# SPDX-License-Identifier: MIT
"""What a call costs by each way, from records; and what has to be true of it."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from chario_lab.experiment.book import ExperimentError
from chario_lab.experiment.ticks import without_ticks
from chario_lab.experiments.demo.plan import DIRECTIONS, DISK, PLAN, SIZES, SMART, WAYS, Size, Way, key
from chario_lab.records import AnyRecord, FailureRecord, SeriesRecord, TextRecord, of_kind


@dataclass(frozen=True)
class Cost:
    """What one call of a series costs."""

    commands: float
    instructions: float


# By way, direction and size.
Costs = dict[tuple[str, str, str], Cost]


def costs_of(records: Sequence[AnyRecord]) -> Costs:
    """Of every way; raises what has failed."""
    for failure in of_kind(records, FailureRecord):
        raise ExperimentError(failure.reason)
    return {
        (way.title, direction, size.title): cost_of(records, way, direction, size)
        for way in WAYS
        for direction in DIRECTIONS
        for size in SIZES
    }


def cost_of(records: Sequence[AnyRecord], way: Way, direction: str, size: Size) -> Cost:
    """What one call costs: the commands of all series, the instructions of the middle one."""
    own = [series for series in of_kind(records, SeriesRecord) if series.station == way.title]
    found = [series for series in own if series.case == key(direction, size)]
    return Cost(
        statistics.mean(served(series, direction) / series.calls for series in found),
        statistics.median(without_ticks(series, own) / series.calls for series in found),
    )


def served(series: SeriesRecord, direction: str) -> int:
    """Commands of the direction that the drive has served."""
    return series.commands.writes if direction == "write" else series.commands.reads


def check_plan(records: Sequence[AnyRecord], costs: Costs) -> None:
    """What `chario plan` said beforehand must be what the drive has counted."""
    said = {record.case: record.text for record in of_kind(records, TextRecord)}
    for size in SIZES:
        for direction in DIRECTIONS:
            planned = json.loads(said[key(PLAN, direction, size)])["commands"]
            counted = costs[DISK.title, direction, size.title].commands
            if planned != counted:
                raise ExperimentError(
                    f"chario plan promises {planned} commands for a {direction} of {size.title}, "
                    f"the drive has counted {counted:.2f}: this is a bug of CharIO, please report it"
                )


def check_smart(records: Sequence[AnyRecord]) -> tuple[int, int]:
    """Reads and writes in the drive's SMART log, which must be what was counted outside the guest."""
    (text,) = (record.text for record in of_kind(records, TextRecord) if record.case == SMART)
    said = json.loads(text)
    smart, counted = tuple(said["smart"]), tuple(said["counted"])
    if smart != counted:
        raise ExperimentError(f"the drive's SMART log says {smart} reads and writes, QEMU says {counted}")
    return smart
