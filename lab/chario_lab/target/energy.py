# SPDX-License-Identifier: MIT
"""The energy that the processors of this machine have used, where Linux's powercap counts it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SYSFS = Path("/sys")
# This zone of a whole board includes the zones of its processors.
BOARD = "psys"


@dataclass(frozen=True)
class Energy:
    """Counters in microjoules by zone, each with the value after which it begins again at zero."""

    zones: Mapping[str, tuple[int, int]]

    def since(self, before: Energy) -> int:
        """Microjoules from one reading to this one, in which no counter has wrapped more than once."""
        return sum((now - before.zones[name][0]) % (limit + 1) for name, (now, limit) in self.zones.items())


def read_energy(sysfs: Path = SYSFS) -> Energy | None:
    """The counters of all processor packages; None where there are none."""
    zones = {}
    for path in sorted(sysfs.glob("class/powercap/*/energy_uj")):
        # A part of a package is named after it: intel-rapl:0:1.  Two drivers may show the same package.
        name = (path.parent / "name").read_text().strip()
        if path.parent.name.count(":") == 1 and name != BOARD:
            zones[name] = (int(path.read_text()), int((path.parent / "max_energy_range_uj").read_text()))
    return Energy(zones) if zones else None
