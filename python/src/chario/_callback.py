# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Callbacks that the library asks on the way, and the files that it reads and writes."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from typing import Protocol, TypeAlias


class HasFileno(Protocol):
    """Whatever has a file descriptor: a file, a socket, a pipe of a process."""

    def fileno(self) -> int: ...


FileLike: TypeAlias = "int | HasFileno"


def descriptor(file: FileLike) -> int:
    """The file descriptor of a file."""
    return file if isinstance(file, int) else file.fileno()


def file_error(what: str, result: int) -> OSError:
    """An error of a file, as Python has them, and not of the library."""
    return OSError(-result, f"{what}: {os.strerror(-result)}")


class Asked:
    """A callback: the library ends its work where ``ends`` says so, or raises.

    C calls ``answer`` with the first argument of its callback.  Ctrl-c that has come
    meanwhile is raised where Python code begins to run.  In a function that is before any
    ``try``, and ctypes would drop it; a generator goes on inside.
    """

    def __init__(self, ends: Callable[[int], bool]) -> None:
        self._raised: list[BaseException] = []
        answers = _answers(ends, self._raised)
        next(answers)
        self.answer = answers.send

    def end(self) -> None:
        """Raise what came up on the way."""
        if self._raised:
            raise self._raised[0]


def _answers(ends: Callable[[int], bool], raised: list[BaseException]) -> Generator[int, int, None]:
    answer = 0
    while True:
        try:
            argument = yield answer
            answer = int(ends(argument))
        except GeneratorExit:
            return
        except BaseException as error:
            raised.append(error)
            answer = 1
