# SPDX-License-Identifier: MIT
"""A thousand calls of each size by each way, and the single block of ext4 that costs no, one or two commands."""

from dataclasses import replace
from itertools import groupby

from chario_lab.experiment.plan import Act, Case, Plan, Station
from chario_lab.experiment.spec import Choice
from chario_lab.experiments.promise import PlanOf
from chario_lab.experiments.tracing import TRACING
from chario_lab.experiments.ways import DIRECTIONS, FREE, KIB, MIB, QUIET, READ, Way, both, chario, make_file
from chario_lab.guest.spec import GuestSpec, Namespace, Nvme
from chario_lab.target.machine import Machine
from chario_lab.target.place import Holder

GUEST = GuestSpec(drives=(Nvme("commands", (Namespace(4096, 4096),)),), cpus=1, append=QUIET)
FILE_MIB = 1024
SHORT_FILE_MIB = 64
CALLS, SHORT_CALLS = 1000, 40
SIZES = {"4 KiB": 4 * KIB, "128 KiB": 128 * KIB, "1 MiB": MIB}
SHORT_SIZES = ("4 KiB", "1 MiB")
CHARIO = "CharIO"
WAYS = (
    chario(CHARIO),
    *both("block device", Holder.BLOCK),
    *both("ext4", Holder.EXT4),
    *both("XFS", Holder.XFS),
    *both("F2FS", Holder.F2FS),
)
# What the program is told so that it counts commands.
WATCH = "commands={name}"


def plan(choice: Choice) -> Plan:
    """Who has the drive, one after the other; on each machine."""
    return [station for machine in choice.machines(GUEST) for station in stations(machine, choice.short)]


def stations(machine: Machine, short: bool) -> list[Station]:
    """All ways of each holder of the drive, then the single block."""
    found, sizes = [], SHORT_SIZES if short else tuple(SIZES)
    for holder, ways in groupby(WAYS, key=lambda way: way.holder):
        cases = tuple(case(way, direction, title, short) for way in ways for direction in DIRECTIONS for title in sizes)
        found.append(Station(holder.value, machine, holder, (*cases, *plans(holder)), prepare(holder, short)))
    return [*found, single_block(machine)]


def prepare(holder: Holder, short: bool) -> tuple[str, ...]:
    """What the ways of a holder need."""
    if holder.is_file_system:
        return (TRACING, make_file(SHORT_FILE_MIB if short else FILE_MIB))
    return (TRACING,) if holder is Holder.CHARIO else (TRACING, "echo none >/sys/block/{name}/queue/scheduler")


def case(way: Way, direction: str, title: str, short: bool) -> Case:
    """Calls one behind the other, each from memory that the kernel has just given out."""
    size_bytes, calls = SIZES[title], SHORT_CALLS if short else CALLS
    options = ("order=sequential", f"span={calls * size_bytes}", "warm=0", "fresh=yes", WATCH)
    # How fast the drive answers changes no command.
    words = replace(way, speed=FREE).words(direction, size_bytes, calls, options)
    return Case(
        key(way, direction, title),
        f"{way.title}, {direction} {title}",
        words,
        operations=calls,
        call_bytes=size_bytes,
        step=f"counting: {way.title}",
        cold=True,
        settings=way.settings,
        after=way.tidy(direction, size_bytes),
    )


def key(way: Way, direction: str, title: str) -> str:
    """What a case is called in records."""
    return f"{way.title}/{direction}/{SIZES[title]}"


def plans(holder: Holder) -> tuple[Act, ...]:
    """What CharIO says beforehand of each size."""
    if holder is not Holder.CHARIO:
        return ()
    return tuple(
        Act(plan_key(direction, title), "asking chario plan", PlanOf(direction, SIZES[title]))
        for direction in DIRECTIONS
        for title in SIZES
    )


def plan_key(direction: str, title: str) -> str:
    """What the answer of `chario plan` is called in records."""
    return f"plan/{direction}/{SIZES[title]}"


# A file with every second block: its map of blocks does not fit into its inode.
FRAGMENTED_BLOCKS = 40
MAKE_FRAGMENTED = (
    f"for i in $(seq 0 2 {FRAGMENTED_BLOCKS}); do dd if=/dev/zero of={{folder}}/fragmented bs=4k count=1 seek=$i"
    " conv=notrunc status=none; done; sync"
)
MAKE_WHOLE = "dd if=/dev/zero of={folder}/whole bs=4k count=1 status=none; sync"
# By the number of commands that a read of one block is made to cost: what is read, and what comes before.
SINGLE = {
    0: ("{folder}/whole", "cat {folder}/whole >/dev/null; sync", "the block is in memory already"),
    1: ("{folder}/whole", "sync; echo 3 >/proc/sys/vm/drop_caches", "the inode says where the block is"),
    2: ("{folder}/fragmented", "sync; echo 3 >/proc/sys/vm/drop_caches", "the map of blocks has to be read first"),
}


def single_block(machine: Machine) -> Station:
    """Reads of one block of an ext4 file that is open, in three states of memory."""
    cases = tuple(
        Case(
            single_key(count),
            f"ext4, one block: {why}",
            ("pread", path, str(4 * KIB), "joined", FREE, "1", "open=buffered", "order=sequential",
             f"span={4 * KIB}", "warm=0", WATCH),
            call_bytes=4 * KIB,
            step="counting: one block of ext4",
            before=before,
        )
        for count, (path, before, why) in SINGLE.items()
    )  # fmt: skip
    return Station("single block", machine, Holder.EXT4, cases, (TRACING, MAKE_FRAGMENTED, MAKE_WHOLE))


def single_key(count: int) -> str:
    """What the read is called in records that is made to cost so many commands."""
    return f"single/{READ}/{count}"
