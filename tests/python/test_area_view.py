# SPDX-License-Identifier: MIT
"""Views from Python: what changes is written back, and nothing else; nothing ends under a view."""

import errno
import gc
import mmap
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
from package_lab import MIB

import chario
from chario import Tracking

pytest_plugins = ("package_store",)

BLOCK = 4096
KINDS = [kind for kind in Tracking if kind is not Tracking.AUTO]
FILL = bytes(range(256)) * (MIB // 256)


@pytest.fixture
def area(store: chario.Store) -> chario.Area:
    """An area of 1 MiB with content, open for writing."""
    store.create("a", MIB)
    opened = store.open("a", writable=True)
    opened.write(FILL)
    return opened


@pytest.fixture
def buffer(store: chario.Store) -> Iterator[chario.PoolBuffer]:
    """A buffer as long."""
    with chario.Buffer.pool(store, MIB) as made:
        yield made


def viewed(area: chario.Area, buffer: chario.Buffer, kind: Tracking) -> chario.View:
    """All of the area, or a skip where the kernel does not have this kind of tracking."""
    try:
        return area.view(buffer, tracking=kind)
    except chario.ChariOError as error:
        assert error.errno == errno.EOPNOTSUPP, error
        assert kind is Tracking.WRITE_PROTECT
        pytest.skip(f"this kernel has no {kind.name}")


@pytest.mark.parametrize("kind", KINDS)
def test_what_changes_is_written(area: chario.Area, buffer: chario.Buffer, kind: Tracking) -> None:
    """Of each kind of tracking, by an array that is the memory."""
    with viewed(area, buffer, kind) as view:
        assert (view.tracking, view.nbytes, view.offset, view.dirty_bytes) == (kind, MIB, 0, 0)
        assert view.flush() == 0
        pixels = numpy.frombuffer(view.memory, "u1")
        assert pixels.tobytes() == FILL
        for block in (3, 7, 8, 255):
            pixels[block * BLOCK + 5] = 77
            if kind is Tracking.MARKS:
                view.mark(block * BLOCK + 5, 1)
        assert view.dirty_bytes == 4 * BLOCK
        assert view.flush() == 4 * BLOCK
        assert area.read(1, 255 * BLOCK + 5) == b"\x4d"
        pixels[0] = 78
        view.mark(0, 1)
        assert view.flush(durable=True) == BLOCK
        view.memory[BLOCK] = 79
        view.mark(BLOCK, 1)
    assert view.closed
    assert area.read(1, BLOCK) == b"O"
    assert area.read(MIB) == pixels.tobytes()


def test_auto_is_the_best_there_is(area: chario.Area, buffer: chario.Buffer) -> None:
    """And knows changes without marks."""
    with area.view(buffer) as view:
        assert view.tracking not in (Tracking.AUTO, Tracking.MARKS)
        view.memory[:5] = b"hello"
        assert view.flush() == BLOCK
    assert area.read(5) == b"hello"


def test_the_memory_of_another_mapping_is_compared(
    area: chario.Area, buffer: chario.Buffer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages are tracked where Python writes, or not at all: as on a disk, whose pools Python maps itself."""
    monkeypatch.setattr("chario.view.function", lambda _name: lambda _pointer: 4096)
    with pytest.raises(chario.ChariOError, match="this memory or this kernel does not have"):
        area.view(buffer, tracking=Tracking.WRITE_PROTECT)
    with area.view(buffer) as view:
        assert view.tracking is Tracking.COMPARE


def test_with_writes_unless_there_is_an_exception(area: chario.Area, buffer: chario.Buffer) -> None:
    """What was flushed before the exception stays."""
    with area.view(buffer, tracking=Tracking.COMPARE) as view:
        view.memory[0] = 1
    with pytest.raises(ZeroDivisionError), area.view(buffer, tracking=Tracking.COMPARE) as view:
        view.memory[1] = 2
        view.flush()
        view.memory[2] = 3
        raise ZeroDivisionError
    assert view.closed
    assert area.read(3) == b"\1\2\2"
    assert FILL[2] == 2


def test_unload_with_and_without_a_flush(area: chario.Area, buffer: chario.Buffer) -> None:
    """And close(), which flushes; each may be called again."""
    for end, kept in (("unload", True), ("close", True), ("drop", False)):
        area.write(bytes(3))
        view = area.view(buffer, tracking=Tracking.COMPARE)
        view.memory[0] = 9
        for _ in range(2):
            view.unload(flush=False) if end == "drop" else getattr(view, end)()
        assert area.read(1) == (b"\t" if kept else b"\0"), end


@pytest.mark.parametrize("first", ["buffer", "area", "device", "store"])
def test_whatever_is_closed_first(store: chario.Store, area: chario.Area, buffer: chario.Buffer, first: str) -> None:
    """A view ends, flushed, before what it is made of."""
    view = area.view(buffer, tracking=Tracking.COMPARE)
    view.memory[:4] = b"last"
    {"buffer": buffer, "area": area, "device": store.device, "store": store}[first].close()
    assert view.closed
    path = store._what.removeprefix("store ")
    store.close()
    with chario.Store(path) as again:
        assert again["a"].read(4) == b"last"


def test_a_view_that_is_forgotten_is_unloaded(area: chario.Area, store: chario.Store) -> None:
    """Without a flush, and its part is free again; its buffer has been kept."""
    for _ in range(3):
        view = area.view(chario.Buffer.pool(store, MIB), tracking=Tracking.COMPARE)
        gc.collect()
        view.memory[0] = 9
        assert view.dirty_bytes == BLOCK
        del view
        gc.collect()
    assert area.read(1) == b"\0"
    assert len(store.device._children) == 0


def test_parts_of_areas_and_buffers(store: chario.Store, area: chario.Area, buffer: chario.PoolBuffer) -> None:
    """Wherever they begin; the last block of an area is in the buffer as a whole."""
    store.create("odd", BLOCK + 10)
    with store.open("odd", writable=True) as odd:
        odd.write(b"x", BLOCK + 9)
        with odd.view(buffer, BLOCK, buffer_offset=2 * BLOCK) as view, area.view(buffer, 4 * BLOCK, 100) as other:
            assert (view.nbytes, other.nbytes, other.offset) == (10, 100, 4 * BLOCK)
            assert bytes(view.memory[9:]) == b"x"
            assert len(view.memory) == 10
            view.memory[9] = ord("y")
            other.memory[99] = 1
            assert buffer[2 * BLOCK + 9 : 2 * BLOCK + 10] == b"y"
            assert (view.flush(), other.flush()) == (BLOCK, BLOCK)
        assert odd.read(1, BLOCK + 9) == b"y"
    assert area.read(2, 4 * BLOCK + 98) == b"b\1"


def test_memory_that_was_there(store: chario.Store, area: chario.Area) -> None:
    """A registered array, written to as what it is."""
    pages = mmap.mmap(-1, MIB)
    pixels = numpy.frombuffer(pages, "<u4")
    with chario.Buffer.register(store, pixels) as buffer, area.view(buffer) as view:
        pixels[1024] = 5
        assert view.flush() == BLOCK
    assert area.read(4, BLOCK) == b"\5\0\0\0"


def test_what_others_do_to_the_memory_is_marked(area: chario.Area, buffer: chario.Buffer) -> None:
    """And what is on the disk comes back by a reload."""
    with area.view(buffer, tracking=Tracking.MARKS) as view:
        view.memory[:2] = b"ab"
        assert view.dirty_bytes == 0
        view.mark()
        assert view.dirty_bytes == MIB
        view.reload()
        assert view.dirty_bytes == 0
        assert view.memory[:2] == FILL[:2]
        with pytest.raises(chario.ChariOError, match=r"mark of 2 at 1048575.*\(EINVAL\)"):
            view.mark(MIB - 1, 2)


def test_wrong_arguments(store: chario.Store, area: chario.Area, buffer: chario.Buffer, image: Path) -> None:
    """Each is told what is wrong, and nothing stays of it."""
    for offset, size in ((512, BLOCK), (MIB, 1), (0, 0), (BLOCK, MIB), (2 * MIB, None)):
        with pytest.raises((chario.ChariOError, ValueError), match=r"multiple of 4096 bytes of the area|larger buffer"):
            area.view(buffer, offset, size)
    with pytest.raises(ValueError, match=r"1048576 bytes at 4096 are not inside the buffer of 1048576.*view less"):
        area.view(buffer, buffer_offset=BLOCK)
    with chario.Buffer.pool(store, 8192) as small, pytest.raises(ValueError, match="take a larger buffer"):
        area.view(small)
    for wrong in ((-1, BLOCK, 0), (0, -1, 0), (0, BLOCK, -1)):
        with pytest.raises(ValueError, match="negative"):
            area.view(buffer, wrong[0], wrong[1], buffer_offset=wrong[2])
    with chario.Buffer.pool(store, MIB, source=True) as source, pytest.raises(chario.ChariOError, match="source=True"):
        area.view(source)
    other = chario.Store(image)
    with other, chario.Buffer.pool(other, MIB) as stranger, pytest.raises(chario.ChariOError, match="the area's store"):
        area.view(stranger)
    with pytest.raises(ValueError, match="7"):
        area.view(buffer, tracking=7)  # type: ignore[arg-type]
    assert not list(area._children)


def test_what_one_view_has_no_other_gets(store: chario.Store, area: chario.Area, buffer: chario.Buffer) -> None:
    """Neither its memory nor its part."""
    with area.view(buffer, 0, 2 * BLOCK) as view, chario.Buffer.pool(store, MIB) as other:
        for where, offset in ((buffer, 4 * BLOCK), (other, BLOCK)):
            with pytest.raises(chario.ChariOError, match=r"\(EBUSY\); unload\(\) that one") as caught:
                area.view(where, offset, BLOCK)
            assert caught.value.errno == errno.EBUSY
        view.unload()
        area.view(other).unload()


def test_an_area_that_is_open_for_reading(store: chario.Store, area: chario.Area, buffer: chario.Buffer) -> None:
    """Its memory is read-only, and the end of the view writes nothing."""
    area.close()
    with store["a"] as reader:
        with reader.view(buffer) as view:
            assert view.tracking is Tracking.MARKS
            assert view.memory == FILL
            pixels = numpy.frombuffer(view.memory, "u1")
            with pytest.raises(ValueError, match="read-only"):
                pixels[0] = 1
            del pixels
            with pytest.raises(chario.ChariOError, match=r"\(EROFS\).*writable=True"):
                view.flush()
        reader.view(buffer).unload()
        assert reader.read(MIB) == FILL


def test_a_flush_that_fails(area: chario.Area, buffer: chario.Buffer, monkeypatch: pytest.MonkeyPatch) -> None:
    """unload() keeps the view, to try again; close() ends it and says so."""
    view = area.view(buffer, tracking=Tracking.COMPARE)
    view.memory[0] = 9
    with monkeypatch.context() as broken:
        broken.setattr("chario.view.checked", failing)
        with pytest.raises(chario.ChariOError, match=r"flush.*EIO"):
            view.unload()
        assert not view.closed
    view.unload()
    assert area.read(1) == b"\t"
    view = area.view(buffer)
    with monkeypatch.context() as broken:
        broken.setattr("chario.view.checked", failing)
        with pytest.raises(chario.ChariOError, match=r"flush.*EIO"):
            view.close()
    assert view.closed
    area.view(buffer).close()


def failing(what: str, *_: object) -> int:
    """As a drive that does not write."""
    raise chario.ChariOError.of(-errno.EIO, what)


def test_what_is_closed_says_so(area: chario.Area, buffer: chario.PoolBuffer) -> None:
    """And no pointer goes anywhere."""
    view = area.view(buffer)
    memory = view.memory
    view.close()
    for use in (
        view.flush,
        view.reload,
        view.mark,
        lambda: view.memory,
        lambda: view.dirty_bytes,
        lambda: view.tracking,
    ):
        with pytest.raises(ValueError, match="closed view"):
            use()
    # The memory is the buffer's.
    memory[0] = 5
    assert buffer[0] == 5
    memory.release()
    buffer.close()
    with pytest.raises(ValueError, match="closed"):
        area.view(buffer)
