# SPDX-License-Identifier: MIT
"""Recordings from Python: made, followed, read again."""

import errno
import gc
import threading
from pathlib import Path
from typing import Any

import numpy
import pytest
from package_lab import MIB
from package_store import records_of

import chario
from chario import _patience
from chario import stream as stream_module
from chario._library import call

pytest_plugins = ("package_store",)
SEGMENT = 64 << 10


def test_records_come_back_as_they_were(store: chario.Store, area: str) -> None:
    """Rooms, copies, times and marks."""
    with chario.Stream(store, area, segment_bytes=SEGMENT) as stream:
        with stream.room(5, time_ns=10**18) as view:
            view[:] = b"hello"
        room = stream.room(1000)
        with room as view:
            pixels = numpy.frombuffer(view, "u1")
            pixels[:3] = 7
            room.size = 3
        stream.write(b"about", meta=True)
        stream.write(bytes(3 * SEGMENT))
        stream.wait()
        status = stream.status
        assert (status.records, status.durable_records) == (4, 4)
        assert status.bytes == status.durable_bytes == 5 + 3 + 5 + 3 * SEGMENT
        assert status.durability is not chario.Durability.AUTO
        assert stream.room_bytes < SEGMENT
        del pixels
    assert store.find(area).recording
    with chario.Reader(store, area) as reader:
        records = list(reader)
        assert [record.data[:6] for record in records] == [b"hello", b"\7\7\7", b"about", bytes(6)]
        assert [record.sequence for record in records] == [0, 1, 2, 3]
        assert [record.meta for record in records] == [False, False, True, False]
        assert records[0].time_ns == 10**18
        assert len(records[3].data) == 3 * SEGMENT
        assert reader.next() is None
        assert (reader.recording.ended, reader.recording.next_record) == (True, 4)


def test_an_exception_takes_the_record_back(store: chario.Store, area: str) -> None:
    """What was not filled is not recorded."""
    with chario.Stream(store, area) as stream:
        stream.write(b"one")
        with pytest.raises(KeyError), stream.room(100):
            raise KeyError
        stream.write(b"two")
    assert records_of(store) == [b"one", b"two"]


def test_what_is_lost_leaves_a_gap(store: chario.Store, area: str) -> None:
    """At its place, and in the totals."""
    with chario.Stream(store, area) as stream:
        stream.write(b"one")
        stream.lose(2, 300)
        stream.write(b"two")
        assert (stream.status.lost_records, stream.status.lost_bytes) == (2, 300)
    with chario.Reader(store, area) as reader:
        assert [(record.sequence, record.missing) for record in reader] == [(0, 0), (3, 2)]
        assert (reader.recording.lost_records, reader.recording.lost_bytes) == (2, 300)


def test_a_full_area_and_a_ring(store: chario.Store, area: str) -> None:
    """The one is an error that says so, the other forgets its oldest."""
    with chario.Stream(store, area, segment_bytes=SEGMENT) as stream, pytest.raises(chario.ChariOError) as caught:
        while True:
            stream.write(bytes(SEGMENT // 2))
    assert caught.value.errno == errno.ENOSPC
    with pytest.raises(chario.ChariOError, match="the area holds a recording already"):
        chario.Stream(store, area)
    with pytest.raises(chario.ChariOError, match="the area holds a recording, whose length stays"):
        store.resize(area, SEGMENT)
    with chario.Stream(store, area, segment_bytes=SEGMENT, ring=True, force=True) as stream:
        for number in range(200):
            stream.write(number.to_bytes(4, "little") + bytes(SEGMENT - 8192))
    with chario.Reader(store, area) as reader:
        numbers = [int.from_bytes(record.data[:4], "little") for record in reader]
    assert numbers == list(range(numbers[0], 200))
    assert 0 < numbers[0] < 199


def test_a_recording_goes_on(store: chario.Store, area: str) -> None:
    """With append after what is there, if anything is; never with force."""
    for text in (b"one", b"two"):
        with chario.Stream(store, area, append=True) as stream:
            stream.write(text)
    with pytest.raises(ValueError, match="choose one"):
        chario.Stream(store, area, append=True, force=True)
    with chario.Reader(store, area) as reader:
        assert [record.data for record in reader] == [b"one", b"two"]
        reader.seek(1)
        assert [record.data for record in reader] == [b"two"]
        reader.seek(0)
        assert [record.data for record in reader] == [b"one", b"two"]
        reader.seek(None)
        assert list(reader) == []
        reader.seek_newest(1)
        assert [record.data for record in reader] == [b"two"]


def test_the_end_is_missed(store: chario.Store, area: str, image: Path) -> None:
    """Of a recording that was closed and then damaged."""
    with chario.Stream(store, area, segment_bytes=8192) as stream:
        for number in range(10):
            stream.write(bytes([number]) * 4000)
    offset = store.find(area).offset
    with image.open("r+b") as file:
        file.seek(offset + 2 * 8192)
        file.write(bytes(10 * 8192))
    with chario.Reader(store, area) as reader:
        there = [record.sequence for record in reader]
        assert there == list(range(len(there))) and len(there) < 10
        assert reader.missing_at_end == 10 - len(there) == reader.recording.missing_records
        assert reader.recording.ended_ns and not reader.recording.live


def test_rooms_fill_segments(store: chario.Store, area: str) -> None:
    """Where it is known how long they are."""
    with chario.Stream(store, area, record_bytes=300_000) as stream:
        assert stream.status.segment_bytes >= 300_000
        count = 0
        with pytest.raises(chario.ChariOError):
            while True:
                with stream.room(300_000, timeout=60):
                    count += 1
    assert count * 300_000 >= store.find(area).bytes * 95 // 100 - 300_000


def test_short_rooms_are_dense(store: chario.Store) -> None:
    """More of them fit where they are."""
    area = "short"
    store.create(area, MIB // 4)
    counts = []
    for dense in (False, True):
        with chario.Stream(store, area, dense=dense, segment_bytes=65536, force=True) as stream:
            count = 0
            with pytest.raises(chario.ChariOError):
                while True:
                    with stream.room(100, timeout=60):
                        count += 1
        counts.append(count)
    assert counts[1] * 152 > counts[0] * 192 * 0.97 > counts[0] * 152


def test_a_time_is_found(store: chario.Store, area: str) -> None:
    """The first record that was taken then or later."""
    with chario.Stream(store, area, segment_bytes=8192) as stream:
        for number in range(100):
            stream.write(bytes(1000), time_ns=1000 + number * 10)
    with chario.Reader(store, area) as reader:
        reader.seek_time(1505)
        record = reader.next()
        assert record is not None
        assert (record.sequence, record.time_ns) == (51, 1510)


def test_a_recording_is_followed(store: chario.Store, area: str, image: Path) -> None:
    """Another store object waits for each record, and ends with the recording."""
    found: list[bytes | memoryview] = []
    stream = chario.Stream(store, area, flush_s=0.01)
    stream.write(b"0")
    stream.wait()

    def follow() -> None:
        with chario.Store(image) as other, chario.Reader(other, area, follow=True) as reader:
            found.extend(record.data for record in reader)

    thread = threading.Thread(target=follow)
    thread.start()
    for number in range(1, 20):
        stream.write(str(number).encode())
        stream.wait()
    stream.close()
    thread.join()
    assert found == [str(number).encode() for number in range(20)]


def test_a_wait_that_is_over_says_so(store: chario.Store, area: str) -> None:
    """There is no record yet; and with all buffers in use, there is no room."""
    with chario.Stream(store, area, segment_bytes=SEGMENT, buffers=2) as stream:
        stream.write(b"one")
        stream.wait()
        with chario.Reader(store, area) as reader:
            assert reader.next(timeout=0) is not None
            with pytest.raises(TimeoutError, match="no record"):
                reader.next(timeout=0.01)
        big = stream.room_bytes
        rooms = [stream.room(big, timeout=0.01) for _ in range(4)]
        held: list[chario.Room] = []
        with pytest.raises(TimeoutError, match="not taken"):
            for room in rooms:
                room.__enter__()
                held.append(room)
        for room in held:
            room.__exit__(None, None, None)


def test_a_record_that_takes_longer_than_a_piece(
    store: chario.Store, area: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try begins at its first byte: one has to be long enough."""
    needed_ns = 10 * _patience.PIECE_NS
    tries: list[int] = []

    def write_slowly(name: str, *arguments: Any) -> int:
        if name != "chario_stream_write":
            return call(name, *arguments)
        tries.append(arguments[-1])
        assert len(tries) < 100
        return 0 if arguments[-1] >= needed_ns else -errno.EAGAIN

    with chario.Stream(store, area, segment_bytes=SEGMENT) as stream:
        monkeypatch.setattr(stream_module, "call", write_slowly)
        stream.write(bytes(3 * SEGMENT))
        assert tries[-1] >= needed_ns
        monkeypatch.undo()


def test_a_long_record_is_written_piece_by_piece(
    store: chario.Store, area: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is whole in the end, however often it has been begun."""
    monkeypatch.setattr(_patience, "PIECE_NS", 1000)
    record = bytes(range(256)) * (3 * MIB // 256)
    with chario.Stream(store, area, segment_bytes=SEGMENT, buffers=2, ring=True) as stream:
        stream.write(record)
        stream.write(b"after")
    assert records_of(store) == [record, b"after"]


def test_memory_of_the_library_does_not_go_under_a_view(store: chario.Store, area: str) -> None:
    """A stream with arrays of its rooms stays open; its records are durable all the same."""
    stream = chario.Stream(store, area)
    with stream.room(8) as view:
        pixels = numpy.frombuffer(view, "u1")
        pixels[:] = 7
    with pytest.raises(BufferError, match="rooms"):
        stream.close()
    assert stream.status.durable_records == 1
    del pixels
    stream.close()
    with pytest.raises(ValueError, match="released"):
        view[0]
    with chario.Reader(store, area) as reader:
        record = reader.next(copy=False)
        assert record is not None
        pixels = numpy.frombuffer(record.data, "u1")
        assert pixels[0] == 7
        with pytest.raises(BufferError, match="record before"):
            reader.next()
        del pixels, record
        assert reader.next() is None


def test_a_room_that_is_out_does_not_hang_a_close(store: chario.Store, area: str) -> None:
    """The record before it shares its segment, and is durable when the room has gone."""
    stream = chario.Stream(store, area)
    stream.write(b"before")
    with stream.room(8):
        with pytest.raises(BufferError, match="rooms"):
            stream.close()
        assert not stream.closed
    stream.close()
    assert [len(record) for record in records_of(store)] == [6, 8]


def test_a_stream_that_is_forgotten_is_ended(store: chario.Store, area: str) -> None:
    """Nothing that was written is lost."""
    chario.Stream(store, area).write(b"one")
    gc.collect()
    with chario.Reader(store, area) as reader:
        assert [record.data for record in reader] == [b"one"]
        assert reader.recording.ended


def test_a_record_has_bytes(store: chario.Store, area: str) -> None:
    """An empty one is refused, in words."""
    with chario.Stream(store, area) as stream, pytest.raises(ValueError, match="one byte at least"):
        stream.write(b"")


def test_errors_of_recordings(store: chario.Store, area: str) -> None:
    """No recording, no area, no sense."""
    with pytest.raises(chario.ChariOError, match="no recording", check=lambda error: error.errno == errno.ENODATA):
        chario.Reader(store, area)
    with pytest.raises(chario.NoSuchArea):
        chario.Stream(store, "gone")
    with pytest.raises(chario.ChariOError, check=lambda error: error.errno == errno.EINVAL):
        chario.Stream(store, area, segment_bytes=5000)
    with chario.Stream(store, area) as stream, pytest.raises(ValueError, match="negative"):
        stream.room(-1)
