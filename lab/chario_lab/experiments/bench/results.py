# SPDX-License-Identifier: MIT
"""What was counted in one guest, found in records by the name of the case."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from chario_lab.records import (
    AnyRecord,
    ComplaintRecord,
    FailureRecord,
    MachineRecord,
    OmissionRecord,
    SeriesRecord,
    of_kind,
)


@dataclass
class Results:
    """All that one guest has told, and what its kernel complained of."""

    kernel: str
    release: str = ""
    series: dict[str, SeriesRecord] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    omissions: dict[str, str] = field(default_factory=dict)
    complaint: str = ""

    def instructions(self, key: str) -> int | None:
        """Median of a case; None when it was not counted."""
        series = self.series.get(key)
        return series.counted.instructions if series else None

    def doubts(self, *keys: str) -> str:
        """Marks of what makes the figures of cases doubtful, and so all that follows from them."""
        found = [self.series[key].counted for key in keys if key in self.series]
        ticks = any(summary.ticks_included for summary in found)
        return "*" * ticks + "!" * any(summary.stalls_missed for summary in found)

    @property
    def complete(self) -> bool:
        """Whether everything was counted, on a kernel that had no complaint."""
        return not self.complaint and not self.failures


def results_of(records: Sequence[AnyRecord], machine: str, kernel: str) -> Results:
    """The results of one machine."""
    own = [record for record in records if getattr(record, "machine", "") == machine]
    return Results(
        kernel=kernel,
        release=next((each.release for each in of_kind(own, MachineRecord)), ""),
        series={each.case: each for each in of_kind(own, SeriesRecord)},
        failures={each.case: each.reason for each in of_kind(own, FailureRecord)},
        omissions={each.case: each.needs for each in of_kind(own, OmissionRecord)},
        complaint="\n".join(each.text for each in of_kind(own, ComplaintRecord)),
    )
