# SPDX-License-Identifier: MIT
"""Mutations as tests/mutants/*.toml has them: reading, choosing, applying them.

[transfer-forgets-fua]               # its name, unique
why = "Stores commit by it."         # what a user would lose
file = "kernel/front/transfer.c"     # below the top of the tree
find = "a part of the file that is there once"
replace = "what stands there instead"
unit = "store-cuts"                  # a test of Meson that must then fail,
guest = "test_x.py::test_y[512]"     # or one of tests/guest
"""

import fnmatch
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

UNIT, GUEST = "unit", "guest"
TEXTS = ("why", "file", "find", "replace")
# What sweep.py keeps beside the mutants.
SWEPT = "equivalent"
SEARCHED = ("kernel/", "lib/", "cli/")


class MutantError(Exception):
    """The list cannot be used, or the run cannot begin; the message says what to do."""


@dataclass(frozen=True, order=True)
class Killer:
    """The test that has to fail: its kind, UNIT or GUEST, and its name there."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True)
class Mutation:
    """One mistake, and the test that must see it."""

    name: str
    why: str
    file: str
    find: str
    replace: str
    test: Killer


class Outcome(Enum):
    """How a mutation ended."""

    KILLED = "killed"
    SURVIVED = "survived"
    BROKEN = "does not build"
    ABSENT = "text not found"
    AMBIGUOUS = "text found twice"
    UNTESTED = "the test did not run"
    ENDLESS = "the test did not end"

    @property
    def is_good(self) -> bool:
        """Whether the test has shown that it can fail."""
        return self is Outcome.KILLED


def read_entry(name: str, entry: object, source: str) -> Mutation:
    """One table of a list."""
    if not isinstance(entry, dict):
        raise MutantError(f"{source}: {name}: a mutant is a table: write [{name}]")
    missing = [key for key in TEXTS if not isinstance(entry.get(key), str)]
    kinds = [kind for kind in (UNIT, GUEST) if isinstance(entry.get(kind), str)]
    unknown = sorted(set(entry) - {*TEXTS, UNIT, GUEST})
    if missing or unknown or len(kinds) != 1:
        raise MutantError(
            f"{source}: {name}: give the texts {', '.join(TEXTS)} and one of unit and guest, and nothing else"
            f" (missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'})"
        )
    if entry["find"] == entry["replace"]:
        raise MutantError(f"{source}: {name} changes nothing: find and replace are the same")
    if not entry["file"].startswith(SEARCHED):
        raise MutantError(f"{source}: {name}: the file {entry['file']} is in none of {', '.join(SEARCHED)}")
    why, file, find, replace = (str(entry[key]) for key in TEXTS)
    return Mutation(name, why, file, find, replace, Killer(kinds[0], entry[kinds[0]]))


def parse(text: str, source: str) -> list[Mutation]:
    """The mutations of a list."""
    try:
        entries = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MutantError(f"{source} is no TOML: {error}") from None
    return [read_entry(name, entry, source) for name, entry in entries.items() if name != SWEPT]


def read_all(folder: Path) -> list[Mutation]:
    """The mutations of all lists of a folder, in their order."""
    mutations = [one for path in sorted(folder.glob("*.toml")) for one in parse(path.read_text(), path.name)]
    names = [mutation.name for mutation in mutations]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise MutantError(f"names are used twice: {', '.join(twice)}")
    return mutations


def select(mutations: Sequence[Mutation], pattern: str) -> list[Mutation]:
    """Those whose name, file or test matches a pattern of the shell; all of them for an empty one."""
    chosen = [
        mutation
        for mutation in mutations
        if not pattern
        or any(fnmatch.fnmatch(text, pattern) for text in (mutation.name, mutation.file, str(mutation.test)))
    ]
    if not chosen:
        raise MutantError(f"no mutation matches {pattern!r}: names, files and tests are in tests/mutants/*.toml")
    return chosen


def apply(mutation: Mutation, text: str) -> str | Outcome:
    """The changed text of its file, or why it cannot be changed."""
    count = text.count(mutation.find)
    if count != 1:
        return Outcome.AMBIGUOUS if count else Outcome.ABSENT
    return text.replace(mutation.find, mutation.replace)


def in_order(mutations: Sequence[Mutation]) -> list[Mutation]:
    """The cheapest first: unit tests, and mutations of one test side by side."""
    return sorted(mutations, key=lambda mutation: (mutation.test.kind != UNIT, mutation.test.name))
