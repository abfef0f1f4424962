# SPDX-License-Identifier: MIT
"""Files become areas, and areas files, from Python."""

import os
import random
import threading
from pathlib import Path

import pytest
from package_lab import MIB
from package_signals import ctrl_c_soon

import chario

pytest_plugins = ("package_store",)

SIZE = 21 * MIB + 1000
CONTENT = random.Random(1).randbytes(SIZE)


@pytest.fixture
def area(store: chario.Store) -> chario.Area:
    """An empty area of odd length, open for writing."""
    store.create("a", SIZE)
    return store.open("a", writable=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file as long, with content."""
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    return path


def test_a_file_becomes_an_area_and_a_file_again(area: chario.Area, path: Path) -> None:
    """By a file of Python, and by a descriptor; the callback is told all of it."""
    told: list[tuple[int, int]] = []
    with path.open("rb") as file:
        assert area.copy_in(file, progress=lambda *numbers: told.append(numbers)) == SIZE
    area.sync()
    assert told[-1] == (SIZE, SIZE)
    assert told == sorted(told)
    assert area.read() == CONTENT
    with path.open("wb") as file:
        assert area.copy_out(file.fileno()) == SIZE
    assert path.read_bytes() == CONTENT


def test_a_part(area: chario.Area, path: Path) -> None:
    """At the same offset, and from where the file stands."""
    with path.open("r+b", buffering=0) as file:
        assert area.copy_in(file, 8192, 4096, same_offset=True) == 4096
        assert area.read(4096, 8192) == CONTENT[8192:12288]
        assert area.copy_in(file, 4096, 4096) == 4096
        assert area.read(4096, 4096) == CONTENT[:4096]
        assert area.copy_out(file, 8192, 100) == 100
    assert path.read_bytes()[4096:4196] == CONTENT[8192:8292]


def test_a_copy_comes_behind_what_a_buffered_file_holds(area: chario.Area, path: Path) -> None:
    """Python writes the buffer before the library writes the copy."""
    area.write(CONTENT[:4096])
    with path.open("wb") as file:
        file.write(b"before")
        assert area.copy_out(file, 0, 4096) == 4096
        file.write(b"behind")
    assert path.read_bytes() == b"before" + CONTENT[:4096] + b"behind"


def test_an_update_writes_what_differs(area: chario.Area, store: chario.Store, path: Path) -> None:
    """And nothing else; not under a view."""
    area.write(CONTENT)
    changed = bytearray(CONTENT)
    for at in (0, 1, 4096, 8 * MIB - 1, SIZE - 1):
        changed[at] ^= 255
    path.write_bytes(changed)
    with path.open("rb") as file:
        assert area.update(file) == 4 * 4096
        assert area.read() == changed
        assert area.update(file, same_offset=True) == 0
        assert area.update(file, same_offset=True, progress=lambda *_numbers: False) == 0
        with (
            chario.Buffer.pool(store, 4096) as buffer,
            area.view(buffer, size=4096),
            pytest.raises(chario.ChariOError, match="another view"),
        ):
            area.update(file, same_offset=True)


def test_pipes(area: chario.Area) -> None:
    """What others write and read meanwhile."""
    source, target = os.pipe()
    with open(source, "rb") as file, open(target, "wb") as other:
        feeder = threading.Thread(target=lambda: other.write(CONTENT))
        feeder.start()
        assert area.copy_in(file, 0, 8 * MIB) == 8 * MIB
        assert area.read(8 * MIB) == CONTENT[: 8 * MIB]
        file.read(SIZE - 8 * MIB - 64 * 1024)
        feeder.join()


def test_the_callback_ends_a_copy(area: chario.Area, path: Path) -> None:
    """By False, with what has been written; by an exception, which comes out."""

    def fail(done: int, _total: int) -> None:
        if done:
            raise LookupError(done)

    with path.open("rb") as file:
        written = area.copy_in(file, progress=lambda done, _total: done == 0)
        assert 0 < written < SIZE
        assert area.read(written) == CONTENT[:written]
        with pytest.raises(LookupError):
            area.copy_in(file, written, progress=fail)
    with path.open("wb") as target:
        assert area.copy_out(target, progress=lambda *_numbers: False) == 0


def test_ctrl_c_ends_a_copy_that_waits(area: chario.Area) -> None:
    """For a pipe that nobody writes to."""
    source, target = os.pipe()
    with open(source, "rb") as file, open(target, "wb"), pytest.raises(KeyboardInterrupt), ctrl_c_soon():
        area.copy_in(file)


def test_errors_say_whose_they_are(area: chario.Area, store: chario.Store, path: Path) -> None:
    """Of the file, of the area, of what was asked for."""
    source, target = os.pipe()
    os.close(source)
    with open(target, "wb") as file, pytest.raises(BrokenPipeError, match="area a: copy of"):
        area.copy_out(file)
    with path.open("rb") as file:
        file.seek(MIB)
        with pytest.raises(EOFError, match=rf"the file has ended after {20 * MIB + 1000} bytes"):
            area.copy_in(file)
        with pytest.raises(OSError, match="Bad file descriptor"):
            area.copy_out(file)
        with pytest.raises(chario.ChariOError, match="writable=True"):
            store["a"].copy_in(file)
        for numbers in ((1, None), (0, 20000), (0, SIZE + 4096)):
            with pytest.raises(chario.ChariOError, match=r"not of whole blocks, or not inside the area \(EINVAL\)"):
                area.copy_in(file, *numbers)
        for numbers in ((-1, 1), (0, -1)):
            with pytest.raises(ValueError, match="negative"):
                area.copy_in(file, *numbers)
