# SPDX-License-Identifier: MIT
"""The common part of the Python checks: the list of files and the report of findings."""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True, order=True)
class Finding:
    """One thing that is wrong, at a place that an editor can jump to."""

    path: PurePosixPath
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


@dataclass(frozen=True)
class Tree:
    """The tracked files of a checkout; paths are relative to its top."""

    root: Path
    files: tuple[PurePosixPath, ...]

    def text(self, path: PurePosixPath) -> str | None:
        """The file's text, or None where it is not text."""
        data = (self.root / path).read_bytes()
        if b"\0" in data:
            return None
        return data.decode("utf-8", errors="replace")

    def below(self, *folders: str) -> list[PurePosixPath]:
        """The files below any of these folders."""
        return [path for path in self.files if any(path.is_relative_to(top) for top in folders)]


def read_tree(root: Path) -> Tree:
    """Lists the tracked files that still exist; symbolic links are not followed."""
    listing = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z"], check=True, capture_output=True, text=True
    ).stdout
    paths = (PurePosixPath(name) for name in listing.split("\0") if name)
    files = (path for path in paths if (root / path).is_file() and not (root / path).is_symlink())
    return Tree(root, tuple(sorted(files)))


def line_of(text: str, offset: int) -> int:
    """The number of the line that holds the character at offset."""
    return text.count("\n", 0, offset) + 1


def main(check: Callable[[Tree], Iterable[Finding]], description: str) -> None:
    """Runs a check over a checkout and exits with 1 when it finds something."""
    parser = argparse.ArgumentParser(description=description)
    top = Path(__file__).resolve().parent.parent
    parser.add_argument("root", nargs="?", type=Path, default=top, help="top of a git checkout")
    root = parser.parse_args().root
    try:
        tree = read_tree(root)
    except (OSError, subprocess.CalledProcessError):
        sys.exit(f"{root}: not a git checkout, or git is missing (apt install git)")
    findings = sorted(check(tree))
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)
