# SPDX-License-Identifier: MIT
"""Fail on circular dependencies between the sources of the module, or between its folders.

A source is above those whose functions and data it uses, as its object says, and
so is its folder above theirs.
The objects are those of the module that guests load: what has been built from
the same content is not built again.
"""

import itertools
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from chario_lab.cache import guarded
from chario_lab.kernel import build_module, get_kernel

# What each source may use: the tracepoints tie in with all of them.
SEEN_BY_ALL = {"trace"}
# The linker's and the build's own.
PUT_TOGETHER = {"chario", "chario.mod"}


def symbols(item: Path) -> Iterator[tuple[str, bool]]:
    """Each symbol that an object shares with others, and whether it is defined there."""
    listing = subprocess.run(
        ["nm", "--extern-only", "--format=posix", str(item)], check=True, capture_output=True, text=True
    ).stdout
    for line in listing.splitlines():
        name, kind = line.split()[:2]
        yield name, kind != "U"


def read_objects(folder: Path) -> dict[str, list[tuple[str, bool]]]:
    """The symbols of each source of a module, by the source's name."""
    names = {path: str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.o")}
    return {
        name: list(symbols(path)) for path, name in names.items() if name not in PUT_TOGETHER and ".mod" not in name
    }


def uses(objects: dict[str, list[tuple[str, bool]]]) -> dict[str, dict[str, str]]:
    """For each source those that it uses, and a symbol of each."""
    homes = {symbol: name for name, all_of in objects.items() for symbol, defined in all_of if defined}
    graph: dict[str, dict[str, str]] = {name: {} for name in objects}
    for name, all_of in objects.items():
        for symbol, defined in all_of:
            home = homes.get(symbol, name)
            if not defined and home != name and home not in SEEN_BY_ALL:
                graph[name].setdefault(home, symbol)
    return graph


def find_circle(graph: dict[str, dict[str, str]]) -> list[str]:
    """The sources of a circle, the first one again at its end; empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        # A source stands behind those that use it.
        return list(reversed(error.args[1]))
    return []


def fold(graph: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """For each folder those that its sources use, and a symbol of each."""
    folders: dict[str, dict[str, str]] = {}
    for name, used in graph.items():
        for other, symbol in used.items():
            folder, below = str(Path(name).parent), str(Path(other).parent)
            if folder not in {below, "."}:
                folders.setdefault(folder, {})[below] = f"{symbol} in {name}.c"
    return folders


def main() -> int:
    """Build the module of this folder; 1 if two of its sources, or folders, need each other."""
    module = build_module(get_kernel("6.1"), Path("kernel"))
    graph = uses(read_objects(module.parent))
    circle = find_circle(graph)
    for name, used in itertools.pairwise(circle):
        print(f"kernel/{name}.c: uses {used}.c ({graph[name][used]})")
    folders = fold(graph)
    round_trip = find_circle(folders)
    for name, used in itertools.pairwise(round_trip):
        print(f"kernel/{name}: uses {used} ({folders[name][used]})")
    return 1 if circle or round_trip else 0


if __name__ == "__main__":
    sys.exit(guarded(main))
