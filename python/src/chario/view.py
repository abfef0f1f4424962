# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""A view: an area, or a part of it, in a buffer; only changed blocks are written back.

with area.view(buffer) as view:
    pixels = numpy.frombuffer(view.memory, "<u2")   # no copy
    pixels[1000] = 7
    del pixels
# the one block that has changed has been written
"""

from __future__ import annotations

import errno
from ctypes import byref, c_uint64
from enum import IntEnum
from functools import partial
from types import TracebackType

from chario import _abi
from chario._library import call, checked, function, opened
from chario._memory import borrowed
from chario._resource import Resource
from chario.area import Area
from chario.buffer import Buffer
from chario.device import not_negative
from chario.errors import ChariOError


class Tracking(IntEnum):
    """The way changed blocks are found; chario_view(3) has the costs."""

    AUTO = _abi.TRACKING_AUTO
    MARKS = _abi.TRACKING_MARKS
    WRITE_PROTECT = _abi.TRACKING_WRITE_PROTECT
    COMPARE = _abi.TRACKING_COMPARE


class View(Resource):
    """A loaded part of an area, returned by Area.view().

    Leaving a ``with`` without an exception flushes and unloads; with an exception, changes
    are not written.  close() flushes, too, as does closing the area, the buffer or the
    store; the view has ended then even if the flush fails, and the error is raised.  A
    view that no variable holds any more is unloaded without a flush.
    """

    def __init__(
        self,
        area: Area,
        buffer: Buffer,
        offset: int = 0,
        size: int | None = None,
        *,
        buffer_offset: int = 0,
        tracking: Tracking = Tracking.AUTO,
    ) -> None:
        """Load a part of an open area; None means all that follows the offset."""
        size = max(area.nbytes - not_negative(offset, "offset"), 0) if size is None else not_negative(size, "size")
        _check_room(buffer, size, buffer_offset)
        self._what = f"view of {area._what}, {size} bytes at {offset}"
        self._area, self._buffer = area, buffer
        self._buffer_offset = buffer_offset
        self._flushes = area.writable
        #: Offset in the area, and length in bytes; blocks are always whole.
        self.offset, self.nbytes = not_negative(offset, "offset"), size
        with area._use() as its, buffer._use() as memory:
            kind = self._possible(memory, Tracking(tracking))
            # The buffer stays until the view is gone, in whatever order both are freed.
            drop = partial(_drop, buffer)
            mine = opened(self._what, drop, "chario_view_load", its, offset, size, memory, buffer_offset, kind)
            self._own(mine, drop, area)
            buffer._children.add(self)

    def _possible(self, memory: int, wanted: Tracking) -> Tracking:
        """The library watches the pages of its own mapping, which may not be Python's."""
        if not self._area.writable and wanted is Tracking.AUTO:
            return wanted
        with self._buffer.memory as ours, borrowed(ours) as (address, _):
            if address == function("chario_buffer_memory")(memory):
                return wanted
        if wanted is Tracking.WRITE_PROTECT:
            raise ChariOError.of(-errno.EOPNOTSUPP, self._what)
        return Tracking.COMPARE if wanted is Tracking.AUTO else wanted

    @property
    def memory(self) -> memoryview:
        """The bytes, without a copy; of an area that is open for reading they are read-only.

        The bytes belong to the buffer, and stay when the view ends.
        """
        with self._use(), self._buffer.memory as all_of_it:
            part = all_of_it[self._buffer_offset : self._buffer_offset + self.nbytes]
            return part if self._area.writable else part.toreadonly()

    @property
    def tracking(self) -> Tracking:
        """The way changed blocks are found; never AUTO."""
        with self._use() as pointer:
            return Tracking(call("chario_view_tracking", pointer))

    @property
    def dirty_bytes(self) -> int:
        """Bytes of the blocks that flush() would write now."""
        count = c_uint64()
        with self._use() as pointer:
            checked(self._what, "chario_view_dirty_bytes", pointer, byref(count))
        return count.value

    def mark(self, offset: int = 0, size: int | None = None) -> None:
        """Mark bytes of the view after a change; None means all that follow.

        Tracking.MARKS needs this, and the other ways do for changes that they do not see,
        such as Area.load() to the memory.
        """
        size = max(self.nbytes - not_negative(offset, "offset"), 0) if size is None else not_negative(size, "size")
        with self._use() as pointer:
            checked(
                f"{self._what}: mark of {size} at {offset}",
                "chario_view_mark",
                pointer,
                not_negative(offset, "offset"),
                size,
            )

    def flush(self, *, durable: bool = False) -> int:
        """Write the blocks that have changed; return their bytes.

        ``durable`` writes each with Force Unit Access; other blocks are durable after
        Area.sync().  A block that could not be written stays changed.
        """
        with self._use() as pointer:
            return self._write(pointer, _abi.TRANSFER_FUA if durable else 0)

    def _write(self, pointer: int, flags: int) -> int:
        written = c_uint64()
        checked(f"{self._what}: flush", "chario_view_flush", pointer, flags, byref(written))
        return written.value

    def reload(self) -> None:
        """Read the blocks from the disk again; changes in memory are lost."""
        with self._use() as pointer:
            checked(f"{self._what}: reload", "chario_view_reload", pointer)

    def unload(self, *, flush: bool = True) -> None:
        """End the view; a second call does nothing.

        If the flush fails, the view stays, and can be flushed again, or unloaded without a flush.
        """
        if self.closed:
            return
        if flush and self._flushes:
            self.flush()
        self._flushes = False
        self.close()

    def _end(self, pointer: int) -> None:
        try:
            if self._flushes:
                self._write(pointer, 0)
        finally:
            super()._end(pointer)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._flushes = False
        self.close()


def _drop(_buffer: Buffer, pointer: int) -> None:
    """Unload without a flush; the buffer is kept until now."""
    call("chario_view_unload", pointer, 0)


def _check_room(buffer: Buffer, size: int, offset: int) -> None:
    """Check that the buffer has room for whole blocks."""
    needed = -(-size // _abi.STORE_BLOCK) * _abi.STORE_BLOCK
    if not_negative(offset, "buffer_offset") + needed > buffer.nbytes:
        raise ValueError(
            f"{needed} bytes at {offset} are not inside the buffer of {buffer.nbytes} bytes: "
            "view less of the area, or take a larger buffer"
        )
