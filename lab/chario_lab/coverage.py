# SPDX-License-Identifier: MIT
"""Which lines and branches of chario.ko the guest tests have run.

    python -m chario_lab.coverage FOLDER

adds up what the guests left in FOLDER (see guest/counters.py), and prints per
file which lines and branches have run, and after that each line that has not,
with its function.  Lines of which tests/unreached.toml says why that is so are
named with that reason; any other makes the report fail.  A reason that no line
needs any more is named too.
FOLDER/coverage.json is for gcovr's other formats.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chario_lab.cache import CacheError, explain
from chario_lab.kernel import GCOV, KernelError, build_module, get_kernel
from chario_lab.kernel_build import BuildError
from chario_lab.packages import PackageError

TOP = Path(__file__).resolve().parents[2]
SOURCE = TOP / "kernel"
REASONS = TOP / "tests" / "unreached.toml"
# Exit code where nothing but lines without a reason is wrong; scripts/coverage-module.sh has it too.
GAPS = 3


class CoverageError(Exception):
    """There is nothing to report, or a tool failed; the message says what to do."""


def add_up(folder: Path, build: Path) -> Path:
    """The sum of the counters of all guests, beside the notes that the compiler made of the same build."""
    guests = sorted(found for found in folder.glob(f"guests/*/{build.name}") if found.is_dir())
    if not guests:
        raise CoverageError(
            f"{folder} has no counters of this module: run make coverage-module after each change of kernel/"
        )
    total = folder / "total"
    shutil.rmtree(total, ignore_errors=True)
    shutil.copytree(guests[0], total)
    for guest in guests[1:]:
        sum_folder = folder / "sum"
        run(["gcov-tool", "merge", "-o", str(sum_folder), str(total), str(guest)])
        shutil.rmtree(total)
        sum_folder.rename(total)
    for notes in build.rglob("*.gcno"):
        copy = total / notes.relative_to(build)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(notes, copy)
    return total


def run(command: Sequence[str]) -> str:
    """What a tool prints; its words become the error."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise CoverageError(f"{command[0]} is missing: run scripts/setup.sh as root") from None
    if done.returncode:
        raise CoverageError(f"{' '.join(command)} failed:\n{done.stderr.strip()}")
    return done.stdout


def tables(folder: Path, total: Path, build: Path) -> str:
    """gcovr's tables of lines and of branches, and the sums of both."""
    gcovr = [sys.executable, "-m", "gcovr", "--root", str(build)]
    trace = str(folder / "coverage.json")
    # The kernel's own headers are not kept where the module was built, and do not count; nor do trace points,
    # whose functions are made by the kernel's macros.
    quiet = ["--gcov-ignore-errors=source_not_found", "--exclude", r".*/trace\.h$"]
    run([*gcovr, *quiet, "--json", trace, str(total)])
    gcovr += ["--merge-lines", "-a", trace]
    lines, branches = (run([*gcovr, "--txt", "--txt-metric", kind]) for kind in ("line", "branch"))
    # A table has to be written for a summary to be printed. gcovr removes what it writes to: never a device.
    spare = str(folder / "spare.txt")
    return lines + branches + run([*gcovr, "--txt", spare, "--print-summary"])


@dataclass(frozen=True)
class Missed:
    """Lines of one function that have not run: their numbers, and what stands there."""

    function: str
    lines: Mapping[int, str]

    def say(self, numbers: Iterable[int]) -> str:
        """Some of the lines, for a human."""
        return f"  {self.function}: {ranges(numbers)}"


@dataclass(frozen=True)
class Reason:
    """Why some lines of a function do not run: each as it stands in the source but for blanks at its ends."""

    why: str
    lines: tuple[str, ...]


def read_reasons(text: str) -> dict[str, Reason]:
    """The reasons of tests/unreached.toml, by function."""
    try:
        entries = tomllib.loads(text).items()
        return {function: Reason(entry["why"], tuple(entry["lines"])) for function, entry in entries}
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise CoverageError(f"{REASONS}: its head says what stands in it: {error!r}") from None


def missed(trace: dict[str, Any], source: Path) -> Iterator[Missed]:
    """What has not run of the sources in a folder; a function's name is FILE:FUNCTION."""
    for file in trace["files"]:
        text = (source / file["file"]).read_text().splitlines()
        names = functions(text)
        # A line of a function that is part of several others stands there once for each, and runs in any of them;
        # a macro that makes several functions is to run as each.
        made = Counter(function["lineno"] for function in file["functions"])
        runs: dict[int, list[int]] = {}
        for line in file["lines"]:
            runs.setdefault(line["line_number"], []).append(line["count"])
        idle = sorted(number for number, counts in runs.items() if not (min if made[number] > 1 else max)(counts))
        for name, numbers in itertools.groupby(idle, key=lambda number: names[number - 1]):
            yield Missed(f"{file['file']}:{name}", {number: text[number - 1].strip() for number in numbers})


def functions(text: Iterable[str]) -> list[str]:
    """The function, or the macro that makes one, that each line of a source belongs to.

    gcov itself names another function where one is always part of others.
    """
    names, name = [], ""
    for line in text:
        # It is named where a line begins at the left edge.
        if head := re.match(r"(?=[A-Za-z_]).*?(\w+)\(", line):
            name = head[1]
        names.append(name)
    return names


def ranges(numbers: Iterable[int]) -> str:
    """Line numbers with what follows each other put together: 3-5,9."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number - found[-1][-1] <= 1:
            found[-1].append(number)
        else:
            found.append([number])
    return ",".join(str(group[0]) if group[0] == group[-1] else f"{group[0]}-{group[-1]}" for group in found)


def explained(found: Iterable[Missed], reasons: Mapping[str, Reason]) -> tuple[list[str], list[str]]:
    """What has not run, for a reason that is known, and for none."""
    known, unknown = [], []
    for place in found:
        reason = reasons.get(place.function, Reason("", ()))
        # A line excuses one that reads the same, not two.
        left = Counter(reason.lines)
        with_reason: list[int] = []
        without: list[int] = []
        for number, text in place.lines.items():
            (with_reason if left[text] > 0 else without).append(number)
            left[text] -= 1
        known += [f"{place.say(with_reason)}: {reason.why}"] if with_reason else []
        unknown += [place.say(without)] if without else []
    return known, unknown


def unneeded(found: Sequence[Missed], reasons: Mapping[str, Reason]) -> list[str]:
    """Lines that have a reason not to run and have run, or are not there any more."""
    idle = {(function, text) for function, reason in reasons.items() for text in reason.lines}
    idle -= {(place.function, text) for place in found for text in place.lines.values()}
    return [f"{function}: {text}" for function, text in sorted(idle)]


def report(folder: Path) -> bool:
    """Print what has run, what has not and why; whether all that has not run has a reason."""
    build = build_module(get_kernel(GCOV), SOURCE).parent
    total = add_up(folder, build)
    print(tables(folder, total, build))
    print(
        "Counted: chario.ko, in all guests that ended in an orderly way. Excluded: the kernel's own headers, trace.h."
    )
    lost = folder / "lost"
    if lost.exists():
        print("These guests died or were killed, and left no counters:")
        print(lost.read_text(), end="")
    found = list(missed(json.loads((folder / "coverage.json").read_text()), SOURCE))
    reasons = read_reasons(REASONS.read_text())
    known, unknown = explained(found, reasons)
    print("\nLines that have not run, and why:", *known, sep="\n")
    if idle := unneeded(found, reasons):
        print(f"\nReasons in {REASONS.relative_to(TOP)} that no line needed this time:", *idle, sep="\n  ")
    if unknown:
        print(
            f"\nLines that have not run: write a test, or the reason to {REASONS.relative_to(TOP)}", *unknown, sep="\n"
        )
    return not unknown


def main() -> int:
    """Report what is in a folder."""
    parser = argparse.ArgumentParser(prog="chario_lab.coverage", description="Which lines of the module have run.")
    parser.add_argument("folder", type=Path, help="what CHARIO_COVERAGE was when the guests ran")
    try:
        complete = report(parser.parse_args().folder)
    except (CoverageError, KernelError, BuildError, PackageError, CacheError, OSError) as error:
        print(explain(error), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted: there is no report", file=sys.stderr)
        return 130
    return 0 if complete else GAPS


if __name__ == "__main__":
    sys.exit(main())
