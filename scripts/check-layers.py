#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The include graph follows the layers of the house.

Inside the module: a folder includes those below it, front/ and back/ never each
other, a back end no other one, and no noun (a .c and its .h) needs itself by way
of others.  Outside it: nothing but the ABI is seen of the module, only the
library sees the ABI, and the program sees only the library.  Inside the
library: a folder includes those below it.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePosixPath

from check_common import Finding, Tree, line_of, main

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)

UAPI = PurePosixPath("kernel/uapi/chario/uapi.h")
SPLIT = PurePosixPath("kernel/types/split.h")

# Folders that compilers are told to search, for the module and for user space.
SEARCHED_BY_MODULE = ("kernel", "kernel/uapi")
SEARCHED = ("lib/include", "lib/src", "cli", "kernel", "kernel/uapi", "kernel/types", ".")

# The folders of the module, from the lowest up.  Headers at its top are seen by all, and
# see the types; sources at its top tie the folders together.
MODULE_LAYERS = (
    "uapi",
    "compat",
    "types",
    "base",
    "memory",
    "queue",
    "drive",
    "disk",
    "request",
    "timeline",
    "back",
    "front",
)

# The folders of the library, from the lowest up.
LIBRARY = PurePosixPath("lib/src")
LIBRARY_LAYERS = ("system", "machine", "device", "timeline", "queue", "store", "stream", "view", "copy")


def resolve(tree: Tree, path: PurePosixPath, name: str, quoted: bool) -> PurePosixPath | None:
    """The file of this checkout that an include line means, if it means one."""
    folders = [str(path.parent)] if quoted else []
    searched = SEARCHED_BY_MODULE if path.is_relative_to("kernel") else SEARCHED
    for folder in [*folders, *searched]:
        target = PurePosixPath(posixpath.normpath(posixpath.join(folder, name)))
        if target in tree.files:
            return target
    # A search path that this script does not know must not hide the module.
    hidden = (file for file in tree.below("kernel") if str(file).endswith(f"/{name}"))
    return next(hidden, None) if quoted else None


def rank_of(path: PurePosixPath) -> int:
    """The height of a file of the module."""
    if len(path.parts) > 2:
        return MODULE_LAYERS.index(path.parts[1])
    return MODULE_LAYERS.index("types") if path.suffix == ".h" else len(MODULE_LAYERS)


def is_apart(path: PurePosixPath, target: PurePosixPath) -> bool:
    """Tells if two files are of the two sides of the module, or of two back ends."""
    if path.parts[1] == target.parts[1] == "back":
        return len(path.parts) > 3 and len(target.parts) > 3 and path.parts[2] != target.parts[2]
    return {path.parts[1], target.parts[1]} == {"front", "back"}


def judge_module(path: PurePosixPath, target: PurePosixPath) -> str | None:
    """Returns the mistake in an include line of the module, or None."""
    if not target.is_relative_to("kernel"):
        return f"the module is self-contained, {target} is not part of it"
    for file in (path, target):
        if len(file.parts) > 2 and file.parts[1] not in MODULE_LAYERS:
            return f"{file.parent} is none of the folders {', '.join(MODULE_LAYERS)}"
    if rank_of(path) < rank_of(target) or is_apart(path, target):
        return f"{path.parent.relative_to('kernel')}/ must not include {target.relative_to('kernel')}"
    return None


def judge_program(target: PurePosixPath | None, name: str) -> str | None:
    """Returns the mistake in an include line of the program, or None."""
    if posixpath.basename(name) == "ioctl.h":
        return f"the program knows no ioctl (<{name}>): add a function to libchario"
    if target is None or target.is_relative_to("cli"):
        return None
    public = name == "chario.h" or name.startswith("chario/")
    if target.is_relative_to("lib/include") and public:
        return None
    return f"the program includes <chario.h> and <chario/*.h> of the library only, not {target}"


def judge_library(path: PurePosixPath, target: PurePosixPath) -> str | None:
    """Returns the mistake in an include line between folders of the library, or None."""
    layer, wanted = path.parts[2], target.parts[2]
    for name in (layer, wanted):
        if name not in LIBRARY_LAYERS:
            return f"{LIBRARY / name} is none of the layers {', '.join(LIBRARY_LAYERS)}"
    if LIBRARY_LAYERS.index(layer) < LIBRARY_LAYERS.index(wanted):
        return f"{layer}/ is below {wanted}/ and must not include {target}"
    return None


def judge_user_space(path: PurePosixPath, target: PurePosixPath) -> str | None:
    """Returns the mistake in an include line outside the module, or None.

    Tests in guests hold the module to its contract, so they speak its ABI.
    """
    if target == UAPI:
        if any(path.is_relative_to(folder) for folder in ("lib", "tests/abi", "tests/guest")):
            return None
        return "only lib/ and the tests of the ABI include it: use libchario"
    if target == SPLIT and any(path.is_relative_to(folder) for folder in ("lib", "tests/unit", "tests/guest")):
        return None
    if path.is_relative_to(LIBRARY) and target.is_relative_to(LIBRARY):
        return judge_library(path, target)
    if target.is_relative_to("kernel"):
        return f"nothing outside kernel/ includes {target}"
    return None


def judge(tree: Tree, path: PurePosixPath, name: str, quoted: bool) -> str | None:
    """Returns the mistake in an include line, or None."""
    target = resolve(tree, path, name, quoted)
    if path.is_relative_to("kernel"):
        return judge_module(path, target) if target else None
    if path.is_relative_to("cli"):
        return judge_program(target, name)
    return judge_user_space(path, target) if target else None


def include_lines(tree: Tree, path: PurePosixPath) -> Iterator[tuple[int, str, bool]]:
    """The line, the name and the quotes of each include line of a file."""
    if path.suffix in {".c", ".h"}:
        text = tree.text(path) or ""
        for match in INCLUDE.finditer(text):
            yield line_of(text, match.start(1)), match.group(2), match.group(1) == '"'


def find_circle(tree: Tree) -> Iterator[Finding]:
    """Finds nouns of the module that include each other."""
    graph: dict[PurePosixPath, dict[PurePosixPath, Finding]] = {}
    for path in tree.below("kernel"):
        for line, name, quoted in include_lines(tree, path):
            target = resolve(tree, path, name, quoted)
            if target and target.with_suffix("") != path.with_suffix(""):
                finding = Finding(path, line, f"{target} needs this file, too, by way of what it includes")
                graph.setdefault(path.with_suffix(""), {})[target.with_suffix("")] = finding
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = list(reversed(error.args[1]))
        for noun, used in itertools.pairwise(circle):
            yield graph[noun][used]


def check(tree: Tree) -> Iterator[Finding]:
    """Finds include lines that cross a layer, or make a circle."""
    for path in tree.files:
        for line, name, quoted in include_lines(tree, path):
            reason = judge(tree, path, name, quoted)
            if reason:
                yield Finding(path, line, reason)
    yield from find_circle(tree)


if __name__ == "__main__":
    main(check, "Finds include lines that cross a layer, or make a circle.")
