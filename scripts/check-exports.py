#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The library exports exactly the functions that its public headers declare and document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from check_common import Finding, Tree, line_of, main

MAP = PurePosixPath("lib/libchario.map")
HEADERS = "lib/include"

EXPORTED = re.compile(r"^\s+(chario_\w+);", re.MULTILINE)
# A declaration that begins in the first column, after a documentation comment or not.
DECLARED = re.compile(
    r"(?P<comment>/\*\*(?:[^*]|\*(?!/))*\*/\n)?^(?P<type>[a-z][\w *]*?)\b(?P<name>chario_\w+)\(",
    re.MULTILINE,
)
DOCUMENTED = re.compile(r"^ ?(?:/\*)?\*+ (chario_\w+)\(\) - ", re.MULTILINE)


def check(tree: Tree) -> Iterator[Finding]:
    """Compares the map of symbols with the headers."""
    if MAP not in tree.files:
        return
    symbols = tree.text(MAP) or ""
    exported = {match.group(1): match.start(1) for match in EXPORTED.finditer(symbols)}
    declared = set()
    for path in tree.below(HEADERS):
        text = tree.text(path) or ""
        for match in DECLARED.finditer(text):
            if match.group("type").startswith(("static", "typedef")):
                continue
            name, line = match.group("name"), line_of(text, match.start("name"))
            declared.add(name)
            if name not in DOCUMENTED.findall(match.group("comment") or ""):
                yield Finding(path, line, f"{name}() has no documentation comment of its own")
            if name not in exported:
                yield Finding(path, line, f"{name}() is missing in {MAP}")
    for name in sorted(exported.keys() - declared):
        yield Finding(MAP, line_of(symbols, exported[name]), f"no public header declares {name}")


if __name__ == "__main__":
    main(check, "Compares the exported symbols of the library with its public headers.")
