# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Memory that crosses the border to C, in both directions.

    with borrowed(data) as (address, size):     an object's memory, for a call
    loans.lend(address, size)                   the library's memory, as a memoryview

Nothing is copied.  Loans are counted, so that memory is never freed while a view
of it exists.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

if TYPE_CHECKING:
    from typing_extensions import Buffer


class ArrayLike(Protocol):
    """An array whose types, for Python 3.11, do not say that it has memory."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...


# An object with memory that C can access: bytes, a bytearray, an mmap, an array.
BufferLike: TypeAlias = "Buffer | ArrayLike"

WRITABLE = 1  # PyBUF_WRITABLE; without it a read-only view will do


class PyBuffer(ctypes.Structure):
    """Py_buffer of Python's stable ABI."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_void_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    )


_get = ctypes.pythonapi.PyObject_GetBuffer
_get.argtypes = (ctypes.py_object, ctypes.POINTER(PyBuffer), ctypes.c_int)
_release = ctypes.pythonapi.PyBuffer_Release
_release.argtypes = (ctypes.POINTER(PyBuffer),)
_release.restype = None


class Borrowed:
    """The memory of an object, which can be neither moved nor freed until release()."""

    def __init__(self, owner: BufferLike, *, writable: bool) -> None:
        view = PyBuffer()
        _get(owner, ctypes.byref(view), WRITABLE if writable else 0)
        self.address: int = view.buf or 0
        self.size: int = view.len
        self.release = weakref.finalize(self, _release, view)


@contextmanager
def borrowed(owner: BufferLike, *, writable: bool = False) -> Iterator[tuple[int, int]]:
    """Address and length of an object's memory, which stays where it is meanwhile."""
    loan = Borrowed(owner, writable=writable)
    try:
        yield loan.address, loan.size
    finally:
        loan.release()


def viewed(owner: BufferLike) -> memoryview:
    """All of an object's memory, as bytes."""
    return memoryview(cast("Buffer", owner)).cast("B")


class Loans:
    """Views of memory that is not Python's."""

    def __init__(self) -> None:
        self._exporters: list[weakref.ref[Any]] = []

    def lend(self, address: int, size: int) -> memoryview:
        """A writable view; everything that is derived from it keeps the loan alive."""
        exporter = (ctypes.c_ubyte * size).from_address(address)
        self._exporters = [known for known in self._exporters if known() is not None]
        self._exporters.append(weakref.ref(exporter))
        return memoryview(exporter).cast("B")

    @property
    def alive(self) -> int:
        """The number of views that still exist."""
        return sum(known() is not None for known in self._exporters)
