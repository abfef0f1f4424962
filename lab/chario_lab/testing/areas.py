# SPDX-License-Identifier: MIT
"""The map of the repository, tests/areas.toml: which tests show which sources; see readers.py for those of guest tests.

    python -m chario_lab.testing.areas       names every file that is in no area, and every stale line

An area has sources, tests and most often one smoke test.  What the map lists below
`everything` selects all tests, and so does a path that it does not name.
Patterns are those of a shell; `*` also stands for slashes.
"""

from __future__ import annotations

import fnmatch
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from chario_lab.testing.readers import Readers

TOP = Path(__file__).resolve().parents[3]
MAP = "tests/areas.toml"
TESTS = ("tests/guest/test_*.py", "tests/python/test_*.py", "tests/gst/test_*.py", "tests/format/test_*.py",
         "tests/lab/test_*.py")  # fmt: skip


@dataclass(frozen=True)
class Area:
    """One part of the project."""

    name: str
    sources: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    smoke: str = ""

    def has(self, path: str) -> bool:
        """Whether a path belongs to it, as a source or as a test."""
        return matches(path, self.sources) or matches(path, self.tests)


@dataclass(frozen=True)
class Map:
    """All areas, what selects everything, and the sources of the library's unit programs."""

    areas: tuple[Area, ...]
    everything: tuple[str, ...]
    library: tuple[str, ...]


@dataclass(frozen=True)
class Selection:
    """What the changed paths ask for, and why."""

    areas: tuple[str, ...]
    tests: tuple[str, ...]
    everything: str = ""
    library: bool = False


def read_map(top: Path = TOP) -> Map:
    """The map of a checkout."""
    fields = tomllib.loads((top / MAP).read_text())
    areas = tuple(
        Area(name, tuple(entry.get("sources", ())), tuple(entry.get("tests", ())), entry.get("smoke", ""))
        for name, entry in fields["area"].items()
    )
    return Map(areas, tuple(fields["everything"]), tuple(fields["library"]))


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path fits one of some patterns."""
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def select(known: Map, changed: Sequence[str], top: Path = TOP) -> Selection:
    """The tests of the areas that changed paths are in, and those that read them; all tests where a path says so
    or is in no area."""
    readers = Readers(top)
    areas: dict[str, Area] = {}
    everything = ""
    for path in changed:
        found = [area for area in known.areas if area.has(path)]
        areas |= {area.name: area for area in found}
        if matches(path, known.everything):
            everything = everything or path
        elif not found:
            everything = everything or f"{path}, which is in no area"
    reading = {test for path in changed if not everything for test in readers.of(path)}
    tests = sorted(reading.union(*(area.tests for area in areas.values())))
    library = any(matches(path, known.library) for path in changed)
    return Selection(tuple(sorted(areas)), tuple(tests), everything, library)


def complaints(known: Map, tracked: Sequence[str]) -> list[str]:
    """Files in no area, tests that no area runs, and patterns that nothing fits."""
    lines = [
        f"{path}: in no area of {MAP}"
        for path in tracked
        if not matches(path, known.everything) and not any(area.has(path) for area in known.areas)
    ]
    run = [test for area in known.areas for test in area.tests]
    lines += [f"{path}: no area of {MAP} runs it" for path in tracked if matches(path, TESTS) and path not in run]
    for name, patterns in [("everything", known.everything), ("library", known.library),
                           *((area.name, (*area.sources, *area.tests)) for area in known.areas)]:  # fmt: skip
        lines += [
            f"{MAP}: {name}: nothing fits {pattern}" for pattern in patterns if not fnmatch.filter(tracked, pattern)
        ]
    for area in known.areas:
        if area.smoke and area.smoke.partition("::")[0] not in area.tests:
            lines.append(f"{MAP}: {area.name}: the smoke test {area.smoke} is none of its tests")
    return lines


def missing_smoke(known: Map, top: Path) -> list[str]:
    """Smoke tests whose file has no such function."""
    lines = []
    for area in known.areas:
        file, _, test = area.smoke.partition("::")
        name = test.partition("[")[0]
        if name and f"def {name}(" not in (top / file).read_text():
            lines.append(f"{MAP}: {area.name}: {file} has no {name}")
    return lines


def tracked_files(top: Path = TOP) -> list[str]:
    """The files that git tracks and that are there."""
    listing = subprocess.run(["git", "-C", str(top), "ls-files", "-z"], check=True, capture_output=True, text=True)
    return [name for name in listing.stdout.split("\0") if name and (top / name).is_file()]


def main() -> int:
    """Print what is wrong with the map."""
    top = Path.cwd()
    known = read_map(top)
    found = complaints(known, tracked_files(top)) or missing_smoke(known, top)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
