# SPDX-License-Identifier: MIT
"""The line to the agent, with a test at the other end."""

import json
import socket
from collections.abc import Iterator
from typing import IO

import pytest

from chario_lab.guest.channel import Channel, ChannelClosed
from chario_lab.guest.job import CommandFailed, result_from

LIMIT_S = 30


@pytest.fixture
def line() -> Iterator[tuple[Channel, socket.socket, IO[bytes]]]:
    """A channel, the guest's end of it, and a stream to read what was asked."""
    near, far = socket.socketpair()
    far.settimeout(LIMIT_S)
    channel = Channel(near)
    with far, far.makefile("rb") as stream:
        yield channel, far, stream
    channel.close()


def say(far: socket.socket, **record: object) -> None:
    """Write one record as the agent does."""
    far.sendall(json.dumps(record).encode() + b"\n")


def test_replies_find_their_requests_in_any_order(line: tuple[Channel, socket.socket, IO[bytes]]) -> None:
    """Two commands may run at once and end in the other order."""
    channel, far, stream = line
    first, first_reply = channel.request("run", argv=["a"])
    second, second_reply = channel.request("run", argv=["b"])
    assert [json.loads(stream.readline())["id"] for _ in range(2)] == [first, second]
    say(far, id=second, rc=2)
    assert second_reply.result(LIMIT_S)["rc"] == 2
    assert not first_reply.done()
    say(far, id=first, rc=1)
    assert first_reply.result(LIMIT_S)["rc"] == 1


def test_a_cut_line_fails_what_waits_and_what_comes(line: tuple[Channel, socket.socket, IO[bytes]]) -> None:
    """A dead guest is noticed at once, never after a time limit."""
    channel, far, _ = line
    _, reply = channel.request("run", argv=["a"])
    far.sendall(b'{"id": 1, "rc"')
    far.shutdown(socket.SHUT_RDWR)
    with pytest.raises(ChannelClosed):
        reply.result(LIMIT_S)
    with pytest.raises(ChannelClosed):
        channel.ready.result(LIMIT_S)
    with pytest.raises(ChannelClosed):
        channel.request("run", argv=["b"])[1].result(LIMIT_S)


def test_replies_to_nobody_are_dropped(line: tuple[Channel, socket.socket, IO[bytes]]) -> None:
    """A late or broken line does not stop the reader."""
    channel, far, _ = line
    say(far, id=99, rc=0)
    far.sendall(b"no record\n")
    say(far, id=0, release="6.1")
    assert channel.ready.result(LIMIT_S)["release"] == "6.1"


def test_output_that_is_not_text_survives(line: tuple[Channel, socket.socket, IO[bytes]]) -> None:
    """Bytes come as they are and can be had back unchanged."""
    channel, far, _ = line
    number, reply = channel.request("run", argv=["a"])
    rest = json.dumps({"rc": 0, "stderr": "", "timed_out": False, "stuck": None})[1:]
    far.sendall(b'{"id": %d, "stdout": "\xff\\u0000x", %s\n' % (number, rest.encode()))
    assert result_from("x", reply.result(LIMIT_S)).stdout_bytes == b"\xff\0x"


@pytest.mark.parametrize(("fields", "words"), [
    ({"rc": 3}, "ended with 3"),
    ({"rc": -9, "timed_out": True}, "killed at its time limit"),
    ({"rc": None, "timed_out": True, "stuck": "[<0>] wait_here"}, "cannot be killed.*\n.*wait_here"),
])  # fmt: skip
def test_a_failed_command_says_how(fields: dict[str, object], words: str) -> None:
    """check() passes nothing but a 0 in time, and shows the output."""
    record = {"stdout": "some output", "stderr": "", "timed_out": False, "stuck": None} | fields
    with pytest.raises(CommandFailed, match=f"(?s){words}.*some output"):
        result_from("x", record).check()
