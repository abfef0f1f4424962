# SPDX-License-Identifier: MIT
"""The package as others install it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from package_lab import LIBRARY, TOP

PROGRAM = """
import chario, importlib.resources, sys
assert importlib.resources.files("chario").joinpath("py.typed").is_file()
assert chario.__file__.startswith(sys.prefix)
chario.Store.format(sys.argv[1])
with chario.Store(sys.argv[1], writable=True) as store:
    store.create("a", 4096)
    print(*(area.name for area in store))
"""


def run(*command: str | Path, library: str = str(LIBRARY)) -> subprocess.CompletedProcess[str]:
    """Run a program that has nothing of this checkout on its path."""
    environment = {**os.environ, "CHARIO_LIBRARY": library}
    environment.pop("PYTHONPATH", None)
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, env=environment)


def test_a_wheel_is_built_installed_and_used(tmp_path: Path) -> None:
    """In a fresh environment that has no compiler's work and no other package."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    built = run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, TOP / "python")
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("chario-*-py3-none-any.whl")
    assert run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv").returncode == 0
    python = tmp_path / "venv/bin/python"
    installed = run(*pip, "--python", python, "install", "--quiet", "--no-index", wheel)
    assert installed.returncode == 0, installed.stderr
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(16 << 20)
    used = run(python, "-I", "-c", PROGRAM, image)
    assert (used.returncode, used.stdout) == (0, "a\n"), used.stderr


def test_without_the_library_it_says_how_to_get_it(tmp_path: Path) -> None:
    """One error that names the library and the variable."""
    program = f"import sys; sys.path.insert(0, {str(TOP / 'python/src')!r}); import chario"
    result = run(sys.executable, "-c", program, library=str(tmp_path / "none.so"))
    assert "ImportError: libchario cannot be loaded" in result.stderr
    assert "CHARIO_LIBRARY" in result.stderr
