# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""A buffer: memory that is mapped for the drive once and used by many transfers.

buffer = Buffer.pool(store, 1 << 20)        memory that the library allocates
pixels = numpy.frombuffer(buffer, "<u2")    no copy
area.load(buffer)                           DMA directly to the pixels

buffer = Buffer.register(store, pixels)     memory of an existing object
"""

from __future__ import annotations

import mmap
from abc import abstractmethod
from ctypes import byref, c_uint64

from chario import _abi
from chario._library import checked, freeing, opened
from chario._memory import Borrowed, BufferLike, borrowed, viewed
from chario._resource import Resource
from chario.device import Device, not_negative, piece
from chario.errors import ChariOError
from chario.store import Store, device_of

_free = freeing("chario_buffer_free")


class Buffer(Resource):
    """A buffer, made by pool() or register()."""

    _rank = 1
    _device: Device
    # Transfers of queues that have not been reaped.
    _in_flight: set[object]

    @staticmethod
    def pool(owner: Device | Store, size: int, *, source: bool = False, streaming: bool = False) -> PoolBuffer:
        """Make a buffer of zeroed memory near the drive; with ``source`` it is only written from.

        With ``streaming`` the program calls give_to_device() and give_to_cpu(), which is
        needed on machines whose DMA does not see the CPU's caches.
        """
        return PoolBuffer._make(device_of(owner), size, _flags(source, streaming))

    @staticmethod
    def register(
        owner: Device | Store, memory: BufferLike, *, source: bool = False, streaming: bool = False
    ) -> RegisteredBuffer:
        """Make a buffer of an object's memory: an array, a bytearray, an mmap; read-only with ``source``.

        The memory must be aligned to ``device.info.dma_alignment_bytes``; the object is kept,
        and cannot change its size until the buffer is closed.
        """
        return RegisteredBuffer(device_of(owner), memory, _flags(source, streaming))

    @property
    @abstractmethod
    def memory(self) -> memoryview:
        """The bytes, without a copy."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """The length in bytes."""

    def _adopt(self, device: Device, pointer: int) -> None:
        self._device = device
        self._in_flight = set()
        self._own(pointer, _free, device)

    def _may_close(self) -> None:
        if self._in_flight:
            raise BufferError(f"{len(self._in_flight)} transfers of a queue use the buffer: reap() them first")

    def give_to_device(self, size: int | None = None, *, offset: int = 0) -> None:
        """Hand bytes that the CPU has written to the drive, in a streaming buffer before a transfer."""
        self._sync(_abi.SYNC_FOR_DEVICE, size, offset)

    def give_to_cpu(self, size: int | None = None, *, offset: int = 0) -> None:
        """Hand bytes that the drive has written to the CPU, in a streaming buffer after a read."""
        self._sync(_abi.SYNC_FOR_CPU, size, offset)

    def _sync(self, direction: int, size: int | None, offset: int) -> None:
        size = piece(self, size, offset)
        with self._use() as pointer:
            checked(f"{self._device.path}: sync", "chario_buffer_sync", pointer, offset, size, direction)


class PoolBuffer(Buffer, mmap.mmap):  # type: ignore[misc, override]  # closed and __exit__ are Resource's
    """Memory for transfers: an mmap object, with all methods of mmap.

    As with mmap, close() raises BufferError as long as another object has a view of the
    memory: a memoryview, an array.
    """

    def __len__(self) -> int:
        return mmap.mmap.__len__(self)

    @classmethod
    def _make(cls, device: Device, size: int, flags: int) -> PoolBuffer:
        # The memory of a file's buffers belongs to the process in any case.
        make = cls._of_module if device.info.abi_version else cls._of_process
        return make(device, not_negative(size, "size"), flags)

    @classmethod
    def _of_module(cls, device: Device, size: int, flags: int) -> PoolBuffer:
        with device._use() as owner:
            pointer = opened(_what(device, size), _free, "chario_buffer_pool", owner, size, flags)
            try:
                offset = c_uint64()
                fd = checked(_what(device, size), "chario_buffer_mapping", pointer, byref(offset))
                self = cls(fd, size, offset=offset.value)
            except BaseException:
                _free(pointer)
                raise
            self._adopt(device, pointer)
            return self

    @classmethod
    def _of_process(cls, device: Device, size: int, flags: int) -> PoolBuffer:
        self = cls(-1, size)
        with device._use() as owner, borrowed(self, writable=True) as (address, _):
            pointer = opened(_what(device, size), _free, "chario_buffer_register", owner, address, size, flags)
            self._adopt(device, pointer)
        return self

    @property
    def memory(self) -> memoryview:
        """The bytes, without a copy; the buffer cannot be closed while such views exist."""
        return memoryview(self)

    @property
    def nbytes(self) -> int:
        """The length in bytes."""
        return len(self)

    def resize(self, newsize: int) -> None:
        """Raise an error: the drive knows the place of the memory."""
        raise BufferError(f"a buffer keeps its size, {len(self)} bytes: make another one of {newsize}")

    def _may_close(self) -> None:
        super()._may_close()
        try:
            mmap.mmap.close(self)
        except BufferError:
            raise BufferError("memoryviews or arrays of the buffer are still there: delete or release() them") from None


class RegisteredBuffer(Buffer):
    """The memory of another object, ``obj``, which views are views of."""

    def __init__(self, device: Device, memory: BufferLike, flags: int) -> None:
        """Make the buffer for Buffer.register()."""
        self.obj = memory
        self._view = viewed(memory)
        self._loan = Borrowed(memory, writable=not flags & _abi.BUFFER_SOURCE)
        address, size = self._loan.address, self._loan.size
        try:
            _check_place(address, size, device.info.dma_alignment_bytes)
            with device._use() as owner:
                pointer = opened(_what(device, size), _free, "chario_buffer_register", owner, address, size, flags)
                self._adopt(device, pointer)
        except (ChariOError, ValueError):
            self._let_go()
            raise

    @property
    def memory(self) -> memoryview:
        """The bytes, without a copy."""
        with self._use():
            return self._view[:]

    @property
    def nbytes(self) -> int:
        """The length in bytes."""
        return self._loan.size

    def __len__(self) -> int:
        return self.nbytes

    def __buffer__(self, flags: int) -> memoryview:
        return self.memory

    def _let_go(self) -> None:
        self._view.release()
        self._loan.release()

    def _end(self, pointer: int) -> None:
        super()._end(pointer)
        self._let_go()


def _check_place(address: int, size: int, alignment: int) -> None:
    if not size:
        raise ValueError("a buffer of no bytes")
    if address % alignment:
        raise ValueError(f"the memory does not begin at a multiple of {alignment} bytes, as that of an mmap does")


def _flags(source: bool, streaming: bool) -> int:
    return (_abi.BUFFER_SOURCE if source else 0) | (_abi.BUFFER_STREAMING if streaming else 0)


def _what(device: Device, size: int) -> str:
    return f"{device.path}: a buffer of {size} bytes"
