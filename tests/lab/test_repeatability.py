# SPDX-License-Identifier: MIT
"""Two runs beside each other: which calls cost the same again, and what is said of those that do not."""

import pytest

from chario_lab.counting.series import Operation
from chario_lab.experiment.repeatability import find_before, same_again
from chario_lab.records import AnyRecord, EndRecord, FailureRecord, RunRecord, SeriesRecord
from chario_lab.testing.series import machine_record, operation, record

KIB = 1 << 10
CALLS = 8


def run(*records: AnyRecord, release: str = "6.1.0", short: bool = False, ended: bool = True) -> list[AnyRecord]:
    """A run on a machine."""
    machine = machine_record(release=release, emulator="Q")
    begun = RunRecord(experiment="one", started="today", checkout="abc", excluded="", short=short)
    return [begun, machine, *records, *([EndRecord(took_s=1)] if ended else [])]


def calls(
    layers: dict[str, int], size_bytes: int, speed: str = "late", ticks: int = 0, report: str = ""
) -> SeriesRecord:
    """Some calls that all cost this."""
    each: list[Operation] = [operation(layers, ticks)] * CALLS
    words = ["chario-bench", "pread", "/dev/x", str(size_bytes), "joined", speed]
    return record(f"{speed}/{size_bytes}", each, call_bytes=size_bytes, words=words, report=report)


@pytest.mark.parametrize(("speed", "size_bytes", "before", "now", "beyond"), [
    ("stall", 4 * KIB, 10_000, 10_000, False),
    ("stall", 128 * KIB, 10_000, 10_001, True),
    ("late", 4 * KIB, 10_000, 10_020, False),
    ("late", 4 * KIB, 10_000, 9_979, True),
    ("late", 128 * KIB, 10_000, 10_300, False),
    ("free", 128 * KIB, 10_000, 10_301, True),
    ("late", 1024 * KIB, 10_000, 90_000, False),
])  # fmt: skip
def test_what_may_differ_by_how_much(speed: str, size_bytes: int, before: int, now: int, beyond: bool) -> None:
    """A polled call to the instruction, small ones little, larger ones somewhat, and the largest as they like."""
    runs = [run(calls({"bio": cost - 100, "dma": 100}, size_bytes, speed)) for cost in (before, now)]
    summary, apart = same_again(*runs)
    assert sum(int(row[1]) for row in summary.rows) == 1
    assert sum(int(row[-1]) for row in summary.rows) == int(beyond)
    assert [row[0] for row in apart.rows] == ([f"6.1, {speed}/{size_bytes}"] if beyond else [])


def test_a_difference_is_explained() -> None:
    """By the layers in which it lies, the largest first; not by the idle loop."""
    before = run(calls({"bio": 50, "dma": 50, "merge": 10, "idle": 5}, 4 * KIB))
    now = run(calls({"bio": 40, "dma": 90, "merge": 10, "idle": 900}, 4 * KIB))
    _, apart = same_again(before, now)
    assert apart.rows == [["6.1, late/4096", "110", "140", "+27.27%", "dma +40, bio -10"]]


@pytest.mark.parametrize("now", [
    run(calls({"bio": 1}, 4 * KIB), release="6.12.0"),
    run(calls({"bio": 1}, 8 * KIB)),
    run(calls({"bio": 1}, 4 * KIB, ticks=1)),
    run(calls({"bio": 1}, 4 * KIB, report="a profile")),
    run(),
])  # fmt: skip
def test_what_cannot_be_compared_is_not(now: list[AnyRecord]) -> None:
    """Another machine, other calls, medians with ticks in them, a profiler beside, nothing."""
    assert same_again(run(calls({"bio": 2}, 4 * KIB)), now) == []
    assert same_again([], now) == []


def test_the_run_before_is_one_of_the_same_form_that_came_to_its_end() -> None:
    """The newest of those; where one has failed in part, the rest of it counts."""
    failure = FailureRecord(machine="6.1", station="", case="a", reason="it died")
    first, second = run(), run(failure)
    assert find_before([first, second, run(short=True), run(ended=False), run()]) is second
    assert find_before([run(short=True), run()]) == []
    assert find_before([run()]) == find_before([]) == []
