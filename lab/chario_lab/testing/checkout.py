# SPDX-License-Identifier: MIT
"""The files of a checkout and what is in them: git's, and new ones that it does not ignore."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from chario_lab.testing.changes import ask_git


def read_files(top: Path) -> dict[str, str]:
    """Each file, with how git knows it ("H" where it is tracked, "?" where it is new), its mode and its content.

    Of a link both count, what it says and what it leads to.
    """
    listing = ask_git(top, "ls-files", "-t", "--cached", "--others", "--exclude-standard", "-z")
    files = {}
    for entry in filter(None, listing.split("\0")):
        name = entry[2:]
        path = top / name
        if path.is_file():
            link = os.readlink(path) if path.is_symlink() else ""
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            files[name] = f"{entry[0]} {path.stat().st_mode & 0o111} {link} {content}"
    return files


def differing(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """The files that are not the same in both."""
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
