# SPDX-License-Identifier: MIT
"""The points of reads on hardware: what a timeline and trace events say, recorded and crooked ones."""

import json
from pathlib import Path

import pytest

from chario_lab.experiment.measure import HANDLED, RESUMED, SUBMITTED
from chario_lab.experiment.plan import SPIN, Case
from chario_lab.experiment.spec import Choice
from chario_lab.experiments.figure3 import EXPERIMENT
from chario_lab.experiments.figure3.methods import GATE, TRACE_EVENTS
from chario_lab.experiments.figure3.plan import FIRST_RUNS, GREEDY, HERE_WAYS, PERIOD_US, POLLED_WAYS, RUNS
from chario_lab.experiments.figure3.points import POLLED, Points, digest_timeline, point_of, recall
from chario_lab.experiments.figure3.trace import read_trace
from chario_lab.experiments.tracing import TraceError
from chario_lab.experiments.ways import WINDOW
from chario_lab.target.machine import THIS_MACHINE
from chario_lab.target.place import Holder
from chario_lab.target.target import TargetError

DATA = Path(__file__).parent / "data"
OWN, OTHER = "irq=33 name=nvme0q2", "irq=40 name=nvme1q2"


def event(at_us: int, name: str, said: str = "", cpu: int = 1, task: str = "chario-bench-107") -> str:
    """A line of trace-cmd."""
    return f"chario-lab:  {task}   [{cpu:03}]     7.{at_us * 1000:09}: {name}:   {said}"


def enter(at_us: int) -> str:
    """A read begins."""
    return event(at_us, "sys_enter_pread64", "fd: 0x00000004, buf: 0x7f, count: 0x0000a000, pos: 0x00000000")


def leave(at_us: int) -> str:
    """A read ends."""
    return event(at_us, "sys_exit_pread64", "0xa000")


def issue(at_us: int, kind: str = "RS", disk: str = "259,0") -> str:
    """A worker sends a command."""
    return event(at_us, "block_rq_issue", f"{disk} {kind} 40960 () 0 + 80 [kworker/1:1H]", task="kworker/1:1H-38")


def interrupt(at_us: int, said: str = OWN, cpu: int = 1) -> str:
    """An interrupt, while nothing runs."""
    return event(at_us, "irq_handler_entry", said, cpu, "<idle>-0")


def wake(at_us: int) -> str:
    """The program is woken."""
    return event(at_us, "sched_waking", "comm=chario-bench pid=107 prio=49 target_cpu=001", task="<idle>-0")


def read(at_us: int, *more: str) -> list[str]:
    """A read that waits for the drive from 10 to 90 us after its entry, and is back after 100."""
    times = (issue(at_us + 10), interrupt(at_us + 90), wake(at_us + 91))
    return [enter(at_us), *sorted([*times, *more], key=lambda line: line.split("]")[1]), leave(at_us + 100)]


def trace(*reads: list[str]) -> Points:
    """The points of so many reads, whose program sleeps before each."""
    lines = [line for one in reads for line in (wake(0), *one)]
    return read_trace("\n".join(lines), len(reads))


def medians_us(points: Points) -> list[float]:
    """Submitted, handled, resumed."""
    return [points.points[name].median_ns / 1000 for name in (SUBMITTED, HANDLED, RESUMED)]


def test_recorded_direct_reads() -> None:
    """All wait; a worker sends their commands."""
    points = read_trace((DATA / "direct-reads.trace").read_text(), 4)
    assert (points.waiting, points.unclear, points.whole.requests) == (1, 0, 4)
    assert points.whole.max_ns == 3_522_407
    assert medians_us(points) == [109.774, 681.351, 791.356]


def test_recorded_reads_of_a_file() -> None:
    """The drive has answered three of the four before their caller could sleep."""
    points = read_trace((DATA / "first-reads.trace").read_text(), 4)
    assert (points.waiting, points.unclear, points.whole.requests) == (0.25, 0, 4)
    assert medians_us(points) == [381.462, 1310.724, 1523.653]


def test_a_read_that_waits() -> None:
    """It computes until the command is submitted, and from the handler on."""
    points = trace(read(1000), read(2000))
    assert medians_us(points) == [10, 90, 100]
    assert (points.computing_ns, points.whole.mean_ns, points.waiting) == (20_000, 100_000, 1)


def test_a_read_from_memory_has_no_points() -> None:
    """It computes as long as it takes, also where read-ahead goes on meanwhile, which may be over before the end."""
    points = trace(
        read(1000), [enter(2000), leave(2004)], [enter(3000), issue(3001, "RA"), interrupt(3008), leave(3010)]
    )
    assert (points.points[RESUMED].requests, points.whole.requests, points.unclear) == (1, 3, 0)
    assert points.computing_ns == pytest.approx((20_000 + 4_000 + 10_000) / 3)
    assert points.waiting == pytest.approx(1 / 3)
    assert trace([enter(1000), leave(1004)]).points == {}


def test_interrupts_and_commands_of_others() -> None:
    """Another drive's, before and after the own one; another queue's behind the own one; another drive's command."""
    strange = (issue(3005, disk="259,8"), interrupt(3050, OTHER), interrupt(3090, "irq=32 name=nvme0q1", cpu=0))
    points = trace(read(1000), read(2000), read(3000, *strange))
    assert medians_us(points) == [10, 90, 100]
    assert points.points[HANDLED].max_ns == 90_000 and points.points[SUBMITTED].mean_ns == 10_000


def test_a_drive_that_is_faster_than_its_caller_wakes_nobody() -> None:
    """What was read directly has waited all the same."""
    points = trace([enter(1000), issue(1010), interrupt(1015), leave(1020)])
    assert medians_us(points) == [10, 15, 20]


def test_events_without_a_partner() -> None:
    """A read that waits for what an earlier one has asked for is in the time of all; what has no begin is no read."""
    early = [enter(3000), interrupt(3040), wake(3041), leave(3050)]
    points = trace([leave(900), *read(1000)], read(2000), early)
    assert (points.unclear, points.points[RESUMED].requests, points.whole.requests) == (1, 2, 3)
    assert points.computing_ns == 20_000 and points.whole.max_ns == 100_000
    with pytest.raises(TraceError, match="1 of 2 reads"):
        read_trace("\n".join([*read(1000), enter(2000), "chario-lab: chario-ben"]), 2)
    with pytest.raises(TraceError, match="of no read"):
        trace(early)


def test_a_trace_that_has_lost_events_is_refused() -> None:
    """As trace-cmd reports it."""
    with pytest.raises(TraceError, match=r"has lost events \(overrun: 5\)"):
        read_trace("\n".join(["overrun: 5", *read(1000)]), 1)


def test_figures_of_a_point() -> None:
    """By rank, as chario timeline has them."""
    point = point_of([*range(1, 101), 1000])
    assert (point.requests, point.median_ns, point.p99_ns, point.max_ns) == (101, 51, 100, 1000)


def said(lost: int = 0, **requests: int) -> str:
    """What `chario timeline --json` says, with so many requests at each point."""
    times = {SUBMITTED: 5_000, HANDLED: 80_000, POLLED: 70_000, RESUMED: 90_000}
    figure = [
        {"point": name, "requests": requests.get(name, 0), "min_ns": 1, "median_ns": time_ns, "p99_ns": time_ns + 1,
         "p999_ns": time_ns + 2, "max_ns": time_ns + 3, "mean_ns": time_ns}
        for name, time_ns in times.items()
    ]  # fmt: skip
    return json.dumps({"disk": 0, "lost_records": lost, "record_cost_ns": 40, "stages": [], "figure3": figure})


def test_a_timeline_is_kept() -> None:
    """Sleeping reads have a handler, polled ones the moment at which they see the completion."""
    kept = recall(digest_timeline(said(submitted=8, handled=8, resumed=8), 8))
    assert medians_us(kept) == [5, 80, 90] and POLLED not in kept.points
    assert (kept.computing_ns, kept.waiting, kept.record_ns, kept.whole) == (15_000, 1, 40, kept.points[RESUMED])
    kept = recall(digest_timeline(said(submitted=8, polled=8, resumed=8), 8))
    assert HANDLED not in kept.points and kept.computing_ns == 25_000
    kept = recall(digest_timeline(said(submitted=8, handled=6, polled=2, resumed=8), 8))
    assert kept.computing_ns == 17_500


@pytest.mark.parametrize(("text", "reason"), [
    (said(lost=3, submitted=8, handled=8, resumed=8), "lost 3 records"),
    (said(submitted=8, handled=7, resumed=8), "not all of 8 reads .*handled or polled: 7"),
    (said(submitted=9, handled=9, resumed=9), "not all of 8 reads"),
    ("", "nothing that can be read"),
])  # fmt: skip
def test_a_timeline_that_is_not_whole_is_refused(text: str, reason: str) -> None:
    """Records that were lost, a read without a point, reads of somebody else, and no answer."""
    with pytest.raises(TargetError, match=reason):
        digest_timeline(text, 8)


def test_what_is_planned_for_this_machine() -> None:
    """The same reads as in a guest, and polled ones; each with who notes its points, and what that needs."""
    stations = EXPERIMENT.plan(Choice(here=True))
    assert [station.holder for station in stations] == [Holder.CHARIO, Holder.BLOCK, Holder.EXT4]
    assert all(station.machine is THIS_MACHINE and station.settings == GREEDY for station in stations)
    cases = [step for station in stations for step in station.steps if isinstance(step, Case)]
    assert SPIN.key not in {case.key for case in cases} and len(cases) == 4 * len(HERE_WAYS)
    assert {case.operations for case in cases} == {RUNS, FIRST_RUNS}
    assert all(f"period={PERIOD_US}" in case.words and case.report for case in cases)
    traced = [case for case in cases if case.under[0] == "trace-cmd"]
    assert all(case.needs == (TRACE_EVENTS,) and case.words[-1] == GATE for case in traced)
    assert len(traced) == 4 * sum(not way.is_chario for way in HERE_WAYS)
    physical = [case for case in cases if "physical" in case.key]
    assert len(physical) == 8 and all(case.needs == (WINDOW,) for case in physical)


def test_a_timeline_holds_all_reads() -> None:
    """A ring has at least ten records for each, and is no larger than a timeline may be."""
    cases = [step for station in EXPERIMENT.plan(Choice(here=True)) for step in station.steps if isinstance(step, Case)]
    for case in cases:
        if case.under[0] == "sh":
            words = case.under[2].split()
            records = int(words[words.index("--records") + 1])
            assert 10 * case.operations <= records <= 1 << 17 and records & (records - 1) == 0
    polled = [case for case in cases for way in POLLED_WAYS if case.key.startswith(f"{way.title}/")]
    assert polled and all(("/sys/class/chario/{name}/completion", "poll") in case.settings for case in polled)
