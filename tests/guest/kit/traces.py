# SPDX-License-Identifier: MIT
"""A command in a guest under the kernel's tracing."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chario_lab.guest.session import Guest

TRACING = "/sys/kernel/tracing"
BUFFER_KIB = 4096  # of each CPU
LINE = re.compile(
    r"^\s*(?P<task>.+)-(?P<pid>\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<flags>\S+)\s+[\d.]+:\s+(?P<name>\w+):\s*(?P<text>.*)$"
)


@dataclass(frozen=True)
class Event:
    """One line of a trace."""

    pid: int
    cpu: int
    name: str
    fields: dict[str, str]


def parse(line: str) -> Event:
    """Read a line of the trace."""
    match = LINE.match(line)
    assert match, f"not a line of a trace: {line!r}"
    fields = dict(word.split("=", 1) for word in match["text"].split() if "=" in word)
    return Event(int(match["pid"]), int(match["cpu"]), match["name"], fields)


def trace(
    guest: Guest, command: str, events: Sequence[str], everybody: bool = False, by_itself: bool = False
) -> list[Event]:
    """Run a command and return what happened in its process, and in interrupts that came then, in order.

    `events` are folders below events/.  `everybody` leaves no process out.  `by_itself` leaves it to the command
    to write to tracing_on.  Nothing may be lost on the way.
    """
    switch = " && ".join(f"echo $1 >events/{event}/enable" for event in events)
    process = "" if everybody else f"echo $$ >{TRACING}/set_event_pid && "
    start = "" if by_itself else f"echo 1 >{TRACING}/tracing_on && "
    output = guest.must(
        f"switch() {{ {switch}; }}\n"
        f"cd {TRACING} && echo 0 >tracing_on && echo mono >trace_clock && echo {BUFFER_KIB} >buffer_size_kb && "
        "echo >trace && switch 1 || exit 1\n"
        f"sh -c '{process}{start}exec {command}' >/dev/null\n"
        "rc=$?; echo 0 >tracing_on; switch 0; echo >set_event_pid; grep -h overrun per_cpu/cpu*/stats; cat trace\n"
        "echo >trace; echo 1 >tracing_on; exit $rc",
        timeout_s=900,
    )
    lines = output.splitlines()
    lost = [line for line in lines if "overrun: " in line and not line.endswith(": 0")]
    assert not lost, f"the trace is not complete: {lost}"
    return [parse(line) for line in lines if not line.startswith("#") and "overrun: " not in line]
