# SPDX-License-Identifier: MIT
"""The table of the demonstration, and what it is checked against."""

from __future__ import annotations

import io
import json
from pathlib import Path
from unittest.mock import create_autospec

import pytest
from rich.console import Console

from chario_lab.counting.layers import IDLE, LAYERS, USER
from chario_lab.counting.series import Operation
from chario_lab.demo import workload
from chario_lab.demo.screen import DemoError
from chario_lab.demo.table import EXPLANATION, GOING_ON, cost_table
from chario_lab.demo.workload import (
    DIRECTIONS,
    DISK,
    SIZES,
    WAYS,
    Cost,
    Costs,
    check_plan,
    check_smart,
    instructions,
    middle,
    tick_cost,
)
from chario_lab.guest.session import Guest

TERMINAL_COLUMNS = 80


def costs_of(commands: float, instructions: float) -> Costs:
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
    Console(file=screen, width=TERMINAL_COLUMNS).print(cost_table(costs_of(2.25, 1_300_000)))
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
    series = [Cost(1.0, 6500.0), Cost(1.0, 9900.0), Cost(1.03125, 6600.0)]
    assert middle(series).instructions == 6600
    assert middle(series).commands > 1


def test_a_broken_promise_ends_the_demonstration() -> None:
    """The plan must be what the drive has counted, to the command."""
    guest = create_autospec(Guest, instance=True)
    guest.must.return_value = json.dumps({"commands": 8})
    check_plan(guest, Path("chario"), "/dev/chardisk0", costs_of(8, 1))
    with pytest.raises(
        DemoError,
        match=r"promises 8 commands for a write of 4 KiB, the drive has counted 8\.03",
    ):
        check_plan(guest, Path("chario"), "/dev/chardisk0", costs_of(8.03125, 1))


def test_the_drive_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """The SMART log must say what was counted outside the guest."""
    guest = create_autospec(Guest, instance=True)
    guest.must.return_value = json.dumps({"host_read_commands": 7, "host_write_commands": 5})
    monkeypatch.setattr(workload, "command_counts", lambda *_: (7, 5, 1))
    assert check_smart(guest) == (7, 5)
    monkeypatch.setattr(workload, "command_counts", lambda *_: (7, 6, 1))
    with pytest.raises(DemoError, match="SMART log"):
        check_smart(guest)


def test_what_ticks_cost_is_learnt_without_calls() -> None:
    """Neither the program's own instructions nor those of the idle task are the ticks'."""
    counts = dict.fromkeys(LAYERS, 0) | {USER: 1_000_000, IDLE: 70, "timer": 4000, "irq": 2000}
    spinning = Operation(
        tuple(counts.values()), irqs=0, ticks=2, switches=0, sq_doorbells=0, cq_doorbells=0, stalls_missed=0
    )
    assert tick_cost(spinning) == 3000
    assert instructions(spinning) == 1_006_000
