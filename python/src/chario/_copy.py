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

# Is told the bytes that have been copied and those of all; returning False ends the copy.
Progress: TypeAlias = "Callable[[int, int], bool | None]"

# What C calls with more arguments takes the first of them.
_TOLD = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64)


def copy(name: str, pointer: int, file: FileLike, raw: Any, progress: Progress | None, what: str) -> None:
    """Call a function that copies; how far it came is in ``raw``."""
    asked = Asked(lambda done: progress is not None and progress(done, raw.bytes) is False)
    told = _TOLD(asked.answer)
    raw.progress = ctypes.cast(told, _abi.PROGRESS)
    result = call(name, pointer, descriptor(file), ctypes.byref(raw))
    asked.end()
    if result < 0:
        raise _error(raw, result, what)


def _error(raw: Any, result: int, what: str) -> Exception:
    """An error of the file is none of the library; that of an update may be one of its views."""
    if raw.step == _abi.COPY_END:
        return EOFError(f"{what}: the file has ended after {raw.read_bytes} bytes")
    if raw.step == _abi.COPY_FILE:
        return file_error(what, result)
    if raw.step == _abi.COPY_READ and result == -errno.EBUSY:
        what = f"view of {what}"
    return ChariOError.of(result, what)
