# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Copies between files and areas."""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Callable
from typing import Any, TypeAlias

from chario import _abi
from chario._callback import Asked, FileLike, descriptor, file_error
from chario._library import call
from chario.errors import ChariOError

# A function that is told the number of bytes copied and of all bytes; False ends the copy.
Progress: TypeAlias = "Callable[[int, int], bool | None]"

# C calls this function with more arguments; it takes only the first.
_TOLD = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64)


def copy(name: str, pointer: int, file: FileLike, raw: Any, progress: Progress | None, what: str) -> None:
    """Call a function of the library that copies, whose result is in ``raw``."""
    asked = Asked(lambda done: progress is not None and progress(done, raw.bytes) is False)
    told = _TOLD(asked.answer)
    raw.progress = ctypes.cast(told, _abi.PROGRESS)
    result = call(name, pointer, descriptor(file), ctypes.byref(raw))
    asked.end(result)
    if result < 0:
        raise _error(raw, result, what)


def _error(raw: Any, result: int, what: str) -> Exception:
    """Return the exception for a failed step: an error of the file is not one of the library."""
    if raw.step == _abi.COPY_END:
        return EOFError(f"{what}: the file has ended after {raw.read_bytes} bytes")
    if raw.step == _abi.COPY_FILE:
        return file_error(what, result)
    if raw.step == _abi.COPY_READ and result == -errno.EBUSY:
        what = f"view of {what}"
    return ChariOError.of(result, what)
