# SPDX-License-Identifier: MIT
"""What a MiB costs the machine: figures of a series of calls, whichever way they went."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from chario_lab.counting.layers import IDLE, USER
from chario_lab.experiment.plan import SPIN
from chario_lab.experiment.ticks import tick_cost
from chario_lab.records import AnyRecord, SeriesRecord, of_kind

MIB = 1 << 20
WORD_BYTES = 8
# The kernel accounts for CPUs in steps of 10 ms each.
LEAST_TIMED_S = 0.5
EXCLUDED_IN_GUEST = """\
All is emulated: times and rates would mean nothing, so there are none. Instructions are those of the guest's CPU,
program and kernel, without the idle loop and without timer ticks; a string instruction counts as one, and the bytes
that it copies stand apart. Not in the figures: cache misses, bus and memory time, the drive's own work. The CPU share
is how long the CPU was not halted while the calls went on, by the clock of the machine that emulates it, in front of
an emulated drive: it compares ways of one run, and no more than roughly."""


EXCLUDED_HERE = """\
Rates, times and CPU shares are those of this machine and this drive: 100 % is one CPU, and whatever else ran meanwhile
is in them, as it is in interrupts and switches, where timers count too. Energy is that of the processor packages,
with what they use when they are idle; drive, memory and power supply are not in it."""


@dataclass(frozen=True)
class Usage:
    """Figures of a series, by the MiB or the byte that was moved.

    Instructions and copied bytes are 0 where nothing counts them, `joules_a_gib` is None there.  `tick_share` is the
    part of what was counted that was taken out for timer ticks.
    """

    elapsed_s: float
    mib_a_second: float
    instructions_a_mib: float
    copied_a_byte: float
    commands_a_mib: float
    interrupts_a_mib: float
    switches_a_mib: float
    cpu_share: float
    kernel_share: float
    busiest_kernel_share: float
    copy_share: float
    lock_share: float
    cached_a_byte: float
    tick_share: float
    joules_a_gib: float | None

    @property
    def cpu_ms_a_mib(self) -> float:
        """Milliseconds of a CPU."""
        return self.cpu_share * 1000 / self.mib_a_second

    @property
    def is_timed(self) -> bool:
        """Whether it took long enough for the kernel's account of the CPUs."""
        return self.elapsed_s >= LEAST_TIMED_S


def usages(records: Sequence[AnyRecord], machine: str) -> dict[str, Usage]:
    """Of every case of a machine."""
    series = [each for each in of_kind(records, SeriesRecord) if each.machine == machine]
    return {each.case: usage_of(each, series) for each in series if each.call_bytes}


def usage_of(series: SeriesRecord, machine: Sequence[SeriesRecord]) -> Usage:
    """The figures of one series; `machine` has those of SPIN at the same station, where instructions are counted."""
    mib = series.moved_bytes / MIB
    with_warm_mib = mib + series.warm_calls * series.call_bytes / MIB
    commands = series.commands
    busy = sum(cpu_shares(series))
    elapsed_s = number(series, "elapsed_us") / 1e6
    instructions = instructions_of(series, machine)
    return Usage(
        elapsed_s=elapsed_s,
        mib_a_second=mib / elapsed_s,
        instructions_a_mib=instructions / mib,
        copied_a_byte=series.events.get("copied_bytes", 0) / series.moved_bytes,
        commands_a_mib=(commands.reads + commands.writes + commands.flushes) / with_warm_mib,
        interrupts_a_mib=event(series, "irqs", "interrupts") / mib,
        switches_a_mib=event(series, "switches", "switches") / mib,
        cpu_share=busy,
        kernel_share=busy * kernel_part(series),
        busiest_kernel_share=busiest_kernel_share(series),
        copy_share=copy_share(series),
        lock_share=series.layers.get("lock", 0) / max(1, work(series)),
        cached_a_byte=cast(int, series.said["cached_kib"]) * 1024 / series.moved_bytes,
        tick_share=1 - instructions / sum(series.instructions) if series.instructions else 0.0,
        joules_a_gib=None if series.energy_uj is None else series.energy_uj / 1e6 / with_warm_mib * 1024,
    )


def instructions_of(series: SeriesRecord, machine: Sequence[SeriesRecord]) -> float:
    """Instructions without those of timer ticks; 0 where none are counted."""
    if series.summary is None:
        return 0
    spins = [each for each in machine if each.case == SPIN.key and each.station == series.station]
    return sum(series.instructions) - sum(series.ticks) * statistics.median(tick_cost(spin) for spin in spins)


def event(series: SeriesRecord, counted: str, said: str) -> float:
    """A number of events: of the calls, where a counter sees them, else of the machine while the calls ran."""
    return number(series, said) if series.summary is None else series.events[counted]


def copy_share(series: SeriesRecord) -> float:
    """Part of the instructions, were a word copied by one: a string instruction counts as many as it moves words.

    Few copies are made otherwise; the words of those are counted besides their instructions.
    """
    words = series.events.get("copied_bytes", 0) / WORD_BYTES
    total = work(series)
    return (series.layers.get("copy", 0) + words) / max(1, total + words)


def work(series: SeriesRecord) -> int:
    """Instructions of all layers without the idle loop."""
    return sum(count for layer, count in series.layers.items() if layer != IDLE)


def busiest_kernel_share(series: SeriesRecord) -> float:
    """Of the CPU on which the kernel was busiest; where layers are counted they are those of all CPUs together."""
    if series.layers:
        return max(cpu_shares(series)) * kernel_part(series)
    return max(times(series, "kernel_us")) / number(series, "elapsed_us")


def cpu_shares(series: SeriesRecord) -> list[float]:
    """How much of each CPU was busy: by its halts where it is emulated, else by the kernel's account of idle time."""
    if series.busy_ns:
        return [busy / series.events["elapsed_ns"] for busy in series.busy_ns]
    elapsed_us = number(series, "elapsed_us")
    return [max(0.0, 1 - idle_us / elapsed_us) for idle_us in times(series, "idle_us")]


def kernel_part(series: SeriesRecord) -> float:
    """How much of that was the kernel's: by instructions, else by samples; all of it where there are none."""
    if series.layers:
        return 1 - series.layers.get(USER, 0) / work(series)
    user_us, kernel_us = sum(times(series, "user_us")), sum(times(series, "kernel_us"))
    return kernel_us / (user_us + kernel_us) if user_us + kernel_us else 1.0


def times(series: SeriesRecord, name: str) -> list[int]:
    """What the program said of each CPU."""
    return cast("list[int]", series.said[name])


def number(series: SeriesRecord, name: str) -> int:
    """What the program said of all CPUs together."""
    return cast(int, series.said[name])
