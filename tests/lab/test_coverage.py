# SPDX-License-Identifier: MIT
"""Counters of several guests become one report."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from chario_lab import coverage
from chario_lab.coverage import CoverageError, missed, ranges
from chario_lab.guest.counters import save

SOURCE = """\
static int half(int number)
{
	if (number < 0)
		return -1;
	return number / 2;
}
int main(int argc, char **argv)
{
	(void)argv;
	if (argc == 3)
		return 3;
	return half(argc - 1);
}
"""


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A program in the place of a module, built in a folder of the name that the cache gives."""
    folder = tmp_path / "modules/6.12-chario-gcov-0123"
    folder.mkdir(parents=True)
    (folder / "half.c").write_text(SOURCE)
    subprocess.run(["gcc", "--coverage", "-o", "half", str(folder / "half.c")], cwd=folder, check=True)
    return folder


def run_guest(build: Path, folder: Path, name: str, *words: str) -> None:
    """Run the program once, as a guest that leaves its counters behind."""
    subprocess.run([build / "half", *words], check=False)
    share = folder / "share" / name
    scratch = share / "cache/modules" / f".{build.name}"
    scratch.mkdir(parents=True)
    for path in build.glob("*.gcda"):
        # The kernel names counters like the object file.
        shutil.move(path, scratch / "half.gcda")
    save(share, folder / "guests" / name)


def trace_of(folder: Path, build: Path) -> dict[str, object]:
    """The report of all guests, as gcovr writes it."""
    coverage.tables(folder, coverage.add_up(folder, build), build)
    return dict(json.loads((folder / "coverage.json").read_text()))


def test_guests_add_up(build: Path, tmp_path: Path) -> None:
    """A line that ran in any guest has run; one that ran in none is told with its function."""
    run_guest(build, tmp_path, "first")
    run_guest(build, tmp_path, "second", "word", "word")
    assert list(missed(trace_of(tmp_path, build))) == ["half.c:half: 4"]


def test_one_guest_is_enough(build: Path, tmp_path: Path) -> None:
    """Lines of one function are put together."""
    run_guest(build, tmp_path, "only", "word", "word")
    assert list(missed(trace_of(tmp_path, build))) == ["half.c:half: 1,3-5", "half.c:main: 12"]


def test_no_counters_are_explained(build: Path, tmp_path: Path) -> None:
    """Counters of another build of the module do not count for this one."""
    other = tmp_path / "guests/first/6.12-chario-gcov-9999"
    other.mkdir(parents=True)
    with pytest.raises(CoverageError, match="no counters of this module"):
        coverage.add_up(tmp_path, build)


def numbers() -> Iterator[int]:
    """Lines as gcovr tells them: one can be told twice."""
    yield from (3, 4, 4, 5, 9, 11, 12)


def test_ranges() -> None:
    """Numbers that follow each other are put together."""
    assert ranges(numbers()) == "3-5,9,11-12"
    assert ranges([]) == ""
