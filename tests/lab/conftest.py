# SPDX-License-Identifier: MIT
"""What tests of the lab share."""

from pathlib import Path

import pytest


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache for one test."""
    monkeypatch.setenv("CHARIO_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
