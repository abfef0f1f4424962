# SPDX-License-Identifier: MIT
"""From counts to figures, and from figures to yes or no."""

import io
from dataclasses import replace
from itertools import chain

import pytest
from rich.console import Console

from chario_lab.counting.layers import IDLE, OTHER, USER
from chario_lab.counting.series import Operation
from chario_lab.counting.stats import differences, summarise
from chario_lab.experiments.bench.matrix import CASES, GOALS, HIPRI_PAIRS, IOMMU_CALLS, IOMMU_KEYS, IOMMU_PAIRS, KNOWN
from chario_lab.experiments.bench.plan import name_of, plan
from chario_lab.experiments.bench.report import print_run
from chario_lab.experiments.bench.results import Results, results_of
from chario_lab.experiments.bench.verdict import compare_known, judge, judge_steady, mixed
from chario_lab.records import AnyRecord, ComplaintRecord, FailureRecord, OmissionRecord
from chario_lab.testing.series import SYMBOLS, operation, record


def counted(user: int, idle: int = 0, ticks: int = 0, **events: int) -> Operation:
    """An operation that spends its instructions in user space and in the idle loop."""
    return operation({USER: user, IDLE: idle}, ticks, **events)


def run_with(**counts: int) -> Results:
    """A run in which each case (dashes for underscores) always cost the same."""
    run = Results("6.1", "6.1.0-test")
    for name, count in counts.items():
        key = name.strip("_").replace("_", "-")
        run.series[key] = record(key, [counted(count)] * 10)
    return run


def shown(run: Results, behind: dict[str, Results] | None = None) -> str:
    """What is printed of a run."""
    output = io.StringIO()
    print_run(Console(file=output, width=200), run, behind or {})
    return output.getvalue()


def test_the_idle_loop_and_ticks_are_left_out() -> None:
    """Neither belongs to a call; both stay in the raw data."""
    operations = [counted(100, idle=50)] * 20 + [counted(3_000, ticks=1)] * 5
    summary = summarise(operations, SYMBOLS)
    assert (summary.instructions, summary.idle, summary.most) == (100, 50, 100)
    assert (summary.operations, summary.clean, summary.ticks_included) == (25, 20, False)


@pytest.mark.parametrize(
    ("clean", "instructions", "ticks_included"), [(0, 3_000, True), (2, 3_000, True), (3, 100, False), (6, 100, False)]
)
def test_ticks_are_taken_in_when_nothing_else_is_left(clean: int, instructions: int, ticks_included: bool) -> None:
    """A busy machine leaves a few clean calls of 60, which are what a call costs; without them, the figure says so."""
    summary = summarise([counted(3_000, ticks=1)] * (60 - clean) + [counted(100)] * clean, SYMBOLS)
    assert (summary.instructions, summary.ticks_included) == (instructions, ticks_included)


def test_the_share_counts_equal_calls() -> None:
    """99 of 100 calls alike is a share of 0.99."""
    summary = summarise([counted(100)] * 99 + [counted(170)], SYMBOLS)
    assert (summary.mode, summary.share) == (100, 0.99)


def test_the_functions_that_make_calls_differ_are_named() -> None:
    """One call in ten spends 8 instructions more, all in one function."""
    (difference,) = differences([counted(100)] * 9 + [counted(108)], SYMBOLS)
    assert (difference.extra, difference.share, difference.functions) == (8, 0.1, {"vfs_read": 8})


@pytest.mark.parametrize(
    ("rung", "told"),
    [([1, 2], "1 in 4 calls, 2 in 4 calls"), ([0, 1, 1, 2], "0 in 2 calls, 1 in 4 calls, 2 in 2 calls")],
)
def test_a_case_of_two_operations_is_named(rung: list[int], told: str) -> None:
    """A median of writes that are followed by a flush in some calls is the count of neither, whatever their mean."""
    run = run_with(getppid=337)
    operations = [counted(9_783 * count, sq_doorbells=count) for count in rung]
    run.series["record-4m"] = record("record-4m", operations * (8 // len(rung)))
    run.series["read-poll"] = record("read-poll", [counted(1_500, sq_doorbells=1)] * 10)
    assert list(mixed(run)) == ["record-4m"]
    assert f"not one operation, doorbells: {told}: {CASES['record-4m'].title}" in shown(run)


def test_what_is_said_of_a_guest_behind_an_iommu_names_its_mode() -> None:
    """The same case is in each mode, under the same title."""
    behind = {mode: Results("6.1", failures={"read-poll": "stuck"}, complaint="WARNING") for mode in ("strict", "lazy")}
    for one in behind.values():
        unknown = operation({OTHER: 1_000}, sq_doorbells=1)
        one.series["read"] = record("read", [unknown, replace(unknown, sq_doorbells=2)] * 5)
    text = shown(run_with(getppid=337), behind)
    for mode in behind:
        place = f" behind an IOMMU ({mode})"
        assert f"100.0% in functions without a layer{place}: {CASES['read'].title}" in text
        assert f"not one operation{place}, doorbells:" in text
        assert f"failed{place}:" in text and f"complained{place}:" in text


def test_a_title_is_understood_by_itself() -> None:
    """Tables and messages show a case without its neighbours."""
    assert not [case.title for case in CASES.values() if " such " in case.title]


def test_a_target_is_reached_by_count_and_by_ratio() -> None:
    """Both have to hold."""
    good = run_with(stock_uring_read=5_000, read_poll=1_900)
    too_many = run_with(stock_uring_read=9_000, read_poll=1_901)
    bad_ratio = run_with(stock_uring_read=4_000, read_poll=1_900)
    assert judge(good)[0].reached
    assert judge(too_many)[0].missed == ("1 instructions (0%) over",)
    assert judge(bad_ratio)[0].missed == ("ratio 0.475",)


def test_an_interrupt_too_many_misses_the_target() -> None:
    """The events of a call are part of what is asked."""
    run = run_with(stock_uring_read=5_000)
    run.series["read-poll"] = record("read-poll", [counted(1_500, irqs=1)] * 10)
    assert judge(run)[0].missed == ("1 irqs for 0",)


def test_what_was_not_counted_is_not_reached() -> None:
    """Silence never passes."""
    assert not any(verdict.reached for verdict in judge(Results("6.1")))
    assert judge_steady(Results("6.1")) == (None, False)


def test_known_figures_within_two_percent_agree() -> None:
    """The rig's own check."""
    known = {one.key: one.agrees for one in compare_known(run_with(getppid=340, pread_null=600))}
    assert known["getppid"]
    assert not known["pread-null"]
    assert not known["stock-read"]


def test_every_target_and_known_figure_names_a_case() -> None:
    """A mistyped key would be a figure that is never reached."""
    keys = {*IOMMU_KEYS, *chain(*HIPRI_PAIRS)}
    keys |= {goal.key for goal in GOALS} | {goal.reference for goal in GOALS}
    for figures in KNOWN.values():
        keys |= set(figures)
    assert keys <= set(CASES)


def test_the_report_says_what_failed_and_why() -> None:
    """A case without figures shows its reason, and a missed target its breakdown."""
    run = run_with(stock_uring_read=4_000, read_poll=2_500, steady=2_500)
    run.failures["uring-read"] = "io_uring: Operation not supported"
    text = shown(run)
    assert "Operation not supported" in text and "By layer: pread 4 KiB, polled" in text


def test_what_an_iommu_costs_is_said() -> None:
    """Registered memory must cost nothing more; other memory is only shown, beside the passthrough's."""
    run = run_with(stock_pass_read=5_000, read_poll=1_000, transfer_poll=700, uring_transfer=1_200)
    behind = run_with(stock_pass_read=7_000, read_poll=3_010, transfer_poll=700, uring_transfer=1_201)
    table = shown(run, {"strict": behind}).partition("What an IOMMU costs")[2]
    titles = [CASES[key].title for key in IOMMU_CALLS]
    cells = [table.partition(title)[2].splitlines()[0].split() for title in titles]
    assert cells[1] == ["1,000", "3,010", "2,010", "0.43"]
    assert cells[2] == ["700", "700", "0", "0.10", "yes"]
    assert cells[3] == ["-", "-", "-", "-", "no"]
    assert cells[4] == ["1,200", "1,201", "1", "0.17", "no"]


def test_large_calls_behind_an_iommu_are_held_against_o_direct() -> None:
    """Each mode has a table of its own; a ratio above what is asked, or none, is a no."""
    strict = run_with(stock_128k=1_000, _128k_poll=800, stock_1m=1_000, _1m_poll_scattered=801)
    text = shown(run_with(getppid=337), {"strict": strict, "lazy": Results("6.1")})
    table = text.partition("Large calls behind an IOMMU (strict)")[2]
    rows = {key: table.partition(CASES[key].title)[2].splitlines()[0].split() for key, _ in IOMMU_PAIRS}
    assert rows["128k-poll"] == ["1,000", "800", "0.80", "yes"]
    assert rows["1m-poll-scattered"] == ["1,000", "801", "0.80", "no"]
    assert rows["128k-sleep"] == ["-", "-", "-", "no"]
    assert "Large calls behind an IOMMU (lazy)" in text


def test_a_complaint_of_the_kernel_is_a_failure_that_keeps_the_figures() -> None:
    """A warning in the guest's log does not throw a run away, and does not pass."""
    run = run_with(getppid=337)
    assert run.complete
    run.complaint = "WARNING: at queue/queue.c [chario]"
    assert not run.complete
    text = shown(run)
    assert "WARNING: at queue/queue.c [chario]" in text and "337" in text


def test_doubtful_figures_are_marked() -> None:
    """Ticks that had to be taken in, and a device that was not awaited."""
    run = Results("6.1", "6.1.0-test")
    run.series["stock-read"] = record("stock-read", [counted(100, ticks=1)] * 10)
    run.series["stock-write"] = record("stock-write", [replace(counted(200), stalls_missed=1)] * 10)
    text = shown(run)
    assert "100*" in text and "200!" in text


@pytest.mark.parametrize(
    ("title", "key", "base", "cells"),
    [
        ("Figures of an independent one", "getppid", "", "337 1,000* +196.7%* no*"),
        (
            "What is asked",
            "read-poll",
            "stock-uring-read",
            "1,000* 1,900 0.500* 0.38 io_uring IOPOLL read 4 KiB, registered buffer no*",
        ),
        ("What a region costs", "region-read-poll", "read-poll", "2,000 1,000* -1,000* yes*"),
        ("What a timeline costs", "transfer-timeline", "transfer-poll", "2,000 1,000* -1,000*"),
        ("What a MiB of a recording costs", "record-4m", "write-1m-poll", "250* 2,000 0.12* 1.1: yes*"),
        ("Large calls behind an IOMMU (strict)", "128k-poll", "stock-128k", "2,000 1,000* 0.50* yes*"),
        ("What an IOMMU costs", "transfer-poll", "stock-pass-read", "2,000 1,000* -1,000* 0.50* yes*"),
    ],
)
def test_what_follows_from_doubtful_figures_is_marked(title: str, key: str, base: str, cells: str) -> None:
    """A ratio and a verdict are no better than a median with ticks in it."""
    run, behind = Results("6.1", "6.1.0-test"), Results("6.1")
    for one in (run, behind):
        one.series = {name: record(name, [counted(2_000)] * 10) for name in (key, base) if name}
    (behind if "IOMMU" in title else run).series[key] = record(key, [counted(1_000, ticks=1)] * 10)
    row = shown(run, {"strict": behind}).partition(title)[2].partition(f"{CASES[key].title} ")[2].splitlines()[0]
    assert cells in " ".join(row.split())


def test_results_are_found_in_records() -> None:
    """Those of one machine: figures, failures, what was left out, and complaints."""
    strict = name_of("6.1", "strict")
    records: list[AnyRecord] = [
        record("getppid", [counted(337)] * 10),
        record("getppid", [counted(400)] * 10, machine=strict),
        FailureRecord(machine="6.1", station="chario", case="read", reason="no such disk"),
        OmissionRecord(machine="6.1", station="chario", case="transfer-dmabuf", needs="/dev/udmabuf"),
        ComplaintRecord(machine=strict, text="WARNING"),
    ]
    found, behind = results_of(records, "6.1", "6.1"), results_of(records, strict, "6.1")
    assert (found.instructions("getppid"), behind.instructions("getppid")) == (337, 400)
    assert (found.failures, found.omissions) == ({"read": "no such disk"}, {"transfer-dmabuf": "/dev/udmabuf"})
    assert (found.complaint, behind.complaint) == ("", "WARNING")
    assert not found.complete


def test_behind_an_iommu_only_what_it_concerns_is_counted() -> None:
    """A guest without one has all; one in each mode has those of the comparison."""
    machines: dict[str, list[str]] = {}
    for station in plan("6.1", False, True):
        machines.setdefault(station.machine.name, []).extend(step.key for step in station.steps)
    assert list(machines) == ["6.1", "6.1 strict", "6.1 lazy"]
    assert set(machines["6.1"]) == set(CASES)
    assert set(machines["6.1 strict"]) == set(machines["6.1 lazy"]) == IOMMU_KEYS
