# SPDX-License-Identifier: MIT
"""Which guest tests a run has, and in which order: a pytest plugin over the marks of the test files.

area, kernels         see areas.py
smoke                 a test, or a file, that runs on each kernel whatever has changed; on the debug kernels, where
                      all is slow, if its file names them
cpus(2)               processors of the file's guests: 2 where it is about queues, races, removal, polling or
                      what each processor has of its own; otherwise 1, which boots in half the time
stock                 it needs what only Debian's kernels have, such as LVM or programs of 32 bits
slow                  it takes more than a minute, or is idle for more than a third of its time: such files begin first
"""

from pathlib import Path

import pytest

from chario_lab.kernel_build import RECIPES
from chario_lab.testing.areas import FIRST_KERNEL, LAB_FOLDER, NO_AREA, TOP, read_files, select
from chario_lab.testing.changes import read_changes

# What --choose= knows, and what of the tests it means.
CHOICES = {
    "all": "every test",
    "listed": "the files that name the kernel; 6.1 has all",
    "product": f"the listed files; on {FIRST_KERNEL}, those of the lab's own only where what they show has changed",
    "changed": "smoke tests, and the listed files of what has changed",
}
MARKS = ("area(beginning, ...)", "kernels(name, ...)", "smoke", "cpus(count)", "stock", "slow")


def add_options(parser: pytest.Parser) -> None:
    """--choose=NAME and --base=COMMIT."""
    told = "; ".join(f"{name}: {what}" for name, what in CHOICES.items())
    parser.addoption("--choose", default="all", choices=tuple(CHOICES), help=told)
    parser.addoption("--base", default="", metavar="COMMIT", help="what differs from this commit has changed")


class Choice:
    """Chooses and sorts the tests of a run."""

    def __init__(self, config: pytest.Config) -> None:
        self._choice: str = config.getoption("--choose")
        self._kernel: str = config.getoption("--kernel")
        self._files = read_files()
        self._changed: set[str] = set()
        if self._choice in ("product", "changed"):
            self._changed = select(read_changes(TOP, config.getoption("--base")).paths)
        for mark in MARKS:
            config.addinivalue_line("markers", f"{mark}: see lab/chario_lab/testing/{Path(__file__).name}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Tests of other folders are never deselected; files that are slow begin first."""
        wanted = {item: self._wants(item) for item in items}
        config.hook.pytest_deselected(items=[item for item in items if not wanted[item]])
        items[:] = sorted((item for item in items if wanted[item]), key=rank)
        for item in items:
            if self._kernel in RECIPES and item.get_closest_marker("stock"):
                reason = f"needs what only Debian's kernels have, and {self._kernel} is not one"
                item.add_marker(pytest.mark.skip(reason))

    def _wants(self, item: pytest.Item) -> bool:
        """Whether the run has a test."""
        file = self._files.get(str(item.path.relative_to(TOP))) if item.path.is_relative_to(TOP) else None
        if not file or self._choice == "all":
            return True
        if not file.area:
            raise pytest.UsageError(f"{file.path}: {NO_AREA}")
        has_changed = file.path in self._changed
        if self._choice == "changed":
            is_smoke = item.get_closest_marker("smoke") is not None
            listed = file.runs_on(self._kernel) and (is_smoke or has_changed)
            return listed or (is_smoke and self._kernel not in RECIPES)
        of_the_lab = self._choice == "product" and file.path.startswith(LAB_FOLDER) and self._kernel == FIRST_KERNEL
        return file.runs_on(self._kernel) and (has_changed or not of_the_lab)


def rank(item: pytest.Item) -> tuple[bool, str]:
    """Where a test stands in the order."""
    return item.get_closest_marker("slow") is None, item.path.name
