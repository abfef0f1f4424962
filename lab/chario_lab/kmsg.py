# SPDX-License-Identifier: MIT
"""The kernel log: records as /dev/kmsg gives them, and what must not be there.

A test passes only when the kernel had nothing to complain about.  The
patterns are the first words of the kernel's own checkers; they are searched in
every record since a mark, whatever its level, because user space can write to
the log too and a missing level is no excuse.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

FORBIDDEN = (
    r"\bBUG\b[ :]",
    r"\bWARNING: ",
    r"\bUBSAN\b",
    r"\bKASAN\b",
    r"\bKCSAN\b",
    r"\bKFENCE\b",
    r"DMA-API:",
    r"DMAR: .*\bfault\b",
    r"\bODEBUG\b",
    r"possible circular locking",
    r"possible recursive locking",
    r"possible irq lock inversion",
    r"inconsistent lock state",
    r"inconsistent \{.*\} -> \{.*\} usage",
    r"suspicious RCU usage",
    r"Invalid wait context",
    r"bad unlock balance",
    r"held lock freed",
    r"lock held when returning to user space",
    r"scheduling while atomic",
    r"sleeping function called from invalid context",
    r"unreferenced object",
    r"new suspected memory leaks",
    r"\bOops\b",
    r"general protection fault",
    r"Unable to handle kernel",
    r"kernel NULL pointer dereference",
    r"unable to handle page fault",
    r"Call Trace:",
    r"Kernel panic",
    r"blocked for more than \d+ seconds",
    r"nobody cared",
    r"soft lockup",
    r"hard LOCKUP",
    r"detected stalls? on",
    r"self-detected stall",
    r"refcount_t: ",
    r"list_(add|del) corruption",
    r"Bad page (state|map)",
    r"page allocation failure",
    r"Trying to (v)?free",
    # A checker that has switched itself off finds nothing any more.
    r"Kernel memory leak detector disabled",
    r"turning off the locking correctness validator",
)

# Lines that look like complaints and are none about the module: checkers that
# announce themselves, and races of the kernel proper.
HARMLESS = (
    r"kasan: KernelAddressSanitizer initialized",
    r"kfence: initialized",
    r"DMA-API: (preallocated|debugging enabled|disable|driver filter)",
    r"kcsan: (enabled|strict|selftest)",
    # A race between functions of the kernel itself: those of a module have its name behind them.
    r"BUG: KCSAN: data-race in [^\[]*$",
)

_forbidden = re.compile("|".join(f"(?:{pattern})" for pattern in FORBIDDEN))
_harmless = re.compile("|".join(f"(?:{pattern})" for pattern in HARMLESS))


@dataclass(frozen=True)
class LogRecord:
    """One record of the kernel log."""

    sequence: int
    level: int
    time_us: int
    text: str

    def __str__(self) -> str:
        return f"[{self.time_us / 1e6:12.6f}] {self.text}"


class KernelComplaint(AssertionError):
    """The kernel log holds a forbidden line."""


def parse_record(raw: str) -> LogRecord:
    """Read one record: `prefix;text` and continuation lines, which start with
    a blank and hold only the device's address."""
    head, _, text = raw.partition(";")
    priority, sequence, time_us = (int(word) for word in head.split(",")[:3])
    # \xNN is the kernel's way to write what is not printable.
    plain = re.sub(r"\\x([0-9a-f]{2})", lambda match: chr(int(match[1], 16)), text.split("\n")[0])
    return LogRecord(sequence, priority & 7, time_us, plain)


def complaints(records: Iterable[LogRecord], allowed: Iterable[str] = ()) -> list[LogRecord]:
    """Records that fail a test, leaving out those an `allowed` pattern matches."""
    permitted = [re.compile(pattern) for pattern in allowed]
    return [
        record
        for record in records
        if _forbidden.search(record.text)
        and not _harmless.search(record.text)
        and not any(pattern.search(record.text) for pattern in permitted)
    ]


def lost(records: list[LogRecord], since: int) -> int:
    """How many records behind a mark were overwritten by newer ones; without a mark those of booting may be gone."""
    numbers = [*([since] if since >= 0 else []), *(record.sequence for record in records)]
    return sum(after - before - 1 for before, after in pairwise(numbers))


def forbidden_lines(console: str) -> list[str]:
    """The lines of a console that would be complaints in the kernel log."""
    return [line for line in console.splitlines() if _forbidden.search(line) and not _harmless.search(line)]


def check(records: list[LogRecord], allowed: Iterable[str] = (), since: int = -1) -> None:
    """Raise with the complaint and what the kernel said around it; or when records behind a mark are missing."""
    bad = complaints(records, allowed)
    missing = lost(records, since)
    if missing and not bad:
        raise KernelComplaint(f"{missing} records of the kernel log were lost before they were searched: ask sooner")
    if not bad:
        return
    first = records.index(bad[0])
    around = records[max(0, first - 5) : first + 60]
    raise KernelComplaint(
        f"the kernel log has {len(bad)} forbidden line{'s' * (len(bad) > 1)}, the first is\n    {bad[0]}\n"
        "and around it:\n" + "\n".join(f"    {record}" for record in around)
    )
