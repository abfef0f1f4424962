# SPDX-License-Identifier: MIT
"""A plugin of pytest: a store on a file, for the tests of the Python package."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from package_lab import MIB

import chario


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A file of 64 MiB with an empty store on it."""
    path = tmp_path / "image"
    with path.open("wb") as file:
        file.truncate(64 * MIB)
    chario.Store.format(path)
    return path


@pytest.fixture
def store(image: Path) -> Iterator[chario.Store]:
    """A store that is open for writing."""
    with chario.Store(image, writable=True) as opened:
        yield opened
