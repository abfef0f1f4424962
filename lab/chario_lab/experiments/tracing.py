# SPDX-License-Identifier: MIT
"""Linux's tracing, as several experiments use it: that it is there, and that a trace is whole."""

import re

from chario_lab.target.target import TargetError

# The command of the shell that makes trace events known where nothing has mounted them.
TRACING = "[ -d /sys/kernel/tracing/events ] || mount -t tracefs tracefs /sys/kernel/tracing"
STATISTIC = re.compile(r"(?P<name>overrun|commit overrun|dropped events): (?P<count>\d+)")
LOST = re.compile(r"\[(?:(?P<count>\d+) )?EVENTS DROPPED\]")


class TraceError(TargetError):
    """A trace is not complete, or is none; the message says why."""


def refuse_lost(text: str) -> None:
    """A trace that has lost events, by what trace-cmd reports, says less of what happens most."""
    lost = {match["name"]: int(match["count"]) for match in STATISTIC.finditer(text) if int(match["count"])}
    dropped = [int(match["count"] or 1) for match in LOST.finditer(text)]
    if dropped:
        lost["dropped while reading"] = sum(dropped)
    if lost:
        counts = ", ".join(f"{name}: {count}" for name, count in lost.items())
        raise TraceError(f"the trace has lost events ({counts}): give trace-cmd a larger buffer")
