# SPDX-License-Identifier: MIT
"""Commands that run on this machine, and what a signal does to them."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType

from chario_lab.guest.job import Result

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOOK_S = 0.5
KILL_LIMIT_S = 30.0
# Who became root by su may lack the last of these.
SEARCH = f"{os.environ.get('PATH', os.defpath)}:/usr/local/sbin:/usr/sbin:/sbin"


class Stopped(SystemExit):
    """A signal asks the run to end."""


class Processes:
    """Runs one command at a time, in a process group of its own.

    A signal does not interrupt the program anywhere: it kills the command that runs, and run() raises Stopped; so does
    catching() at its end, whatever came of the signal until then.
    """

    def __init__(self) -> None:
        self._signal = 0
        self._undisturbed = False
        # File descriptors that every program inherits.
        self.inherited: tuple[int, ...] = ()

    @contextmanager
    def catching(self) -> Iterator[None]:
        """Catch the signals that ask for an end, unless they are ignored as by nohup, until the block ends."""
        heard = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
        before = {number: signal.signal(number, self._note) for number in heard}
        try:
            yield
            self._obey()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._signal = self._signal or number

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Let commands run to their end in this block; a signal is obeyed afterwards."""
        before, self._undisturbed = self._undisturbed, True
        try:
            yield
        finally:
            self._undisturbed = before

    def run(self, command: str | Sequence[str], timeout_s: float) -> Result:
        """Run a command to its end; a string goes to /bin/sh."""
        self._obey()
        argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        text = command if isinstance(command, str) else " ".join(argv)
        environment = {**os.environ, "PATH": SEARCH, "LC_ALL": "C"}
        try:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=environment, start_new_session=True, text=True, errors="surrogateescape", pass_fds=self.inherited,
            )  # fmt: skip
        except OSError as error:
            return Result(text, 127, "", f"{argv[0]}: {error.strerror}")
        result = self._wait(process, text, time.monotonic() + timeout_s)
        self._obey()
        return result

    def _wait(self, process: subprocess.Popen[str], text: str, end: float) -> Result:
        """The end of a process, which a signal or its time limit makes it come to."""
        while not self._is_stopped and time.monotonic() < end:
            try:
                output, errors = process.communicate(timeout=LOOK_S)
                return Result(text, process.returncode, output, errors)
            except subprocess.TimeoutExpired:
                continue
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        try:
            output, errors = process.communicate(timeout=KILL_LIMIT_S)
        except subprocess.TimeoutExpired:
            return Result(text, None, "", "", True, stack_of(process.pid))
        return Result(text, process.returncode, output, errors, timed_out=True)

    @property
    def _is_stopped(self) -> bool:
        return bool(self._signal) and not self._undisturbed

    def _obey(self) -> None:
        if self._is_stopped:
            raise Stopped(128 + self._signal)


def stack_of(pid: int) -> str:
    """Where in the kernel a process waits."""
    try:
        with open(f"/proc/{pid}/stack", encoding="ascii") as file:
            return file.read()
    except OSError:
        return ""
