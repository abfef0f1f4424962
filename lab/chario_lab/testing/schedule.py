# SPDX-License-Identifier: MIT
"""Which test file begins first, and how many run side by side: a pytest plugin.

The longest file begins first, so that no worker is left with it at the end.
Before its first test a file takes its seats, see seats.py.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path

import pytest

from chario_lab.testing.guest_files import GuestFile
from chario_lab.testing.seats import SEATS_PER_CPU, Seats, seats_of_machine

FILES = pytest.StashKey[Mapping[Path, GuestFile]]()


class Schedule:
    """The order of files, and their seats; there are none where pytest has no workers."""

    def __init__(self, config: pytest.Config, files: Mapping[Path, GuestFile]) -> None:
        self._files = files
        self._seats: Seats | None = None
        self._path: Path | None = None
        self._run = ""
        self._kernel = str(config.getoption("--kernel"))
        config.stash[FILES] = files
        run = getattr(config, "workerinput", {}).get("testrunuid")
        if run:
            self._seats = Seats(seats_file(run), seats_of_machine())

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """The longest file first; the tests of a file stay together and in their order."""
        items.sort(key=lambda item: (-self._seconds(item.path), item.path.name))

    def _seconds(self, path: Path) -> int:
        """About how long a file takes; files of other folders are over soon, and need no seats."""
        return self._files[path].seconds_on(self._kernel) if path in self._files else 0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Take seats before the first test of a file; its time limits begin after that."""
        path = item.path
        if self._seats and path in self._files and path != self._path:
            self._path = path
            self._seats.take(1 if self._files[path].waits else SEATS_PER_CPU)
        outcome = yield
        if self._seats and (nextitem is None or nextitem.path != path):
            self._path = None
            self._seats.give_back()
        return outcome

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: object) -> None:
        """Remember the run; all its workers use one file."""
        self._run = getattr(node, "workerinput", {}).get("testrunuid", "")

    def pytest_sessionfinish(self) -> None:
        """Whoever has had workers removes the file of their seats."""
        if self._run:
            seats_file(self._run).unlink(missing_ok=True)


def seats_file(run: str) -> Path:
    """Where the workers of a run lock their seats."""
    return Path(tempfile.gettempdir()) / f"chario-seats-{run}"
