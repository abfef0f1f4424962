# SPDX-License-Identifier: MIT
"""Guests that several files of tests have in turn.  Everything here is pure.

Where booting is dear, one guest has the drives of many files, and each file
knows which of them is its first.
"""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace

from chario_lab.guest.spec import MOST_DRIVES, Drive, GuestSpec


@dataclass(frozen=True)
class Place:
    """Where the tests of a file find their drives: a guest, and which of its drives is their first."""

    spec: GuestSpec
    first_drive: int = 0


def combine(specs: Iterable[GuestSpec]) -> dict[GuestSpec, Place]:
    """A few guests that have the drives of all that are given, by first fit; and where each finds its own."""
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
            drives=there.drives + renamed(spec.drives, {drive.serial for drive in there.drives}),
            append=" ".join(dict.fromkeys([*there.append.split(), *spec.append.split()])),
            qtest=there.qtest or spec.qtest,
        )
    return {spec: Place(combined[index], first) for spec, (index, first) in places.items()}


def renamed(drives: Iterable[Drive], taken: set[str]) -> tuple[Drive, ...]:
    """The same drives; one whose serial number is taken gets another."""
    named: list[Drive] = []
    for drive in drives:
        numbers = (f"{drive.serial}-{count}" for count in itertools.count(2))
        serial = drive.serial if drive.serial not in taken else next(name for name in numbers if name not in taken)
        taken.add(serial)
        named.append(replace(drive, serial=serial))
    return tuple(named)


def agree(one: GuestSpec, other: GuestSpec) -> bool:
    """Whether one guest can have the drives of both."""
    if len(one.drives) + len(other.drives) > MOST_DRIVES:
        return False
    return replace(one, drives=(), append="", qtest=False) == replace(other, drives=(), append="", qtest=False)
