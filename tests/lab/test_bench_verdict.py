# SPDX-License-Identifier: MIT
"""From counts to figures, and from figures to yes or no."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from rich.console import Console

from chario_lab.bench.matrix import CASES, HIPRI_PAIRS, IOMMU_CALLS, IOMMU_KEYS, IOMMU_PAIRS, KNOWN, TARGETS
from chario_lab.bench.measure import Outcome, Run
from chario_lab.bench.report import print_run, write_json
from chario_lab.bench.verdict import compare_known, judge, judge_steady
from chario_lab.counting.layers import LAYERS, Symbol
from chario_lab.counting.series import Operation
from chario_lab.counting.stats import differences, summarise

SYMBOLS = [Symbol(0x1000, "vfs_read", "", "vfs", 0)]


def operation(user: int, idle: int = 0, ticks: int = 0, **events: int) -> Operation:
    """An operation that spends its instructions in user space and in the idle loop."""
    layers = [0] * len(LAYERS)
    layers[LAYERS.index("user")] = user
    layers[LAYERS.index("idle")] = idle
    polled = {"irqs": 0, "switches": 0, "sq_doorbells": 1, "cq_doorbells": 1, "stalls_missed": 0}
    return Operation(tuple(layers), ticks=ticks, symbols=((0, user),), **(polled | events))


def outcome(key: str, operations: Sequence[Operation]) -> Outcome:
    """A case that gave these operations."""
    return Outcome(
        case=CASES[key],
        summary=summarise(operations, SYMBOLS),
        differences=differences(operations, SYMBOLS),
        operations=operations,
        pages="scattered",
    )


def run_with(**counts: int) -> Run:
    """A run in which each case (dashes for underscores) always cost the same."""
    run = Run("6.1", "6.1.0-test")
    for name, count in counts.items():
        key = name.strip("_").replace("_", "-")
        run.outcomes[key] = outcome(key, [operation(count)] * 10)
    return run


def test_the_idle_loop_and_ticks_are_left_out() -> None:
    """Neither belongs to a call; both stay in the raw data."""
    operations = [operation(100, idle=50)] * 20 + [operation(3_000, ticks=1)] * 5
    summary = summarise(operations, SYMBOLS)
    assert (summary.instructions, summary.idle, summary.most) == (100, 50, 100)
    assert (summary.operations, summary.clean, summary.ticks_included) == (25, 20, False)


def test_ticks_are_taken_in_when_nothing_else_is_left() -> None:
    """Long calls nearly all contain one; the figure says so."""
    summary = summarise([operation(100, ticks=1)] * 20, SYMBOLS)
    assert summary.ticks_included
    assert summary.instructions == 100


def test_the_share_counts_equal_calls() -> None:
    """99 of 100 calls alike is a share of 0.99."""
    summary = summarise([operation(100)] * 99 + [operation(170)], SYMBOLS)
    assert (summary.mode, summary.share) == (100, 0.99)


def test_the_functions_that_make_calls_differ_are_named() -> None:
    """One call in ten spends 8 instructions more, all in one function."""
    (difference,) = differences([operation(100)] * 9 + [operation(108)], SYMBOLS)
    assert (difference.extra, difference.share, difference.functions) == (8, 0.1, {"vfs_read": 8})


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
    run.outcomes["read-poll"] = outcome("read-poll", [operation(1_500, irqs=1)] * 10)
    assert judge(run)[0].missed == ("1 irqs for 0",)


def test_what_was_not_counted_is_not_reached() -> None:
    """Silence never passes."""
    assert not any(verdict.reached for verdict in judge(Run("6.1", "")))
    assert judge_steady(Run("6.1", "")) == (None, False)


def test_known_figures_within_two_percent_agree() -> None:
    """The rig's own check."""
    known = {one.key: one.agrees for one in compare_known(run_with(getppid=340, pread_null=600))}
    assert known["getppid"]
    assert not known["pread-null"]
    assert not known["stock-read"]


def test_every_target_and_known_figure_names_a_case() -> None:
    """A mistyped key would be a figure that is never reached."""
    keys = {*IOMMU_KEYS, *chain(*HIPRI_PAIRS)}
    keys |= {target.key for target in TARGETS} | {target.reference for target in TARGETS}
    for figures in KNOWN.values():
        keys |= set(figures)
    assert keys <= set(CASES)


def test_the_report_says_what_failed_and_why(tmp_path: Path) -> None:
    """A case without figures shows its reason, and a missed target its breakdown."""
    run = run_with(stock_uring_read=4_000, read_poll=2_500, steady=2_500)
    run.outcomes["uring-read"] = Outcome(CASES["uring-read"], failure="io_uring: Operation not supported")
    output = io.StringIO()
    print_run(Console(file=output, width=200), run, {})
    assert "Operation not supported" in output.getvalue()
    assert "By layer: pread 4 KiB, polled" in output.getvalue()
    path = tmp_path / "run.json"
    write_json(path, [(run, {})])
    assert len(json.loads(path.read_text())[0]["cases"]["read-poll"]["operations"]) == 10


def test_what_an_iommu_costs_is_said(tmp_path: Path) -> None:
    """Registered memory must cost nothing more; other memory is only shown, beside the passthrough's."""
    run = run_with(stock_pass_read=5_000, read_poll=1_000, transfer_poll=700, uring_transfer=1_200)
    behind = run_with(stock_pass_read=7_000, read_poll=3_010, transfer_poll=700, uring_transfer=1_201)
    output = io.StringIO()
    print_run(Console(file=output, width=200), run, {"strict": behind})
    table = output.getvalue().partition("What an IOMMU costs")[2]
    titles = [CASES[key].title for key in IOMMU_CALLS]
    cells = [table.partition(title)[2].splitlines()[0].split() for title in titles]
    assert cells[1] == ["1,000", "3,010", "2,010", "0.43"]
    assert cells[2] == ["700", "700", "0", "0.10", "yes"]
    assert cells[3] == ["-", "-", "-", "-", "no"]
    assert cells[4] == ["1,200", "1,201", "1", "0.17", "no"]
    path = tmp_path / "run.json"
    write_json(path, [(run, {"strict": behind})])
    assert "transfer-poll" in json.loads(path.read_text())[0]["iommu"]["strict"]["cases"]


def test_large_calls_behind_an_iommu_are_held_against_o_direct() -> None:
    """Each mode has a table of its own; a ratio above what is asked, or none, is a no."""
    output = io.StringIO()
    strict = run_with(stock_128k=1_000, _128k_poll=800, stock_1m=1_000, _1m_poll_scattered=801)
    print_run(Console(file=output, width=200), run_with(getppid=337), {"strict": strict, "lazy": Run("6.1", "")})
    table = output.getvalue().partition("Large calls behind an IOMMU (strict)")[2]
    rows = {key: table.partition(CASES[key].title)[2].splitlines()[0].split() for key, _ in IOMMU_PAIRS}
    assert rows["128k-poll"] == ["1,000", "800", "0.80", "yes"]
    assert rows["1m-poll-scattered"] == ["1,000", "801", "0.80", "no"]
    assert rows["128k-sleep"] == ["-", "-", "-", "no"]
    assert "Large calls behind an IOMMU (lazy)" in output.getvalue()


def test_a_complaint_of_the_kernel_is_a_failure_that_keeps_the_figures() -> None:
    """A warning in the guest's log does not throw a run away, and does not pass."""
    run = run_with(getppid=337)
    assert run.complete
    run.complaint = "WARNING: at queue/queue.c [chario]"
    assert not run.complete
    output = io.StringIO()
    print_run(Console(file=output, width=200), run, {})
    assert "WARNING: at queue/queue.c [chario]" in output.getvalue()
    assert "337" in output.getvalue()


def test_doubtful_figures_are_marked() -> None:
    """Ticks that had to be taken in, and a device that was not awaited."""
    run = Run("6.1", "6.1.0-test")
    run.outcomes["stock-read"] = outcome("stock-read", [operation(100, ticks=1)] * 10)
    run.outcomes["stock-write"] = outcome("stock-write", [replace(operation(200), stalls_missed=1)] * 10)
    output = io.StringIO()
    print_run(Console(file=output, width=200), run, {})
    assert "100*" in output.getvalue()
    assert "200!" in output.getvalue()
