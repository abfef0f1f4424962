# SPDX-License-Identifier: MIT
"""Reads what perf reports of a run."""

from __future__ import annotations

import re
from dataclasses import dataclass

from chario_lab.counting.layers import layer_of

LINE = re.compile(r"^\s*(?P<share>\d+\.\d+)%\s+\[(?P<space>[k.])\]\s+(?P<name>\S+)")


@dataclass(frozen=True)
class Profile:
    """Parts of all samples."""

    copies: float
    locks: float


def read_profile(report: str) -> Profile | None:
    """The shares of the kernel's layers; None where there are no samples."""
    shares: dict[str, float] = {}
    for line in report.splitlines():
        match = LINE.match(line)
        if match and match["space"] == "k":
            layer = layer_of(match["name"])
            shares[layer] = shares.get(layer, 0.0) + float(match["share"]) / 100
    return Profile(shares.get("copy", 0.0), shares.get("lock", 0.0)) if shares else None
