# SPDX-License-Identifier: MIT
"""From the counts of single operations to the figures of a case."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from chario_lab.counting.layers import IDLE, LAYERS, OTHER, Symbol
from chario_lab.counting.series import Counts, Operation, Point

IDLE_INDEX = LAYERS.index(IDLE)
# Fewer clean operations than this, and those with a tick are taken in as well: a tick is no part of any operation, so
# even a few clean ones tell more of a call than many with a tick.
MIN_CLEAN = 3
# The part of a case that may be spent in functions without a layer.
UNASSIGNED_LIMIT = 0.02
# Calls that sleep have nearly as many totals as there are calls.
MOST_DIFFERENCES = 8


@dataclass(frozen=True)
class Events:
    """Device and scheduler events of one call."""

    sq_doorbells: int
    cq_doorbells: int
    irqs: int
    switches: int


@dataclass(frozen=True)
class Summary:
    """What a case costs a call; instructions without those of the idle loop.

    The layers are those of one operation, the median one, so their sum without the idle loop is
    the median itself; the functions are those of the operation that is nearest to it. `share` is
    the part of the clean operations that cost exactly `mode`. `rung` has how many of all operations
    rang the submission doorbell how often.
    """

    instructions: int
    mode: int
    share: float
    least: int
    most: int
    idle: int
    operations: int
    clean: int
    ticks_included: bool
    stalls_missed: int
    events: Events
    layers: Mapping[str, int]
    functions: Mapping[str, int]
    function_layers: Mapping[str, str]
    rung: Mapping[int, int] = field(default_factory=dict)

    @property
    def unassigned(self) -> float:
        """The part of the instructions whose functions have no layer."""
        return self.layers.get(OTHER, 0) / self.instructions


@dataclass(frozen=True)
class Difference:
    """Calls that cost `extra` more than most, how many they are, and in which functions."""

    extra: int
    share: float
    functions: Mapping[str, int]


def instructions(counted: Counts | Point) -> int:
    """User and kernel, without the idle loop: of an operation, of one CPU's part of it, or until a point."""
    return sum(counted.layers) - counted.layers[IDLE_INDEX]


def sum_events(operations: Sequence[Operation]) -> dict[str, int]:
    """Events and bytes that were moved, by the names of Counts."""
    names = [field.name for field in fields(Counts) if field.name != "layers"]
    return {name: sum(getattr(operation, name) for operation in operations) for name in names}


def sum_busy(operations: Sequence[Operation]) -> list[int]:
    """How long each CPU was not halted, by its number."""
    nr_cpus = 1 + max((cpu for operation in operations for cpu in operation.cpus), default=-1)
    parts = [[operation.cpus[cpu] for operation in operations if cpu in operation.cpus] for cpu in range(nr_cpus)]
    return [sum(part.busy_ns for part in own) for own in parts]


def sum_layers(operations: Sequence[Operation]) -> dict[str, int]:
    """Instructions of each layer that has any."""
    sums = [sum(counts) for counts in zip(*(operation.layers for operation in operations), strict=True)]
    return {name: count for name, count in zip(LAYERS, sums, strict=False) if count}


def summarise(operations: Sequence[Operation], symbols: Sequence[Symbol]) -> Summary:
    """The figures of one case; operations that a timer tick fell into are left out."""
    clean = [op for op in operations if not op.ticks]
    used = clean if len(clean) >= min(MIN_CLEAN, len(operations)) else list(operations)
    totals = [instructions(op) for op in used]
    median = statistics.median_low(totals)
    typical = used[totals.index(median)]
    mode = statistics.mode(totals)
    detailed = _nearest_detailed(used, median)
    return Summary(
        instructions=median,
        mode=mode,
        share=totals.count(mode) / len(totals),
        least=min(totals),
        most=max(totals),
        idle=typical.layers[IDLE_INDEX],
        operations=len(operations),
        clean=len(clean),
        ticks_included=used is not clean,
        stalls_missed=sum(op.stalls_missed for op in operations),
        events=Events(*(statistics.mode(getattr(op, event.name) for op in used) for event in fields(Events))),
        layers={name: count for name, count in zip(LAYERS, typical.layers, strict=False) if count},
        functions={symbols[index].name: count for index, count in detailed},
        function_layers={symbols[index].name: symbols[index].layer for index, _ in detailed},
        rung=dict(sorted(Counter(op.sq_doorbells for op in operations).items())),
    )


def differences(operations: Sequence[Operation], symbols: Sequence[Symbol]) -> list[Difference]:
    """Why some calls cost more or less than most: the functions that ran longer or shorter.

    Only the operations that were recorded by function can tell, and one speaks for all of its
    total; the totals that occur most are told.
    """
    detailed = [op for op in operations if op.symbols and not op.ticks]
    totals = Counter(instructions(op) for op in detailed)
    if not totals:
        return []
    mode = totals.most_common(1)[0][0]
    usual = dict(_example(detailed, mode).symbols)
    found = []
    for total, count in totals.most_common(MOST_DIFFERENCES):
        if total != mode:
            here = dict(_example(detailed, total).symbols)
            changed = {symbols[i].name: here.get(i, 0) - usual.get(i, 0) for i in usual | here}
            found.append(Difference(total - mode, count / len(detailed), {n: c for n, c in changed.items() if c}))
    return found


def _example(operations: Sequence[Operation], total: int) -> Operation:
    return next(op for op in operations if instructions(op) == total)


def _nearest_detailed(operations: Sequence[Operation], median: int) -> list[tuple[int, int]]:
    """Functions of the operation, of those recorded by function, that is nearest to the median."""
    detailed = [op for op in operations if op.symbols]
    if not detailed:
        return []
    nearest = min(detailed, key=lambda op: abs(instructions(op) - median))
    return sorted(nearest.symbols, key=lambda item: -item[1])
