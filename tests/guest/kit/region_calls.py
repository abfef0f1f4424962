# SPDX-License-Identifier: MIT
"""Regions and confined files as a program in a guest sees them: what tests prefix their scripts with.

It runs in a guest, see test_regions.py.
"""

import ctypes
import errno
import fcntl
import os
import struct
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

# <chario/uapi.h>
SET_REGIONS = 0xC460
CONFINE = 0xC461
INFO = 0xC400
FILE_OPTIONS = 0xC403
ANY_SIZE = 1
BLKGETSIZE64 = 0x80081272


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """What a call has returned; the name of its errno."""
    try:
        return function(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno or 0]


def call(fd: int, number: int, argument: bytes) -> int:
    """An ioctl; what it has returned."""
    return int(fcntl.ioctl(fd, number, bytearray(argument), True))


def set_regions(fd: int, table: Iterable[tuple[int, int, int]]) -> Any:
    """Set the regions of a disk: number, offset and length of each."""
    rows = [struct.pack("<IIQQ", number, 0, offset, length) for number, offset, length in table]
    array = ctypes.create_string_buffer(b"".join(rows), max(1, 24 * len(rows)))
    argument = struct.pack("<IIQ", 16, len(rows), ctypes.addressof(array))
    return outcome(call, fd, SET_REGIONS, argument)


def regions(disk: str) -> set[tuple[int, int, int]]:
    """The regions that a disk has."""
    found = set()
    for folder in Path(f"/sys/class/chario/{disk}").glob(f"{disk}p*"):
        values = [int((folder / file).read_text()) for file in ("region", "start", "size")]
        found.add((values[0], values[1], values[2]))
    return found


def confine(fd: int, offset: int, length: int, flags: int = 0) -> int:
    """A file that is confined to a range of another one."""
    return call(fd, CONFINE, struct.pack("<IIQQ", 24, flags, offset, length))


def aligned(size: int, value: int = 0) -> memoryview:
    """Memory that any disk takes, with one value throughout."""
    memory = ctypes.create_string_buffer(size + 4096)
    skip = -ctypes.addressof(memory) % 4096
    ctypes.memset(ctypes.addressof(memory) + skip, value, size)
    return memoryview(memory)[skip : skip + size].cast("B")


def write(fd: int, at: int, size: int, value: int, flags: int = 0) -> Any:
    """Write one value to a range."""
    return outcome(os.pwritev, fd, [aligned(size, value)], at, flags)


def read(fd: int, at: int, size: int, flags: int = 0) -> Any:
    """The bytes of a range, which may be fewer at the end; the name of an errno."""
    memory = aligned(size)
    got = outcome(os.preadv, fd, [memory], at, flags)
    return got if isinstance(got, str) else bytes(memory[:got])


def size_of(fd: int) -> tuple[int, int]:
    """The size of an open file as an ioctl says it, and as lseek() does."""
    got = fcntl.ioctl(fd, BLKGETSIZE64, bytes(8))
    return struct.unpack("<Q", got)[0], os.lseek(fd, 0, os.SEEK_END)


def place_of(fd: int) -> tuple[int, int, int]:
    """Region, offset on the disk and length of an open file, as CHARIO_IOC_INFO says."""
    info = fcntl.ioctl(fd, INFO, struct.pack("<I228x", 232))
    return (
        *struct.unpack_from("<I", info, 204),
        *struct.unpack_from("<Q", info, 224),
        *struct.unpack_from("<Q", info, 16),
    )


def any_size(fd: int) -> Any:
    """Allow calls of any size on a file."""
    return outcome(call, fd, FILE_OPTIONS, struct.pack("<IIQII", 24, 0, 0, 0, ANY_SIZE))
