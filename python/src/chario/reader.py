# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""A reader of a recording, also while it is being made.

for record in chario.Reader(store, "camera0"):
    print(record.sequence, record.time_ns, len(record.data))
"""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Callable, Iterator
from contextlib import suppress
from ctypes import byref, sizeof
from dataclasses import dataclass
from enum import IntEnum

from chario import _abi
from chario._callback import Asked
from chario._library import call, checked, freeing, opened
from chario._memory import Loans
from chario._patience import Patience
from chario._resource import Resource
from chario.device import not_negative
from chario.errors import ChariOError
from chario.store import Store, encoded

_close = freeing("chario_reader_close")


@dataclass(frozen=True, slots=True)
class Record:
    """A record; ``missing`` is the number of records missing before it.

    ``boottime_ns`` is its time on a clock that is never set, or 0 if it is not known.
    """

    data: bytes | memoryview
    sequence: int
    time_ns: int
    missing: int
    meta: bool
    boottime_ns: int = 0


@dataclass(frozen=True, slots=True)
class Recording:
    """The state of a recording, see chario_reader(3)."""

    ended: bool
    ring: bool
    live: bool
    segment_bytes: int
    session: int
    first_record: int
    next_record: int
    first_time_ns: int
    last_time_ns: int
    bytes: int
    durable_records: int
    lost_records: int
    lost_bytes: int
    torn_segments: int
    reads: int
    missing_records: int
    missing_bytes: int
    records: int
    ended_ns: int
    lost_before: int
    unreadable_segments: int


class PlayEnd(IntEnum):
    """The reason why Reader.play() has ended."""

    SOURCE = _abi.PLAYER_SOURCE
    LIMIT = _abi.PLAYER_LIMIT
    STOPPED = _abi.PLAYER_STOPPED


@dataclass(frozen=True, slots=True)
class Played:
    """The result of Reader.play(): the records given, their bytes, the records missing around them, and errors.

    ``steps`` is the number of times that the clock was set between records.
    """

    end: PlayEnd
    records: int
    bytes: int
    missing: int
    errors: int
    steps: int


class Reader(Resource):
    """A place in a recording, for one thread; iterating returns the records from there on.

    With ``follow``, iterating waits for records of a recording that is being made, until
    it is ended; otherwise it stops at the newest.  ``missing_at_end`` is the number of
    records missing behind the last one, known when all have been read.
    """

    def __init__(self, store: Store, name: str, *, follow: bool = False) -> None:
        """Open a recording and go before its oldest record."""
        self._what = f"recording {name}"
        self._loans = Loans()
        self._lent: memoryview | None = None
        self.follow = follow
        self.missing_at_end = 0
        with store._use() as pointer:
            mine = opened(self._what, _close, "chario_reader_open", pointer, encoded(name))
            self._own(mine, _close, store)

    def next(self, timeout: float | None = None, *, copy: bool = True) -> Record | None:
        """Return the next record, or None at the end of a recording that was ended.

        Raises TimeoutError if there is no record in time, which also happens at the end of
        an interrupted recording.  Without ``copy`` the data are a view of the reader's
        memory, which must be released before the next call.
        """
        patience = Patience(timeout)
        self._take_back()
        while True:
            found = self._try(patience.piece_ns, copy)
            if found is None:
                return None
            if found:
                return found[0]
            if patience.over:
                raise TimeoutError(errno.ETIMEDOUT, f"{self._what}: no record in {timeout} s")

    def _try(self, wait_ns: int, copy: bool) -> list[Record] | None:
        """Return one record; an empty list if there is none yet; None at the end."""
        raw = _abi.Record()
        with self._use() as pointer:
            result = call("chario_reader_next", pointer, wait_ns, byref(raw))
            if not result:
                return [self._record(raw, copy)]
        if result in (-errno.ENODATA, -errno.EAGAIN):
            self.missing_at_end += raw.missing
            return None if result == -errno.ENODATA else []
        raise ChariOError.of(result, self._what)

    def _record(self, raw: _abi.Record, copy: bool) -> Record:
        """Make a record of the one that the reader gives, which is in use."""
        boottime_ns = call("chario_reader_boottime_ns", self._usable())
        data: bytes | memoryview
        if copy:
            data = ctypes.string_at(raw.memory, raw.bytes)
        else:
            data = self._lent = self._loans.lend(raw.memory, raw.bytes).toreadonly()
        return Record(data, raw.sequence, raw.time_ns, raw.missing, bool(raw.flags & _abi.RECORD_META), boottime_ns)

    def _take_back(self) -> None:
        """Release the data of the previous record; raise an error if a view of them is left."""
        if self._lent is not None:
            with suppress(BufferError):
                self._lent.release()
            self._lent = None
        if self._loans.alive:
            raise BufferError("views of the record before are still there: delete or release() them")

    def __iter__(self) -> Iterator[Record]:
        while True:
            try:
                record = self.next(None if self.follow else 0)
            except TimeoutError:
                return
            if record is None:
                return
            yield record

    def play(
        self,
        take: Callable[[Record], bool | None],
        *,
        paced: bool = False,
        meta: bool = False,
        from_ns: int = 0,
        until_ns: int = 0,
        limit_records: int = 0,
        limit_errors: int = 0,
        fault: Callable[[ChariOError], bool | None] | None = None,
        wait: Callable[[], bool | None] | None = None,
    ) -> Played:
        """Give the records from here on to ``take``, up to the newest, or with ``follow`` until the recording is ended.

        With ``paced`` as much time passes between records as when they were recorded.  Marked
        records are left out without ``meta``, and those of times before ``from_ns`` or after
        ``until_ns``.  ``fault`` is told of each error after which reading goes on,
        ``limit_errors`` at most.  ``wait`` is called before and during waits.  Each function may
        end the call by returning False, and must not use the reader.
        """
        flags = (_abi.PLAYER_PACED if paced else 0) | (_abi.PLAYER_META if meta else 0)
        raw = _abi.Player.new(
            flags=flags | (_abi.PLAYER_FOLLOW if self.follow else 0),
            from_ns=not_negative(from_ns, "from_ns"),
            until_ns=not_negative(until_ns, "until_ns"),
            limit_records=not_negative(limit_records, "limit_records"),
            limit_errors=not_negative(limit_errors, "limit_errors"),
        )
        asked = Asked(lambda at: take(self._record(_abi.Record.from_address(at), copy=True)) is False)
        raw.take = _abi.PLAYER_TAKE(asked.answer)
        raw.fault = _abi.PLAYER_FAULT(
            asked.also(lambda error: fault is not None and fault(ChariOError.of(error, self._what)) is False)
        )
        # Ctrl-c works in Python only, so waits are told in any case.
        raw.wait = _abi.PLAYER_WAIT(asked.also(lambda _player: wait is not None and wait() is False))
        self._take_back()
        with self._use() as pointer:
            result = call("chario_player_run", pointer, byref(raw))
        asked.end(result)
        if result < 0:
            raise ChariOError.of(result, self._what)
        return Played(PlayEnd(raw.end), **{name: getattr(raw, name) for name in Played.__slots__[1:]})

    def seek(self, sequence: int | None) -> None:
        """Go to a record, or to the next one present if it is gone; None means behind the newest."""
        wanted = (1 << 64) - 1 if sequence is None else not_negative(sequence, "sequence")
        self._take_back()
        with self._use() as pointer:
            checked(self._what, "chario_reader_seek", pointer, wanted)

    def seek_newest(self, records: int) -> None:
        """Go before the newest records, or before the oldest if there are fewer."""
        self._take_back()
        with self._use() as pointer:
            checked(self._what, "chario_reader_seek_newest", pointer, not_negative(records, "records"))

    def seek_time(self, time_ns: int) -> None:
        """Go to the first record of a time (nanoseconds since 1970) or later.

        If the clock was set back, it is the one with the earliest of these times.
        """
        self._take_back()
        with self._use() as pointer:
            checked(self._what, "chario_reader_seek_time", pointer, not_negative(time_ns, "time_ns"))

    @property
    def recording(self) -> Recording:
        """The present state of the recording."""
        raw = _abi.Recording.new()
        with self._use() as pointer:
            checked(self._what, "chario_reader_get_recording", pointer, byref(raw), sizeof(raw))
        plain = {name: getattr(raw, name) for name in Recording.__slots__[3:]}
        return Recording(bool(raw.ended), bool(raw.ring), bool(raw.live), **plain)

    def _may_close(self) -> None:
        self._take_back()
