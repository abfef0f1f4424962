# SPDX-License-Identifier: MIT
"""A recorder's periodic writes beside a busy block side of the same drive, by CharIO and by Linux."""

from dataclasses import dataclass
from itertools import groupby

from chario_lab.experiment.plan import Case, Plan, Station
from chario_lab.experiment.spec import Choice
from chario_lab.experiments.isolation.cells import CELLS, DRIVERS, Cell
from chario_lab.experiments.isolation.load import HAS_FIO, REPORT, beside, digest_waits
from chario_lab.experiments.ways import FREE, KIB, MIB, QUIET
from chario_lab.guest.spec import GuestSpec, Namespace, Nvme, Throttle
from chario_lab.target.machine import Machine
from chario_lab.target.need import Need
from chario_lab.target.place import SETTLED, Holder

# A drive without a rate would make no command wait for another one: then its block side disturbs nobody.
IOPS, LATENCY_MS = 500, 2
DRIVE = Nvme("isolation", (Namespace(1024, backing=Throttle(iops=IOPS, latency_ms=LATENCY_MS)),))
# One processor for the recorder, one for the load.
GUEST = GuestSpec(drives=(DRIVE,), cpus=2, append=QUIET)
CALL_KIB = 64
PRIORITY = 50
# The load's part of the drive is the first, the recorder's the second.
LOADED = {Holder.CHARIO: "{name}b1", Holder.BLOCK: "{name}p1"}
RECORDED = "{node}p2"
ATTRIBUTES = "/sys/class/chario/{name}"
HAS_SFDISK = Need("command -v sfdisk && command -v partx", "sfdisk and partx")
SCHEDULER = "/sys/class/block/{name}/queue/scheduler"
DEADLINE = "mq-deadline"
HAS_DEADLINE = Need(f"grep -q {DEADLINE} {SCHEDULER} || modprobe -q {DEADLINE}", f"the I/O scheduler {DEADLINE}")
FIRST_CLASS = ("ionice", "--class", "realtime")


@dataclass(frozen=True)
class Extent:
    """How many calls are measured, how far apart, and where.

    The block side stands back for longer than from one call to the next: isolation is on throughout.
    """

    calls: int
    period_us: int
    isolation_ms: int
    load_mib: int
    record_mib: int = 128
    fill: bool = False


# The drive of a guest takes milliseconds for a command.
IN_GUEST, IN_GUEST_SHORT = Extent(1000, 20_000, 100, 512), Extent(50, 20_000, 100, 512)
HERE, HERE_SHORT = Extent(20_000, 1000, 5, 8192, 1024, fill=True), Extent(500, 1000, 5, 256)


def plan(choice: Choice) -> Plan:
    """CharIO has the drive, then Linux; on each machine."""
    return [station for machine in choice.machines(GUEST) for station in stations(machine, extent(choice))]


def extent(choice: Choice) -> Extent:
    """What is measured there."""
    if choice.here:
        return HERE_SHORT if choice.short else HERE
    return IN_GUEST_SHORT if choice.short else IN_GUEST


def stations(machine: Machine, extent: Extent) -> list[Station]:
    """All cells of each holder of the drive."""
    found = []
    for holder, cells in groupby(CELLS, key=lambda cell: cell.holder):
        cases = tuple(case(cell, extent) for cell in cells)
        settings = ((f"{ATTRIBUTES}/block", "1"),) if holder is Holder.CHARIO else ()
        found.append(Station(holder.value, machine, holder, cases, prepare(holder, extent), settings=settings))
    return found


def prepare(holder: Holder, extent: Extent) -> tuple[str, ...]:
    """Two partitions; nothing where a program for them is missing, which the cases need as well."""
    unless = "command -v sfdisk >/dev/null || exit 0"
    table = f"label: gpt\\nsize={extent.load_mib}MiB\\n"
    if holder is Holder.CHARIO:
        make = (
            f"printf '{table}' | sfdisk --quiet --wipe always {{node}}b && "
            f"{{chario}} region create --name recorder {{node}} {extent.record_mib}M"
        )
    else:
        # Who measures on this machine keeps others from the disk, and sfdisk as well.
        make = (
            f"printf '{table}size={extent.record_mib}MiB\\n' | "
            "sfdisk --quiet --wipe always --no-reread --no-tell-kernel {node} && partx --update {node}"
        )
    # What is read on a real drive has been written before: it need not look for what it does not have.
    fill = f"dd if=/dev/zero of=/dev/{LOADED[holder]} bs=4M count={extent.load_mib // 4} oflag=direct status=none"
    steps = (make, fill, SETTLED) if extent.fill else (make, SETTLED)
    return (f"{unless}; {' && '.join(steps)}",)


def case(cell: Cell, extent: Extent) -> Case:
    """Periodic writes at real-time priority, and how long each of them takes; or as much time without them."""
    loaded = LOADED[cell.holder]
    call = ("pwrite-urgent" if cell.urgent else "pwrite") if cell.recorder else "getppid"
    options = ("order=sequential", f"span={extent.record_mib * MIB}", f"period={extent.period_us}")
    watched = ("latency=yes",) if cell.recorder else ()
    return Case(
        cell.key,
        cell.name,
        (call, RECORDED, str(CALL_KIB * KIB), "plain", FREE, str(extent.calls), *options, f"priority={PRIORITY}",
         f"beside={loaded}", *watched),
        operations=extent.calls,
        call_bytes=CALL_KIB * KIB if cell.recorder else 0,
        step=f"measuring: {DRIVERS[cell.holder]}",
        settings=settings(cell, extent),
        under=(*(beside(loaded) if cell.load else ()), *(FIRST_CLASS if cell.first_class else ())),
        report=REPORT if cell.load else "",
        digest=digest_waits if cell.load else str,
        needs=(HAS_SFDISK, HAS_FIO, *((HAS_DEADLINE,) if cell.first_class else ())),
    )  # fmt: skip


def settings(cell: Cell, extent: Extent) -> tuple[tuple[str, str], ...]:
    """What the block side is allowed, or the scheduler."""
    if cell.holder is Holder.BLOCK:
        return ((SCHEDULER, DEADLINE if cell.first_class else "none"),)
    return (
        (f"{ATTRIBUTES}/isolation_depth", str(cell.depth)),
        (f"{ATTRIBUTES}/isolation_ms", str(extent.isolation_ms)),
    )
