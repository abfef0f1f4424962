# SPDX-License-Identifier: MIT
"""Shares of layers: the counter's layers under the names that the paper uses, timer ticks taken out."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass

from chario_lab.counting.layers import IDLE, LAYERS, OTHER, USER
from chario_lab.experiment.plan import SPIN
from chario_lab.records import AnyRecord, SeriesRecord, of_kind

# What is shown, in the order of a call's way, and which of the counter's layers it is.
KNOWN: dict[str, tuple[str, ...]] = {
    "system call": ("system call",),
    "VFS": ("vfs",),
    "file system": ("file system",),
    "page cache": ("page cache",),
    "direct I/O": ("direct I/O",),
    "pinning pages": ("gup",),
    "BIO creation": ("bio",),
    "split, merge, plug": ("merge",),
    "request queueing": ("request",),
    "driver": ("nvme", "driver"),
    "DMA mapping": ("dma",),
    "interrupt": ("interrupt",),
    "scheduler": ("scheduler",),
    "copy": ("copy",),
    "memory": ("slab", "mm"),
    "locks": ("lock",),
    "security": ("security",),
    "clocks": ("timer",),
    "library": ("library",),
    "program": (USER,),
}
REST = "other"
_LISTED = {layer for layers in KNOWN.values() for layer in layers}
SHOWN: dict[str, tuple[str, ...]] = {
    **KNOWN,
    REST: (OTHER, *(layer for layer in LAYERS if layer not in {*_LISTED, OTHER, IDLE})),
}
# The paper's groups.
GROUPS = {"create": "BIO creation", "merge": "split, merge, plug", "queue": "request queueing"}


@dataclass(frozen=True)
class Share:
    """What one case costs a call, and how it is divided; `layers` are by the names of SHOWN."""

    total: float
    layers: Mapping[str, float]
    commands: float = 0.0

    def of(self, title: str) -> float:
        """The part of a layer."""
        return self.layers[title] / self.total

    @property
    def together(self) -> float:
        """The part of the paper's groups."""
        return sum(self.of(title) for title in GROUPS.values())


Shares = dict[str, Share]


def all_shares(records: Sequence[AnyRecord], machines: Sequence[str]) -> Shares:
    """Of every case whose instructions were counted on these machines."""
    series = [each for each in of_kind(records, SeriesRecord) if each.machine in machines]
    return {each.case: share_of(each, ticks_of(each, series)) for each in series if each.call_bytes and each.layers}


def ticks_of(series: SeriesRecord, all_series: Sequence[SeriesRecord]) -> Mapping[str, float]:
    """What a timer tick costs in each layer at the same station: see experiment/ticks.py."""
    where = (series.machine, series.station, SPIN.key)
    spins = [each for each in all_series if (each.machine, each.station, each.case) == where]
    return {
        layer: statistics.median(each.layers.get(layer, 0) / max(1, sum(each.ticks)) for each in spins)
        for layer in {layer for each in spins for layer in each.layers} - {USER, IDLE}
    }


def share_of(series: SeriesRecord, tick: Mapping[str, float]) -> Share:
    """The instructions of a call in each layer, in the mean."""
    calls = len(series.instructions) * series.calls
    ticks = sum(series.ticks)
    own = {layer: (count - ticks * tick.get(layer, 0.0)) / calls for layer, count in series.layers.items()}
    # A tick of these calls may be cheaper in some layer than the mean one.
    layers = {title: max(0.0, sum(own.get(layer, 0.0) for layer in layers)) for title, layers in SHOWN.items()}
    commands = sum(astuple(series.commands)) / (len(series.instructions) + series.warm_calls)
    return Share(sum(layers.values()), layers, commands)
