# SPDX-License-Identifier: MIT
"""A plugin of pytest: a store on a file, made by the program."""

from __future__ import annotations

from pathlib import Path

import pytest
from format_lab import chario


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """A file with an empty store of 8 MiB on it."""
    path = tmp_path / "image"
    chario(path, "format", "--size=8M", path)
    return path
