#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every file that can carry a comment names the licence of its folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from check_common import Finding, Tree, main

# The first rule that matches a path holds.
LICENCES = (
    ("kernel/uapi", "(GPL-2.0-only WITH Linux-syscall-note) OR MIT"),
    # This one is compiled into the library as well.
    ("kernel/types/split.h", "GPL-2.0-only OR MIT"),
    ("kernel", "GPL-2.0-only"),
    ("lib/meson.build", "MIT"),
    ("lib", "LGPL-2.1-or-later OR MIT"),
    ("gst/meson.build", "MIT"),
    ("gst", "LGPL-2.1-or-later OR MIT"),
    ("python/src", "LGPL-2.1-or-later OR MIT"),
    (".", "MIT"),
)

# Formats without comments, and the licences themselves.
WITHOUT_COMMENTS = {".json", ".jsonl", ".out", ".png", ".jpg", ".pdf", ".csv", ".typed", ".xz"}

# The kernel, and everything that begins with an interpreter line, has it at
# the top; a manual page may have its preprocessor line first.
LINES = 5

TAG = re.compile(r"SPDX-License-Identifier:\s*(.*?)\s*(?:\*/|-->)?\s*$", re.MULTILINE)


def licence_of(path: PurePosixPath) -> str:
    """The licence that the house rules give a path."""
    return next(licence for top, licence in LICENCES if path.is_relative_to(top))


def check(tree: Tree) -> Iterator[Finding]:
    """Finds files without a licence line and files with that of another folder."""
    for path in tree.files:
        if path.suffix in WITHOUT_COMMENTS or path.is_relative_to("LICENSES"):
            continue
        text = tree.text(path)
        if not text:
            continue
        match = TAG.search("\n".join(text.splitlines()[:LINES]))
        wanted = licence_of(path)
        if match is None:
            yield Finding(path, 1, f"no 'SPDX-License-Identifier: {wanted}' in the first lines")
        elif match.group(1) != wanted:
            yield Finding(path, 1, f"licence is '{match.group(1)}', this folder has '{wanted}'")


if __name__ == "__main__":
    main(check, "Finds files whose licence line is missing or wrong.")
