# SPDX-License-Identifier: MIT
"""What experiments make of records: figures, and whether a paper's sentences hold."""

import json
from collections.abc import Iterator

import pytest

from chario_lab.counting.layers import IDLE, USER
from chario_lab.experiment.chapter import compose
from chario_lab.experiment.measure import HANDLED, RESUMED, SUBMITTED
from chario_lab.experiment.page import Section, Table
from chario_lab.experiment.plan import SPIN
from chario_lab.experiment.usage import copy_share, usage_of
from chario_lab.experiments.commands.plan import SINGLE, SIZES, WAYS, key, plan_key, single_key
from chario_lab.experiments.commands.section import Spread, spreads
from chario_lab.experiments.commands.section import judge as judge_commands
from chario_lab.experiments.figure3 import EXPERIMENT as FIGURE3
from chario_lab.experiments.figure3.plan import CHARIO_WAYS, FIRST, HERE_WAYS, POLLED_WAYS, SEQUENTIAL
from chario_lab.experiments.figure3.plan import WAYS as READS
from chario_lab.experiments.figure3.plan import key as read_key
from chario_lab.experiments.figure3.points import POLLED, Points, keep, point_of
from chario_lab.experiments.figure3.section import POINTS, courses
from chario_lab.experiments.figure3.section import judge as judge_reads
from chario_lab.experiments.ways import DIRECTIONS, WRITE, Way
from chario_lab.records import AnyRecord, Commands, PointRecord, SeriesRecord, TextRecord
from chario_lab.testing.series import machine_record, operation, record

MIB = 1 << 20
SAID: dict[str, object] = {
    "elapsed_us": 1_000_000, "idle_us": [750_000, 1_000_000], "user_us": [50_000, 0], "kernel_us": [200_000, 0],
    "cached_kib": 512,
}  # fmt: skip


MACHINE = machine_record()


def spin(tick: int) -> SeriesRecord:
    """What a tick costs."""
    return record(SPIN.key, [operation({USER: 1000, "timer": tick}, ticks=1)], station="block")


def counted(case: str, calls: dict[int, int], served: int | None = None) -> SeriesRecord:
    """So many calls took so many commands."""
    total = sum(count * times for count, times in calls.items()) if served is None else served
    said = {what: {str(count): times for count, times in calls.items()} for what in ("commands", "requests")}
    return record(case, [operation({USER: 1})], station="block", commands=Commands(total, 0, 0), said=said)


def test_figures_of_a_series() -> None:
    """By the MiB or the byte; without ticks and the idle loop; warm calls are the drive's only."""
    series = record(
        "x", [operation({USER: 3000, IDLE: 9}, ticks=1), operation({USER: 1000})], station="block",
        call_bytes=MIB, warm_calls=2, commands=Commands(30, 1, 1), said=SAID, layers={USER: 4000, "lock": 1000},
        events={"copied_bytes": MIB, "irqs": 6, "switches": 8},
    )  # fmt: skip
    usage = usage_of(series, [spin(500), series])
    assert (usage.instructions_a_mib, usage.copied_a_byte) == ((4000 - 500) / 2, 0.5)
    assert (usage.commands_a_mib, usage.interrupts_a_mib, usage.switches_a_mib) == (8, 3, 4)
    shares = (usage.cpu_share, usage.kernel_share, usage.busiest_kernel_share)
    assert shares == pytest.approx((0.25, 0.05, 0.05))
    assert (usage.lock_share, usage.cached_a_byte) == (0.2, 0.25)


def test_how_busy_two_cpus_are() -> None:
    """By their halts where they are emulated; the kernel's part by instructions."""
    series = record(
        "x", [operation({USER: 1000})], station="block", call_bytes=MIB, said=SAID, busy_ns=[300, 900],
        layers={USER: 1000, "vfs": 1000, IDLE: 5}, events={"irqs": 0, "switches": 0, "elapsed_ns": 1000},
    )  # fmt: skip
    usage = usage_of(series, [spin(500), series])
    shares = (usage.cpu_share, usage.kernel_share, usage.busiest_kernel_share)
    assert shares == pytest.approx((1.2, 0.6, 0.45))


def test_a_string_instruction_counts_as_many_as_it_moves_words() -> None:
    """Or the copies would be nothing."""
    series = record(
        "x", [operation({USER: 1})], layers={USER: 500, "copy": 100, IDLE: 77}, events={"copied_bytes": 3200}
    )
    assert copy_share(series) == (100 + 400) / (600 + 400)


def commands_run(wrong: str = "", served: int | None = None) -> Iterator[AnyRecord]:
    """CharIO takes what was planned, but in one case; other ways vary, in writes more."""
    for way in WAYS:
        for direction in DIRECTIONS:
            for title in SIZES:
                case = key(way, direction, title)
                if way.is_chario:
                    yield counted(case, {9 if case == wrong else 8: 1000}, served)
                    text = json.dumps({"commands": 8})
                    yield TextRecord(machine="6.1", station="chario", case=plan_key(direction, title), text=text)
                else:
                    yield counted(case, {3: 990, 5 + 2 * (direction == WRITE): 10})
    yield from (counted(single_key(count), {count: 1}) for count in SINGLE)


def judged(records: list[AnyRecord]) -> list[bool | None]:
    """Whether each sentence about commands holds."""
    found = spreads(records, "6.1", "commands")
    return [verdict.holds for verdict in judge_commands(records, found, MACHINE)]


def test_the_sentences_about_commands() -> None:
    """All hold where they should; nothing is said of what was not measured."""
    assert judged(list(commands_run())) == [True] * 4
    assert judged([]) == [None] * 4


@pytest.mark.parametrize("served", [None, 8001])
def test_a_command_too_many_is_seen(served: int | None) -> None:
    """In CharIO's own counts, or in the drive's."""
    wrong = key(WAYS[0], WRITE, "1 MiB") if served is None else ""
    assert judged(list(commands_run(wrong, served)))[0] is False


def test_ways_that_never_vary_are_said_not_to() -> None:
    """The paper would be wrong then."""
    same = [counted(key(way, direction, title), {3: 10}) for way in WAYS for direction in DIRECTIONS for title in SIZES]
    assert judged(list(same))[1:3] == [False, False]


def test_a_spread_in_words() -> None:
    """One number where there is one."""
    assert str(Spread({8: 1000})) == "8"
    assert str(Spread({1: 3, 5: 1})) == "1 to 5, mean 2.00"


def read(place: int, title: str, order: str, cost: int) -> SeriesRecord:
    """Reads that all wait for the drive."""
    points = [
        PointRecord(name=name, operations=10, mean=cost * part / 4, least=0, most=cost)
        for part, name in enumerate(POINTS, start=1)
    ]
    return record(read_key(READS[place], title, order), [operation({USER: cost})] * 10, station="block", points=points)


def figure3_run(physical: int, first_large: int) -> list[bool | None]:
    """Whether each sentence of the figure holds: the cost of physical addresses, and of a first read of 80 KiB."""
    costs = (1000, physical, 9000, 5000, 9000, 5000)
    records = [spin(0)]
    for place, cost in enumerate(costs):
        for title in ("40 KiB", "80 KiB"):
            records.append(read(place, title, SEQUENTIAL, cost))
            records.append(read(place, title, FIRST, first_large if title == "80 KiB" else 9000))
    return [verdict.holds for verdict in judge_reads(courses(records, "6.1"), MACHINE)]


def test_the_sentences_about_latency() -> None:
    """CharIO costs less, physical addresses less again, and the page cache hides the size."""
    assert figure3_run(physical=600, first_large=9200) == [True, True, True]
    assert figure3_run(physical=1000, first_large=18000) == [True, False, False]


def test_nothing_is_said_to_be_less_than_what_was_not_measured() -> None:
    """A station that failed, or that a machine lacks, proves nothing."""
    records: list[AnyRecord] = [machine_record(emulator="Q"), spin(0)]
    records += [
        record(read_key(READS[0], title, order), [operation({USER: 4000})] * 2, station="block")
        for title in ("40 KiB", "80 KiB")
        for order in (SEQUENTIAL, FIRST)
    ]
    verdict = judge_reads(courses(records, "6.1"), records[0])  # type: ignore[arg-type]
    assert [each.holds for each in verdict] == [None, None, None]
    assert "not measured: block device, 40 KiB" in verdict[0].figures


def test_what_lies_between_points() -> None:
    """The first from the entry; nothing where no read waited."""
    waiting = courses([spin(0), read(0, "40 KiB", FIRST, 4000)], "6.1")
    assert waiting[read_key(READS[0], "40 KiB", FIRST)].parts == (1000, 1000, 1000, 1000)
    cached = record(read_key(READS[2], "40 KiB", FIRST), [operation({USER: 4000})] * 2, station="block")
    (course,) = courses([spin(0), cached], "6.1").values()
    assert (course.parts, course.waiting, course.all_reads) == ((), 0, 4000)


BOARD = machine_record("this machine", release="6.1.0-rpi", cpus=4, device="Good Drive")


def timed(way: Way, title: str, order: str, computing_us: int, whole_us: int = 100) -> SeriesRecord:
    """Reads on hardware that compute so long; of those by way of the page cache every second one waits."""
    seen = POLLED if way in POLLED_WAYS else HANDLED
    times_us = {SUBMITTED: computing_us // 2, seen: whole_us - computing_us // 2, RESUMED: whole_us}
    points = {name: point_of([1000 * time_us, 1000 * time_us + 500]) for name, time_us in times_us.items()}
    is_cached = not way.is_chario and not way.title.endswith("direct")
    kept = Points(
        points=points,
        whole=point_of([1000 * whole_us] * (4 if is_cached else 2)),
        computing_ns=1000 * computing_us,
        unclear=int(is_cached),
        record_ns=40 * way.is_chario,
    )
    return SeriesRecord(
        machine=BOARD.machine, station="", case=read_key(way, title, order), repeat=0, words=(), operations=2, calls=1,
        call_bytes=4096, warm_calls=0, commands=Commands(0, 0, 0), report=keep(kept),
    )  # fmt: skip


def figure3_here(physical_us: int = 6, large_us: int = 110) -> Section:
    """The section of a board: what a read of physical addresses computes, and how long a first one of 80 KiB takes."""
    computing = {CHARIO_WAYS[1].title: physical_us, **dict.fromkeys((way.title for way in HERE_WAYS[4:]), 20)}
    series = [
        timed(way, title, order, computing.get(way.title, 10), large_us if title == "80 KiB" else 100)
        for way in HERE_WAYS
        for title in ("40 KiB", "80 KiB")
        for order in ("sequential", FIRST)
    ]
    return FIGURE3.section([BOARD, *series])


def test_latency_on_hardware_is_in_microseconds() -> None:
    """Four points, a bound of the fifth by polling, how late the last may be; what the figures leave out."""
    found = figure3_here()
    assert [verdict.holds for verdict in found.verdicts] == [True, True, True]
    table = next(part for part in found.parts[1:] if isinstance(part, Table))
    rows = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    assert "Good Drive" in table.title and len(rows) == 2 * len(HERE_WAYS)
    mine = rows["CharIO, 40 KiB"]
    assert [mine[name] for name in (SUBMITTED, "raised, at the latest", HANDLED, RESUMED)] == [
        "5.0", "95.0", "95.0", "100.0",
    ]  # fmt: skip
    assert (mine["resumed, p99"], mine["resumed, max"], mine["reads that wait"]) == ("100.5", "100.5", "100.0%")
    assert mine["computing, mean"] == "10.0"
    assert rows["CharIO, polled, 40 KiB"][HANDLED] == "-"
    cached = rows["ext4, 40 KiB"]
    assert (cached["raised, at the latest"], cached["reads that wait"]) == ("-", "50.0%")
    assert "takes 40 ns" in table.note and "Of 4 reads" in table.note
    excluded = compose(FIGURE3, [BOARD]).excluded
    assert excluded == FIGURE3.excluded_here and "software cannot see" in excluded.replace("\n", " ")


def test_the_sentences_about_latency_on_hardware() -> None:
    """By the time in which a read computes, and by how long it takes."""
    found = figure3_here(physical_us=12, large_us=180)
    assert [verdict.holds for verdict in found.verdicts] == [True, False, False]
    assert "CharIO, 40 KiB: 10.00, CharIO, physical 12.00 microseconds" in found.verdicts[1].figures
    assert [verdict.holds for verdict in FIGURE3.section([BOARD]).verdicts] == [None] * 3
