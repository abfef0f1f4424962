# SPDX-License-Identifier: MIT
"""The host's end of the line to the agent: JSON records over a socket.

A thread reads the replies and hands each to the request it belongs to, by id.
When the line is cut - the guest panicked, QEMU died - every request that
still waits fails at once, and so does every later one.
"""

import contextlib
import itertools
import json
import socket
import threading
from concurrent.futures import Future
from typing import Any

Record = dict[str, Any]

READY_ID = 0


class ChannelClosed(Exception):
    """The guest's end is gone."""


class Channel:
    """Requests to the agent and their replies."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._ids = itertools.count(READY_ID + 1)
        self._lock = threading.Lock()  # protects _waiting, _closed and writes to the line
        self._closed = False
        self._waiting: dict[int, Future[Record]] = {}
        self.ready: Future[Record] = Future()
        self._waiting[READY_ID] = self.ready
        self._reader = threading.Thread(target=self._read, name="guest channel", daemon=True)
        self._reader.start()

    def request(self, operation: str, **fields: object) -> tuple[int, Future[Record]]:
        """Send a request; the future holds the reply, or ChannelClosed."""
        reply: Future[Record] = Future()
        with self._lock:
            number = next(self._ids)
            if self._closed:
                reply.set_exception(ChannelClosed())
                return number, reply
            self._waiting[number] = reply
            data = json.dumps({"id": number, "op": operation, **fields}).encode() + b"\n"
            try:
                self._line.sendall(data)
            except OSError:
                self._waiting.pop(number)
                reply.set_exception(ChannelClosed())
        return number, reply

    def close(self) -> None:
        """Cut the line; the reader ends and with it everything that waits."""
        with contextlib.suppress(OSError):  # the other end was first
            self._line.shutdown(socket.SHUT_RDWR)
        self._reader.join(timeout=10)
        self._line.close()

    def _read(self) -> None:
        try:
            with self._line.makefile("rb") as stream:
                for line in stream:
                    self._deliver(line)
        except OSError:
            pass  # a reset is an end like any other
        with self._lock:
            self._closed = True
            waiting, self._waiting = self._waiting, {}
        for reply in waiting.values():
            reply.set_exception(ChannelClosed())

    def _deliver(self, line: bytes) -> None:
        try:
            record: Record = json.loads(line.decode(errors="surrogateescape"))
        except ValueError:
            return  # cut off in the middle by the guest's end
        with self._lock:
            reply = self._waiting.pop(record["id"], None)
        if reply:
            reply.set_result(record)
