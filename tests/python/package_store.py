# SPDX-License-Identifier: MIT
"""A plugin of pytest: a store on a file, and recordings in it, for the tests of the Python package."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from package_lab import MIB, SOURCE

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


@pytest.fixture
def area(store: chario.Store) -> str:
    """The name of an area for a recording; some files have areas of their own instead."""
    store.create("camera", 4 * MIB)
    return "camera"


@pytest.fixture
def stream(store: chario.Store) -> Iterator[chario.Stream]:
    """A recording that has begun."""
    store.create("camera", 8 * MIB)
    with chario.Stream(store, "camera") as opened:
        yield opened


def records_of(store: chario.Store) -> list[bytes]:
    """The content of all records that have been recorded."""
    with chario.Reader(store, "camera") as reader:
        return [bytes(record.data) for record in reader]


def output_of(program: str, image: Path, *words: str) -> str:
    """What a program prints that finds the store and the package in its arguments, and ends without a complaint."""
    command = [sys.executable, "-c", program, str(image), str(SOURCE), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout
