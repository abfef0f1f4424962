# SPDX-License-Identifier: MIT
"""Passes that need not be shown again: of a deterministic stage, with all that it reads unchanged.

The key of a pass is the content of every file of the checkout that fits the
stage's inputs, the stage's command, the versions of all Debian packages and of
the running kernel, and the environment of the lab's Python.  Only the quick
tier asks; the others run everything.  What is changed while a stage runs is not
taken for what has passed: the key is made again after it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from chario_lab.cache import cache_dir, drop_unused
from chario_lab.testing.areas import matches
from chario_lab.testing.stage import Stage

KEPT_DAYS = 7


def machine() -> str:
    """What of this machine a test may depend on."""
    packages = subprocess.run(["dpkg-query", "-W"], check=True, capture_output=True, text=True).stdout
    return f"{packages}{os.uname().release} {sys.prefix} {sys.version}"


def key_of(stage: Stage, top: Path, files: list[str], host: str) -> str:
    """The key of a pass of a stage; `files` are those of the checkout, each with how git knows it."""
    digest = hashlib.sha256(f"{host}\n{stage.command}\n{sorted(stage.environment.items())}\n".encode())
    for entry in sorted(files):
        name = entry[2:]
        path = top / name
        if matches(name, stage.inputs) and path.is_file():
            digest.update(f"{entry} {path.stat().st_mode & 0o111}\n".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:24]


def files_of(top: Path) -> list[str]:
    """The files of a checkout, as "H NAME" where git tracks them and "? NAME" where they are new and not ignored."""
    command = ["git", "-C", str(top), "ls-files", "-t", "--cached", "--others", "--exclude-standard", "-z"]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line for line in listing.split("\0") if line]


class Passes:
    """The passes of one checkout."""

    def __init__(self, top: Path) -> None:
        self._top = top
        self._machine = machine()
        self._folder = cache_dir() / "passes"
        self._folder.mkdir(exist_ok=True)
        self._records: dict[str, Path] = {}

    def has(self, stage: Stage) -> bool:
        """Whether the stage has passed with all that it reads as it is now, which add() compares with."""
        if not stage.inputs:
            return False
        record = self._folder / key_of(stage, self._top, files_of(self._top), self._machine)
        self._records[stage.name] = record
        return record.exists()

    def add(self, stage: Stage) -> None:
        """Remember that it has passed, unless what it reads has changed since has() was asked."""
        before = self._records.get(stage.name)
        if before and before.name == key_of(stage, self._top, files_of(self._top), self._machine):
            drop_unused(self._folder, KEPT_DAYS)
            before.mkdir(exist_ok=True)
