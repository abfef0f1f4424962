# SPDX-License-Identifier: MIT
"""Something that not every machine has."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Need:
    """A condition of a machine, without which a measurement is left out.

    `test` is a command of the shell that succeeds where the condition is met; the words of Place.fill() are
    replaced in it.  `words` say to a human what is missing.
    """

    test: str
    words: str
