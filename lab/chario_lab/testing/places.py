# SPDX-License-Identifier: MIT
"""Guests that several files of tests have in turn.  Everything here is pure.

Where booting is dear, one guest has the drives of many files, and each file
knows which of them is its first.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from chario_lab.guest.spec import MOST_DRIVES, GuestSpec


@dataclass(frozen=True)
class Place:
    """Where the tests of a file find their drives: a guest, and which of its drives is their first."""

    spec: GuestSpec
    first_drive: int = 0


def combine(specs: Iterable[GuestSpec]) -> dict[GuestSpec, Place]:
    """As few guests as have the drives of all that are given, and where each finds its own."""
    combined: list[GuestSpec] = []
    places: dict[GuestSpec, tuple[int, int]] = {}
    for spec in dict.fromkeys(specs):
        fits = (index for index, there in enumerate(combined) if agree(there, spec))
        index = next(fits, len(combined))
        if index == len(combined):
            combined.append(replace(spec, drives=()))
        there = combined[index]
        places[spec] = index, len(there.drives)
        combined[index] = replace(
            there,
            drives=there.drives + spec.drives,
            append=" ".join(dict.fromkeys([*there.append.split(), *spec.append.split()])),
            qtest=there.qtest or spec.qtest,
        )
    return {spec: Place(combined[index], first) for spec, (index, first) in places.items()}


def agree(one: GuestSpec, other: GuestSpec) -> bool:
    """Whether one guest can have the drives of both."""
    if len(one.drives) + len(other.drives) > MOST_DRIVES:
        return False
    return replace(one, drives=(), append="", qtest=False) == replace(other, drives=(), append="", qtest=False)
