# SPDX-License-Identifier: MIT
"""Runs the matrix in one guest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chario_lab.bench import machine
from chario_lab.bench.matrix import CHARIO, FLOORS, IOMMU_KEYS, STOCK, Case
from chario_lab.counting.build import Tools
from chario_lab.counting.layers import Symbol
from chario_lab.counting.series import Operation
from chario_lab.counting.stats import Difference, Summary, differences, summarise
from chario_lab.guest.job import CommandFailed
from chario_lab.kmsg import KernelComplaint

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What became of one case: figures, or the reason why there are none."""

    case: Case
    summary: Summary | None = None
    differences: Sequence[Difference] = ()
    operations: Sequence[Operation] = ()
    pages: str = ""
    neighbours: int = 0
    failure: str = ""


@dataclass
class Run:
    """All outcomes of one guest, and what its kernel complained of."""

    kernel: str
    release: str
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    left_out: list[Case] = field(default_factory=list)
    complaint: str = ""

    def instructions(self, key: str) -> int | None:
        """Median of a case; None when it was not counted."""
        outcome = self.outcomes.get(key)
        return outcome.summary.instructions if outcome and outcome.summary else None

    @property
    def complete(self) -> bool:
        """Whether everything was counted, on a kernel that had no complaint."""
        return not self.complaint and all(outcome.summary for outcome in self.outcomes.values())


def measure(kernel: str, module: Path | None, tools: Tools, progress: Progress, iommu: str = "") -> Run:
    """Count Linux's paths, then, if there is a module, chario's, on the same drive.

    With an IOMMU in front of the drive, which is in one of IOMMU_MODES, only the calls are counted that
    tell what it costs.
    """
    progress("booting the guest")
    with machine.counted_guest(kernel, tools, iommu) as counted:
        run = Run(kernel, counted.guest.release)
        address = machine.prepare_stock(counted.guest)
        progress("reading the kernel's symbols")
        counted.load_map({})
        _count_all(counted, _chosen((*FLOORS, *STOCK), iommu), run, progress)
        if module:
            _count_chario(counted, module, address, _chosen(CHARIO, iommu), run, progress)
        try:
            counted.guest.check_log()
        except KernelComplaint as complaint:
            run.complaint = str(complaint)
    return run


def _chosen(cases: Sequence[Case], iommu: str) -> list[Case]:
    return [case for case in cases if not iommu or case.key in IOMMU_KEYS]


def _count_chario(
    counted: machine.CountedGuest, module: Path, address: str, cases: Sequence[Case], run: Run, progress: Progress
) -> None:
    """What was counted before stays, also when chario does not take the drive."""
    progress("giving the drive to chario")
    try:
        machine.prepare_chario(counted.guest, module, address)
        counted.load_map(machine.chario_layers(module))
    except (machine.MachineError, CommandFailed) as error:
        run.outcomes |= {case.key: Outcome(case, failure=str(error)) for case in cases}
        return
    _count_all(counted, cases, run, progress)


def _count_all(counted: machine.CountedGuest, cases: Sequence[Case], run: Run, progress: Progress) -> None:
    for case in cases:
        progress(case.title)
        if case.needs and counted.guest.run(["test", "-e", case.needs]).rc != 0:
            run.left_out.append(case)
            continue
        try:
            said, operations = counted.count(case)
        except (machine.MachineError, CommandFailed) as error:
            run.outcomes[case.key] = Outcome(case, failure=str(error))
            continue
        run.outcomes[case.key] = _outcome(case, said, operations, counted.symbols)


def _outcome(
    case: Case, said: Mapping[str, object], operations: Sequence[Operation], symbols: Sequence[Symbol]
) -> Outcome:
    return Outcome(
        case=case,
        summary=summarise(operations, symbols),
        differences=differences(operations, symbols),
        operations=operations,
        pages=str(said["pages"]),
        neighbours=int(str(said["neighbours"])),
    )
