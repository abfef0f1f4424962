# SPDX-License-Identifier: MIT
"""Callbacks of the Python package that the library asks."""

import pytest
from package_signals import interrupted

from chario._callback import Asked

# Each call of a callback runs two lines at least.
CALLS = 9


@pytest.mark.parametrize("line", range(2 * CALLS))
def test_no_ctrl_c_is_lost(line: int) -> None:
    """Ctrl-c at any line of the package ends the work and is raised afterwards."""
    asked = Asked(lambda _argument: False)
    answers: list[int] = []

    def work() -> None:
        for _ in range(CALLS):
            answers.append(asked.answer(0))

    assert not interrupted(work, line)
    assert 1 in answers
    with pytest.raises(KeyboardInterrupt):
        asked.end(0)


def test_a_result_that_no_callback_gave_is_a_ctrl_c() -> None:
    """The exception has been dropped on the way, so only the result tells of it."""
    asked = Asked(lambda argument: argument > 1)
    assert asked.answer(1) == 0
    asked.end(0)
    asked.end(-5)
    with pytest.raises(KeyboardInterrupt):
        asked.end(1)
    assert asked.answer(2) == 1
    asked.end(1)
