# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""A queue: many transfers in flight at once, without a thread for each.

    queue = Queue(store, depth=32)
    for number in range(32):
        queue.read(buffer, disk_offset=number * step, size=step, offset=number * step, user=number)
    queue.submit()
    while queue.pending:
        for result in queue.reap():
            use(result.user, result.value)

With asyncio, ``loop.add_reader(queue, take)`` calls ``take`` when results are there,
which ``queue.reap(timeout=0)`` returns.
"""

from __future__ import annotations

import errno
from ctypes import byref, memset, sizeof
from dataclasses import dataclass
from itertools import takewhile

from chario import _abi
from chario._library import call, checked, freeing, opened
from chario._patience import Patience
from chario._resource import Resource
from chario.buffer import Buffer
from chario.device import Device, flags_of, not_negative, transfer
from chario.errors import ChariOError
from chario.store import Store, device_of

_close = freeing("chario_queue_close")

# A number that no transfer has; it marks an entry without a result.
_NOBODY = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a transfer: bytes, or a negative errno."""

    user: object
    value: int

    @property
    def bytes(self) -> int:
        """The number of bytes that were moved; raises the error of a failed transfer."""
        if self.value < 0:
            raise ChariOError.of(self.value, "transfer")
        return self.value


@dataclass(frozen=True, slots=True, eq=False)
class _Transfer:
    """A transfer that has been added."""

    user: object
    buffer: Buffer | None


class Queue(Resource):
    """Transfers of a device that are under way; one thread at a time uses it."""

    _rank = 0

    def __init__(self, owner: Device | Store, depth: int = 32, *, polled: bool = False) -> None:
        """Make a queue of up to 4096 transfers; ``polled`` uses no interrupts."""
        device = device_of(owner)
        self._pending: dict[int, _Transfer] = {}
        self._next = 0
        # Transfers that the library may have or not: ctrl-c arrived when they were added.
        self._doubtful: set[int] = set()
        self._results = (_abi.QueueResult * min(not_negative(depth, "depth"), 256))()
        self._found: dict[int, Result] = {}
        self._forget_results()
        with device._use() as pointer:
            flags = _abi.QUEUE_POLL if polled else 0
            mine = opened(f"{device.path}: a queue", _close, "chario_queue_open", pointer, depth, flags)
            self._own(mine, _close, device)

    def read(
        self, buffer: Buffer, disk_offset: int, size: int | None = None, *, offset: int = 0, user: object = None
    ) -> None:
        """Add a read of the disk into a buffer."""
        self._add(_abi.TRANSFER_READ, buffer, disk_offset, size, offset, user, 0)

    def write(
        self,
        buffer: Buffer,
        disk_offset: int,
        size: int | None = None,
        *,
        offset: int = 0,
        user: object = None,
        durable: bool = False,
    ) -> None:
        """Add a write from a buffer to the disk."""
        self._add(_abi.TRANSFER_WRITE, buffer, disk_offset, size, offset, user, flags_of(durable=durable))

    def flush(self, *, user: object = None) -> None:
        """Add a flush of the writes whose results have been taken when the flush is submitted."""
        self._add(_abi.TRANSFER_FLUSH, None, 0, 0, 0, user, 0)

    def _add(
        self, op: int, buffer: Buffer | None, disk_offset: int, size: int | None, offset: int, user: object, flags: int
    ) -> None:
        with self._use() as pointer, transfer(self._parent, op, buffer, disk_offset, size, offset, flags) as raw:
            self._enter(pointer, raw, user, buffer)

    def _enter(self, pointer: int, raw: _abi.Transfer, user: object, buffer: Buffer | None) -> None:
        number = self._next
        self._next += 1
        self._doubtful.add(number)
        self._pending[number] = added = _Transfer(user, buffer)
        if buffer is not None:
            buffer._in_flight.add(added)
        result = call("chario_queue_add", pointer, byref(raw), number)
        self._doubtful.discard(number)
        if not result:
            return
        self._let_go(number)
        if result == -errno.EAGAIN:
            raise BlockingIOError(errno.EAGAIN, "the queue is full: submit() and reap() before adding more")
        raise ChariOError.of(result, "transfer")

    def submit(self) -> None:
        """Start all added transfers."""
        with self._use() as pointer:
            checked("queue", "chario_queue_submit", pointer)

    def reap(self, timeout: float | None = None) -> list[Result]:
        """Take results and wait for the first; a timeout of 0 only looks, None waits for ever.

        The list is empty after the timeout, or if nothing is in flight.
        """
        patience = Patience(timeout)
        with self._use() as pointer:
            while True:
                # A call that ctrl-c has ended may have left results.
                if not self._found and self._results[0].user == _NOBODY:
                    size = len(self._results)
                    checked("queue", "chario_queue_reap", pointer, self._results, size, patience.piece_ns)
                found = self._take_results()
                if found or patience.over or not call("chario_queue_in_flight", pointer):
                    return found

    def _take_results(self) -> list[Result]:
        """Take the results that the library has stored; after ctrl-c the next call continues."""
        for raw in takewhile(lambda raw: raw.user != _NOBODY, self._results):
            if raw.user in self._pending:
                self._found[raw.user] = Result(self._pending[raw.user].user, raw.result)
                self._let_go(raw.user)
        self._forget_results()
        found = list(self._found.values())
        self._found = {}
        return found

    def _forget_results(self) -> None:
        memset(self._results, 0xFF, sizeof(self._results))

    def _let_go(self, number: int) -> None:
        """Forget a transfer that has ended."""
        ended = self._pending[number]
        if ended.buffer is not None:
            ended.buffer._in_flight.discard(ended)
        self._doubtful.discard(number)
        del self._pending[number]

    @property
    def pending(self) -> int:
        """Transfers that have been added and whose results have not been taken."""
        return len(self._pending) - len(self._doubtful)

    def fileno(self) -> int:
        """Return a descriptor for an event loop, readable as long as results wait to be taken."""
        with self._use() as pointer:
            return checked("queue", "chario_queue_fd", pointer)

    def _end(self, pointer: int) -> None:
        super()._end(pointer)
        for number in list(self._pending):
            self._let_go(number)
