# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Uses: who is in the library, with a pointer that nobody frees meanwhile.

Ctrl-c comes between any two lines of Python, and there the garbage collector calls
finalizers too.  So a use has a lock of its own, which ``with`` lets go in C, whatever
happens; and those under way are in a dictionary that is looked at without a lock.
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

# Longer than a call takes that looks now and then whether it is to end.
_EXIT_S = 2.0
_LOOK_S = 0.001

# What each holds as long as it is under way, and the thread that it is in.
Uses: TypeAlias = "dict[weakref.ref[threading.Lock], int]"

# Of everything.
_uses: Uses = {}
_exiting = threading.Event()


class Use:
    """A use of what has these users, for one ``with``."""

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
        """Looked up before it begins, so that the end is one step, in C."""
        return self._lock.__exit__

    def begin(self) -> None:
        """Begin without asking; end() ends it."""
        self._lock.acquire()
        for users in (_uses, self._users):
            if users is not None:
                users[weakref.ref(self._lock, users.pop)] = threading.get_ident()

    def _begin_in_time(self) -> int:
        """Begin; a daemon thread that comes when the program ends stays here until it has."""
        first = not _exiting.is_set() or not in_this_thread(_uses)
        self.begin()
        if _exiting.is_set() and first and not _in_main_thread():
            self.end()
            threading.Event().wait()
        return self._given()

    def _given(self) -> int:
        """What ``with`` gives; raises where it may not begin."""
        return 0

    def end(self) -> None:
        """End it, whether it has begun or not."""
        if self._lock.locked():
            self._lock.release()


def in_this_thread(uses: Uses) -> bool:
    """Whether one of them is this thread's: who waits for it waits for ever."""
    return threading.get_ident() in _threads(uses)


def wait_for_others(uses: Uses, timeout: float = math.inf) -> None:
    """Wait until those of other threads have ended, or the time is over."""
    end = time.monotonic() + timeout
    while _in_others(uses) and time.monotonic() < end:
        time.sleep(_LOOK_S)


def left_to_the_kernel() -> bool:
    """The program ends, and some thread does not: nothing may be freed any more."""
    return _exiting.is_set() and (not _in_main_thread() or _in_others(_uses))


def _threads(uses: Uses) -> set[int]:
    """Those in which any of them is under way; a lock stays as long as a traceback has it."""
    return {thread for known, thread in uses.copy().items() if (lock := known()) is not None and lock.locked()}


def _in_others(uses: Uses) -> bool:
    return bool(_threads(uses) - {threading.get_ident()})


def _in_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def _begin_exit() -> None:
    """Daemon threads begin no more uses, and those under way end."""
    _exiting.set()
    wait_for_others(_uses, _EXIT_S)


def _forget_others() -> None:
    """Uses of other threads do not go on in a child of fork()."""
    for known, thread in _uses.copy().items():
        if thread != threading.get_ident():
            del _uses[known]


# Finalizers run at exit too, from a function that the first of them registers: ours comes
# before it only where it is registered later.
weakref.finalize(_begin_exit, int).detach()
atexit.register(_begin_exit)
os.register_at_fork(after_in_child=_forget_others)
