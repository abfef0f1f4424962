# SPDX-License-Identifier: MIT
"""Which lines and branches of chario.ko the guest tests have run.

    python -m chario_lab.coverage FOLDER

adds up what the guests left in FOLDER (see guest/counters.py), and prints per
file which lines and branches have run, and the numbers of the lines that have
not, which make the report fail.  A line that no test can reach has gcovr's
comment beside it, GCOVR_EXCL_LINE, _START and _STOP, or _FUNCTION, and the
reason; one that has run all the same is named.
FOLDER/coverage.json is for gcovr's other formats.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from chario_lab.cache import guarded
from chario_lab.kernel import GCOV, build_module, get_kernel

TOP = Path(__file__).resolve().parents[2]
SOURCE = TOP / "kernel"
# Exit code where nothing but lines that have not run is wrong; scripts/coverage-module.sh has it too.
GAPS = 3
# gcovr's own for fewer lines than --fail-under-line asks for, and its words for a marked line that has run.
GCOVR_UNDER_LINE = 2
HIT = "hit(s) excluded"


class CoverageError(Exception):
    """The reason why there is no report, and what to do."""


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


def run(command: Sequence[str], gaps: int = 0) -> tuple[str, bool]:
    """What a tool prints, and whether it ended with the exit code that stands for gaps; its words become the error."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise CoverageError(f"{command[0]} is missing: run scripts/setup.sh as root") from None
    if done.returncode not in (0, gaps):
        raise CoverageError(f"{' '.join(command)} failed:\n{done.stderr.strip()}")
    return done.stdout + "".join(f"{line}\n" for line in done.stderr.splitlines() if HIT in line), done.returncode != 0


def tables(folder: Path, total: Path, build: Path) -> tuple[str, bool]:
    """gcovr's tables of lines and of branches, the sums of both, and whether a line has not run."""
    gcovr = [sys.executable, "-m", "gcovr", "--root", str(build)]
    trace = str(folder / "coverage.json")
    # The kernel's own headers are not kept where the module was built, and do not count; nor do trace points,
    # whose functions are made by the kernel's macros.
    quiet = ["--gcov-ignore-errors=source_not_found", "--exclude", r".*/trace\.h$", "--warn-excluded-lines-with-hits"]
    hits, _ = run([*gcovr, *quiet, "--json", trace, str(total)])
    gcovr += ["--merge-lines", "-a", trace]
    branches, _ = run([*gcovr, "--txt", "--txt-metric", "branch"])
    # A table has to be written for a summary to be printed. gcovr removes what it writes to: never a device.
    sums, _ = run([*gcovr, "--txt", str(folder / "spare.txt"), "--print-summary"])
    lines, gaps = run([*gcovr, "--txt", "--txt-metric", "line", "--fail-under-line", "100"], gaps=GCOVR_UNDER_LINE)
    return branches + sums + lines + hits, gaps


def report(folder: Path) -> bool:
    """Print what has run and what has not; whether every line has run that is not marked."""
    build = build_module(get_kernel(GCOV), SOURCE).parent
    text, gaps = tables(folder, add_up(folder, build), build)
    print(text)
    print(
        "Counted: chario.ko, in all guests that ended in an orderly way. Excluded: the kernel's own headers, trace.h,"
    )
    print("lines beside which a comment says why no test reaches them.")
    lost = folder / "lost"
    if lost.exists():
        print("These guests died or were killed, and left no counters:")
        print(lost.read_text(), end="")
    if gaps:
        print(
            "Lines have not run, see the column Missing: write a test, or say why with GCOVR_EXCL_LINE beside the line"
        )
    return not gaps


def main() -> int:
    """Report what is in a folder."""
    parser = argparse.ArgumentParser(prog="chario_lab.coverage", description="Which lines of the module have run.")
    parser.add_argument("folder", type=Path, help="what CHARIO_COVERAGE was when the guests ran")
    folder = parser.parse_args().folder
    return guarded(lambda: 0 if report(folder) else GAPS)


if __name__ == "__main__":
    sys.exit(main())
