# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Copies between files and areas."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable, Generator
from typing import Any, Protocol, TypeAlias

from chario import _abi
from chario._library import call
from chario.errors import ChariOError

# Is told the bytes that have been copied and those of all; returning False ends the copy.
Progress: TypeAlias = "Callable[[int, int], bool | None]"

# What C calls with more arguments takes the first of them.
_TOLD = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64)


class HasFileno(Protocol):
    """Whatever has a file descriptor: a file, a socket, a pipe of a process."""

    def fileno(self) -> int: ...


FileLike: TypeAlias = "int | HasFileno"


def copy(name: str, pointer: int, file: FileLike, raw: Any, progress: Progress | None, what: str) -> None:
    """Call a function that copies; how far it came is in ``raw``."""
    raised: list[BaseException] = []
    steps = _steps(progress, raw.bytes, raised)
    next(steps)
    told = _TOLD(steps.send)
    raw.progress = ctypes.cast(told, _abi.PROGRESS)
    result = call(name, pointer, file if isinstance(file, int) else file.fileno(), ctypes.byref(raw))
    if raised:
        raise raised[0]
    if result < 0:
        raise _error(raw, result, what)


def _steps(progress: Progress | None, total: int, raised: list[BaseException]) -> Generator[int, int, None]:
    """Takes how far the copy is, gives what C returns: 1 ends the copy.

    Ctrl-c that has come meanwhile is raised where Python code begins to run.  In a function
    that is before any ``try``, and ctypes would drop it; a generator goes on inside.
    """
    answer = 0
    while True:
        try:
            done = yield answer
            answer = int(progress is not None and progress(done, total) is False)
        except GeneratorExit:
            return
        except BaseException as error:
            raised.append(error)
            answer = 1


def _error(raw: Any, result: int, what: str) -> Exception:
    """An error of the file is none of the library; that of an update may be one of its views."""
    if raw.step == _abi.COPY_END:
        return EOFError(f"{what}: the file has ended after {raw.read_bytes} bytes")
    if raw.step == _abi.COPY_FILE:
        return OSError(-result, f"{what}: {os.strerror(-result)}")
    if raw.step == _abi.COPY_READ and result == -errno.EBUSY:
        what = f"view of {what}"
    return ChariOError.of(result, what)
