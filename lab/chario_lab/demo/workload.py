# SPDX-License-Identifier: MIT
"""The same calls by several ways to one drive, and what they cost."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from chario_lab.counting import layers
from chario_lab.counting.series import Operation, Reader
from chario_lab.demo.job import BLOCK_NODE, STEP_LIMIT_S
from chario_lab.demo.screen import DemoError, step
from chario_lab.guest.devices import command_counts
from chario_lab.guest.session import Guest

KIB = 1 << 10
DIRECTIONS = ("write", "read")


@dataclass(frozen=True)
class Size:
    """A series of calls of one size."""

    title: str
    size_bytes: int
    calls: int


@dataclass(frozen=True)
class Way:
    """A way to the drive; `ext4` is measured on a file."""

    title: str
    mode: str
    ext4: bool = False


@dataclass(frozen=True)
class Cost:
    """What one call of a series costs."""

    commands: float
    instructions: float


SIZES = (Size("4 KiB", 4 * KIB, 512), Size("128 KiB", 128 * KIB, 64), Size("1 MiB", 1024 * KIB, 32))
DISK = Way("chardisk", "direct")
OTHERS = (
    Way("block O_DIRECT", "direct"),
    Way("block buffered", "buffered"),
    Way("ext4 O_DIRECT", "direct", ext4=True),
    Way("ext4 buffered", "buffered", ext4=True),
)
WAYS = (DISK, *OTHERS)
# The guest's own background work falls into a series now and then: each is run
# this often, and the middle one counts.
REPEATS = 3
SPINS = 5
# A fresh ext4 goes on writing its tables in the background unless it is told not to.
MAKE_EXT4 = f"mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 {BLOCK_NODE}"

# By way, direction and size.
Costs = dict[tuple[str, str, str], Cost]


class Counter:
    """Commands of the drive and instructions of the CPU, for one series at a time."""

    def __init__(self, guest: Guest, program: Path, map_path: Path, out_path: Path) -> None:
        self._map_path = map_path
        self._reader = Reader(out_path)
        self._program = str(program)
        self._tick_cost = 0.0
        self.guest = guest

    def learn(self) -> None:
        """Tell the plugin where functions are; find out what a timer tick costs."""
        text = self.guest.must("cat /proc/kallsyms", STEP_LIMIT_S)
        self._map_path.write_text(layers.render_map(layers.parse_kallsyms(text)))
        self.guest.must([self._program, "reload"])
        self._tick_cost = statistics.median(tick_cost(self._run("spin")) for _ in range(SPINS))

    def count(self, path: str, direction: str, mode: str, size: Size) -> Cost:
        """Run a series; what one call of it costs."""
        self.guest.must("sync; echo 3 >/proc/sys/vm/drop_caches", STEP_LIMIT_S)
        before = command_counts(self.guest, 0)
        series = self._run(path, direction, mode, str(size.size_bytes), str(size.calls))
        after = command_counts(self.guest, 0)
        kind = ("read", "write").index(direction)
        return Cost(
            (after[kind] - before[kind]) / size.calls,
            (instructions(series) - series.ticks * self._tick_cost) / size.calls,
        )

    def count_program(self, words: Sequence[str]) -> Cost:
        """Run a whole program; what it costs, from its start to its end."""
        self.guest.must("sync; echo 3 >/proc/sys/vm/drop_caches", STEP_LIMIT_S)
        before = command_counts(self.guest, 0)
        series = self._run("run", *words)
        after = command_counts(self.guest, 0)
        return Cost(sum(after[:2]) - sum(before[:2]), instructions(series) - series.ticks * self._tick_cost)

    def _run(self, *words: str) -> Operation:
        self.guest.must([self._program, *words], STEP_LIMIT_S)
        (segment,) = self._reader.new_segments()
        (series,) = segment
        return series


def instructions(series: Operation) -> int:
    """All but those of the idle task."""
    return sum(series.layers) - series.layers[layers.LAYERS.index(layers.IDLE)]


def tick_cost(spinning: Operation) -> float:
    """Instructions of the kernel for a tick, from a program that never calls it.

    How many ticks fall into a series depends on how fast the host is.
    """
    in_kernel = instructions(spinning) - spinning.layers[layers.LAYERS.index(layers.USER)]
    return in_kernel / max(spinning.ticks, 1)


def measure_disk(console: Console, counter: Counter, disk: str) -> Costs:
    """The character disk."""
    with step(console, f"counting: {DISK.title}"):
        counter.learn()
        return measure_way(counter, DISK, disk)


def measure(console: Console, guest: Guest, counter: Counter) -> Costs:
    """The ways of Linux, on the same drive."""
    costs: Costs = {}
    counter.learn()
    for way in OTHERS:
        with step(console, f"counting: {way.title}"):
            if way.ext4:
                guest.must(f"{MAKE_EXT4} && mount {BLOCK_NODE} /mnt", STEP_LIMIT_S)
            costs |= measure_way(counter, way, BLOCK_NODE)
            if way.ext4:
                guest.must("umount /mnt", STEP_LIMIT_S)
    return costs


def measure_way(counter: Counter, way: Way, path: str) -> Costs:
    """One way: series of calls of each size; what is read was written before."""
    costs = {}
    for size in SIZES:
        # Each series of writes has a file of its own: a file that is there costs less.
        paths = [f"/mnt/recording-{size.size_bytes}-{repeat}" if way.ext4 else path for repeat in range(REPEATS)]
        for direction in DIRECTIONS:
            series = [counter.count(target, direction, way.mode, size) for target in paths]
            costs[way.title, direction, size.title] = middle(series)
    return costs


def middle(series: Sequence[Cost]) -> Cost:
    """What one call costs: the commands of all series, the instructions of the middle one."""
    return Cost(
        statistics.mean(cost.commands for cost in series),
        statistics.median(cost.instructions for cost in series),
    )


def check_plan(guest: Guest, chario: Path, disk: str, costs: Costs) -> None:
    """What `chario plan` says beforehand must be what the drive has counted."""
    for size in SIZES:
        for direction in DIRECTIONS:
            option = ["--write"] if direction == "write" else []
            said = guest.must([str(chario), "plan", "--json", *option, disk, "0", str(size.size_bytes)])
            planned, counted = json.loads(said)["commands"], costs[DISK.title, direction, size.title].commands
            if planned != counted:
                raise DemoError(
                    f"chario plan promises {planned} commands for a {direction} of {size.title}, "
                    f"the drive has counted {counted:.2f}: this is a bug of CharIO, please report it"
                )


def check_smart(guest: Guest) -> tuple[int, int]:
    """Reads and writes in the drive's SMART log, which must be what was counted outside the guest."""
    log = json.loads(guest.must("nvme smart-log /dev/nvme0 -o json"))
    smart = (int(log["host_read_commands"]), int(log["host_write_commands"]))
    counted = command_counts(guest, 0)[:2]
    if smart != counted:
        raise DemoError(f"the drive's SMART log says {smart} reads and writes, QEMU says {counted}")
    return smart
