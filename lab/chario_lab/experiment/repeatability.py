# SPDX-License-Identifier: MIT
"""The same again: what a run has counted beside the run before it, call by call, and why it is not the same.

A program and a kernel that do the same execute the same instructions.  Where they do not, the layer in which the
difference lies says what was different: pages that are neighbours or not, a thread that was woken or still awake,
a timer that was set anew.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chario_lab.counting.layers import IDLE
from chario_lab.experiment.page import Table
from chario_lab.records import AnyRecord, EndRecord, MachineRecord, RunRecord, SeriesRecord, of_kind

KIB = 1 << 10
STALL = "stall"
# Of the layers in which two runs differ, so many are named.
NAMED_LAYERS = 3
Key = tuple[str, str, str, int]


@dataclass(frozen=True)
class Kind:
    """Calls of one kind, and what part of their median two runs may differ by, if anything is asked of them."""

    title: str
    limit: float | None


POLLED = Kind("polled, up to 128 KiB", 0.0)
SMALL = Kind("others, up to 4 KiB", 0.002)
MEDIUM = Kind("others, up to 128 KiB", 0.03)
LARGE = Kind("larger", None)
KINDS = (POLLED, SMALL, MEDIUM, LARGE)


@dataclass(frozen=True)
class Pair:
    """The same calls in two runs."""

    before: SeriesRecord
    now: SeriesRecord

    @property
    def kind(self) -> Kind:
        """What may be asked of them."""
        size_bytes = self.now.call_bytes
        if size_bytes > 128 * KIB:
            return LARGE
        if STALL in self.now.words:
            return POLLED
        return SMALL if size_bytes <= 4 * KIB else MEDIUM

    @property
    def difference(self) -> float:
        """Of the medians, as a part of the first."""
        before, now = self.before.counted.instructions, self.now.counted.instructions
        return (now - before) / before

    @property
    def is_beyond(self) -> bool:
        """Whether it is more than is asked."""
        return self.kind.limit is not None and abs(self.difference) > self.kind.limit

    @property
    def reason(self) -> str:
        """The layers of the median calls that differ most."""
        before, now = self.before.counted.layers, self.now.counted.layers
        apart = {layer: now.get(layer, 0) - before.get(layer, 0) for layer in {*before, *now} - {IDLE}}
        most = sorted(apart, key=lambda layer: -abs(apart[layer]))[:NAMED_LAYERS]
        return ", ".join(f"{layer} {apart[layer]:+,}" for layer in most if apart[layer])


def same_again(before: Sequence[AnyRecord], now: Sequence[AnyRecord]) -> list[Table]:
    """How many calls of each kind cost the same as before, and those that do not."""
    pairs = list(pair_up(before, now))
    if not pairs:
        return []
    runs = [of_kind(records, RunRecord)[0] for records in (before, now)]
    note = " and ".join(f"run of {run.started}, sources {run.checkout or 'unknown'}" for run in runs)
    rows = [row(kind, [pair for pair in pairs if pair.kind == kind]) for kind in KINDS]
    columns = ["", "compared", "to the instruction", "largest difference", "asked", "beyond it"]
    apart = [
        [
            f"{pair.now.machine}, {pair.now.case}",
            f"{pair.before.counted.instructions:,}",
            f"{pair.now.counted.instructions:,}",
            f"{pair.difference:+.2%}",
            pair.reason,
        ]
        for pair in pairs
        if pair.is_beyond
    ]
    return [
        Table("The same again: medians of a call's instructions, beside the run before", columns, rows, note),
        Table("Where they differ by more than is asked", ["", "before", "now", "difference", "in the layers"], apart),
    ]


def row(kind: Kind, pairs: Sequence[Pair]) -> list[str]:
    """The figures of one kind."""
    largest = max((abs(pair.difference) for pair in pairs), default=0.0)
    asked = "-" if kind.limit is None else f"{kind.limit:.1%}"
    same, beyond = sum(not pair.difference for pair in pairs), sum(pair.is_beyond for pair in pairs)
    return [kind.title, f"{len(pairs)}", f"{same}", f"{largest:.2%}", asked, f"{beyond}"]


def pair_up(before: Sequence[AnyRecord], now: Sequence[AnyRecord]) -> Iterator[Pair]:
    """The cases of single calls that both have counted on the same machines; a median with ticks in it says nothing."""
    machines = {each.machine: each for each in of_kind(before, MachineRecord)}
    same = {each.machine for each in of_kind(now, MachineRecord) if is_same(machines.get(each.machine), each)}
    found = counted(before)
    for key, series in counted(now).items():
        if series.machine in same and key in found and found[key].words == series.words:
            yield Pair(found[key], series)


def is_same(before: MachineRecord | None, now: MachineRecord) -> bool:
    """Whether figures of two machines are comparable: the module may be another one."""
    if before is None:
        return False
    return all(
        getattr(before, name) == getattr(now, name)
        for name in ("release", "kernel_command", "cpus", "memory_mib", "emulator")
    )


def counted(records: Sequence[AnyRecord]) -> dict[Key, SeriesRecord]:
    """Every series of calls with a median that no timer tick is in, and that no profiler or tracer ran beside."""
    return {
        (series.machine, series.station, series.case, series.repeat): series
        for series in of_kind(records, SeriesRecord)
        if series.summary and series.call_bytes and not series.report and not series.summary.ticks_included
    }


def find_before(runs: Sequence[Sequence[AnyRecord]]) -> Sequence[AnyRecord]:
    """Of all runs but the last, the newest that came to its end in the same form; nothing where there is none."""
    if not runs:
        return []
    short = of_kind(runs[-1], RunRecord)[0].short
    whole = [run for run in runs[:-1] if of_kind(run, EndRecord) and of_kind(run, RunRecord)[0].short == short]
    return whole[-1] if whole else []
