# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Patience: the time that a call may wait.

A wait in C reacts to no signal, so it is divided into pieces, between which Python handles ctrl-c.
"""

from __future__ import annotations

import time

PIECE_NS = 100_000_000
SECOND_NS = 1_000_000_000


class Patience:
    """A timeout in seconds from now on; None waits for ever."""

    def __init__(self, timeout: float | None, pieces: int = 1) -> None:
        """Begin to wait; ``pieces`` are waited for at once."""
        self._piece_ns = PIECE_NS * pieces
        self._end = (
            None if timeout is None else time.monotonic_ns() + int(not_negative_s(timeout, "timeout") * SECOND_NS)
        )

    @property
    def piece_ns(self) -> int:
        """The length of the next piece in nanoseconds."""
        left_ns = self._piece_ns if self._end is None else max(self._end - time.monotonic_ns(), 0)
        return min(left_ns, self._piece_ns)

    def wait_longer(self) -> None:
        """Make the next piece longer, for calls that begin anew in each piece."""
        self._piece_ns *= 2

    @property
    def over(self) -> bool:
        """True if the time is over."""
        return self._end is not None and time.monotonic_ns() >= self._end


def not_negative_s(seconds: float, name: str) -> float:
    """Check the argument of this name, a time that C takes as unsigned."""
    try:
        possible = 0 <= seconds < 1 << 32
    except TypeError:
        raise TypeError(f"{name} is {seconds!r}, not a number of seconds") from None
    if not possible:
        raise ValueError(f"{name} is {seconds} s, which is not a time to wait")
    return seconds
