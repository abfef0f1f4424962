# SPDX-License-Identifier: MIT
"""What each file of guest tests says of itself in its `pytestmark`, read without running it.

    area("kernel/front/block/", "cli/table")    the sources that it shows to work: the beginnings of their paths
    kernels("6.12", "debug")                    the kernels that run it besides 6.1, which runs every file

A change of a source, of a test file, of a helper in tests/guest/kit or of a
program in tests/guest/src selects the files that show or use it.

    python -m chario_lab.testing.areas    names each file without an area, each beginning that no path has, and
                                          each source that is in no area
"""

import ast
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from chario_lab.kernel import DEBUG, KCSAN, NAMES

TOP = Path(__file__).resolve().parents[3]
GUEST = "tests/guest"
LAB_FOLDER = f"{GUEST}/lab"
FIRST_KERNEL = "6.1"
NO_AREA = "it names no area: pytest.mark.area() says which sources it shows to work"
# Each of these is in the area of a file of guest tests.
SOURCES = ("kernel/", "lib/src/", "cli/", "packaging/", "gst/", "python/src/")


@dataclass(frozen=True)
class GuestFile:
    """One file of guest tests: its path, its area, and its kernels besides the first."""

    path: str
    area: tuple[str, ...]
    kernels: tuple[str, ...]

    def shows(self, path: str) -> bool:
        """Whether a source is in its area."""
        return path.startswith(self.area)

    def runs_on(self, kernel: str) -> bool:
        """Whether it belongs to the list of a kernel."""
        return kernel == FIRST_KERNEL or kernel in self.kernels


def read_file(path: Path, name: str) -> GuestFile:
    """The marks of one file."""
    marks: dict[str, tuple[str, ...]] = {}
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("pytest.mark.area", "pytest.mark.kernels"):
            marks[ast.unparse(node.func).rpartition(".")[2]] = tuple(ast.literal_eval(word) for word in node.args)
    return GuestFile(name, marks.get("area", ()), marks.get("kernels", ()))


def read_files(top: Path = TOP) -> dict[str, GuestFile]:
    """All files of guest tests of a checkout, by their paths."""
    names = (str(path.relative_to(top)) for path in sorted((top / GUEST).glob("**/test_*.py")))
    return {name: read_file(top / name, name) for name in names}


def select(changed: Sequence[str], top: Path = TOP) -> set[str]:
    """The files of guest tests that show or use what has changed."""
    modules = {path: path.read_text() for path in (top / GUEST).glob("**/*.py")}
    chosen = {name for name, file in read_files(top).items() if any(map(file.shows, changed))}
    for path in changed:
        if path == f"{GUEST}/conftest.py":
            chosen |= read_files(top).keys()
        elif path.startswith(f"{GUEST}/src/"):
            program = PurePosixPath(path).relative_to(f"{GUEST}/src").parts[0].partition(".")[0]
            chosen |= users(modules, {file for file, text in modules.items() if f'"{program}"' in text}, top)
        elif path.startswith(f"{GUEST}/"):
            chosen |= users(modules, {top / path}, top)
    return chosen


def users(modules: Mapping[Path, str], found: set[Path], top: Path) -> set[str]:
    """Those of some modules, and of all that import them, that are files of tests."""
    reached: set[Path] = set()
    while found - reached:
        reached |= found
        names = "|".join(re.escape(path.stem) for path in reached)
        found = {
            path for path, text in modules.items() if re.search(rf"^(from|import) ({names})\b", text, re.MULTILINE)
        }
    return {str(path.relative_to(top)) for path in reached if path.stem.startswith("test_") and path in modules}


def complaints(top: Path, tracked: Sequence[str]) -> list[str]:
    """Files without an area, beginnings that no path has, kernels that are none, and sources in no area."""
    lines, files = [], read_files(top)
    for name, file in files.items():
        if not file.area:
            lines.append(f"{name}: {NO_AREA}")
        lines += [f"{name}: no path begins with {one}, which its area names" for one in file.area
                  if not any(path.startswith(one) for path in tracked)]  # fmt: skip
        lines += [f"{name}: no kernel is called {one}" for one in file.kernels if one not in NAMES]
    return lines + [f"{path}: no file of guest tests has it in its area" for path in tracked
                    if path.startswith(SOURCES) and not any(file.shows(path) for file in files.values())]  # fmt: skip


def tracked_files(top: Path) -> list[str]:
    """The files that git tracks and that are there."""
    listing = subprocess.run(["git", "-C", str(top), "ls-files", "-z"], check=True, capture_output=True, text=True)
    return [name for name in listing.stdout.split("\0") if name and (top / name).is_file()]


def cpus_of(kernel: str, marked: int) -> int:
    """Processors of guests: the debug kernels look at locks and races, and always have two."""
    return 2 if kernel in (DEBUG, KCSAN) else marked


def main() -> int:
    """Print what is wrong with the areas."""
    found = complaints(Path.cwd(), tracked_files(Path.cwd()))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
