# SPDX-License-Identifier: MIT
"""Holds what was counted against what is asked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

from chario_lab.experiments.bench.matrix import GOALS, KNOWN, KNOWN_MARGIN, STEADY_KEY, STEADY_SHARE, Goal
from chario_lab.experiments.bench.results import Results


@dataclass(frozen=True)
class Verdict:
    """One goal and what came of it; `missed` says in words what was not reached."""

    goal: Goal
    instructions: int | None
    ratio: float | None
    missed: tuple[str, ...]

    @property
    def reached(self) -> bool:
        """Whether all of it was."""
        return not self.missed


@dataclass(frozen=True)
class Known:
    """A figure of an independent rig beside ours."""

    key: str
    known: int
    counted: int | None

    @property
    def difference(self) -> float | None:
        """Relative to the known figure."""
        return None if self.counted is None else self.counted / self.known - 1

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the margin."""
        return self.difference is not None and abs(self.difference) <= KNOWN_MARGIN


def judge(run: Results) -> list[Verdict]:
    """All goals, in the order of the matrix."""
    return [_judge_one(run, goal) for goal in GOALS]


def judge_steady(run: Results) -> tuple[float | None, bool]:
    """Share of polled calls with the same count, and whether it is enough."""
    series = run.series.get(STEADY_KEY)
    if series is None:
        return None, False
    return series.counted.share, series.counted.share >= STEADY_SHARE


def mixed(run: Results) -> dict[str, Mapping[int, int]]:
    """The cases whose operations are not all the same one, as their doorbells tell: how many calls rang how often."""
    return {key: series.counted.rung for key, series in run.series.items() if len(series.counted.rung) > 1}


def compare_known(run: Results) -> list[Known]:
    """The check that this rig counts rightly; empty for a kernel without known figures."""
    return [Known(key, known, run.instructions(key)) for key, known in KNOWN.get(run.kernel, {}).items()]


def _judge_one(run: Results, goal: Goal) -> Verdict:
    counted = run.instructions(goal.key)
    reference = run.instructions(goal.reference)
    if counted is None:
        return Verdict(goal, None, None, ("not counted",))
    ratio = counted / reference if reference else None
    return Verdict(goal, counted, ratio, tuple(_misses(run, goal, counted, ratio)))


def _misses(run: Results, goal: Goal, counted: int, ratio: float | None) -> Iterator[str]:
    events = run.series[goal.key].counted.events
    if goal.instructions is not None and counted > goal.instructions:
        over = counted - goal.instructions
        yield f"{over:,} instructions ({over / goal.instructions:.0%}) over"
    if ratio is None:
        yield "its peer was not counted"
    elif ratio > goal.ratio:
        yield f"ratio {ratio:.3f}"
    if goal.events and events != goal.events:
        for field in fields(goal.events):
            asked, got = getattr(goal.events, field.name), getattr(events, field.name)
            if got != asked:
                yield f"{got} {field.name} for {asked}"
