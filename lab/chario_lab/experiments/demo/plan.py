# SPDX-License-Identifier: MIT
"""The same calls by several ways to one drive, after the main job."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

from chario_lab.experiment.plan import SERIES, SPIN, Act, Case, Plan, Station
from chario_lab.experiments.demo.job import job
from chario_lab.experiments.promise import PlanOf
from chario_lab.guest.spec import GuestSpec, Namespace, Nvme
from chario_lab.target.machine import Machine
from chario_lab.target.place import Holder
from chario_lab.target.target import Target

KIB = 1 << 10
DRIVE = Nvme("demo", (Namespace(size_mib=1024, lba_bytes=4096),))
DIRECTIONS = ("write", "read")


@dataclass(frozen=True)
class Size:
    """A series of calls of one size."""

    title: str
    size_bytes: int
    calls: int


@dataclass(frozen=True)
class Way:
    """A way to the drive; `path` is where the calls go, which {repeat} makes another file each time."""

    title: str
    holder: Holder
    mode: str
    path: str = "{node}"


FILE = "{folder}/recording-{size}-{repeat}"
SIZES = (Size("4 KiB", 4 * KIB, 512), Size("128 KiB", 128 * KIB, 64), Size("1 MiB", 1024 * KIB, 32))
DISK = Way("chardisk", Holder.CHARIO, "direct")
OTHERS = (
    Way("block O_DIRECT", Holder.BLOCK, "direct"),
    Way("block buffered", Holder.BLOCK, "buffered"),
    # Each series of writes has a file of its own: a file that is there costs less.
    Way("ext4 O_DIRECT", Holder.EXT4, "direct", FILE),
    Way("ext4 buffered", Holder.EXT4, "buffered", FILE),
)
WAYS = (DISK, *OTHERS)
# The guest's own background work falls into a series now and then: each is run this often, and the middle one counts.
REPEATS = 3
PLAN, SMART = "plan", "smart"


def plan(kernel: str, recording: Path) -> Plan:
    """The job and the calls on the character disk, then the calls by Linux's ways on the same drive."""
    spec = GuestSpec(kernel=kernel, drives=(DRIVE,), cpus=1, append="nvme_core.multipath=N")
    machine = Machine(kernel, spec)
    plans = tuple(
        Act(key(PLAN, direction, size), f"counting: {DISK.title}", PlanOf(direction, size.size_bytes))
        for size in SIZES
        for direction in DIRECTIONS
    )
    disk = Station(DISK.title, machine, DISK.holder, (*job(recording), *cases(DISK), *plans))
    others = [Station(way.title, machine, way.holder, cases(way)) for way in OTHERS]
    smart = Station(SMART, machine, Holder.BLOCK, (Act(SMART, "asking the drive: nvme smart-log", smart_log),))
    return [disk, *others, smart]


def cases(way: Way) -> tuple[Case, ...]:
    """Series of calls of each size; what is read was written before."""
    step = f"counting: {way.title}"
    return (replace(SPIN, step=step), *(case(way, direction, size, step) for size in SIZES for direction in DIRECTIONS))


def case(way: Way, direction: str, size: Size, step: str) -> Case:
    """One series."""
    path = way.path.replace("{size}", str(size.size_bytes))
    return Case(
        key(direction, size),
        f"{way.title}, {direction} {size.title}",
        (path, direction, way.mode, str(size.size_bytes), str(size.calls)),
        SERIES,
        calls=size.calls,
        call_bytes=size.size_bytes,
        repeats=REPEATS,
        step=step,
        cold=True,
    )


def key(*words: str | Size) -> str:
    """What a case is called in records."""
    return "-".join(str(word.size_bytes) if isinstance(word, Size) else word for word in words)


def smart_log(target: Target) -> str:
    """Reads and writes by the drive's SMART log, and by what is counted outside the guest, as JSON."""
    controller = target.place.node.rpartition("n")[0]
    log = json.loads(target.must(["nvme", "smart-log", controller, "-o", "json"]))
    counted = target.commands()
    smart = [int(log["host_read_commands"]), int(log["host_write_commands"])]
    return json.dumps({"smart": smart, "counted": [counted.reads, counted.writes]})
