# SPDX-License-Identifier: MIT
"""The guests in which calls are counted: one CPU, one drive, who has it first and who then."""

from collections.abc import Sequence

from chario_lab.experiment.plan import Case, Plan, Station
from chario_lab.experiments.bench import matrix
from chario_lab.experiments.ways import QUIET
from chario_lab.guest.spec import GuestSpec, Namespace, NullCo, Nvme
from chario_lab.target.machine import Machine
from chario_lab.target.place import Holder

HUGE_PAGES = 4
# No medium below the drive: what a call costs the guest's CPU does not depend on one.  Recordings have one, which is
# as long as the area of lab/bench/record.c needs.
DRIVE = Nvme("bench", namespaces=(Namespace(size_mib=1024, backing=NullCo()), Namespace(size_mib=1024)))
# Memory that Linux leaves alone, for the row of physical windows.
HIDDEN = "0x30000000"
# Poll queues for io_uring.
APPEND = f"memmap=1M${HIDDEN} nvme.poll_queues=1 {QUIET}"


def plan(kernel: str, stock_only: bool, iommu: bool) -> Plan:
    """On one kernel: without an IOMMU, and behind it in each of its modes, where that is asked for."""
    modes = ("", *matrix.IOMMU_MODES) if iommu else ("",)
    return [station for mode in modes for station in stations(machine(kernel, mode), mode, stock_only)]


def machine(kernel: str, mode: str = "") -> Machine:
    """A guest of this kernel, behind an IOMMU where a mode of it is named."""
    append = f"{APPEND} {matrix.IOMMU_MODES[mode]}" if mode else APPEND
    spec = GuestSpec(kernel=kernel, drives=(DRIVE,), cpus=1, append=append, iommu=bool(mode))
    return Machine(name_of(kernel, mode), spec, f"windows={HIDDEN}+1M")


def name_of(kernel: str, mode: str = "") -> str:
    """What a machine is called in records."""
    return f"{kernel} {mode}".strip()


def stations(place: Machine, mode: str, stock_only: bool) -> list[Station]:
    """Linux's paths, then chario's, on the same drive; a region is on the namespace that has a medium."""
    prepare = ("echo none >/sys/block/{name}/queue/scheduler", f"echo {HUGE_PAGES} >/proc/sys/vm/nr_hugepages")
    linux = Station("linux", place, Holder.BLOCK, chosen((*matrix.FLOORS, *matrix.STOCK), mode), prepare)
    chario = Station("chario", place, Holder.CHARIO, chosen(matrix.CHARIO, mode))
    prepare = ("echo 1 >/sys/class/chario/{name}/block", "echo none >/sys/block/{name}b/queue/scheduler")
    block = Station("block", place, Holder.CHARIO, chosen(matrix.SIDE_CASES, mode), prepare)
    prepare = (
        "echo 1 >/sys/class/chario/{second_name}/block",
        f"{{chario}} region create --new-table --force {{second}} {matrix.REGION_MIB}M",
    )
    region = Station("region", place, Holder.CHARIO, chosen(matrix.REGION_CASES, mode), prepare)
    return [linux] if stock_only else [linux, chario, block, region]


def chosen(cases: Sequence[Case], mode: str) -> tuple[Case, ...]:
    """Behind an IOMMU only what tells what it costs."""
    return tuple(case for case in cases if not mode or case.key in matrix.IOMMU_KEYS)
