# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Callbacks that the library asks on the way, and the files that it reads and writes."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from typing import Protocol, TypeAlias


class HasFileno(Protocol):
    """An object with a file descriptor: a file, a socket, a pipe of a process."""

    def fileno(self) -> int: ...


FileLike: TypeAlias = "int | HasFileno"


def descriptor(file: FileLike) -> int:
    """Return the file descriptor of a file."""
    return file if isinstance(file, int) else file.fileno()


def file_error(what: str, result: int) -> OSError:
    """Return the error of Python, not of the library, for a failure of a file."""
    return OSError(-result, f"{what}: {os.strerror(-result)}")


class Asked:
    """A callback: the library ends its work when ``ends`` returns true or raises.

    C calls ``answer`` with the first argument of its callback.  A ctrl-c that has come
    meanwhile is raised as soon as Python code runs: in a function, that is before its
    ``try`` begins, and ctypes would drop the exception.  So ``answer`` resumes a generator,
    which is already inside its ``try``.
    """

    def __init__(self, ends: Callable[[int], bool]) -> None:
        self._reasons: list[BaseException | None] = []
        self.answer = self.also(ends)

    def also(self, ends: Callable[[int], bool]) -> Callable[[int], int]:
        """Return the function that C calls as another callback of the same work."""
        answers = _answers(ends, self._reasons)
        next(answers)
        return answers.send

    def end(self, result: int) -> None:
        """Raise the exception of the callback, if there was one.

        A positive ``result`` of the library is an answer of the callback.  If the callback gave
        no such answer, ctypes has dropped the exception of a ctrl-c.
        """
        for reason in self._reasons:
            if reason is not None:
                raise reason
        if result > 0 and not self._reasons:
            raise KeyboardInterrupt


def _answers(ends: Callable[[int], bool], reasons: list[BaseException | None]) -> Generator[int, int, None]:
    """Answer with 0 or 1; each 1 has a reason: an exception, or None if ``ends`` returned true."""
    answer = 0
    while True:
        try:
            # Python raises a ctrl-c where a loop begins anew, so this loop is inside the try.
            while True:
                argument = yield answer
                answer = int(ends(argument))
                if answer:
                    reasons.append(None)
        except GeneratorExit:
            return
        except BaseException as error:
            reasons.append(error)
            answer = 1
