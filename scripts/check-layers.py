#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The include graph follows the layers of the house.

Inside the module: front/ and back/ include core/ and never each other; core/
includes neither.  Outside it: nothing but the ABI is
seen of the module, only the library sees the ABI, and the program sees only
the library.  Inside the library: a folder includes those below it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from check_common import Finding, Tree, line_of, main

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)

UAPI = PurePosixPath("kernel/uapi/chario/uapi.h")
SPLIT = PurePosixPath("kernel/core/split.h")

# Folders that compilers are told to search.
SEARCHED = ("kernel", "kernel/uapi", "kernel/core", "lib/include", "lib/src", "cli", ".")

# The layers that a layer of the module may include; "." is the folder kernel/ itself.
MODULE_LAYERS = {
    "uapi": {"uapi"},
    "compat": {"compat"},
    "core": {"core", ".", "uapi", "compat"},
    "front": {"front", "core", ".", "uapi", "compat"},
    "back": {"back", "core", ".", "uapi", "compat"},
    "selftest": {"selftest", "front", "back", "core", ".", "uapi", "compat"},
}
# Sources at the top tie the layers together; headers there are seen by all.
TOP_LAYERS = {".c": MODULE_LAYERS["selftest"], ".h": MODULE_LAYERS["core"]}

# The folders of the library, from the lowest up.
LIBRARY = PurePosixPath("lib/src")
LIBRARY_LAYERS = ("system", "machine", "device", "timeline", "queue", "store", "stream", "view", "copy")


def resolve(tree: Tree, path: PurePosixPath, name: str, quoted: bool) -> PurePosixPath | None:
    """The file of this checkout that an include line means, if it means one."""
    folders = [str(path.parent)] if quoted else []
    for folder in [*folders, *SEARCHED]:
        target = PurePosixPath(posixpath.normpath(posixpath.join(folder, name)))
        if target in tree.files:
            return target
    # A search path that this script does not know must not hide the module.
    hidden = (file for file in tree.below("kernel") if str(file).endswith(f"/{name}"))
    return next(hidden, None) if quoted else None


def layer_of(path: PurePosixPath) -> str:
    """The layer of a file of the module."""
    return path.parts[1] if len(path.parts) > 2 else "."


def judge_module(path: PurePosixPath, target: PurePosixPath) -> str | None:
    """Returns the mistake in an include line of the module, or None."""
    if not target.is_relative_to("kernel"):
        return f"the module is self-contained, {target} is not part of it"
    layer, wanted = layer_of(path), layer_of(target)
    if wanted in MODULE_LAYERS.get(layer, TOP_LAYERS[path.suffix]):
        return None
    return f"{layer}/ must not include {wanted}/ ({target})"


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


def check(tree: Tree) -> Iterator[Finding]:
    """Finds include lines that cross a layer."""
    for path in tree.files:
        if path.suffix not in {".c", ".h"}:
            continue
        text = tree.text(path) or ""
        for match in INCLUDE.finditer(text):
            reason = judge(tree, path, match.group(2), match.group(1) == '"')
            if reason:
                yield Finding(path, line_of(text, match.start(1)), reason)


if __name__ == "__main__":
    main(check, "Finds include lines that cross a layer.")
