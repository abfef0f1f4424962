# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""A stream: a recording that is being made.

with chario.Stream(store, "camera0", ring=True) as stream:
    while running:
        with stream.room(frame_bytes) as view:      # memory that the drive reads
            camera.readinto(view)                   # or numpy.frombuffer(view, ...)
    stream.wait()                                   # all of the recording is durable
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import suppress
from ctypes import byref, sizeof
from dataclasses import dataclass
from enum import IntEnum
from types import TracebackType

from chario import _abi
from chario._callback import Asked, FileLike, descriptor, file_error
from chario._library import call, checked, freeing, opened
from chario._memory import BufferLike, Loans, borrowed
from chario._patience import Patience, not_negative_s
from chario._resource import Resource
from chario.device import not_negative
from chario.errors import ChariOError
from chario.store import Store, encoded

# Records behind a room that is out never become durable, so a wait must not be endless.
ROOM_PATIENCE_NS = 1_000_000_000

# Length of records that are cut from a stream of bytes.
RECORD_BYTES = 64 << 10

# Any disk writes as much in one piece of waiting.
SLOW_BYTES = 4 << 20

_close = freeing("chario_stream_close")


class Durability(IntEnum):
    """The way records become durable, see chario_stream(3)."""

    AUTO = 0
    NONE = 1
    FLUSH = 2
    FUA = 3


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """The status of a recording; ``segment_ns`` is p50, p99 and p999 of the time of segments.

    ``reduced`` is 1 if the limit of locked memory allowed only fewer or shorter buffers than usual.
    """

    durability: Durability
    records: int
    bytes: int
    durable_records: int
    durable_bytes: int
    capacity_bytes: int
    segments: int
    segment_bytes: int
    nr_buffers: int
    free_buffers: int
    least_free_buffers: int
    in_flight: int
    reduced: int
    late: int
    late_ns: int
    longest_ns: int
    waits: int
    wait_ns: int
    lost_records: int
    lost_bytes: int
    retries: int
    flushes: int
    segment_ns: tuple[int, int, int]


class End(IntEnum):
    """The reason why Stream.record() has ended."""

    SOURCE = _abi.RECORDER_SOURCE
    LIMIT = _abi.RECORDER_LIMIT
    STOPPED = _abi.RECORDER_STOPPED


@dataclass(frozen=True, slots=True)
class Recorded:
    """The result of Stream.record(): the waits of the source, and the gaps in which data were lost."""

    end: End
    taken_bytes: int
    waits: int
    wait_ns: int
    longest_wait_ns: int
    gaps: int
    gap_ns: int


class Stream(Resource):
    """A recording, for one producer thread; all threads may use status, wait() and lose()."""

    def __init__(
        self,
        store: Store,
        name: str,
        *,
        ring: bool = False,
        append: bool = False,
        force: bool = False,
        checksums: bool = True,
        dense: bool = False,
        segment_bytes: int = 0,
        buffers: int = 0,
        durability: Durability = Durability.AUTO,
        flush_bytes: int = 0,
        flush_s: float = 0,
        late_s: float = 0,
        record_bytes: int = 0,
    ) -> None:
        """Begin a recording in an area, or with ``append`` continue one that is there; 0 stands for the default.

        Only with ``force``, which excludes ``append``, is a recording, or a file of chario put, overwritten.

        ``record_bytes`` is the usual size of a room: segments become a
        multiple of it, so that rooms fill them.  ``dense`` rooms of less than 4096 bytes take
        less of the area, and begin at multiples of 8 in memory instead of 64.
        """
        if append and force:
            raise ValueError("append continues the recording, and force begins anew: choose one")
        # The first of a series of recordings has none to continue.
        flags = _abi.STREAM_APPEND | _abi.STREAM_BEGIN if append else 0
        flags |= _abi.STREAM_RING if ring else 0
        flags |= 0 if force else _abi.STREAM_EXCL
        options = _abi.StreamOptions.new(
            flags=flags | (0 if checksums else _abi.STREAM_NO_CRC) | (_abi.STREAM_DENSE if dense else 0),
            segment_bytes=not_negative(segment_bytes, "segment_bytes"),
            nr_buffers=not_negative(buffers, "buffers"),
            durability=durability,
            flush_bytes=not_negative(flush_bytes, "flush_bytes"),
            flush_ns=int(not_negative_s(flush_s, "flush_s") * 1e9),
            late_ns=int(not_negative_s(late_s, "late_s") * 1e9),
            record_bytes=not_negative(record_bytes, "record_bytes"),
        )
        self._what = f"recording {name}"
        self._loans = Loans()
        with store._use() as pointer:
            mine = opened(self._what, _close, "chario_stream_open", pointer, encoded(name), byref(options))
            self._own(mine, _close, store)

    def room(self, size: int, timeout: float | None = None, *, time_ns: int = 0, meta: bool = False) -> Room:
        """Get room for a record of ``size`` bytes: ``with`` returns its memory, and records it.

        If no buffer becomes free in time, ``with`` raises TimeoutError; report the lost record
        with lose().  An exception inside takes the record back.
        """
        return Room(self, size, timeout, time_ns, meta)

    def write(self, record: BufferLike, timeout: float | None = None, *, time_ns: int = 0, meta: bool = False) -> None:
        """Record a copy of an object's memory, of any length; all of it or nothing.

        Raises TimeoutError if no buffer has become free.  If the disk is slow, a record
        longer than room_bytes is tried again, each time with more patience; ctrl-c works
        between the tries.
        """
        flags = _abi.RECORD_META if meta else 0
        with borrowed(record) as (address, size), self._use() as pointer:
            if not size:
                raise ValueError("a record has one byte at least")

            def attempt(wait_ns: int) -> int:
                return call(
                    "chario_stream_write", pointer, address, size, not_negative(time_ns, "time_ns"), flags, wait_ns
                )

            in_parts = size > call("chario_stream_room_bytes", pointer)
            self._patiently(attempt, timeout, 1 + size // SLOW_BYTES if in_parts else 0)

    def record(
        self,
        file: FileLike,
        *,
        record_bytes: int = 0,
        datagrams: bool = False,
        drop: bool = False,
        drain: bool = False,
        part_s: float = 0,
        limit_bytes: int = 0,
        limit_s: float = 0,
        progress: Callable[[int], bool | None] | None = None,
    ) -> Recorded:
        """Record the data of a file, a pipe or a socket, until it ends or a limit is reached.

        A stream of bytes is cut into records of ``record_bytes``, by default 64 KiB or the
        longest room; a record that is not full after ``part_s`` (1 s) ends all the same.  Of a
        socket of datagrams, each is a record, and an empty one is lost; with ``datagrams`` any
        other file is an error.  With ``drop`` the source never waits for the disk, and lost records are counted.
        ``progress(taken_bytes)`` may end the recording by returning False.  With ``drain``,
        what waits in the kernel then or after ``limit_s`` is recorded first.
        """
        raw = _abi.Recorder.new(
            flags=(_abi.RECORDER_DATAGRAMS if datagrams else 0)
            | (_abi.RECORDER_DROP if drop else 0)
            | (_abi.RECORDER_DRAIN if drain else 0),
            record_bytes=not_negative(record_bytes, "record_bytes") or min(RECORD_BYTES, self.room_bytes),
            part_ns=int(not_negative_s(part_s, "part_s") * 1e9),
            limit_bytes=not_negative(limit_bytes, "limit_bytes"),
            limit_ns=int(not_negative_s(limit_s, "limit_s") * 1e9),
        )
        asked = Asked(lambda _pointer: progress is not None and progress(raw.taken_bytes) is False)
        raw.progress = _abi.RECORDER_PROGRESS(asked.answer)
        with self._use() as pointer:
            result = call("chario_recorder_run", pointer, descriptor(file), byref(raw))
        asked.end(result)
        if result < 0:
            raise (file_error if raw.end == _abi.RECORDER_READ else _of_library)(self._what, result)
        return Recorded(End(raw.end), **{name: getattr(raw, name) for name in Recorded.__slots__[1:]})

    def lose(self, records: int = 1, size: int = 0) -> None:
        """Report records, of ``size`` bytes together, that were not recorded."""
        with self._use() as pointer:
            checked(
                self._what, "chario_stream_lose", pointer, not_negative(records, "records"), not_negative(size, "size")
            )

    def wait(self, size: int | None = None, timeout: float | None = None) -> None:
        """Wait until the first ``size`` bytes of the recording are durable; None means all.

        Raises TimeoutError after the timeout.
        """
        wanted = (1 << 64) - 1 if size is None else not_negative(size, "size")
        with self._use() as pointer:
            self._patiently(lambda wait_ns: call("chario_stream_wait", pointer, wanted, wait_ns), timeout)

    def _patiently(self, attempt: Callable[[int], int], timeout: float | None, pieces: int = 0) -> None:
        """Repeat a call until it is done or the time is over; with pieces, each try begins anew."""
        patience = Patience(timeout, pieces or 1)
        while True:
            result = attempt(patience.piece_ns)
            if result != -errno.EAGAIN:
                break
            if patience.over:
                raise TimeoutError(errno.ETIMEDOUT, f"{self._what}: the disk has not taken it in {timeout} s")
            if pieces:
                patience.wait_longer()
        if result < 0:
            raise ChariOError.of(result, self._what)

    def service(self) -> None:
        """Do the work of the recording that is due, when fileno() is readable and no other method is called."""
        with self._use() as pointer:
            checked(self._what, "chario_stream_service", pointer)

    def fileno(self) -> int:
        """Return a descriptor for an event loop, to call service()."""
        with self._use() as pointer:
            return checked(self._what, "chario_stream_fd", pointer)

    @property
    def room_bytes(self) -> int:
        """The longest record that room() can give room for, in bytes."""
        with self._use() as pointer:
            return call("chario_stream_room_bytes", pointer)

    @property
    def status(self) -> StreamStatus:
        """The status of the recording."""
        raw = _abi.StreamStatus.new()
        with self._use() as pointer:
            checked(self._what, "chario_stream_get_status", pointer, byref(raw), sizeof(raw))
        plain = {name: getattr(raw, name) for name in StreamStatus.__slots__[1:-1]}
        first, middle, last = raw.segment_ns
        return StreamStatus(Durability(raw.durability), **plain, segment_ns=(first, middle, last))

    def _may_close(self) -> None:
        if self._loans.alive:
            # The end of the recording must not be lost by ctrl-c.
            call("chario_stream_wait", self._pointer, (1 << 64) - 1, ROOM_PATIENCE_NS)
            raise BufferError("memoryviews or arrays of the stream's rooms are still there: delete or release() them")

    def _end(self, pointer: int) -> None:
        result = _close(pointer)
        if result < 0:
            raise ChariOError.of(result, self._what)


def _of_library(what: str, result: int) -> ChariOError:
    return ChariOError.of(result, what)


class Room:
    """Room for a record, returned by Stream.room(): a context manager of its memory."""

    def __init__(self, stream: Stream, size: int, timeout: float | None, time_ns: int, meta: bool) -> None:
        self._stream = stream
        self._timeout = timeout
        self._room = _abi.StreamRoom()
        self._view: memoryview | None = None
        #: Bytes of the record, at most those asked for; 0 takes the record back.
        self.size = not_negative(size, "size")
        self.time_ns = not_negative(time_ns, "time_ns")
        self.meta = meta

    def __enter__(self) -> memoryview:
        if self._view is not None:
            raise RuntimeError("a room is for one record")
        with self._stream._use() as pointer:
            room = byref(self._room)
            try:
                self._stream._patiently(
                    lambda wait_ns: call("chario_stream_get", pointer, self.size, wait_ns, room), self._timeout
                )
            except BaseException:
                # Ctrl-c arrived together with the room, which would hold up all rooms behind it.
                if self._room.memory:
                    self._commit(0)
                raise
            self._view = self._stream._loans.lend(self._room.memory, self.size)
            return self._view

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._view is not None
        # An array of the memory may still exist; closing the stream refuses then.
        with suppress(BufferError):
            self._view.release()
        if self._stream.closed:
            return
        self._commit(self.size if error is None else 0)

    def _commit(self, size: int) -> None:
        flags = _abi.RECORD_META if self.meta else 0
        with self._stream._use() as pointer:
            what = self._stream._what
            checked(what, "chario_stream_commit", pointer, byref(self._room), size, self.time_ns, flags)
