# SPDX-License-Identifier: MIT
"""Stages of a run: programs that pass or fail, with what each took on the wall and on processors."""

import contextlib
import math
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import psutil
from rich.console import Console
from rich.table import Table

from chario_lab.cache import explain
from chario_lab.kernel import clean_environment

# As a shell says it.
CANNOT_START = 127
# Guests are ended, and their files removed, when a run is interrupted: longer than mutants/tree.py waits for a test.
END_LIMIT_S = 180.0
POLL_S = 0.1


@dataclass(frozen=True)
class Stage:
    """A program of a run, and variables of its environment."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """How a stage ended, and the seconds that it took."""

    stage: Stage
    rc: int
    wall_s: float = 0.0
    cpu_s: float = 0.0

    @property
    def result(self) -> str:
        """The outcome in a word."""
        return "passed" if self.rc == 0 else f"FAILED ({self.rc})"


def run(stage: Stage) -> Outcome:
    """Run a stage to its end; it does not outlive an interruption."""
    print(f"== {stage.name}", flush=True)
    began_s = time.monotonic()
    # What a script has in its background ignores SIGINT, which ends a stage: its programs shall not.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(stage.command, env={**clean_environment(), **stage.environment},
                                   stdin=subprocess.DEVNULL, process_group=0)  # fmt: skip
    except OSError as error:
        print(f"{stage.name} cannot be started: {explain(error)}", flush=True)
        return Outcome(stage, CANNOT_START)
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        end(process)
        raise
    process.returncode = os.waitstatus_to_exitcode(status)
    return Outcome(stage, process.returncode, time.monotonic() - began_s, usage.ru_utime + usage.ru_stime)


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask a stage and all its processes to end, as ctrl-c does; make those that do not."""
    for number, limit_s in ((signal.SIGINT, END_LIMIT_S), (signal.SIGKILL, math.inf)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        deadline_s = time.monotonic() + limit_s
        while has_processes(process.pid) and time.monotonic() < deadline_s:
            time.sleep(POLL_S)
    process.wait()


def has_processes(group: int) -> bool:
    """Whether a process of a group runs; one that has ended may stay in the list until its parent looks."""
    return any(group_of(process.pid) == group and process.info["status"] != psutil.STATUS_ZOMBIE
               for process in psutil.process_iter(["status"]))  # fmt: skip


def group_of(pid: int) -> int | None:
    """The group of a process, if there is such a process."""
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def print_table(outcomes: Sequence[Outcome], wall_s: float) -> None:
    """What each stage took."""
    table = Table("stage", box=None, pad_edge=False)
    for title in ("wall s", "CPU s", "result"):
        table.add_column(title, justify="right")
    for outcome in outcomes:
        table.add_row(outcome.stage.name, f"{outcome.wall_s:.0f}", f"{outcome.cpu_s:.0f}", outcome.result)
    table.add_row("all", f"{wall_s:.0f}", f"{sum(outcome.cpu_s for outcome in outcomes):.0f}", "")
    Console(width=100, highlight=False).print(table)
