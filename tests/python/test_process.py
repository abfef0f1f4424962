# SPDX-License-Identifier: MIT
"""Threads, signals, forks and the end of a program: nothing hangs, crashes or ends what is another's."""

import errno
import os
import threading
from ctypes import byref
from pathlib import Path

import pytest
from package_lab import MIB
from package_signals import ctrl_c, ctrl_c_soon
from package_store import output_of, records_of

import chario
from chario import _abi, _library
from chario import stream as stream_module
from chario._library import call

pytest_plugins = ("package_store",)
LONG_NS = 20 * 10**9

AT_EXIT = """
import mmap, sys
sys.path.insert(0, sys.argv[2])
import chario
store = chario.Store(sys.argv[1], writable=True)
view = memoryview(chario.Buffer.pool(store, 8192))
registered = chario.Buffer.register(store, mmap.mmap(-1, 8192))
loaded = registered.memory
stream = chario.Stream(store, "camera")
stream.write(b"one")
stream.wait()
room = stream.room(3).__enter__()
room[:] = b"two"
reader = chario.Reader(store, "camera")
"""
DAEMON_AT_EXIT = """
import sys, threading
sys.path.insert(0, sys.argv[2])
import chario
store = chario.Store(sys.argv[1], writable=True)
stream = chario.Stream(store, "camera", ring=True)
stream.write(b"one")
stream.wait()
reader = chario.Reader(store, "camera", follow=True)
seen = threading.Event()
threading.Thread(target=lambda: [seen.set() for _ in reader], daemon=True).start()
seen.wait()
print("end")
"""


def in_a_child(work: str, store: chario.Store, stream: chario.Stream) -> int:
    """Fork; how the child ended: 0 where the work did what it should."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        if work == "use":
            with pytest.raises(RuntimeError, match=r"fork.*open it again"):
                stream.write(b"child")
        else:
            stream.close()
            store.close()
        os._exit(0)
    finally:
        os._exit(1)


def test_a_call_that_waits_lets_others_run(store: chario.Store, area: str, image: Path) -> None:
    """One thread waits in C for a record that another one makes."""
    found: list[int] = []
    with chario.Stream(store, area, flush_s=0.01) as stream:
        stream.write(b"one")
        stream.wait()
        with chario.Store(image) as other, chario.Reader(other, area) as reader, reader._use() as pointer:
            raw = _abi.Record()
            call("chario_reader_next", pointer, 0, byref(raw))

            def wait() -> None:
                found.append(call("chario_reader_next", pointer, LONG_NS, byref(raw)))

            thread = threading.Thread(target=wait)
            thread.start()
            stream.write(b"two")
            stream.wait()
            thread.join()
    assert found == [0]


def test_closing_ends_who_follows(store: chario.Store, area: str) -> None:
    """A thread that waits for records is told, not left with memory that has gone."""
    told: list[Exception] = []
    waits = threading.Event()

    def follow(reader: chario.Reader) -> None:
        try:
            for _ in reader:
                waits.set()
        except ValueError as error:
            told.append(error)

    with chario.Stream(store, area) as stream:
        stream.write(b"one")
        stream.wait()
        reader = chario.Reader(store, area, follow=True)
        thread = threading.Thread(target=follow, args=(reader,))
        thread.start()
        waits.wait()
        reader.close()
        thread.join()
    assert "closed reader" in str(told[0])


def test_ctrl_c_ends_a_wait(store: chario.Store, area: str) -> None:
    """Of a reader that would wait for ever; it can be used again."""
    with chario.Stream(store, area) as stream:
        stream.write(b"one")
        stream.wait()
        with chario.Reader(store, area) as reader:
            reader.next()
            with pytest.raises(KeyboardInterrupt), ctrl_c_soon():
                reader.next()
            stream.write(b"two")
            stream.wait()
            record = reader.next()
    assert record is not None
    assert record.data == b"two"


def test_ctrl_c_with_a_room_gives_it_back(store: chario.Store, area: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes behind a room that nobody has would never be durable."""

    def interrupted(name: str, *arguments: object) -> int:
        result = call(name, *arguments)
        if name == "chario_stream_get":
            raise KeyboardInterrupt
        return result

    with chario.Stream(store, area) as stream:
        with monkeypatch.context() as patch:
            patch.setattr(stream_module, "call", interrupted)
            with pytest.raises(KeyboardInterrupt), stream.room(100):
                pass
        stream.write(b"one")
        stream.wait(timeout=30)
    assert records_of(store) == [b"one"]


def test_ctrl_c_with_what_is_opened_closes_it(store: chario.Store, area: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has it, and an area has one writer."""
    for name, opening in (
        ("chario_area_open", lambda: store.open(area, writable=True)),
        ("chario_stream_open", lambda: chario.Stream(store, area)),
    ):
        with monkeypatch.context() as patch:
            ctrl_c(patch, name, _library)
            with pytest.raises(KeyboardInterrupt):
                opening()
        opening().close()


@pytest.mark.parametrize("work", ["use", "close"])
def test_a_child_ends_nothing_of_its_parent(store: chario.Store, area: str, work: str) -> None:
    """It is told to open again; what it closes goes on in the parent."""
    with chario.Stream(store, area) as stream:
        stream.write(b"one")
        assert in_a_child(work, store, stream) == 0
        stream.write(b"two")
        stream.wait()
        with chario.Reader(store, area) as reader:
            assert not reader.recording.ended
    assert records_of(store) == [b"one", b"two"]


@pytest.mark.parametrize(("program", "output"), [(AT_EXIT, ""), (DAEMON_AT_EXIT, "end\n")])
def test_a_program_may_end_with_all_open(image: Path, program: str, output: str) -> None:
    """Views of every kind, or a thread that reads: no crash, no message, and the recording is ended."""
    with chario.Store(image, writable=True) as store:
        store.create("camera", 4 * MIB)
    assert output_of(program, image) == output
    with chario.Store(image) as store, chario.Reader(store, "camera") as reader:
        assert [record.data for record in reader] == [b"one"]
        assert reader.recording.ended


def test_a_buffer_of_another_device_is_refused(store: chario.Store, tmp_path: Path) -> None:
    """The number by which the one knows it would be another buffer to the other."""
    path = tmp_path / "other"
    path.write_bytes(bytes(MIB))
    with chario.Device(path) as other, chario.Buffer.pool(other, 4096) as buffer, chario.Queue(store) as queue:
        for add in (queue.read, store.device.read):
            with pytest.raises(ValueError, match="another device's"):
                add(buffer, 0)
        assert queue.pending == 0


def test_a_time_is_no_negative_number(store: chario.Store, area: str) -> None:
    """Nor is it none, or more than C can count."""
    with chario.Stream(store, area) as stream, chario.Queue(store) as queue:
        for wait in (lambda: stream.wait(timeout=-1), lambda: queue.reap(timeout=float("nan"))):
            with pytest.raises(ValueError, match="not a time to wait"):
                wait()
        with pytest.raises(chario.ChariOError, check=lambda error: error.errno == errno.EINVAL):
            stream.wait(1)
