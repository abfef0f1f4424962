# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Errors, with a meaning and advice in words."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

from chario import _abi

# Advice for Python, in place of advice of the library that names the program.
_ADVICE: dict[int, str] = {
    errno.EROFS: "open the store, and the area, with writable=True",
    errno.ENOMEDIUM: "Store.format() makes one; what the disk holds is lost then",
    errno.EUCLEAN: "check() says where; opened for reading, the store gives what is left",
}

# The subject of an error, by the first word of the failed action.
_SUBJECTS: dict[str, int] = {
    "store": _abi.SUBJECT_STORE,
    "area": _abi.SUBJECT_AREA,
    "content": _abi.SUBJECT_CONTENT,
    "filling": _abi.SUBJECT_AREA,
    "length": _abi.SUBJECT_AREA,
    "new": _abi.SUBJECT_NEW_AREA,
    "recording": _abi.SUBJECT_RECORDING,
}

# The meaning of an errno for a view, and advice.
_VIEWS: dict[int, tuple[str, str]] = {
    errno.EBUSY: (
        "another view has this memory, or this part of the area",
        "unload() that one, or take one view of both parts",
    ),
    errno.EINVAL: (
        "it is not inside the area or the view, or begins where none can",
        "a view begins at a multiple of 4096 bytes of the area, WRITE_PROTECT at a page of memory, "
        "and the buffer is one of the area's store",
    ),
    errno.EOPNOTSUPP: (
        "this memory or this kernel does not have this kind of tracking",
        "Tracking.AUTO takes the best that there is, Tracking.MARKS works everywhere",
    ),
    errno.EPERM: ("the buffer is only written from", "make it without source=True"),
    errno.EROFS: ("its area was opened for reading", "open the store, and the area, with writable=True"),
    errno.ESTALE: (
        "a reload has failed, and nobody knows what the memory holds",
        "reload() until it succeeds, or unload(flush=False)",
    ),
}

# The texts of an action, by its first word, that take the place of those of the library.
_OWN: dict[str, dict[int, tuple[str, str]]] = {
    "view": _VIEWS,
    "filling": {
        errno.EINVAL: ("the area is shorter, or is not being filled", "create(filling=True) makes one that is filled")
    },
    "length": {errno.EINVAL: ("the area holds a recording, whose length stays", "remove() it and create() another")},
}

_words: Callable[..., str | None] | None = None


def set_words(text: Callable[..., str | None]) -> None:
    """Set the source of the library's texts, once it is loaded."""
    global _words  # noqa: PLW0603  # the library raises what is defined here
    _words = text


def _library_words(number: int, subject: int) -> tuple[str, str | None]:
    if _words is None:
        return os.strerror(number), None
    meaning = _words("chario_error_meaning_of", -number, subject)
    return meaning or os.strerror(number), _words("chario_error_advice_of", -number, subject)


def _words_of(number: int, first: str) -> tuple[str, str | None]:
    """Return the meaning of an errno, and advice, by the first word of the failed action."""
    if number in _OWN.get(first, {}):
        return _OWN[first][number]
    subject = _SUBJECTS.get(first, _abi.SUBJECT_DISK)
    meaning, advice = _library_words(number, subject)
    if subject != _abi.SUBJECT_DISK:
        advice = _ADVICE.get(number, advice)
    return meaning, advice


class ChariOError(OSError):
    """An error of a disk, a store, an area, a recording or a view.

    ``errno`` is the number, ``strerror`` its meaning, ``advice`` a sentence or None,
    ``what`` the failed action.
    """

    what: str = ""
    advice: str | None = None

    @classmethod
    def of(cls, result: int, what: str) -> ChariOError:
        """Make the exception of an error that a function of the library has returned."""
        number = -result
        meaning, advice = _words_of(number, what.partition(" ")[0])
        kind = (
            NoSuchArea if number == errno.ENOENT and what.startswith(("area", "length", "recording")) else ChariOError
        )
        error = kind(number, meaning)
        error.what, error.advice = what, advice
        return error

    def __str__(self) -> str:
        name = errno.errorcode.get(self.errno or 0, str(self.errno))
        parts = f"{self.what}: {self.strerror} ({name})" if self.what else f"{self.strerror} ({name})"
        return f"{parts}; {self.advice}" if self.advice else parts

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.errno, self.strerror), {"what": self.what, "advice": self.advice}


class NoSuchArea(ChariOError, FileNotFoundError, KeyError):
    """The store has no area of this name."""
