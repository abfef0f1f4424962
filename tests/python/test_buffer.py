# SPDX-License-Identifier: MIT
"""Buffers and queues from Python: no copy, and no memory that goes under a view."""

import asyncio
import errno
import gc
import itertools
import mmap
from pathlib import Path

import numpy
import pytest
from package_lab import MIB
from package_signals import ctrl_c, interrupted

import chario
from chario import Result, _library
from chario import queue as queue_module
from chario._library import call

pytest_plugins = ("package_store",)


@pytest.fixture
def area(store: chario.Store) -> chario.Area:
    """An area of 4 MiB, open for writing."""
    store.create("a", 4 * MIB)
    return store.open("a", writable=True)


def test_numpy_sees_the_memory_of_a_buffer(store: chario.Store, area: chario.Area) -> None:
    """What an array is given is what the disk gets, and the reverse."""
    with chario.Buffer.pool(store, MIB) as buffer:
        pixels = numpy.frombuffer(buffer, "<u2")
        pixels[:] = numpy.arange(pixels.size)
        assert area.store(buffer, 4096) == MIB
        pixels[:] = 0
        assert bytes(buffer[:4]) == bytes(4)
        assert area.load(buffer, 4096) == MIB
        assert int(pixels[-1]) == (pixels.size - 1) % 65536
        assert area.read(4, 4096 + 2) == b"\1\0\2\0"
        del pixels


def test_a_buffer_with_views_does_not_close(store: chario.Store) -> None:
    """As an mmap; nor does its store, and nothing is lost by trying."""
    buffer = chario.Buffer.pool(store, 8192)
    pixels = numpy.frombuffer(buffer, "u1")[1:3]
    for resource in (buffer, store.device, store):
        with pytest.raises(BufferError, match="release"):
            resource.close()
        assert not resource.closed
    pixels[:] = 5
    assert buffer[:4] == b"\0\5\5\0"
    del pixels
    store.close()
    assert buffer.closed
    with pytest.raises(ValueError, match="closed"):
        buffer[0]
    with pytest.raises(ValueError, match="closed"):
        buffer.memory.tobytes()


def test_a_view_outlives_the_name_of_its_buffer(store: chario.Store) -> None:
    """Memory goes with its last view."""
    view = memoryview(chario.Buffer.pool(store, 8192))
    gc.collect()
    view[:3] = b"abc"
    assert bytes(view[:3]) == b"abc"
    assert len(store.device._children) == 1
    view.release()
    assert len(store.device._children) == 0


def test_memory_that_is_there_becomes_a_buffer(store: chario.Store, area: chario.Area) -> None:
    """An array, and an mmap; its object stays as it is until the buffer is closed."""
    pixels = numpy.zeros(MIB // 4 + 4096, "<u4")
    start = -pixels.ctypes.data % 4096 // 4
    pixels = pixels[start : start + MIB // 4]
    pixels[:] = 7
    with chario.Buffer.register(store, pixels) as buffer:
        assert area.store(buffer) == MIB
        pixels[:] = 0
        assert area.load(buffer, size=4096, buffer_offset=4096) == 4096
        assert (int(pixels[0]), int(pixels[1024]), int(pixels[2048])) == (0, 7, 0)
        assert buffer.memory[4096] == 7
    mapped = mmap.mmap(-1, 8192)
    buffer = chario.Buffer.register(store, mapped)
    with pytest.raises(BufferError):
        mapped.close()
    buffer.close()
    mapped.close()


def test_memory_has_a_place_for_dma(store: chario.Store) -> None:
    """What the disk cannot reach is named, before it is tried."""
    pages = numpy.frombuffer(mmap.mmap(-1, 8192), "u1")
    with pytest.raises(ValueError, match=r"begin at a multiple of \d+ bytes"):
        chario.Buffer.register(store, pages[1:4097])
    with pytest.raises(ValueError, match="no bytes"):
        chario.Buffer.register(store, bytearray())


def test_read_only_memory_is_a_source(store: chario.Store, image: Path, area: chario.Area) -> None:
    """Nothing is read into it, and without saying so it is no buffer."""
    with image.open("rb") as file, mmap.mmap(file.fileno(), 8192, prot=mmap.PROT_READ) as mapped:
        with pytest.raises(BufferError):
            chario.Buffer.register(store, mapped)
        with chario.Buffer.register(store, mapped, source=True) as buffer:
            assert area.store(buffer) == 8192
            assert area.read(8192) == mapped[:]
            with pytest.raises(chario.ChariOError, check=lambda error: error.errno == errno.EPERM):
                area.load(buffer)


@pytest.mark.parametrize(("offset", "size"), [(-1, 4096), (0, 8193), (8193, 0), (0, -1)])
def test_a_piece_lies_inside_its_buffer(store: chario.Store, area: chario.Area, offset: int, size: int) -> None:
    """Numbers that C would take for others never get there."""
    with chario.Buffer.pool(store, 8192) as buffer, pytest.raises(ValueError, match=r"inside|negative"):
        area.load(buffer, size=size, buffer_offset=offset)


def test_a_buffer_keeps_its_size(store: chario.Store) -> None:
    """An mmap could move; this one may not."""
    with chario.Buffer.pool(store, 8192) as buffer, pytest.raises(BufferError, match="keeps its size"):
        buffer.resize(4096)


def test_a_streaming_buffer_is_handed_over(store: chario.Store, area: chario.Area) -> None:
    """The calls that other machines need are there, and check their range."""
    with chario.Buffer.pool(store, 8192, streaming=True) as buffer:
        buffer[:3] = b"abc"
        buffer.give_to_device(4096)
        assert area.store(buffer, size=4096) == 4096
        assert area.load(buffer, size=4096, buffer_offset=4096) == 4096
        buffer.give_to_cpu(offset=4096)
        assert buffer[4096:4099] == b"abc"
        with pytest.raises(ValueError, match="inside"):
            buffer.give_to_cpu(4097, offset=4096)


def test_a_device_without_a_store(tmp_path: Path) -> None:
    """Its facts, its descriptor, and transfers by offset."""
    path = tmp_path / "disk"
    path.write_bytes(bytes(MIB))
    with chario.Device(path, writable=True) as device, chario.Buffer.pool(device, 4096) as buffer:
        assert device.info.capacity_bytes == MIB
        assert device.info.backend == "file"
        assert device.path == str(path)
        assert device.fileno() >= 0
        buffer[:3] = b"abc"
        assert device.write(buffer, 8192) == 4096
        device.flush()
        assert path.read_bytes()[8192:8195] == b"abc"
        assert device.read(buffer, 0) == 4096
        assert buffer[:3] == bytes(3)
        assert device.read(buffer, MIB) == 0
        with pytest.raises(chario.ChariOError, check=lambda error: error.errno == errno.ENOTTY):
            _ = device.stats


def test_many_transfers_at_once(store: chario.Store, area: chario.Area) -> None:
    """Each result has what its transfer was given; a buffer in flight does not close."""
    start = area.info.offset
    with chario.Buffer.pool(store, 64 * 4096) as buffer, chario.Queue(store, depth=64) as queue:
        for number in range(64):
            buffer[number * 4096] = number
            queue.write(buffer, start + number * 4096, 4096, offset=number * 4096, user=number)
        with pytest.raises(BlockingIOError, match="reap"):
            queue.flush()
        with pytest.raises(BufferError, match="64 transfers"):
            buffer.close()
        queue.submit()
        done: list[object] = []
        while queue.pending:
            for result in queue.reap():
                assert result.bytes == 4096
                done.append(result.user)
        assert sorted(done, key=repr) == sorted(range(64), key=repr)
        queue.flush(user="flush")
        queue.submit()
        assert [(result.user, result.value) for result in queue.reap()] == [("flush", 0)]
        assert queue.reap(timeout=0) == []
    assert [area.read(1, number * 4096)[0] for number in range(64)] == list(range(64))


def test_a_transfer_that_fails_says_so(store: chario.Store) -> None:
    """The error is in the result, and is raised where its bytes are asked for."""
    with chario.Buffer.pool(store, 4096) as buffer, chario.Queue(store) as queue:
        queue.write(buffer, 1 << 40, user="far")
        queue.submit()
        (result,) = queue.reap()
        assert (result.user, result.value) == ("far", -errno.ENOSPC)
        with pytest.raises(chario.ChariOError, match="ENOSPC"):
            _ = result.bytes


def test_ctrl_c_loses_no_results(store: chario.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What came with it is there at the next call, and the buffer is free then."""
    with chario.Buffer.pool(store, 8 * 4096) as buffer, chario.Queue(store) as queue:
        for number in range(8):
            queue.read(buffer, 0, 4096, offset=number * 4096, user=number)
        queue.submit()
        ctrl_c(monkeypatch, "chario_queue_reap", _library)
        with pytest.raises(KeyboardInterrupt):
            queue.reap()
        assert queue.pending == 8
        found: list[Result] = []
        for _ in range(8):
            found += queue.reap(timeout=30) if queue.pending else []
        assert {result.user for result in found} == set(range(8))
        assert (len(found), queue.pending) == (8, 0)


def test_ctrl_c_at_any_line_leaves_no_transfer(store: chario.Store) -> None:
    """None has its result twice; those that were just handed over may be lost with the call."""
    with chario.Buffer.pool(store, 4096) as buffer, chario.Queue(store) as queue:
        for line in itertools.count():
            for number in range(2):
                queue.read(buffer, 0, user=number)
            queue.submit()
            came = interrupted(queue.reap, line)
            found: list[Result] = []
            while queue.pending or queue._found:
                found += queue.reap()
            users = [result.user for result in found]
            assert len(set(users)) == len(users)
            assert not buffer._in_flight
            if not came:
                break


@pytest.mark.parametrize("before", [False, True])
def test_ctrl_c_with_an_added_transfer(store: chario.Store, monkeypatch: pytest.MonkeyPatch, before: bool) -> None:
    """Whether it is in the queue or not, nobody waits for it in vain, nor does its result confuse."""
    with chario.Buffer.pool(store, 8192) as buffer, chario.Queue(store) as queue:
        ctrl_c(monkeypatch, "chario_queue_add", queue_module, before=before)
        with pytest.raises(KeyboardInterrupt):
            queue.read(buffer, 0, 4096, user="doubtful")
        assert queue.pending == 0
        queue.read(buffer, 0, 4096, user="other")
        queue.submit()
        found = []
        while call("chario_queue_in_flight", queue._pointer):
            found += [result.user for result in queue.reap()]
        assert set(found) == ({"other"} if before else {"doubtful", "other"})
        assert len(buffer._in_flight) == int(before)


def test_closing_a_store_ends_its_queues_first(store: chario.Store) -> None:
    """What is in flight ends before its memory goes."""
    buffer = chario.Buffer.pool(store, 4096)
    queue = chario.Queue(store)
    queue.read(buffer, 0)
    queue.submit()
    store.close()
    assert queue.closed
    assert buffer.closed


def test_a_queue_in_an_event_loop(store: chario.Store) -> None:
    """asyncio waits for its descriptor."""

    async def main() -> list[object]:
        loop = asyncio.get_running_loop()
        done: list[object] = []
        finished = loop.create_future()

        def take() -> None:
            done.extend(result.user for result in queue.reap(timeout=0))
            if len(done) == 8:
                loop.remove_reader(queue)
                finished.set_result(None)

        loop.add_reader(queue, take)
        for number in range(8):
            queue.read(buffer, number * 4096, 4096, offset=number * 4096, user=number)
        queue.submit()
        await finished
        return done

    with chario.Buffer.pool(store, 8 * 4096) as buffer, chario.Queue(store) as queue:
        assert sorted(asyncio.run(main()), key=repr) == list(range(8))
