# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""A device: a character disk, or a block device or a file in its place."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref, sizeof
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chario import _abi
from chario._library import call, checked, freeing, opened, text
from chario._resource import Resource

if TYPE_CHECKING:
    from chario.buffer import Buffer

_close = freeing("chario_device_close")


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """The properties and features of a disk; chario(4) describes each member."""

    abi_version: int
    features: int
    capacity_bytes: int
    logical_block_bytes: int
    physical_block_bytes: int
    dma_alignment_bytes: int
    command_bytes: int
    max_command_bytes: int
    chunk_bytes: int
    boundary_bytes: int
    nr_queues: int
    nr_poll_queues: int
    queue_depth: int
    deadline_ns: int
    recovery_bound_ns: int
    namespace_id: int
    index: int
    backend: str
    serial: str
    model: str
    firmware: str
    command_limit: int
    write_alignment_bytes: int
    deallocate_alignment_bytes: int
    optimal_write_bytes: int
    atomic_write_bytes: int
    region: int
    offset_bytes: int


@dataclass(frozen=True, slots=True)
class DeviceStats:
    """The counters of a disk."""

    read_commands: int
    write_commands: int
    flush_commands: int
    read_bytes: int
    write_bytes: int
    errors: int
    timeouts: int
    interrupted: int
    aborts: int
    resets: int
    sq_doorbells: int
    cq_doorbells: int
    interrupts: int
    late_reaps: int
    discard_commands: int
    discard_bytes: int
    write_zeroes_commands: int
    write_zeroes_bytes: int


class Device(Resource):
    """An open disk.  ``Device("0")``, ``Device("/dev/chardisk0")``, ``Device("./image")``."""

    def __init__(self, name: str | os.PathLike[str], *, writable: bool = False, direct: bool = False) -> None:
        """Open a disk; with ``direct``, a file without direct I/O is an error."""
        flags = (os.O_RDWR if writable else os.O_RDONLY) | (os.O_DIRECT if direct else 0)
        self._own(
            opened(f"{os.fspath(name)}", _close, "chario_device_open_any", os.fsencode(name), flags), _close, None
        )

    @classmethod
    def _of_store(cls, store: Resource, pointer: int) -> Device:
        """Make the object of the device that a store owns and closes."""
        device = cls.__new__(cls)
        device._own(pointer, lambda _at: None, store)
        device._rank = 0
        return device

    @classmethod
    def _confined(cls, what: str, function: str, *arguments: object) -> Device:
        """Make the object of a device that a function of the library confines."""
        device = cls.__new__(cls)
        device._own(opened(what, _close, function, *arguments), _close, None)
        return device

    @property
    def path(self) -> str:
        """The path that the device was opened by."""
        with self._use() as pointer:
            return text("chario_device_path", pointer) or ""

    @property
    def info(self) -> DeviceInfo:
        """The properties and features of the device."""
        raw = _abi.DeviceInfo.new()
        with self._use() as pointer:
            checked(self.path, "chario_device_get_info", pointer, byref(raw), sizeof(raw))
        members: dict[str, Any] = {name: plain(getattr(raw, name)) for name in DeviceInfo.__slots__}
        return DeviceInfo(**members)

    @property
    def stats(self) -> DeviceStats:
        """The counters of the device; a file has none, which is ENOTTY."""
        raw = _abi.DeviceStats.new()
        with self._use() as pointer:
            checked(self.path, "chario_device_get_stats", pointer, byref(raw), sizeof(raw))
        return DeviceStats(*(getattr(raw, name) for name in DeviceStats.__slots__))

    def set_urgent(self, urgent: bool = True) -> None:
        """Have file systems on the same drive stand back while calls of this device are under way, or not."""
        with self._use() as pointer:
            checked(self.path, "chario_device_set_urgent", pointer, int(urgent))

    def confine(self, disk_offset: int, size: int, *, read_only: bool = False) -> Device:
        """Return a device that reaches this range and nothing else; its ``fileno()`` may be given away."""
        with self._use() as pointer:
            what = f"{self.path}: {size} bytes at {disk_offset}"
            place = (not_negative(disk_offset, "disk_offset"), size)
            return self._confined(what, "chario_device_confine", pointer, *place, int(read_only))

    def fileno(self) -> int:
        """Return the descriptor, for read(2), write(2) and fsync(2); the device keeps owning it."""
        with self._use() as pointer:
            return call("chario_device_fd", pointer)

    def read(
        self, buffer: Buffer, disk_offset: int, size: int | None = None, *, offset: int = 0, poll: bool = False
    ) -> int:
        """Read from the disk into a buffer; return the number of bytes, fewer at the end of the disk."""
        return self._move(_abi.TRANSFER_READ, buffer, disk_offset, size, offset, flags_of(poll=poll))

    def write(
        self,
        buffer: Buffer,
        disk_offset: int,
        size: int | None = None,
        *,
        offset: int = 0,
        durable: bool = False,
        poll: bool = False,
    ) -> int:
        """Write from a buffer to the disk; return the number of bytes; ``durable`` uses Force Unit Access."""
        flags = flags_of(durable=durable, poll=poll)
        return self._move(_abi.TRANSFER_WRITE, buffer, disk_offset, size, offset, flags)

    def flush(self) -> None:
        """Make all written bytes durable."""
        self._move(_abi.TRANSFER_FLUSH, None, 0, 0, 0, 0)

    def _move(self, op: int, buffer: Buffer | None, disk_offset: int, size: int | None, offset: int, flags: int) -> int:
        with self._use() as pointer, transfer(self, op, buffer, disk_offset, size, offset, flags) as raw:
            what = f"{self.path}: {VERBS[op]}" + (
                f" of {raw.bytes} bytes at {disk_offset}" if buffer is not None else ""
            )
            return checked(what, "chario_transfer", pointer, byref(raw), sizeof(raw))


VERBS = {_abi.TRANSFER_READ: "read", _abi.TRANSFER_WRITE: "write", _abi.TRANSFER_FLUSH: "flush"}


@contextmanager
def transfer(
    device: Resource | None, op: int, buffer: Buffer | None, disk_offset: int, size: int | None, offset: int, flags: int
) -> Iterator[_abi.Transfer]:
    """Make the C struct of a transfer, whose buffer cannot be closed meanwhile."""
    raw = _abi.Transfer.new(
        op=op, flags=flags, disk_offset=not_negative(disk_offset, "disk_offset"), buffer_offset=offset
    )
    if buffer is None:
        yield raw
        return
    if buffer._device is not device:
        raise ValueError("the buffer is another device's")
    raw.bytes = piece(buffer, size, offset)
    with buffer._use() as memory:
        raw.buffer = call("chario_buffer_id", memory)
        yield raw


def flags_of(*, durable: bool = False, poll: bool = False) -> int:
    """Return the flags of a transfer."""
    return (_abi.TRANSFER_FUA if durable else 0) | (_abi.TRANSFER_POLL if poll else 0)


def plain(value: int | bytes) -> int | str:
    """Convert a member of a struct to Python."""
    return os.fsdecode(value).strip() if isinstance(value, bytes) else value


def not_negative(number: int, name: str) -> int:
    """Check the argument of this name, a number that C takes as unsigned."""
    try:
        number = operator.index(number)
    except TypeError:
        raise TypeError(f"{name} is {number!r}, not a whole number") from None
    if number < 0:
        raise ValueError(f"{name} is {number}, which is negative")
    return number


def piece(buffer: Buffer, size: int | None, offset: int) -> int:
    """Return the number of bytes of a buffer to use; None means all that follow the offset."""
    if not_negative(offset, "the offset in the buffer") > buffer.nbytes:
        raise ValueError(f"offset {offset} is not inside the buffer of {buffer.nbytes} bytes")
    wanted = buffer.nbytes - offset if size is None else not_negative(size, "size")
    if wanted > buffer.nbytes - offset:
        raise ValueError(f"{wanted} bytes at {offset} are not inside the buffer of {buffer.nbytes} bytes")
    return min(wanted, _abi.TRANSFER_MAX)
