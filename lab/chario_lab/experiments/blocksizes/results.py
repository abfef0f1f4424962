# SPDX-License-Identifier: MIT
"""What blocksizes has measured on one kernel, by the cell."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from chario_lab.experiment.usage import Usage, usages
from chario_lab.experiments.blocksizes.cells import Cell
from chario_lab.experiments.blocksizes.profile import Profile, read_profile
from chario_lab.records import AnyRecord, MachineRecord, SeriesRecord, of_kind


@dataclass(frozen=True)
class Results:
    """Usages and profiles by the key of a cell, and the series without blocks, of databases, by theirs."""

    kernel: str
    device: str
    is_hardware: bool
    usages: dict[str, Usage]
    profiles: dict[str, Profile]
    records: Sequence[AnyRecord]

    def key(self, cell: Cell) -> str:
        """What a cell is called; where it names no CPUs, a guest has one, and a machine all of its own."""
        return (cell if cell.cpus or self.is_hardware else replace(cell, cpus=1)).key

    def usage(self, cell: Cell) -> Usage | None:
        """The figures of a cell; None where it was not measured."""
        return self.usages.get(self.key(cell))

    def timed(self, cell: Cell) -> Usage | None:
        """The same where the use of the CPU is a result: on hardware its time has to be long enough."""
        usage = self.usage(cell)
        return usage if usage and (usage.is_timed or not self.is_hardware) else None

    def profile(self, cell: Cell) -> Profile | None:
        """What the profiler saw of a cell, while it ran long enough."""
        profiled = replace(cell, profiled=True)
        return self.profiles.get(self.key(profiled)) if self.timed(profiled) else None

    def series(self, cell: Cell) -> list[SeriesRecord]:
        """The records of a cell, beside those that its machine and station have."""
        machines = {
            machine.machine for machine in of_kind(self.records, MachineRecord) if machine.kernel == self.kernel
        }
        own = [each for each in of_kind(self.records, SeriesRecord) if each.machine in machines]
        return [each for each in own if each.case == self.key(cell)]


def results(records: Sequence[AnyRecord]) -> list[Results]:
    """Of each kernel, whose media are on machines of their own."""
    machines = of_kind(records, MachineRecord)
    return [
        results_of(records, [machine for machine in machines if machine.kernel == kernel])
        for kernel in dict.fromkeys(machine.kernel for machine in machines)
    ]


def results_of(records: Sequence[AnyRecord], machines: Sequence[MachineRecord]) -> Results:
    """Of the machines that have one kernel."""
    names = {machine.machine for machine in machines}
    found = {case: usage for name in names for case, usage in usages(records, name).items()}
    reports = {each.case: each.report for each in of_kind(records, SeriesRecord) if each.machine in names}
    profiles = {case: profile for case, report in reports.items() if report and (profile := read_profile(report))}
    first = machines[0]
    return Results(first.kernel, first.device, first.is_hardware, found, profiles, records)
