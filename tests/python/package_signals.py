# SPDX-License-Identifier: MIT
"""Ctrl-c at a place of one's choice."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any

import pytest
from package_lab import SOURCE

from chario._library import call


def interrupt_at(number: int) -> Callable[[FrameType, str, Any], Any]:
    """A trace function that raises at a line of the package, as ctrl-c may."""
    lines = iter(range(number + 1))

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(str(SOURCE)):
            return None
        if event == "line" and next(lines, None) == number:
            raise KeyboardInterrupt
        return trace

    return trace


def interrupted(work: Callable[[], object], number: int) -> bool:
    """Do something with ctrl-c at its nth line; whether that came."""
    before = sys.gettrace()
    sys.settrace(interrupt_at(number))
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def ctrl_c(patch: pytest.MonkeyPatch, name: str, module: ModuleType, *, before: bool = False) -> None:
    """Have ctrl-c come once with a call of the library that a module makes."""
    left = [KeyboardInterrupt()]

    def call_once(called: str, *arguments: Any) -> int:
        mine = called == name and bool(left)
        if mine and before:
            raise left.pop()
        result = call(called, *arguments)
        if mine:
            raise left.pop()
        return result

    patch.setattr(module, "call", call_once)


@contextmanager
def ctrl_c_soon() -> Iterator[None]:
    """Have it come by itself: in what is inside of this, or of what it is in."""
    handler = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
