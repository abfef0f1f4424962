# SPDX-License-Identifier: MIT
"""Passes that need not be shown again: of a deterministic stage, with all that it reads unchanged.

The key of a pass is the content of every file of the checkout that fits the
stage's inputs, the stage's command, and what of this machine a stage may
depend on, see machine().  Only the quick tier asks; the others run everything.
What is changed while a stage runs is not taken for what has passed: the key is
made again after it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from chario_lab.cache import cache_dir, drop_unused
from chario_lab.testing.areas import matches
from chario_lab.testing.checkout import read_files
from chario_lab.testing.stage import Stage

KEPT_DAYS = 7
COMPILERS = ("gcc", "g++", "sparse")
VARIABLES = ("PATH", "CC", "CXX")


def machine(build: Path) -> str:
    """What of this machine a test may depend on: the versions of all Debian packages, of compilers that may be
    others than Debian's and of the running kernel, the lab's Python, variables that change a build or a test, the
    kernels that modules are built for, and how the folder of the build is configured."""
    packages = subprocess.run(["dpkg-query", "-W"], check=True, capture_output=True, text=True).stdout
    texts = [packages, os.uname().release, sys.prefix, sys.version, *map(version_of, COMPILERS)]
    texts += [f"{name}={value}" for name, value in sorted(os.environ.items())
              if name in VARIABLES or name.startswith("CHARIO_")]  # fmt: skip
    for path in [*sorted((cache_dir() / "kernels").glob("*.json")), build / "meson-info/intro-buildoptions.json"]:
        texts.append(path.read_text() if path.exists() else "")
    return "\n".join(texts)


def version_of(program: str) -> str:
    """Where a program is and what it calls itself; nothing where there is none."""
    path = shutil.which(program)
    if path is None:
        return ""
    return f"{path} {subprocess.run([path, '--version'], check=False, capture_output=True, text=True).stdout}"


def key_of(stage: Stage, files: Mapping[str, str], host: str) -> str:
    """The key of a pass of a stage; `files` are those of the checkout, see read_files()."""
    digest = hashlib.sha256(f"{host}\n{stage.command}\n{sorted(stage.environment.items())}\n".encode())
    for name in sorted(files):
        if matches(name, stage.inputs):
            digest.update(f"{name} {files[name]}\n".encode())
    return digest.hexdigest()[:24]


class Passes:
    """The passes of one checkout, whose library and program are built in `build`."""

    def __init__(self, top: Path, build: Path) -> None:
        self._top = top
        self._machine = machine(build)
        self._folder = cache_dir() / "passes"
        self._folder.mkdir(exist_ok=True)
        self._records: dict[str, Path] = {}

    def has(self, stage: Stage) -> bool:
        """Whether the stage has passed with all that it reads as it is now, which add() compares with."""
        if not stage.inputs:
            return False
        record = self._folder / key_of(stage, read_files(self._top), self._machine)
        self._records[stage.name] = record
        return record.exists()

    def add(self, stage: Stage) -> None:
        """Remember that it has passed, unless what it reads has changed since has() was asked."""
        before = self._records.get(stage.name)
        if before and before.name == key_of(stage, read_files(self._top), self._machine):
            drop_unused(self._folder, KEPT_DAYS)
            before.mkdir(exist_ok=True)
