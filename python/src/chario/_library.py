# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""The shared library libchario, loaded once; CHARIO_LIBRARY names another file of it."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from typing import Any

from chario._abi import FUNCTIONS, check_numbers
from chario.errors import ChariOError, set_words

NAME = "libchario.so.0"


def _load() -> ctypes.CDLL:
    path = os.environ.get("CHARIO_LIBRARY", NAME)
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"libchario cannot be loaded ({error}): install it, or set CHARIO_LIBRARY to the file {NAME}"
        ) from None


_loaded = _load()


@cache
def function(name: str) -> Callable[..., Any]:
    """Get a function of the library, with the types of its arguments."""
    try:
        found = getattr(_loaded, name)
    except AttributeError:
        raise NotImplementedError(f"this libchario has no {name}(): install a newer one") from None
    found.restype, *found.argtypes = FUNCTIONS[name]
    return found  # type: ignore[no-any-return]  # whatever a CDLL has


def call(name: str, *arguments: Any) -> int:
    """Call a function that returns a number; other threads can run meanwhile."""
    check_numbers(FUNCTIONS[name][1:], arguments)
    return function(name)(*arguments)  # type: ignore[no-any-return]  # by its restype


def checked(what: str, name: str, *arguments: Any) -> int:
    """Call a function and return its result; raise its error, if it failed at doing ``what``."""
    result = call(name, *arguments)
    if result < 0:
        raise ChariOError.of(result, what)
    return result


def opened(what: str, free: Callable[[int], object], name: str, *arguments: Any) -> int:
    """Call a function whose last argument is the place for a pointer, and return the pointer.

    If ctrl-c arrives together with the pointer, the pointer would be lost: it is freed.
    """
    pointer = ctypes.c_void_p()
    try:
        checked(what, name, *arguments, ctypes.byref(pointer))
    except BaseException:
        if pointer.value:
            free(pointer.value)
        raise
    assert pointer.value
    return pointer.value


def freeing(name: str) -> Callable[[int], int]:
    """Get the function that frees the pointers of another function."""
    return lambda pointer: call(name, pointer)


def text(name: str, *arguments: Any) -> str | None:
    """Call a function that returns a string of the library."""
    found: bytes | None = function(name)(*arguments)
    return None if found is None else os.fsdecode(found)


set_words(text)
