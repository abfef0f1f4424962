# SPDX-License-Identifier: MIT
"""The points of reads as software sees them on hardware, where nothing counts instructions: what records keep."""

import math
import statistics
from collections.abc import Sequence

import msgspec

from chario_lab.experiment.measure import HANDLED, RESUMED, SUBMITTED
from chario_lab.target.target import TargetError

# In the place of "handled", where nobody raises an interrupt: polling has seen the completion.
POLLED = "polled"


class Point(msgspec.Struct, frozen=True):
    """How long after their entry calls have reached a point, in nanoseconds, and how many of them have."""

    requests: int
    median_ns: int
    p99_ns: int
    max_ns: int
    mean_ns: float


class Reached(Point, frozen=True):
    """A point of the program `chario timeline`, with its name."""

    point: str


class Timeline(msgspec.Struct):
    """What the program says of a recording, as far as it is of use here; other fields are passed over."""

    lost_records: int
    record_cost_ns: int
    figure3: list[Reached]


class Points(msgspec.Struct, kw_only=True):
    """What is known of a series of reads.

    `points` are of the reads that wait for the drive, by name; `whole` is how long all reads take.  `computing_ns` is
    the mean time of a call in which it does not wait: until the command is submitted, and from the handler on, or
    all of it where it does not wait.  `unclear` reads have waited, and nobody knows from when to when:
    they are in `whole` alone.  `record_ns` is what it costs to note a point, where that is known.
    """

    points: dict[str, Point]
    whole: Point
    computing_ns: float
    unclear: int = 0
    record_ns: int = 0

    @property
    def waiting(self) -> float:
        """The part of the reads that wait for the drive, and whose points are known."""
        return self.points[RESUMED].requests / self.whole.requests if self.points else 0.0


def keep(points: Points) -> str:
    """What records keep; recall() reads it."""
    return msgspec.json.encode(points).decode()


def recall(report: str) -> Points:
    """The points that a record has kept."""
    return msgspec.json.decode(report, type=Points)


def point_of(times_ns: Sequence[int]) -> Point:
    """The figures of one point; percentiles are the least time that so many do not exceed."""
    ordered = sorted(times_ns)
    p99_ns = ordered[math.ceil(len(ordered) * 0.99) - 1]
    return Point(len(ordered), statistics.median_low(ordered), p99_ns, ordered[-1], statistics.mean(ordered))


def digest_timeline(text: str, operations: int) -> str:
    """What records keep of what `chario timeline --json` has said; refused unless every read is in it."""
    try:
        timeline = msgspec.json.decode(text, type=Timeline)
    except msgspec.MsgspecError as error:
        raise TargetError(f"chario timeline has said nothing that can be read: {error}") from error
    if timeline.lost_records:
        raise TargetError(f"the timeline has lost {timeline.lost_records} records")
    found = {
        reached.point: Point(reached.requests, reached.median_ns, reached.p99_ns, reached.max_ns, reached.mean_ns)
        for reached in timeline.figure3
        if reached.requests
    }
    seen = [found[name] for name in (HANDLED, POLLED) if name in found]
    counts = {name: found[name].requests if name in found else 0 for name in (SUBMITTED, RESUMED)}
    counts["handled or polled"] = sum(point.requests for point in seen)
    if any(count != operations for count in counts.values()):
        figures = ", ".join(f"{name}: {count}" for name, count in counts.items())
        raise TargetError(f"the timeline has not all of {operations} reads ({figures})")
    seen_ns = sum(point.mean_ns * point.requests for point in seen) / operations
    computing_ns = found[SUBMITTED].mean_ns + found[RESUMED].mean_ns - seen_ns
    return keep(
        Points(points=found, whole=found[RESUMED], computing_ns=computing_ns, record_ns=timeline.record_cost_ns)
    )
