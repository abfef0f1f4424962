# SPDX-License-Identifier: MIT
"""Stages of a run: programs that pass or fail, with what each took on the wall and on processors."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO

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
    """A program of a run; `minutes` is about what it takes on two processors.

    `inputs` are patterns of all files of the checkout that it reads, where the
    same files always give the same result; others have none.
    """

    name: str
    command: tuple[str, ...]
    minutes: float
    environment: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """How a stage ended, or that an earlier pass was used again."""

    stage: Stage
    rc: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    reused: bool = False

    @property
    def result(self) -> str:
        """In a word."""
        return "reused" if self.reused else "passed" if self.rc == 0 else f"FAILED ({self.rc})"


@dataclass(frozen=True)
class Started:
    """A stage that runs; `output` keeps its words where another one runs beside it."""

    stage: Stage
    process: subprocess.Popen[bytes]
    began_s: float
    output: IO[bytes] | None


def run_group(stages: Sequence[Stage]) -> Generator[Outcome]:
    """Run stages side by side, and give the outcome of each as it ends; none outlives an interruption."""
    running: list[Started] = []
    try:
        for stage in stages:
            try:
                running.append(start(stage, alone=len(stages) == 1))
            except OSError as error:
                print(f"{stage.name} cannot be started: {explain(error)}", flush=True)
                yield Outcome(stage, CANNOT_START)
        while running:
            yield wait_for_one(running)
    finally:
        for started in running:
            end(started.process)


def wait_for_one(running: list[Started]) -> Outcome:
    """Wait until one of the stages has ended, and take it from the list."""
    while True:
        pid, status, usage = os.wait4(-1, 0)
        ended = next((one for one in running if one.process.pid == pid), None)
        if ended is not None:
            break  # others are orphans, which process 1 of a container inherits
    running.remove(ended)
    rc = os.waitstatus_to_exitcode(status)
    ended.process.returncode = rc
    show(ended)
    wall_s = time.monotonic() - ended.began_s
    return Outcome(ended.stage, rc, wall_s, usage.ru_utime + usage.ru_stime)


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


def start(stage: Stage, alone: bool) -> Started:
    """Start a stage, in a process group of its own; alone it has the terminal to itself."""
    print(f"== {stage.name}{'' if alone else ' (side by side with another)'}", flush=True)
    output = None if alone else tempfile.TemporaryFile()  # noqa: SIM115 - show() closes it
    with heard(signal.SIGINT):
        process = subprocess.Popen(
            stage.command,
            env={**clean_environment(), **stage.environment},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT if output else None,
            process_group=0,
        )
    return Started(stage, process, time.monotonic(), output)


@contextlib.contextmanager
def heard(number: signal.Signals) -> Iterator[None]:
    """Programs that are started in this block do not ignore a signal, as what a script has in its background does."""
    before = signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(number, before)


def show(ended: Started) -> None:
    """Print what a stage said while another one ran."""
    if ended.output is None:
        return
    with ended.output:
        ended.output.seek(0)
        print(f"== {ended.stage.name} said", flush=True)
        sys.stdout.buffer.write(ended.output.read())
        sys.stdout.buffer.flush()


def print_table(outcomes: Sequence[Outcome], wall_s: float) -> None:
    """What each stage took; the total is less than the sum where stages ran side by side."""
    table = Table("stage", box=None, pad_edge=False)
    for title in ("wall s", "CPU s", "result"):
        table.add_column(title, justify="right")
    for outcome in outcomes:
        table.add_row(outcome.stage.name, f"{outcome.wall_s:.0f}", f"{outcome.cpu_s:.0f}", outcome.result)
    table.add_row("all", f"{wall_s:.0f}", f"{sum(outcome.cpu_s for outcome in outcomes):.0f}", "")
    Console(width=100, highlight=False).print(table)
