# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Uses: calls of the library under way, with pointers that are not freed meanwhile.

Ctrl-c can arrive between any two lines of Python, where the garbage collector calls
finalizers, too.  So a use has a lock of its own, which ``with`` releases in C, whatever
happens; and the uses under way are in a dictionary that is read without a lock.
"""

from __future__ import annotations

import atexit
import math
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import TypeAlias

# Longer than a call that checks from time to time if it must end.
_EXIT_S = 2.0
_LOOK_S = 0.001

# The lock of each use under way, and its thread.
Uses: TypeAlias = "dict[weakref.ref[threading.Lock], int]"

# The uses of all resources.
_uses: Uses = {}
_exiting = threading.Event()


class Use:
    """A use of the resource that has these users, for one ``with``."""

    def __init__(self, users: Uses | None = None) -> None:
        """Nothing has begun yet."""
        self._users = users
        self._lock = threading.Lock()

    def __enter__(self) -> int:
        try:
            return self._begin_in_time()
        except BaseException:
            self.end()
            raise

    @property
    def __exit__(self) -> Callable[..., None]:  # noqa: PLE0302  # which the lock's has
        """Look the method up before the use begins, so that the end is one step, in C."""
        return self._lock.__exit__

    def begin(self) -> None:
        """Begin without a check; end() ends the use."""
        self._lock.acquire()
        for users in (_uses, self._users):
            if users is not None:
                users[weakref.ref(self._lock, users.pop)] = threading.get_ident()

    def _begin_in_time(self) -> int:
        """Begin; a daemon thread that calls this at the end of the program waits here for that end."""
        first = not _exiting.is_set() or not in_this_thread(_uses)
        self.begin()
        if _exiting.is_set() and first and not _in_main_thread():
            self.end()
            threading.Event().wait()
        return self._given()

    def _given(self) -> int:
        """Return the value for ``with``; raise an error if the use may not begin."""
        return 0

    def end(self) -> None:
        """End the use, whether it has begun or not."""
        if self._lock.locked():
            self._lock.release()


def in_this_thread(uses: Uses) -> bool:
    """True if one of them belongs to this thread, which would wait for itself for ever."""
    return threading.get_ident() in _threads(uses)


def wait_for_others(uses: Uses, timeout: float = math.inf) -> None:
    """Wait until the uses of other threads have ended, or the time is over."""
    end = time.monotonic() + timeout
    while _in_others(uses) and time.monotonic() < end:
        time.sleep(_LOOK_S)


def left_to_the_kernel() -> bool:
    """True if the program ends and some thread does not: then nothing may be freed any more."""
    return _exiting.is_set() and (not _in_main_thread() or _in_others(_uses))


def _threads(uses: Uses) -> set[int]:
    """Return the threads of the uses under way; a traceback can keep a lock alive."""
    return {thread for known, thread in uses.copy().items() if (lock := known()) is not None and lock.locked()}


def _in_others(uses: Uses) -> bool:
    return bool(_threads(uses) - {threading.get_ident()})


def _in_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def _begin_exit() -> None:
    """Let daemon threads begin no more uses, and wait for those under way."""
    _exiting.set()
    wait_for_others(_uses, _EXIT_S)


def _forget_others() -> None:
    """Forget the uses of other threads, which do not exist in a child of fork()."""
    for known, thread in _uses.copy().items():
        if thread != threading.get_ident():
            del _uses[known]


# Finalizers also run at exit, from a function that the first finalizer registers; the
# function here runs before it only if it is registered later.
weakref.finalize(_begin_exit, int).detach()
atexit.register(_begin_exit)
os.register_at_fork(after_in_child=_forget_others)
