# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""An area: a named, contiguous piece of a disk."""

from __future__ import annotations

import os
from ctypes import byref, sizeof
from typing import TYPE_CHECKING

from chario import _abi
from chario._callback import FileLike
from chario._copy import Progress, copy
from chario._library import checked, freeing, opened
from chario._memory import BufferLike, borrowed
from chario._resource import Resource
from chario.buffer import Buffer
from chario.device import Device, not_negative, piece
from chario.store import AreaInfo, Store, encoded

if TYPE_CHECKING:
    from chario.view import Tracking, View

_close = freeing("chario_area_close")


class Area(Resource):
    """An open area, returned by Store.open().

    read(), readinto() and write() take any memory and any number, and copy; load() and
    store() move whole blocks between the disk and a Buffer, without a copy; view() has
    them in a Buffer and writes back what changes; copy_in(), update() and copy_out()
    move all of it between the disk and a file.
    """

    def __init__(self, store: Store, name: str, *, writable: bool = False) -> None:
        """Open an area of an open store."""
        self._what, self._content = f"area {name}", f"content of area {name}"
        flags = os.O_RDWR if writable else os.O_RDONLY
        with store._use() as pointer:
            mine = opened(self._what, _close, "chario_area_open", pointer, encoded(name), flags)
            self._own(mine, _close, store)
        self.writable = writable

    @property
    def info(self) -> AreaInfo:
        """The description of the area."""
        raw = _abi.AreaInfo.new()
        with self._use() as pointer:
            checked(self._what, "chario_area_get_info", pointer, byref(raw), sizeof(raw))
        return AreaInfo._of(raw)

    def confine(self, *, read_only: bool = False) -> Device:
        """Return a device that reaches the area and nothing else, and keeps it in its place."""
        with self._use() as pointer:
            return Device._confined(self._what, "chario_area_confine", pointer, int(read_only))

    @property
    def name(self) -> str:
        """The name of the area when it was opened."""
        return self.info.name

    @property
    def nbytes(self) -> int:
        """The length in bytes."""
        return self.info.bytes

    def read(self, size: int | None = None, offset: int = 0) -> bytes:
        """Return bytes from an offset on, fewer at the end; None means all that follow."""
        left = max(self.nbytes - not_negative(offset, "offset"), 0)
        memory = bytearray(left if size is None else min(not_negative(size, "size"), left))
        count = self.readinto(memory, offset)
        with memoryview(memory) as view:
            return bytes(view[:count])

    def readinto(self, memory: BufferLike, offset: int = 0) -> int:
        """Read into an object's memory; return the number of bytes, fewer at the end of the area."""
        not_negative(offset, "offset")
        with borrowed(memory, writable=True) as (address, size), self._use() as pointer:
            done = 0
            while done < size:
                moved = checked(
                    f"{self._content}: read of {size} bytes at {offset}",
                    "chario_area_read",
                    *(pointer, address + done, size - done, offset + done),
                )
                if not moved:
                    break
                done += moved
            return done

    def write(self, data: BufferLike, offset: int = 0) -> int:
        """Write all of an object's memory; return the number of bytes.

        If the bytes do not fit, those that fit are written, and the error is ENOSPC.
        Written bytes are durable after sync().
        """
        not_negative(offset, "offset")
        with borrowed(data) as (address, size), self._use() as pointer:
            done = 0
            while done < size:
                done += checked(
                    f"{self._content}: write of {size} bytes at {offset}",
                    "chario_area_write",
                    *(pointer, address + done, size - done, offset + done),
                )
            return done

    def load(self, buffer: Buffer, offset: int = 0, size: int | None = None, *, buffer_offset: int = 0) -> int:
        """Read into a buffer by one transfer; return the number of bytes, fewer at the end of the area."""
        return self._transfer("read", buffer, offset, size, buffer_offset, 0)

    def store(
        self,
        buffer: Buffer,
        offset: int = 0,
        size: int | None = None,
        *,
        buffer_offset: int = 0,
        durable: bool = False,
    ) -> int:
        """Write from a buffer by one transfer; return the number of bytes, fewer at the end of the area.

        ``durable`` uses Force Unit Access; other bytes are durable after sync().
        """
        return self._transfer("write", buffer, offset, size, buffer_offset, _abi.TRANSFER_FUA if durable else 0)

    def _transfer(
        self, verb: str, buffer: Buffer, offset: int, size: int | None, buffer_offset: int, flags: int
    ) -> int:
        size = piece(buffer, size, buffer_offset)
        what = f"{self._content}: {verb} of {size} bytes at {offset}"
        with self._use() as pointer, buffer._use() as memory:
            return checked(
                what,
                f"chario_area_{verb}_buffer",
                *(pointer, memory, buffer_offset, size, not_negative(offset, "offset"), flags),
            )

    def view(
        self,
        buffer: Buffer,
        offset: int = 0,
        size: int | None = None,
        *,
        buffer_offset: int = 0,
        tracking: Tracking | None = None,
    ) -> View:
        """Load a part into a buffer, to write back changes; None means all that follows.

        ``offset`` is a multiple of 4096; ``tracking`` selects how changes are found, None is
        Tracking.AUTO.
        """
        from chario.view import Tracking, View  # noqa: PLC0415  # which knows areas

        return View(self, buffer, offset, size, buffer_offset=buffer_offset, tracking=tracking or Tracking.AUTO)

    def copy_in(
        self,
        file: FileLike,
        offset: int = 0,
        size: int | None = None,
        *,
        same_offset: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Copy from a file, pipe or socket, while the disk works; without ``size`` up to the end of the area.

        Return the number of bytes copied.  The descriptor is read from its present position, or
        with ``same_offset`` at the offset of the area; the buffer of a Python file is not
        used.  A file that ends before raises EOFError.  ``progress(done, total)`` may end the
        copy early by returning False.  The bytes are durable after sync().
        """
        flags = _abi.COPY_SAME_OFFSET if same_offset else 0
        return int(self._copy("in", file, offset, size, flags, progress).written_bytes)

    def update(
        self,
        file: FileLike,
        offset: int = 0,
        size: int | None = None,
        *,
        same_offset: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Give the area the content of a file, as copy_in() does, but write only the blocks that differ.

        Return the number of bytes written.  Each block is the old or the new one, however the
        update ends.  No view may have a part of what is updated.
        """
        flags = _abi.COPY_SAME_OFFSET if same_offset else 0
        return int(self._copy("update", file, offset, size, flags, progress).changed_bytes)

    def copy_out(
        self, file: FileLike, offset: int = 0, size: int | None = None, *, progress: Progress | None = None
    ) -> int:
        """Copy to a file, pipe or socket, while the disk reads ahead; see copy_in().

        The copy comes behind what a buffered file already holds: the file is flushed first.
        """
        if hasattr(file, "flush"):
            file.flush()
        return int(self._copy("out", file, offset, size, 0, progress).written_bytes)

    def _copy(
        self, way: str, file: FileLike, offset: int, size: int | None, flags: int, progress: Progress | None
    ) -> _abi.Copy:
        size = max(self.nbytes - not_negative(offset, "offset"), 0) if size is None else not_negative(size, "size")
        raw: _abi.Copy = _abi.Copy.new(flags=flags, offset=not_negative(offset, "offset"), bytes=size)
        what = f"{self._content}: copy of {size} bytes at {offset}"
        with self._use() as pointer:
            copy(f"chario_copy_{way}", pointer, file, raw, progress, what)
        return raw

    def sync(self) -> None:
        """Make all written bytes durable."""
        with self._use() as pointer:
            checked(self._content, "chario_area_sync", pointer)

    def set_filled(self, size: int, tag: int = 0) -> None:
        """Record how much of a ``filling`` area is there and durable; its whole length ends the filling."""
        with self._use() as pointer:
            checked(f"filling of {self._what}", "chario_area_set_filled", pointer, not_negative(size, "size"), tag)
