# SPDX-License-Identifier: MIT
"""Periodic reads at real-time priority, by six ways to one drive."""

from dataclasses import replace
from itertools import groupby

from chario_lab.experiment.plan import SPIN, Case, Plan, Station
from chario_lab.experiment.spec import Choice
from chario_lab.experiments.figure3.methods import recorded, traced
from chario_lab.experiments.tracing import TRACING
from chario_lab.experiments.ways import KIB, LATE, MIB, QUIET, READ, WINDOW, Way, both, chario, make_file
from chario_lab.guest.spec import GuestSpec, Namespace, Nvme
from chario_lab.target.machine import Machine
from chario_lab.target.place import Holder

DRIVE = Nvme("figure3", (Namespace(1024, 4096),))
HIDDEN = 0x3000_0000
GUEST = GuestSpec(drives=(DRIVE,), cpus=1, append=f"memmap=1M${HIDDEN:#x} {QUIET}")
WINDOWS = f"windows={HIDDEN:#x}+1M"
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
WINDOW_CALLS = ("transfer-window", "transfer-window-write")
CHARIO_WAYS = (chario("CharIO"), chario("CharIO, physical", WINDOW_CALLS, needs=WINDOW))
# The same reads whose caller polls: it sees when the drive is done, which bounds when an interrupt would be raised.
POLLED_WAYS = tuple(chario(f"{way.title}, polled", way.calls, polled=True, needs=way.needs) for way in CHARIO_WAYS)
LINUX_WAYS = (*both("block device", Holder.BLOCK), *both("ext4", Holder.EXT4))
WAYS = (*CHARIO_WAYS, *LINUX_WAYS)
HERE_WAYS = (*CHARIO_WAYS, *POLLED_WAYS, *LINUX_WAYS)


def plan(choice: Choice) -> Plan:
    """Who has the drive, one after the other; on each machine."""
    return [station for machine in choice.machines(GUEST, WINDOWS) for station in stations(machine, choice)]


def stations(machine: Machine, choice: Choice) -> list[Station]:
    """All ways of each holder of the drive."""
    found = []
    for holder, ways in groupby(HERE_WAYS if choice.here else WAYS, key=lambda way: way.holder):
        cases = tuple(case(way, title, order, choice) for way in ways for title in SIZES for order in ORDERS)
        # Where no instructions are counted, those of timer ticks need not be known.
        spins = () if choice.here else (replace(SPIN, step=cases[0].step),)
        found.append(
            Station(
                holder.value, machine, holder, (*spins, *cases), prepare(holder, choice),
                points=not choice.here, settings=GREEDY,
            )
        )  # fmt: skip
    return found


def prepare(holder: Holder, choice: Choice) -> tuple[str, ...]:
    """What the ways of a holder need."""
    if holder is Holder.CHARIO:
        return ()
    tracing = (TRACING,) if choice.here else ()
    if holder.is_file_system:
        return (*tracing, make_file(SHORT_FILE_MIB if choice.short else FILE_MIB))
    return (*tracing, "echo none >/sys/block/{name}/queue/scheduler")


def case(way: Way, title: str, order: str, choice: Choice) -> Case:
    """Reads of one size, the caller asleep while the drive works; on this machine somebody notes their points."""
    size_bytes, span_mib = SIZES[title], SHORT_FILE_MIB if choice.short else FILE_MIB
    runs = runs_of(order, choice.short)
    options = ["order=sequential", f"span={span_mib * MIB}", "warm=0", f"period={PERIOD_US}", f"priority={PRIORITY}"]
    # A transfer knows no page cache, and its buffer belongs to the file that is open.
    options += ["reopen=yes"] if order == FIRST and way.calls[0] == "pread" else []
    words = replace(way, speed=LATE).words(READ, size_bytes, runs, options)
    plain = Case(
        key(way, title, order),
        f"{way.title}, {title}, {order}",
        words,
        operations=runs,
        call_bytes=size_bytes,
        step=f"measuring: {way.title}",
        cold=True,
        settings=way.settings,
        needs=(way.needs,) if way.needs else (),
    )
    if not choice.here:
        return plain
    return recorded(plain) if way.is_chario else traced(plain)


def runs_of(order: str, short: bool) -> int:
    """How often each is read."""
    if order == FIRST:
        return SHORT_FIRST_RUNS if short else FIRST_RUNS
    return SHORT_RUNS if short else RUNS


def key(way: Way, title: str, order: str) -> str:
    """What a case is called in records."""
    return f"{way.title}/{SIZES[title]}/{order}"
