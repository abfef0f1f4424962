# SPDX-License-Identifier: MIT
"""Figures of a series that nothing counts, as on hardware, and the section that shows them."""

import json

import msgspec
import pytest

from chario_lab.experiment.plan import SPIN, Case, chosen
from chario_lab.experiment.spec import Choice
from chario_lab.experiment.usage import usages
from chario_lab.experiments.table1 import EXPERIMENT
from chario_lab.experiments.table1.plan import HERE_FILE_MIB, HERE_MIB, SIZES, WAYS, key
from chario_lab.records import AnyRecord, Commands, OmissionRecord, SeriesRecord
from chario_lab.target.machine import THIS_MACHINE
from chario_lab.testing.runs import show
from chario_lab.testing.series import machine_record

MACHINE = machine_record(THIS_MACHINE.name, processor="Fast CPU", cpus=2, device="Good Drive")
MIB = 1 << 20


def measured(case: str, elapsed_us: int = 1_000_000, energy_uj: int | None = None) -> SeriesRecord:
    """64 calls of 1 MiB, while one CPU of two was busy for half a second."""
    return SeriesRecord(
        machine=MACHINE.machine, station="chario", case=case, repeat=0, words=(), operations=64, calls=1,
        call_bytes=MIB, commands=Commands(512, 0, 0), energy_uj=energy_uj,
        said={"elapsed_us": elapsed_us, "cached_kib": 0, "interrupts": 128, "switches": 64,
              "user_us": [1, 0], "kernel_us": [3, 0],
              "idle_us": [elapsed_us - 500_000, elapsed_us]},
    )  # fmt: skip


def test_figures_of_hardware() -> None:
    """Speed, CPU share, and what happened meanwhile."""
    usage = usages([measured("a", energy_uj=2_000_000)], MACHINE.machine)["a"]
    assert usage.mib_a_second == pytest.approx(64)
    assert usage.cpu_share == pytest.approx(0.5)
    assert usage.kernel_share == pytest.approx(0.375)
    assert usage.cpu_ms_a_mib == pytest.approx(500 / 64)
    assert (usage.commands_a_mib, usage.interrupts_a_mib, usage.switches_a_mib) == (8, 2, 1)
    assert usage.joules_a_gib == pytest.approx(32)


def test_hardware_is_shown_by_its_speed_and_judged_by_its_time() -> None:
    """Instead of instructions, which nothing has counted; what was left out is named once for each reason."""
    mine, other = (next(way for way in WAYS if way.paper == name) for name in ("CharIO", "Block device"))
    records: list[AnyRecord] = [MACHINE]
    for size in SIZES:
        for direction in ("read", "write"):
            records += [measured(key(mine, direction, size)), measured(key(other, direction, size), 500_000)]
    records += [
        OmissionRecord(machine=MACHINE.machine, station="xfs", case=f"XFS/{direction}/4096", needs="mkfs.xfs")
        for direction in ("read", "write")
    ]
    text = show(EXPERIMENT, records)
    assert "Good Drive" in text and "MiB/s a kernel CPU %" in text and "1.71" in text
    assert "J a GiB" not in text and "bytes copied" not in text
    assert f"{MACHINE.machine}, XFS/read/4096 and 1 more: left out, it needs mkfs.xfs" in text
    assert "100 % is one CPU" in text and "All is emulated" not in text
    assert "J a GiB" in show(EXPERIMENT, [MACHINE, measured(key(mine, "read", SIZES[0]), energy_uj=1)])


def test_what_took_too_short_is_not_judged() -> None:
    """By a clock of 10 ms; its rate is shown."""
    mine = next(way for way in WAYS if way.paper == "CharIO")
    cells = [key(mine, direction, size) for direction in ("read", "write") for size in SIZES]
    text = show(EXPERIMENT, [MACHINE, *(measured(cell, 40_000) for cell in cells)])
    assert "1,600" in text and "CPU %" in text
    assert "does not hold" not in text and "holds  " not in text


def test_on_this_machine_calls_move_enough_to_be_timed() -> None:
    """One station a holder, on the first namespace; nothing that only a guest can do; no byte is read twice."""
    stations = EXPERIMENT.plan(Choice(here=True))
    assert [station.machine for station in stations] == [THIS_MACHINE] * len(stations)
    assert {station.namespace for station in stations} == {0}
    cases = [step for station in stations for step in station.steps if isinstance(step, Case)]
    assert SPIN.key not in {case.key for case in cases}
    for case in cases:
        moved_mib = case.operations * case.call_bytes // MIB
        assert moved_mib in {size.here_mib for size in SIZES}
        assert moved_mib + case.warm_calls * case.call_bytes // MIB <= HERE_FILE_MIB
        assert f"span={HERE_FILE_MIB * MIB}" in case.words
    assert max(size.here_mib for size in SIZES) == HERE_MIB


def test_cases_can_be_chosen() -> None:
    """With what they need to be understood; who has nothing to do does not get the drive."""
    plan = chosen(EXPERIMENT.plan(Choice()), ["ext4*/write/4096", "CharIO/*"])
    assert [[step.key for step in station.steps] for station in plan] == [
        [SPIN.key, *(f"CharIO/{way}/{size.size_bytes}" for way in ("read", "write") for size in SIZES)],
        [SPIN.key, "ext4/write/4096", "ext4, direct/write/4096"],
    ]


def test_a_series_without_a_counter_is_written_and_read() -> None:
    """And one of an older version has as many operations as were counted."""
    record = measured("a")
    assert record.summary is None and record.moved_bytes == 64 * MIB
    old = {"record": "series", "machine": "6.1", "station": "s", "case": "a", "repeat": 0, "words": [], "calls": 2,
           "call_bytes": 512, "commands": {"reads": 0, "writes": 0, "flushes": 0},
          "instructions": [1, 2, 3]}  # fmt: skip
    assert msgspec.json.decode(json.dumps(old), type=SeriesRecord).moved_bytes == 3 * 2 * 512
