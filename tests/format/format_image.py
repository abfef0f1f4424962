# SPDX-License-Identifier: MIT
"""A plugin of pytest: a store on a file, made by the program."""

import shutil
from pathlib import Path

import pytest
from format_lab import chario


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty store of 8 MiB, of which there are copies: programs are slow to start."""
    path = tmp_path_factory.mktemp("empty") / "image"
    chario(path, "format", "--size=8M", path)
    return path


@pytest.fixture
def image(empty: Path, tmp_path: Path) -> Path:
    """A file with an empty store on it."""
    return copy(empty, tmp_path / "image")


def copy(store: Path, to: Path) -> Path:
    """A file of its own; what changes it changes no other."""
    shutil.copyfile(store, to)
    return to
