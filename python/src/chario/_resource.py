# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""A resource: an object of the library, who uses it now, and what lives in it."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Self

from chario._uses import Use, Uses, in_this_thread, left_to_the_kernel, wait_for_others

Free = Callable[[int], object]


class Resource:
    """Closed once: by close(), by the end of a ``with``, or when nobody has it any more.

    Closing closes first what lives in it, and waits for calls of other threads.  A
    child of fork() has it not: nothing of the parent's ends with the child.
    """

    _pointer: int = 0
    # The thread that closes it: others begin no more uses, and nothing is put into it.
    _closer: int = 0
    # Of what lives in one resource, the least is closed first.
    _rank: int = 2

    def _own(self, pointer: int, free: Free, parent: Resource | None) -> None:
        """Take over a pointer; the caller uses the parent meanwhile, which cannot be closed.

        The finalizer keeps the parent as long as the pointer.
        """
        self._parent = parent
        self._free = free
        self._children: weakref.WeakSet[Resource] = weakref.WeakSet()
        self._process = os.getpid()
        self._users: Uses = {}
        self._closing = threading.Lock()
        self._finalize = weakref.finalize(self, _give_back, free, pointer, parent, self._process)
        self._pointer = pointer
        if parent is not None:
            parent._children.add(self)

    @property
    def closed(self) -> bool:
        """Whether it has been closed."""
        # Finalizers come before the last functions of a program, and in a cycle that
        # nobody has any more before the end of its generators.
        return not self._pointer or not self._finalize.alive

    def _use(self) -> _Access:
        """``with`` gives the pointer, which nobody takes away meanwhile."""
        # One that has never been opened has no users.
        self._usable()
        return _Access(self)

    def _usable(self) -> int:
        """The pointer, or an error that says why there is none."""
        name = type(self).__name__.lower()
        if self._pointer and os.getpid() != self._process:
            raise RuntimeError(f"a {name} does not pass fork(): open it again in the child")
        if self.closed or self._closer:
            raise ValueError(f"I/O operation on closed {name}")
        return self._pointer

    def _may_close(self) -> None:
        """Raise where it cannot be closed now; nothing has happened then."""

    def close(self) -> None:
        """Close it, and what lives in it; a second time does nothing."""
        if not self._pointer and not self._closer:
            return
        if os.getpid() != self._process:
            self._finalize.detach()
            self._pointer = 0
            return
        if self._closer == threading.get_ident() or in_this_thread(self._users):
            name = type(self).__name__.lower()
            raise RuntimeError(f"the {name} is in use by a call that this close() interrupts: close it afterwards")
        # Whoever is closing it already has closed it when that is over.
        with Use(), self._closing:
            if self._pointer:
                self._close()

    def _close(self) -> None:
        try:
            self._closer = threading.get_ident()
            wait_for_others(self._users)
            for child in sorted(self._children, key=lambda child: child._rank):
                child.close()
            pointer = self._take()
            if pointer:
                self._end(pointer)
        finally:
            self._closer = 0

    def _take(self) -> int:
        """The pointer, which is nobody's then; 0 where a finalizer has freed it."""
        if self._finalize.alive:
            self._may_close()
        pointer, self._pointer = self._pointer, 0
        try:
            # Finalizers of what lived in it begin without asking.
            wait_for_others(self._users)
        except BaseException:
            self._pointer = pointer
            raise
        return pointer if self._finalize.detach() else 0

    def _end(self, pointer: int) -> None:
        """Give the pointer back to the library."""
        self._free(pointer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Access(Use):
    """A use of a resource, whose ``with`` gives the pointer."""

    def __init__(self, resource: Resource) -> None:
        super().__init__(resource._users)
        self._resource = resource

    def _given(self) -> int:
        return self._resource._usable()


def _give_back(free: Free, pointer: int, parent: Resource | None, process: int) -> None:
    """The end of a resource that was not closed: its parent is still there.

    What a daemon thread does not let go when the program ends is left to the kernel.
    """
    if os.getpid() != process:
        return
    use = Use(None if parent is None else parent._users)
    try:
        use.begin()
        if not left_to_the_kernel() and (parent is None or parent._pointer):
            free(pointer)
    finally:
        use.end()
