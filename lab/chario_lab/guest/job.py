# SPDX-License-Identifier: MIT
"""A command in a guest: how it ended, or a handle while it runs."""

from __future__ import annotations

import signal
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any


class CommandFailed(Exception):
    """A command that had to succeed did not."""


@dataclass(frozen=True)
class Result:
    """The end of a command.

    `rc` is the exit code, the negative signal number, or None for a process
    that did not even die of SIGKILL; `stuck` is then its kernel stack.
    """

    command: str
    rc: int | None
    stdout: str
    stderr: str
    timed_out: bool = False
    stuck: str | None = None

    @property
    def stdout_bytes(self) -> bytes:
        """The output as it was, also where it is not UTF-8."""
        return self.stdout.encode(errors="surrogateescape")

    def check(self) -> Result:
        """Raise unless the command ended with 0; else the result itself."""
        if self.rc == 0 and not self.timed_out:
            return self
        raise CommandFailed(self.describe())

    def describe(self) -> str:
        """The command, its end and its output, for a failed test."""
        if self.stuck is not None:
            end = f"cannot be killed; it waits in\n{self.stuck.rstrip()}"
        elif self.timed_out:
            end = "was killed at its time limit"
        else:
            end = f"ended with {self.rc}"
        parts = [f"`{self.command}` {end}"]
        for name, text in (("stdout", self.stdout), ("stderr", self.stderr)):
            if text:
                parts.append(f"{name}:\n{text.rstrip()}")
        return "\n".join(parts)


def result_from(command: str, record: dict[str, Any]) -> Result:
    """Read the agent's report."""
    return Result(command, record["rc"], record["stdout"], record["stderr"], record["timed_out"], record["stuck"])


class Job:
    """A command that runs in the background of a guest."""

    def __init__(
        self,
        command: str,
        number: int,
        reply: Future[dict[str, Any]],
        limit_s: float,
        finish: Callable[[Future[dict[str, Any]], float], dict[str, Any]],
        kill: Callable[[int, int], bool],
    ) -> None:
        self.command = command
        self._number = number
        self._reply = reply
        self._limit_s = limit_s
        self._finish = finish
        self._kill = kill

    def wait(self) -> Result:
        """Its end, at the latest when its time limit in the guest has passed."""
        return result_from(self.command, self._finish(self._reply, self._limit_s))

    def poll(self) -> Result | None:
        """Its end, or None while it runs."""
        return self.wait() if self._reply.done() else None

    def kill(self, number: int = signal.SIGKILL) -> bool:
        """Signal its whole process group; False when it had ended."""
        return self._kill(self._number, number)

    def stop(self) -> Result:
        """Kill it; its end."""
        self.kill()
        return self.wait()
