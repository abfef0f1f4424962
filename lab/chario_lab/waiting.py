# SPDX-License-Identifier: MIT
"""Wait for what has to come, on machines that are slow and busy."""

import time
from collections.abc import Callable

SETTLE_LIMIT_S = 120
POLL_S = 0.1


def until(condition: Callable[[], bool], complaint: str) -> None:
    """Return when a condition holds; fail with the complaint when it never does."""
    end = time.monotonic() + SETTLE_LIMIT_S
    while not condition():
        assert time.monotonic() < end, complaint
        time.sleep(POLL_S)
