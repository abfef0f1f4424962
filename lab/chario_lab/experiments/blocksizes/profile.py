# SPDX-License-Identifier: MIT
"""Reads what perf reports of a run."""

import re
from dataclasses import dataclass

from chario_lab.counting.layers import FILLS, IDLE, USER, layer_of

LINE = re.compile(r"^\s*(?P<share>\d+\.\d+)%\s+(?P<command>\S.*?)\s+\[(?P<space>[k.])\]\s+(?P<name>\S+)")
EVENT = re.compile(r"^# Samples: (?P<count>\d+)(?P<unit>[KM]?) +of event '(?P<event>.+)'$", re.MULTILINE)
UNITS = {"": 1, "K": 1000, "M": 1_000_000}
# Shares of fewer are those of chance.
LEAST_SAMPLES = 50
PROFILER = "perf"
# What makes memory and caches agree where DMA is not coherent: on Arm, its outer caches, RISC-V, MIPS and PowerPC.
CACHES = re.compile(
    r"v[4-8]\w*_(dma|flush|clean|inv)\w*|b15_dma\w*|(l2c|l2x0|outer)\w*_(clean|flush|inv|sync)\w*|arch_sync_dma\w*"
    r"|_*(clean|inval|flush)_dcache\w*|(caches|dcache)_(clean|inval)\w*|__dma_(map|unmap|clean|flush|inv|sync)\w*"
    r"|__pi_(dcache|__dma)_\w+|riscv_noncoherent\w*|\w*noncoherent_cache\w*|r4k_dma_cache\w*|dma_cache_(wback|inv)\w*"
)


@dataclass(frozen=True)
class Profile:
    """Parts of the samples of all CPUs while they had work: those of the idle loop and of the profiler are left out.

    `copies` are functions that move data, `locks` those that take, wait for and release locks, and `caches` those that
    maintain caches for DMA.  `event` is what was sampled by.
    """

    copies: float
    locks: float
    caches: float
    event: str


def read_profile(report: str) -> Profile | None:
    """The shares of the kernel's functions; None where no CPU had work, or too little was seen of it."""
    work: dict[str, float] = {}
    for line in report.splitlines():
        match = LINE.match(line)
        if match and match["command"] != PROFILER:
            kind = kind_of(match["name"]) if match["space"] == "k" else USER
            work[kind] = work.get(kind, 0.0) + float(match["share"])
    total = sum(share for kind, share in work.items() if kind != IDLE)
    events = list(EVENT.finditer(report))
    samples = sum(int(event["count"]) * UNITS[event["unit"]] for event in events)
    if not total or samples * total / 100 < LEAST_SAMPLES:
        return None
    copies, locks, caches = (work.get(kind, 0.0) / total for kind in ("copy", "lock", "caches"))
    return Profile(copies, locks, caches, " and ".join(event["event"] for event in events))


def kind_of(name: str) -> str:
    """The layer of a function of the kernel; filling memory is no copy, and maintenance of caches is its own."""
    if CACHES.fullmatch(name.partition(".")[0]):
        return "caches"
    return "fill" if FILLS.fullmatch(name) else layer_of(name)
