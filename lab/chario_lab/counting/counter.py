# SPDX-License-Identifier: MIT
"""Counts what the processors of a guest execute while a program of the lab runs there.

The program brackets each operation with markers (lab/bench/marker.h), which the plugin recognises.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from chario_lab.counting.layers import LAYERS, USER, Symbol, parse_kallsyms, render_map
from chario_lab.counting.series import Operation, Reader


class CounterError(Exception):
    """What was to be counted was not; the message says why."""


class Counter:
    """The plugin of one guest, and the map of its functions.

    `reload` runs the marker by which the plugin reads the map again.
    """

    def __init__(self, map_path: Path, out_path: Path, reload: Callable[[], object]) -> None:
        self.symbols: list[Symbol] = []
        self._map_path = map_path
        self._reader = Reader(out_path)
        self._reload = reload

    def learn(self, kallsyms: str, chario: Mapping[str, str], points: Mapping[str, int]) -> None:
        """Tell the plugin the kernel's functions as they are now; `chario` and `points` as in parse_kallsyms()."""
        self.symbols = parse_kallsyms(kallsyms, chario, points)
        self._map_path.write_text(render_map(self.symbols))
        self._reload()

    def take(self, operations: int) -> list[Operation]:
        """The newest series, which has to have so many operations."""
        segments = self._reader.new_segments()
        if not segments or len(segments[-1]) != operations:
            raise CounterError("the plugin did not see the operations: was its map loaded?")
        for operation in segments[-1]:
            check_sum(operation)
        return segments[-1]


def check_sum(operation: Operation) -> None:
    """Raise unless layers and functions, which the plugin counts apart, add up to the same.

    A CPU that runs is not read at one instant, so nothing is said of operations on several.
    """
    by_layer = sum(operation.layers) - operation.layers[LAYERS.index(USER)]
    by_function = sum(count for _, count in operation.symbols)
    if operation.symbols and len(operation.cpus) == 1 and by_layer != by_function:
        raise CounterError(f"the kernel's layers have {by_layer:,} instructions, and its functions {by_function:,}")
