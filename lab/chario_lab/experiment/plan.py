# SPDX-License-Identifier: MIT
"""What an experiment does, before any of it is done.

A plan is a sequence of stations: on a machine, somebody has the drive, and cases are measured there.
It is made of values alone, by functions that look at nothing but the options.

    Station(machine, Holder.CHARIO, (Case("read", "pread 4 KiB", ("pread", "{node}", ...)),))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from chario_lab.target.machine import Machine
from chario_lab.target.need import Need
from chario_lab.target.place import Holder
from chario_lab.target.target import Target

CALLS, SERIES = "chario-bench", "repeat"


@dataclass(frozen=True)
class Case:
    """One thing that is measured.

    `program` is one of the lab's, CALLS or SERIES, and `words` is what it is told; it brackets
    `operations` operations of `calls` calls of `call_bytes` each with markers, after `warm_calls` calls that are
    not counted.  `under` are the words of a program that runs it, a profiler for instance, and `report` is the
    command of the shell whose output is asked for afterwards; what `digest` makes of it is kept.  `settings` are
    files of sysfs and what is written to them before.  `before` and `after` are commands of the shell: the one is not
    measured, the other has to succeed, or the case is `wrong`.  In all of them the words of Place.fill() are
    replaced.  With `cold` caches are dropped before.  Of cases in a row with the same `step` a human sees one line.
    Where the machine lacks one of the things that the case `needs`, it is left out.
    """

    key: str
    title: str
    words: tuple[str, ...]
    program: str = CALLS
    operations: int = 1
    calls: int = 1
    call_bytes: int = 0
    warm_calls: int = 0
    repeats: int = 1
    step: str = ""
    cold: bool = False
    settings: tuple[tuple[str, str], ...] = ()
    before: str = ""
    after: str = ""
    wrong: str = ""
    under: tuple[str, ...] = ()
    report: str = ""
    digest: Callable[[str], str] = str
    needs: tuple[Need, ...] = ()
    limit_s: float = 900.0

    @property
    def line(self) -> str:
        """What a human sees meanwhile."""
        return self.step or self.title


# What a timer tick costs: see ticks.py.
SPIN = Case("spin", "what a timer tick costs", ("spin",), SERIES, repeats=3)


@dataclass(frozen=True)
class Act:
    """Something that is done and not measured.

    What `do` returns is kept as a record of its own, where it is not None, and shown if it is `shown`.
    """

    key: str
    title: str
    do: Callable[[Target], str | None]
    shown: bool = False

    @property
    def line(self) -> str:
        """What a human sees meanwhile."""
        return self.title


@dataclass(frozen=True)
class Station:
    """Cases and acts while somebody has the drive of a machine, and uses one of its namespaces.

    `settings` are files and what is written to them; `prepare` are commands of the shell that follow.  The words of
    Place.fill() are replaced in both.  With `points` it is
    noted how far each operation has come when the drive is told, interrupts, and is answered.
    """

    name: str
    machine: Machine
    holder: Holder
    steps: tuple[Case | Act, ...]
    prepare: tuple[str, ...] = ()
    namespace: int = 0
    points: bool = False
    settings: tuple[tuple[str, str], ...] = ()


Plan = Sequence[Station]


def chosen(plan: Plan, patterns: Sequence[str]) -> Plan:
    """The cases whose keys match one of the patterns of a shell, at stations that have any.

    Acts, and the measurement of what a timer tick costs, stay with them.
    """
    found = []
    for station in plan:
        cases = [step for step in station.steps if isinstance(step, Case)]
        wanted = [case for case in cases if any(fnmatchcase(case.key, pattern) for pattern in patterns)]
        steps = tuple(step for step in station.steps if isinstance(step, Act) or step.key == SPIN.key or step in wanted)
        if wanted:
            found.append(replace(station, steps=steps))
    return found
