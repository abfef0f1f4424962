# SPDX-License-Identifier: MIT
"""Holds what was counted against what is asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

from chario_lab.bench.matrix import KNOWN, KNOWN_MARGIN, STEADY_KEY, STEADY_SHARE, TARGETS, Target
from chario_lab.bench.measure import Run


@dataclass(frozen=True)
class Verdict:
    """One target and what came of it; `missed` says in words what was not reached."""

    target: Target
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


def judge(run: Run) -> list[Verdict]:
    """All targets, in the order of the matrix."""
    return [_judge_one(run, target) for target in TARGETS]


def judge_steady(run: Run) -> tuple[float | None, bool]:
    """Share of polled calls with the same count, and whether it is enough."""
    outcome = run.outcomes.get(STEADY_KEY)
    if outcome is None or outcome.summary is None:
        return None, False
    return outcome.summary.share, outcome.summary.share >= STEADY_SHARE


def compare_known(run: Run) -> list[Known]:
    """The check that this rig counts rightly; empty for a kernel without known figures."""
    return [Known(key, known, run.instructions(key)) for key, known in KNOWN.get(run.kernel, {}).items()]


def _judge_one(run: Run, target: Target) -> Verdict:
    counted = run.instructions(target.key)
    reference = run.instructions(target.reference)
    if counted is None:
        return Verdict(target, None, None, ("not counted",))
    ratio = counted / reference if reference else None
    return Verdict(target, counted, ratio, tuple(_misses(run, target, counted, ratio)))


def _misses(run: Run, target: Target, counted: int, ratio: float | None) -> Iterator[str]:
    summary = run.outcomes[target.key].summary
    if target.instructions is not None and counted > target.instructions:
        over = counted - target.instructions
        yield f"{over:,} instructions ({over / target.instructions:.0%}) over"
    if ratio is None:
        yield "its peer was not counted"
    elif ratio > target.ratio:
        yield f"ratio {ratio:.3f}"
    if target.events and summary and summary.events != target.events:
        for field in fields(target.events):
            asked, got = getattr(target.events, field.name), getattr(summary.events, field.name)
            if got != asked:
                yield f"{got} {field.name} for {asked}"
