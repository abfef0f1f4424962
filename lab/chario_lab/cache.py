# SPDX-License-Identifier: MIT
"""Everything expensive, kept outside the checkout.

    cache_dir()                              the folder, $CHARIO_CACHE or ~/.cache/chario
    keep(target, "QEMU", make)               target, which make() fills unless it is there

What is kept appears whole or not at all, and two runs at the same time make it
once.  Anything in the cache may be removed: it is made again when needed.
"""

import contextlib
import errno
import fcntl
import os
import pwd
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

# With the kernels that are fetched, without the debug kernel's build.
NEEDED = "2 GB"


class CacheError(Exception):
    """The cache cannot be used; the message says which folder, why, and what to do."""


def cache_dir() -> Path:
    """The folder of the cache, which exists after the call and can be written to."""
    folder = chosen_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, "it cannot be written to")
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        raise CacheError(
            f"the cache {folder} cannot be used ({reason}): set CHARIO_CACHE to a folder with {NEEDED} to spare"
        ) from None
    return folder.resolve()


def chosen_dir() -> Path:
    """$CHARIO_CACHE, or the folder for such things in the home folder."""
    chosen = os.environ.get("CHARIO_CACHE")
    if chosen:
        return Path(chosen)
    try:
        home = os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        raise CacheError(f"there is no home folder: set CHARIO_CACHE to a folder with {NEEDED} to spare") from None
    return Path(home) / ".cache" / "chario"


def check_room(needed_bytes: int, what: str) -> None:
    """Raise where the cache has no room for what is going to be written to it."""
    folder = cache_dir()
    free_bytes = shutil.disk_usage(folder).free
    if free_bytes < needed_bytes:
        raise CacheError(
            f"{what} needs {needed_bytes >> 20} MiB and the cache {folder} has {free_bytes >> 20} MiB left: "
            f"make some room, or set CHARIO_CACHE to a folder with {NEEDED} to spare"
        )


def keep(target: Path, what: str, make: Callable[[Path], None], again: bool = False) -> Path:
    """The folder `target`; `make` fills a scratch folder that becomes it, `again` also where there is one.

    Other runs have the old one until the new one is whole.
    """
    if target.is_dir() and not again:
        return target
    with locked(target, what):
        if again or not target.is_dir():
            scratch, old = target.parent / f".{target.name}", target.parent / f".{target.name}.old"
            for left in (scratch, old):
                shutil.rmtree(left, ignore_errors=True)  # of a run that was killed
            scratch.mkdir(parents=True)
            try:
                make(scratch)
                if target.is_dir():
                    target.rename(old)
                scratch.rename(target)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
                shutil.rmtree(old, ignore_errors=True)
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


class WrongUse(Exception):
    """Somebody asked for what there is not; the message says what there is."""


def explain(error: Exception) -> str:
    """An error in words for a user: what happened, and what to do where the disk is full."""
    text = str(error).rstrip() or type(error).__name__
    if type(error).__module__ == "builtins" and not isinstance(error, OSError) and str(error):
        # Python's own say too little without their name.
        text = f"{type(error).__name__}: {text}"
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    # Said by our own calls or by the programs that we run; the last is apt's.
    if any(words in text for words in (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT), "enough free space")):
        text += (
            f"\nThe cache {chosen_dir()} has no room: make some, or set CHARIO_CACHE to a folder with {NEEDED} to spare"
        )
    return text


def guarded(work: Callable[[], int]) -> int:
    """The exit code of a program that does this work; an error, or ctrl-c, is told in a line."""
    try:
        return work()
    except KeyboardInterrupt:
        say("stopped")
        return 130
    except WrongUse as error:
        say(explain(error))
        return 2
    except Exception as error:
        trace()
        say(explain(error))
        return 1


def trace() -> None:
    """Print where the current exception comes from, for who works on the lab and asks for it; users get the message."""
    if os.environ.get("CHARIO_LAB_TRACEBACK"):
        traceback.print_exc()


def say(message: str) -> None:
    """One line for a human; stdout is for results."""
    print(f"chario-lab: {message}", file=sys.stderr, flush=True)
