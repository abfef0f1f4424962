# SPDX-License-Identifier: MIT
"""The package as others install it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
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


PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
EXAMPLE = """
import chario


def record(store: chario.Store, frames: list[bytes]) -> int:
    with chario.Stream(store, "camera", ring=True, durability=chario.Durability.FLUSH) as stream:
        for frame in frames:
            with stream.room(len(frame), timeout=1.0) as view:
                view[:] = frame
        stream.wait()
        return stream.status.durable_bytes


def lengths(store: chario.Store) -> list[int]:
    return [len(record.data) for record in chario.Reader(store, "camera")]


def copy(store: chario.Store, name: str) -> bytes:
    with store.open(name) as area, chario.Buffer.pool(store, 4096) as buffer, chario.Queue(store) as queue:
        queue.read(buffer, area.info.offset, user=name)
        queue.submit()
        (result,) = queue.reap()
        return bytes(buffer[: result.bytes])


def sizes(store: chario.Store) -> dict[str, int]:
    try:
        del store["gone"]
    except chario.NoSuchArea as error:
        print(error.errno, error.advice)
    return {area.name: area.bytes for area in store}
"""
WRONG = """
import chario

with chario.Store("image") as store:
    size: str = store.find("a").bytes
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment that has the wheel, no compiler's work and no other package."""
    folder = tmp_path_factory.mktemp("package")
    # What builds it is in the lab's environment: no test needs the network.
    offline = ("--quiet", "--no-deps", "--no-index", "--no-build-isolation")
    built = run(*PIP, "wheel", *offline, "--wheel-dir", folder, TOP / "python")
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("chario-*-py3-none-any.whl")
    assert run(sys.executable, "-m", "venv", "--without-pip", folder / "venv").returncode == 0
    installed = run(*PIP, "--python", folder / "venv/bin/python", "install", "--quiet", "--no-index", wheel)
    assert installed.returncode == 0, installed.stderr
    return folder / "venv/bin/python"


def check_types(folder: Path, python: Path, text: str) -> subprocess.CompletedProcess[str]:
    """What mypy says of a program of a user who has installed the package."""
    program = folder / "program.py"
    program.write_text(text)
    mypy = (sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir", folder / "cache")
    return run(*mypy, "--python-executable", python, program)


def test_a_wheel_is_built_installed_and_used(tmp_path: Path, python: Path) -> None:
    """Without the checkout; the library is found by its variable."""
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(16 << 20)
    used = run(python, "-I", "-c", PROGRAM, image)
    assert (used.returncode, used.stdout) == (0, "a\n"), used.stderr


def test_a_program_of_a_user_is_typed(tmp_path: Path, python: Path) -> None:
    """Strictly; and what is wrong is found."""
    checked = check_types(tmp_path, python, EXAMPLE)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "int" in check_types(tmp_path, python, WRONG).stdout


def test_without_the_library_it_says_how_to_get_it(tmp_path: Path) -> None:
    """One error that names the library and the variable."""
    program = f"import sys; sys.path.insert(0, {str(TOP / 'python/src')!r}); import chario"
    result = run(sys.executable, "-c", program, library=str(tmp_path / "none.so"))
    assert "ImportError: libchario cannot be loaded" in result.stderr
    assert "CHARIO_LIBRARY" in result.stderr
