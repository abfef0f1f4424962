# SPDX-License-Identifier: MIT
"""Takes timer ticks out of what a whole series of calls costs.

How many ticks fall into a series depends on how fast the host is, and in a long one they cannot be avoided.
What one costs is learnt from a program that computes and never calls the kernel (SPIN): all that the
kernel does meanwhile, it does for ticks.
"""

import statistics
from collections.abc import Sequence

from chario_lab.counting.layers import USER
from chario_lab.experiment.plan import SPIN
from chario_lab.records import SeriesRecord


def without_ticks(series: SeriesRecord, station: Sequence[SeriesRecord]) -> float:
    """Instructions of a series of one operation; `station` has those of SPIN at the same station."""
    spins = [each for each in station if each.case == SPIN.key]
    return series.instructions[0] - series.ticks[0] * statistics.median(tick_cost(spin) for spin in spins)


def tick_cost(spinning: SeriesRecord) -> float:
    """Instructions of the kernel for a tick; neither the program's own nor those of the idle task are."""
    in_kernel = spinning.instructions[0] - spinning.counted.layers.get(USER, 0)
    return in_kernel / max(spinning.ticks[0], 1)
