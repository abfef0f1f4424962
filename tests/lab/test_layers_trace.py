# SPDX-License-Identifier: MIT
"""Traces of function_graph: recorded ones, and crooked ones."""

from pathlib import Path

import pytest

from chario_lab.experiments.layers.trace import Trace, keep, read_trace, recall
from chario_lab.experiments.tracing import TraceError

RECORDED = (Path(__file__).parent / "data/one-read.trace").read_text()
CALL = "__x64_sys_pread64"
TASK, IDLE = "chario-bench-153", "<idle>-0"
MODULES = "ffffffffc0001000 t ext4_file_read_iter\t[ext4]\nffffffffc0002000 t nvme_irq\t[nvme]"


def entry(name: str, depth: int, task: str = TASK, cpu: int = 0) -> str:
    """A function begins."""
    return f"    {task}   [{cpu:03}]    60.230605: funcgraph_entry:      --> {name} ({depth})"


def leave(name: str, depth: int, begin: int, end: int, task: str = TASK, cpu: int = 0) -> str:
    """A function has ended."""
    where = f"    {task}   [{cpu:03}]    60.230606: funcgraph_exit:"
    return f"{where}       <-- {name} ({depth}) (start: {begin:x}  end: {end:x}) over: 0"


def read(*lines: str, operations: int = 1) -> Trace:
    """The trace of these lines."""
    return read_trace("\n".join((MODULES, *lines)), operations)


def own_times(trace: Trace) -> dict[str, int]:
    """By function."""
    return {name: spent.self_ns for name, spent in trace.functions.items()}


def test_a_recorded_read() -> None:
    """Its layers add up to the calls' own time; each function has a begin and an end, but for the one that wakes."""
    trace = read_trace(RECORDED, 1)
    lines = RECORDED.count("funcgraph_")
    assert (trace.events, trace.unopened) == (lines, 0)
    assert sum(spent.self_ns for spent in trace.layers.values()) == sum(own_times(trace).values())
    assert trace.functions[CALL].calls == 1
    assert trace.functions["iomap_dio_bio_iter"].calls == 1
    assert {"system call", "vfs", "direct I/O", "bio", "request", "scheduler", "interrupt"} <= set(trace.layers)


def test_a_record_keeps_the_trace() -> None:
    """As text."""
    trace = read_trace(RECORDED, 1)
    assert recall(keep(trace)) == trace


def test_own_time_is_without_that_of_the_called() -> None:
    """Of two levels; a function of a module has the layer of its module."""
    trace = read(
        entry(CALL, 0), entry("vfs_read", 1), entry("ext4_file_read_iter", 2),
        leave("ext4_file_read_iter", 2, 20, 50), leave("vfs_read", 1, 10, 60), leave(CALL, 0, 0, 100),
    )  # fmt: skip
    assert own_times(trace) == {CALL: 50, "vfs_read": 20, "ext4_file_read_iter": 30}
    assert {name: spent.self_ns for name, spent in trace.layers.items()} == {
        "system call": 50, "vfs": 20, "file system": 30,
    }  # fmt: skip


# Lines, the own times of their functions, and how many functions have no end and no begin.
CROOKED: dict[str, tuple[list[str], dict[str, int], int, int]] = {
    # An interrupt finds the idle task, while the call sleeps; each CPU has an idle task of its own.
    "chains of two tasks": ([
        entry(CALL, 0), entry("schedule", 1), entry("handle_edge_irq", 0, IDLE), entry("handle_edge_irq", 0, IDLE, 1),
        leave("handle_edge_irq", 0, 30, 40, IDLE), leave("handle_edge_irq", 0, 30, 45, IDLE, 1),
        leave("schedule", 1, 10, 20), leave(CALL, 0, 0, 30),
    ], {CALL: 20, "schedule": 10, "handle_edge_irq": 25}, 0, 0),
    # Its own time goes to its caller, and what it has called is known.
    "a function without an end": ([
        entry(CALL, 0), entry("vfs_read", 1), entry("submit_bio", 2), leave("submit_bio", 2, 20, 30),
        entry("fput", 1), leave("fput", 1, 60, 65), leave(CALL, 0, 0, 100),
    ], {"submit_bio": 10, "fput": 5, CALL: 85}, 1, 0),
    # The caller ends with both open.
    "two levels without an end": ([
        entry(CALL, 0), entry("vfs_read", 1), entry("bio_alloc", 2), entry("kfree", 3), leave("kfree", 3, 5, 9),
        leave(CALL, 0, 0, 100),
    ], {"kfree": 4, CALL: 96}, 2, 0),
    # It is counted with what was called from it, where its place is known.
    "a function without a begin": ([
        entry(CALL, 0), leave(CALL, 0, 0, 10), entry("kfree", 2, IDLE), leave("kfree", 2, 20, 30, IDLE),
        leave("try_to_wake_up", 1, 15, 40, IDLE),
    ], {CALL: 10, "kfree": 10, "try_to_wake_up": 15}, 0, 1),
    # The one has no end, the other no begin.
    "a function that ends in the place of another": ([
        entry(CALL, 0), entry("fget", 1), leave("fput", 1, 10, 15), leave(CALL, 0, 0, 20),
    ], {"fput": 5, CALL: 15}, 1, 1),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "times", "unclosed", "unopened"), CROOKED.values(), ids=CROOKED)
def test_crooked_chains(lines: list[str], times: dict[str, int], unclosed: int, unopened: int) -> None:
    """Times go to the functions of which begin and end are known, and the others are counted."""
    trace = read(*lines)
    assert own_times(trace) == times
    assert (trace.unclosed, trace.unopened) == (unclosed, unopened)


def test_what_a_tick_does_stands_apart() -> None:
    """And what runs behind its interrupt, but not what runs behind another's."""
    tick = "__sysvec_apic_timer_interrupt"
    trace = read(
        entry(CALL, 0), entry(tick, 1), entry("hrtimer_interrupt", 2), leave("hrtimer_interrupt", 2, 12, 18),
        leave(tick, 1, 10, 20), entry("irq_exit_rcu", 1), leave("irq_exit_rcu", 1, 20, 25),
        entry("handle_edge_irq", 1), leave("handle_edge_irq", 1, 30, 40), entry("irq_exit_rcu", 1),
        leave("irq_exit_rcu", 1, 40, 43), leave(CALL, 0, 0, 100),
    )  # fmt: skip
    assert own_times(trace) == {CALL: 72, "handle_edge_irq": 10, "irq_exit_rcu": 3}
    assert trace.ticks_ns == 15


def test_what_comes_before_the_calls_is_left_out() -> None:
    """Interrupts, and calls that are not counted."""
    call = (entry(CALL, 0), leave(CALL, 0, 0, 10))
    trace = read(entry("handle_edge_irq", 0, IDLE), leave("handle_edge_irq", 0, 0, 99, IDLE), *call * 3, operations=2)
    assert own_times(trace) == {CALL: 20}


@pytest.mark.parametrize("lost", [
    "CPU:0 [4900000 EVENTS DROPPED]",
    "CPU:0 [EVENTS DROPPED]",
    "overrun: 12",
    "dropped events: 3",
])  # fmt: skip
def test_a_trace_that_has_lost_events_is_refused(lost: str) -> None:
    """Whoever says so, the kernel's statistics or the file."""
    with pytest.raises(TraceError, match="has lost events"):
        read(lost, entry(CALL, 0), leave(CALL, 0, 0, 10))


def test_a_trace_that_is_cut_off() -> None:
    """In the middle of a line, the rest is read; with a call less, it is refused."""
    whole = "\n".join((entry(CALL, 0), entry("vfs_read", 1), leave("vfs_read", 1, 0, 10)))
    assert own_times(read(whole[:-20])) == {}
    with pytest.raises(TraceError, match="1 of 2 calls"):
        read(whole, operations=2)


def test_nothing_was_traced() -> None:
    """An empty file is no trace of a call that takes no time."""
    with pytest.raises(TraceError, match="0 of 1 calls"):
        read("overrun: 0")
