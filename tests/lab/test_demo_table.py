# SPDX-License-Identifier: MIT
"""The table of the demonstration, and what it is checked against."""

import io
import json

import pytest
from rich.console import Console

from chario_lab.counting.layers import IDLE, USER
from chario_lab.experiment.book import ExperimentError
from chario_lab.experiment.plan import SPIN
from chario_lab.experiment.ticks import tick_cost, without_ticks
from chario_lab.experiments.demo.costs import Cost, Costs, check_plan, check_smart, cost_of, costs_of
from chario_lab.experiments.demo.plan import DIRECTIONS, DISK, PLAN, SIZES, SMART, WAYS, key
from chario_lab.experiments.demo.table import EXPLANATION, GOING_ON, cost_table
from chario_lab.records import AnyRecord, FailureRecord, TextRecord
from chario_lab.testing.series import series

TERMINAL_COLUMNS = 80


def text(case: str, words: object) -> TextRecord:
    """What a program said, as JSON."""
    return TextRecord(machine="6.1", station=DISK.title, case=case, text=json.dumps(words))


def same_costs(commands: float, instructions: float) -> Costs:
    """The same cost everywhere, but twice the instructions beside the character disk."""
    return {
        (way.title, direction, size.title): Cost(commands, instructions * (1 if way is DISK else 2))
        for way in WAYS
        for size in SIZES
        for direction in DIRECTIONS
    }


def test_the_table_fits_a_terminal_with_large_numbers() -> None:
    """No figure and no name is cut where a terminal has 80 columns."""
    screen = io.StringIO()
    Console(file=screen, width=TERMINAL_COLUMNS).print(cost_table(same_costs(2.25, 1_300_000)))
    text = screen.getvalue()
    lines = text.splitlines()
    assert all(len(line) <= TERMINAL_COLUMNS for line in lines)
    for way in WAYS:
        rows = [line for line in lines if way.title in line]
        figures = ["2.25", "1,300,000", "1.00"] if way is DISK else ["2.25", "2,600,000", "2.00"]
        assert [row.split()[-6:] for row in rows] == [figures * 2] * len(SIZES)
    assert all(f"calls of {size.title}" in text for size in SIZES)


def test_the_text_fits_a_terminal() -> None:
    """What stands below the table is not broken by the terminal."""
    assert all(len(line) <= TERMINAL_COLUMNS for line in (EXPLANATION + GOING_ON).splitlines())


def test_background_work_in_one_series_does_not_count() -> None:
    """The guest's own work costs instructions in one of them; a command too many is never lost."""
    size, case = SIZES[0], key("read", SIZES[0])
    spin = series(SPIN.key, station=DISK.title, user=1000)
    found = [
        series(case, station=DISK.title, user=count * size.calls, calls=size.calls, reads=size.calls + more)
        for count, more in ((6500, 0), (9900, 0), (6600, 16))
    ]
    cost = cost_of([spin, *found], DISK, "read", size)
    assert cost.instructions == 6600
    assert cost.commands == 1 + 16 / 3 / size.calls


def test_a_broken_promise_ends_the_demonstration() -> None:
    """The plan must be what the drive has counted, to the command."""
    said: list[AnyRecord] = [
        text(key(PLAN, direction, size), {"commands": 8}) for size in SIZES for direction in DIRECTIONS
    ]
    check_plan(said, same_costs(8, 1))
    with pytest.raises(ExperimentError, match=r"promises 8 commands for a write of 4 KiB, the drive has counted 8\.03"):
        check_plan(said, same_costs(8.03125, 1))


def test_the_drive_has_the_last_word() -> None:
    """The SMART log must say what was counted outside the guest."""
    assert check_smart([text(SMART, {"smart": [7, 5], "counted": [7, 5]})]) == (7, 5)
    with pytest.raises(ExperimentError, match="SMART log"):
        check_smart([text(SMART, {"smart": [7, 5], "counted": [7, 6]})])


def test_a_failure_ends_the_demonstration() -> None:
    """Its reason is what the user is told."""
    with pytest.raises(ExperimentError, match="the guest died"):
        costs_of([FailureRecord(machine="6.1", station=DISK.title, case="job-read", reason="the guest died")])


def test_what_ticks_cost_is_learnt_without_calls() -> None:
    """Neither the program's own instructions nor those of the idle task are the ticks'."""
    spin = series(SPIN.key, ticks=2, layers={USER: 1_000_000, IDLE: 70, "timer": 4000, "interrupt": 2000})
    assert tick_cost(spin) == 3000
    assert spin.instructions == [1_006_000]
    measured = series("read", ticks=3, user=50_000)
    assert without_ticks(measured, [spin, measured]) == 41_000
