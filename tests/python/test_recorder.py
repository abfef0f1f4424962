# SPDX-License-Identifier: MIT
"""Files, pipes and sockets become recordings, from Python."""

import os
import socket
from pathlib import Path

import pytest
from package_lab import MIB
from package_signals import ctrl_c_soon
from package_store import records_of

import chario

pytest_plugins = ("package_store",)


def test_a_file_is_cut_into_records(stream: chario.Stream, store: chario.Store, tmp_path: Path) -> None:
    """The last one is what is left."""
    content = os.urandom(MIB + 5)
    path = tmp_path / "file"
    path.write_bytes(content)
    told: list[int] = []
    with path.open("rb") as file:
        recorded = stream.record(file, progress=told.append)
    stream.close()
    assert (recorded.end, recorded.taken_bytes, recorded.gaps) == (chario.End.SOURCE, MIB + 5, 0)
    assert told == sorted(told)
    records = records_of(store)
    assert b"".join(records) == content
    assert [len(record) for record in records] == [64 * 1024] * 16 + [5]


def test_datagrams_are_records(stream: chario.Stream, store: chario.Store) -> None:
    """One that is too long is lost, which is seen."""
    ours, others = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, others:
        for text in (b"one", b"three", b"five"):
            others.send(text)
        recorded = stream.record(ours, record_bytes=4, limit_bytes=12)
    stream.close()
    assert (recorded.end, recorded.gaps) == (chario.End.LIMIT, 1)
    assert records_of(store) == [b"one", b"five"]


def test_it_ends_by_its_callback_and_in_time(stream: chario.Stream) -> None:
    """By False, by an exception, by a limit."""

    def fail(_taken: int) -> None:
        raise LookupError

    source, target = os.pipe()
    with open(source, "rb") as file, open(target, "wb", buffering=0) as other:
        other.write(b"text")
        assert stream.record(file, progress=lambda taken: taken < 4).end is chario.End.STOPPED
        other.write(b"drained")
        stopped = stream.record(file, record_bytes=2, drain=True, progress=lambda _taken: False)
        assert (stopped.end, stopped.taken_bytes) == (chario.End.STOPPED, 7)
        other.write(b"text")
        with pytest.raises(LookupError):
            stream.record(file, progress=fail)
        assert stream.record(file, limit_s=0.01, drop=True, part_s=0.001).end is chario.End.LIMIT
        with pytest.raises(KeyboardInterrupt), ctrl_c_soon():
            stream.record(file)


def test_errors_say_whose_they_are(stream: chario.Stream, tmp_path: Path) -> None:
    """Of the source, of the area, of what was asked for."""
    folder = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(IsADirectoryError, match="recording camera"):
        stream.record(folder)
    os.close(folder)
    source, target = os.pipe()
    with open(source, "rb"), open(target, "wb") as output, pytest.raises(OSError, match="Bad file descriptor"):
        stream.record(output, limit_s=0.1)
    with open("/dev/zero", "rb") as file:
        with pytest.raises(chario.ChariOError, match="EINVAL"):
            stream.record(file, record_bytes=stream.room_bytes + 1)
        with pytest.raises(OSError, match="non-socket"):
            stream.record(file, datagrams=True)
        with pytest.raises(chario.ChariOError, match="the area is full"):
            stream.record(file)
        with pytest.raises(ValueError, match="negative"):
            stream.record(file, limit_bytes=-1)
