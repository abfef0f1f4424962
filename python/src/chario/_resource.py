# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""A resource: an object of the library, its present uses, and the resources in it."""

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
    """An object that is closed once: by close(), by the end of a ``with``, or by its finalizer.

    Closing first closes the resources in it, and waits for calls of other threads.  A
    child of fork() cannot use it, and the end of the child closes nothing of the parent.
    """

    _pointer: int = 0
    # The thread that closes it: other threads begin no more uses, and open nothing in it.
    _closer: int = 0
    # Resources in the same parent are closed in this order, the least first.
    _rank: int = 2

    def _own(self, pointer: int, free: Free, parent: Resource | None) -> None:
        """Take over a pointer; the caller uses the parent meanwhile, so that it cannot be closed.

        The finalizer keeps the parent alive as long as the pointer.
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
        """True if it has been closed."""
        # Finalizers come before the last functions of a program, and in a cycle that
        # nobody has any more before the end of its generators.
        return not self._pointer or not self._finalize.alive

    def _use(self) -> _Access:
        """Use the resource: ``with`` returns the pointer, which is not freed meanwhile."""
        # A resource that has never been opened has no users.
        self._usable()
        return _Access(self)

    def _usable(self) -> int:
        """Return the pointer, or raise an error that says why there is none."""
        name = type(self).__name__.lower()
        if self._pointer and os.getpid() != self._process:
            raise RuntimeError(f"a {name} does not pass fork(): open it again in the child")
        if self._pointer and not self._finalize.alive and threading.current_thread().daemon:
            # The program has ended, and takes this thread with it: an error would be of use to nobody.
            raise SystemExit
        if self.closed or self._closer:
            raise ValueError(f"I/O operation on closed {name}")
        return self._pointer

    def _may_close(self) -> None:
        """Raise an error, without any effect, if the resource cannot be closed now."""

    def close(self) -> None:
        """Close the resource and those in it; a second call does nothing."""
        if not self._pointer and not self._closer:
            return
        if os.getpid() != self._process:
            self._finalize.detach()
            self._pointer = 0
            return
        if self._closer == threading.get_ident() or in_this_thread(self._users):
            name = type(self).__name__.lower()
            raise RuntimeError(f"the {name} is in use by a call that this close() interrupts: close it afterwards")
        # Another thread that is closing the resource has closed it by then.
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
        """Take the pointer away from the resource and return it; 0 if a finalizer has freed it."""
        if self._finalize.alive:
            self._may_close()
        pointer, self._pointer = self._pointer, 0
        try:
            # Finalizers of the resources in it begin without a check.
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
    """A use of a resource, whose ``with`` returns the pointer."""

    def __init__(self, resource: Resource) -> None:
        super().__init__(resource._users)
        self._resource = resource

    def _given(self) -> int:
        return self._resource._usable()


def _give_back(free: Free, pointer: int, parent: Resource | None, process: int) -> None:
    """Free a resource that was not closed; its parent still exists.

    If a daemon thread still uses the resource when the program ends, the kernel frees it.
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
