# SPDX-License-Identifier: MIT
"""Everything expensive, kept outside the checkout.

    cache_dir()                              the folder, $CHARIO_CACHE or ~/.cache/chario
    keep(target, "QEMU", make)               target, which make() fills unless it is there

What is kept appears whole or not at all, and two runs at the same time make it
once.  Anything in the cache may be removed: it is made again when needed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path


def cache_dir() -> Path:
    """The folder of the cache, which exists after the call."""
    chosen = os.environ.get("CHARIO_CACHE")
    folder = Path(chosen) if chosen else Path.home() / ".cache" / "chario"
    folder.mkdir(parents=True, exist_ok=True)
    return folder.resolve()


def keep(target: Path, what: str, make: Callable[[Path], None]) -> Path:
    """The folder `target`; `make` fills a scratch folder that becomes it."""
    if target.is_dir():
        return target
    with locked(target, what):
        if not target.is_dir():
            scratch = target.parent / f".{target.name}"
            shutil.rmtree(scratch, ignore_errors=True)  # of a run that was killed
            scratch.mkdir(parents=True)
            try:
                make(scratch)
                scratch.rename(target)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    return target


@contextlib.contextmanager
def locked(target: Path, what: str) -> Iterator[None]:
    """The right to make `target`; says so when another run has it."""
    locks = cache_dir() / "locks"
    locks.mkdir(exist_ok=True)
    name = str(target.resolve()).replace("/", "-").strip("-")
    with (locks / name).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another run that prepares {what}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def drop_unused(folder: Path, days: int) -> None:
    """Remove what was made in a folder by keep() and is not used any more.

    `use()` marks a thing as used; what it is never called for counts from when it was made.
    """
    oldest = time.time() - days * 86400
    for entry in folder.iterdir():
        # Another run may be dropping the same.
        with contextlib.suppress(FileNotFoundError):
            if entry.stat().st_mtime < oldest:
                shutil.rmtree(entry, ignore_errors=True)


def use(target: Path) -> Path:
    """The same folder, marked as used now."""
    with contextlib.suppress(OSError):
        os.utime(target)
    return target


def say(message: str) -> None:
    """One line for a human; stdout is for results."""
    print(f"chario-lab: {message}", file=sys.stderr, flush=True)
