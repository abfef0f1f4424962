# SPDX-License-Identifier: MIT
"""Ctrl-c at a place of one's choice."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from package_lab import SOURCE


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
