# SPDX-License-Identifier: MIT
"""A plugin of pytest: a store in a file, for pipelines."""

import subprocess
from pathlib import Path

import pytest
from gst_lab import BUILD, MIB, PLUGIN, Lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """An empty store of 64 MiB."""
    assert PLUGIN.exists(), f"{PLUGIN} is missing: install the packages below 'GStreamer' of scripts/packages.txt"
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(64 * MIB)
    program = BUILD / "tests" / "gst" / "make-store"
    subprocess.run([program, image], check=True)
    return Lab(tmp_path, image)
