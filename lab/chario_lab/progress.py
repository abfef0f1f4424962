# SPDX-License-Identifier: MIT
"""What a human sees while something takes long.

with progress.step("booting the guest"):        one thing that is done, with the time that it took
    ...
progress.show(text)                             what a program said, below the step that it belongs to
"""

import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress as Bar
from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.status import Status

INDENT = " " * 6
FILE_WIDTH = 240


def wide_console() -> Console:
    """A terminal as it is; where the output is a file, tables may be as wide as they need."""
    console = Console()
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(width=FILE_WIDTH)


def plain(text: str) -> str:
    """Text for a terminal, in which nothing is markup and nothing commands the terminal."""
    return escape("".join(letter if letter.isprintable() or letter in "\n\t" else "?" for letter in text))


class Progress(Protocol):
    """Where progress is shown."""

    def step(self, title: str) -> AbstractContextManager[None]:
        """One thing that is done while the block runs."""

    def show(self, text: str) -> None:
        """Lines that a program said."""


class Steps:
    """A line a step, which stays, with the time that it took."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Show what is going on and for how long; afterwards how long it took."""
        started = time.monotonic()
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
        console = self._console
        with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
            bar.add_task(title, total=None)
            outcome = "[red]failed[/red]"
            try:
                yield
                outcome = "[green]done[/green]"
            finally:
                took_s = time.monotonic() - started
                console.print(f"{outcome}  {plain(title)} ({took_s:.0f} s)", highlight=False, soft_wrap=True)

    def show(self, text: str) -> None:
        """The lines, below the step."""
        for line in text.splitlines():
            self._console.print(f"{INDENT}{plain(line)}", highlight=False, soft_wrap=True)


class OneLine:
    """One line, which goes when all is done; nothing of what programs say."""

    def __init__(self, status: Status, title: str) -> None:
        self._status = status
        self._title = title

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Show what is going on."""
        self._status.update(f"{self._title}: {title}")
        yield

    def show(self, text: str) -> None:
        """There is no room for it."""
