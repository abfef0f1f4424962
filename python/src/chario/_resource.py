# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""A resource: an object of the library, who uses it now, and what lives in it."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

Free = Callable[[int], object]

# Longer than a call takes that looks now and then whether it is to end.
_EXIT_S = 2.0

# Uses under way, of all resources.  Adding and discarding need no lock.
_uses: set[object] = set()
_exiting = threading.Event()


def _begin_exit() -> None:
    """The program ends: daemon threads begin no more uses, and those under way end."""
    _exiting.set()
    end = time.monotonic() + _EXIT_S
    while _uses and time.monotonic() < end:
        time.sleep(0.001)


def _begin_use() -> object:
    """A use; a daemon thread that comes when the program ends stays here until it has."""
    use = object()
    _uses.add(use)
    if _exiting.is_set() and threading.current_thread() is not threading.main_thread():
        _uses.discard(use)
        threading.Event().wait()
    return use


class Resource:
    """Closed once: by close(), by the end of a ``with``, or when nobody has it any more.

    Closing closes first what lives in it, and waits for calls of other threads.  A
    child of fork() has it not: nothing of the parent's ends with the child.
    """

    _pointer: int = 0
    # Who calls again and again would never let a close() through.
    _closing: bool = False
    # Of what lives in one resource, the least is closed first.
    _rank: int = 2

    def _own(self, pointer: int, free: Free, parent: Resource | None) -> None:
        """Take over a pointer.  The finalizer keeps the parent as long as the pointer."""
        self._pointer = pointer
        self._parent = parent
        self._free = free
        self._children: weakref.WeakSet[Resource] = weakref.WeakSet()
        self._process = os.getpid()
        self._users = 0
        self._changed = threading.Condition()
        self._finalize = weakref.finalize(self, _give_back, free, pointer, parent, self._process)
        if parent is not None:
            parent._children.add(self)

    @property
    def closed(self) -> bool:
        """Whether it has been closed."""
        return not self._pointer

    @contextmanager
    def _use(self) -> Iterator[int]:
        """The pointer, which nobody takes away meanwhile."""
        if self._pointer and os.getpid() != self._process:
            raise RuntimeError(f"a {type(self).__name__.lower()} does not pass fork(): open it again in the child")
        with self._changed:
            if not self._pointer or self._closing:
                raise ValueError(f"I/O operation on closed {type(self).__name__.lower()}")
            self._users += 1
        use = _begin_use()
        try:
            yield self._pointer
        finally:
            _uses.discard(use)
            with self._changed:
                self._users -= 1
                self._changed.notify_all()

    def _may_close(self) -> None:
        """Raise where it cannot be closed now; nothing has happened then."""

    def close(self) -> None:
        """Close it, and what lives in it; a second time does nothing."""
        if not self._pointer:
            return
        if os.getpid() != self._process:
            self._finalize.detach()
            self._pointer = 0
            return
        for child in sorted(self._children, key=lambda child: child._rank):
            child.close()
        pointer = self._take()
        if pointer:
            self._end(pointer)

    def _take(self) -> int:
        """The pointer, which is nobody's then; 0 where another thread has been faster."""
        with self._changed:
            self._closing = True
            try:
                self._changed.wait_for(lambda: not self._users)
                if self._pointer:
                    self._may_close()
                    self._finalize.detach()
                pointer, self._pointer = self._pointer, 0
                return pointer
            finally:
                self._closing = False

    def _end(self, pointer: int) -> None:
        """Give the pointer back to the library."""
        self._free(pointer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _give_back(free: Free, pointer: int, parent: Resource | None, process: int) -> None:
    """The end of a resource that was not closed: its parent is still there.

    What a daemon thread does not let go when the program ends is left to the kernel.
    """
    if _exiting.is_set() and _uses:
        return
    if os.getpid() == process and (parent is None or parent._pointer):
        free(pointer)


# Finalizers run at exit too, from a function that the first of them registers: ours comes
# before it only where it is registered later.
weakref.finalize(_begin_exit, int).detach()
atexit.register(_begin_exit)
# Uses of other threads do not go on in a child.
os.register_at_fork(after_in_child=_uses.clear)
