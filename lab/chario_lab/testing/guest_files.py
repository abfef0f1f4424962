# SPDX-License-Identifier: MIT
"""The table of guest test files, tests/guest/files.toml: what each needs and where it runs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chario_lab.kernel import DEBUG, KCSAN, NAMES

FIRST_KERNEL = "6.1"
TABLE = "files.toml"


class TableError(Exception):
    """The table and the files beside it do not agree; the message says how."""


@dataclass(frozen=True)
class GuestFile:
    """One file of guest tests; the table's head says what the fields mean."""

    name: str
    cpus: int
    seconds: int
    waits: bool = False
    kernels: tuple[str, ...] = ()
    debug_seconds: int = 0
    debug_first: bool = False
    stock: bool = False

    def runs_on(self, kernel: str) -> bool:
        """Whether it belongs to the list of a kernel."""
        return kernel == FIRST_KERNEL or kernel in self.kernels

    def seconds_on(self, kernel: str) -> int:
        """About how long it takes with a kernel."""
        return self.debug_seconds if kernel == DEBUG else self.seconds

    def cpus_on(self, kernel: str) -> int:
        """Processors of its guests with a kernel."""
        return 2 if kernel in (DEBUG, KCSAN) else self.cpus


def read_table(folder: Path) -> Mapping[Path, GuestFile]:
    """The table of a folder, by the paths of the files; every test file must be in it."""
    table = folder / TABLE
    fields = tomllib.loads(table.read_text())
    found = {path.stem: path for path in folder.glob("**/test_*.py")}
    files = {
        found.get(name, folder / f"{name}.py"): GuestFile(
            name=f"{found.get(name, folder / name).parent.name}/{name}.py",
            **{**entry, "kernels": tuple(entry.get("kernels", ()))},
        )
        for name, entry in fields.items()
    }
    strange = {kernel for file in files.values() for kernel in file.kernels} - set(NAMES)
    if strange:
        raise TableError(f"{table}: no kernel is called {', '.join(sorted(strange))}: the lab has {', '.join(NAMES)}")
    paths = set(found.values())
    if paths != set(files):
        missing, stale = ([path.name for path in sorted(some)] for some in (paths - set(files), set(files) - paths))
        raise TableError(f"{table}: add {', '.join(missing) or 'nothing'}; remove {', '.join(stale) or 'nothing'}")
    return files
