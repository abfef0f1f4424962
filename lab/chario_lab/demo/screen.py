# SPDX-License-Identifier: MIT
"""What the demonstration shows while it runs, and how it ends early."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

INDENT = " " * 6


class DemoError(Exception):
    """The demonstration cannot go on, or has shown a mistake."""


@contextmanager
def step(console: Console, title: str) -> Iterator[None]:
    """Show what is going on and for how long; afterwards how long it took."""
    started = time.monotonic()
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        progress.add_task(title, total=None)
        yield
    took_s = time.monotonic() - started
    console.print(f"[green]done[/green]  {title} ({took_s:.0f} s)", highlight=False, soft_wrap=True)


def show(console: Console, text: str) -> None:
    """Lines of a program in the guest, below the step they belong to."""
    for line in text.splitlines():
        console.print(f"{INDENT}{line}", markup=False, highlight=False, soft_wrap=True)
