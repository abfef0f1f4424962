# SPDX-License-Identifier: MIT
"""Periodic reads at real-time priority, by six ways to one drive."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from chario_lab.experiment.plan import SPIN, Case, Plan, Station
from chario_lab.experiment.spec import Choice
from chario_lab.experiments.ways import KIB, LATE, MIB, READ, Way, buffered, chario, direct, make_file
from chario_lab.guest.spec import GuestSpec, Namespace, Nvme
from chario_lab.target.machine import Machine
from chario_lab.target.place import Holder

DRIVE = Nvme("figure3", (Namespace(1024, 4096),))
HIDDEN = 0x3000_0000
APPEND = f"memmap=1M${HIDDEN:#x} nvme_core.multipath=N"
FILE_MIB, SHORT_FILE_MIB = 800, 16
RUNS, SHORT_RUNS = 10_000, 100
FIRST_RUNS, SHORT_FIRST_RUNS = 500, 20
PERIOD_US = 1000
PRIORITY = 50
# A process of real-time priority may take all of the CPU.
GREEDY = (("/proc/sys/kernel/sched_rt_runtime_us", "-1"),)
SIZES = {"40 KiB": 40 * KIB, "80 KiB": 80 * KIB}
# One read behind the other; and each as the first of a file that memory does not know.
SEQUENTIAL, FIRST = "sequential", "first"
ORDERS = (SEQUENTIAL, FIRST)
WAYS = (
    chario("CharIO"),
    chario("CharIO, physical", ("transfer-window", "transfer-window-write")),
    buffered("block device", Holder.BLOCK),
    direct("block device, direct", Holder.BLOCK),
    buffered("ext4", Holder.EXT4),
    direct("ext4, direct", Holder.EXT4),
)


def plan(choice: Choice) -> Plan:
    """Who has the drive, one after the other; on each kernel."""
    return [station for kernel in choice.kernels for station in stations(kernel, choice.short)]


def stations(kernel: str, short: bool) -> list[Station]:
    """All ways of each holder of the drive."""
    spec = GuestSpec(kernel=kernel, drives=(DRIVE,), cpus=1, append=APPEND)
    machine = Machine(kernel, spec, f"windows={HIDDEN:#x}+1M")
    found = []
    for holder, ways in groupby(WAYS, key=lambda way: way.holder):
        cases = tuple(case(way, title, order, short) for way in ways for title in SIZES for order in ORDERS)
        steps = (replace(SPIN, step=cases[0].step), *cases)
        found.append(
            Station(holder.value, machine, holder, steps, prepare(holder, short), points=True, settings=GREEDY)
        )
    return found


def prepare(holder: Holder, short: bool) -> tuple[str, ...]:
    """What the ways of a holder need."""
    if holder.is_file_system:
        return (make_file(SHORT_FILE_MIB if short else FILE_MIB),)
    return () if holder is Holder.CHARIO else ("echo none >/sys/block/{name}/queue/scheduler",)


def case(way: Way, title: str, order: str, short: bool) -> Case:
    """Reads of one size, the caller asleep while the drive works."""
    size_bytes, span_mib = SIZES[title], SHORT_FILE_MIB if short else FILE_MIB
    runs = runs_of(order, short)
    options = ["order=sequential", f"span={span_mib * MIB}", "warm=0", f"period={PERIOD_US}", f"priority={PRIORITY}"]
    # A transfer knows no page cache, and its buffer belongs to the file that is open.
    options += ["reopen=yes"] if order == FIRST and way.calls[0] == "pread" else []
    words = replace(way, speed=LATE).words(READ, size_bytes, runs, options)
    return Case(
        key(way, title, order),
        f"{way.title}, {title}, {order}",
        words,
        operations=runs,
        call_bytes=size_bytes,
        step=f"measuring: {way.title}",
        cold=True,
        settings=way.settings,
    )


def runs_of(order: str, short: bool) -> int:
    """How often each is read."""
    if order == FIRST:
        return SHORT_FIRST_RUNS if short else FIRST_RUNS
    return SHORT_RUNS if short else RUNS


def key(way: Way, title: str, order: str) -> str:
    """What a case is called in records."""
    return f"{way.title}/{SIZES[title]}/{order}"
