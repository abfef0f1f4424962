# SPDX-License-Identifier: MIT
"""Closing: at the end of a program, beside other threads, and when ctrl-c comes; freed once, and no wait for ever."""

import gc
import itertools
import mmap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from package_lab import MIB
from package_signals import interrupted
from package_store import output_of

import chario
from chario import _library, _uses
from chario._library import call
from chario._resource import Resource

pytest_plugins = ("package_store",)

# Handlers run in the reverse order: this one behind those of the package.
START = """
import atexit, sys, threading, weakref
if "daemon" in sys.argv:
    weakref.finalize(weakref, int)  # by which finalizers come behind it
opened = []
atexit.register(lambda: [each.close() for each in opened])
sys.path.insert(0, sys.argv[2])
import chario
"""
GENERATOR = """
def frames():
    with chario.Store(sys.argv[1]) as store, chario.Reader(store, "camera") as reader:
        yield from reader
generator = frames()
next(generator)
"""
STREAM_GENERATOR = """
def frames():
    with chario.Store(sys.argv[1], writable=True) as store, chario.Stream(store, "camera", append=True) as stream:
        yield stream.write(b"two")
generator = frames()
next(generator)
"""
GLOBAL = """
class Camera:
    def __init__(self):
        self.store = chario.Store(sys.argv[1])
        self.reader = chario.Reader(self.store, "camera")
    def __del__(self):
        self.reader.close()
        self.store.close()
camera = Camera()
"""
LATE_HANDLER = """
store = chario.Store(sys.argv[1], writable=True)
stream = chario.Stream(store, "camera", append=True)
opened += [stream, store]
"""
LATE_USE = """
store = chario.Store(sys.argv[1])
class Late:
    def close(self):
        try:
            store["camera"]
        except ValueError as error:
            assert store.closed
opened.append(Late())
"""
DAEMON = """
store = chario.Store(sys.argv[1], writable=True)
area = store.open("camera", writable=True)
buffer = chario.Buffer.pool(store, 8192)
begun = threading.Event()
def work():
    with area._use():
        begun.set()
        chario._uses._exiting.wait()
        with buffer._use():
            pass
    buffer[:] = bytes(8192)
    area.load(buffer)
threading.Thread(target=work, daemon=True).start()
begun.wait()
opened.append(store)
"""


@pytest.fixture
def recorded(image: Path) -> Path:
    """A file whose store has a recording of one record."""
    with chario.Store(image, writable=True) as store:
        store.create("camera", 4 * MIB)
        with chario.Stream(store, "camera") as stream:
            stream.write(b"one")
    return image


PROGRAMS = {
    "generator": GENERATOR,
    "generator of a stream": STREAM_GENERATOR,
    "global": GLOBAL,
    "late handler": LATE_HANDLER,
    "late use": LATE_USE,
    "daemon": DAEMON,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_closes_late_frees_nothing_twice(recorded: Path, name: str) -> None:
    """Generators, __del__ and handlers that come when a program has ended."""
    assert output_of(START + PROGRAMS[name], recorded, name) == ""
    with chario.Store(recorded) as store, chario.Reader(store, "camera") as reader:
        assert len(list(reader)) == (2 if name == "generator of a stream" else 1)
        assert reader.recording.ended


def test_a_generator_in_a_cycle_frees_nothing_twice(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The collector calls finalizers before it ends generators."""
    freed: list[str] = []

    def note(name: str, *arguments: Any) -> int:
        freed.append(name)
        return call(name, *arguments)

    def frames(_itself: list[object]) -> Iterator[None]:
        with chario.Store(recorded) as store, chario.Reader(store, "camera"):
            yield

    cycle: list[object] = []
    generator = frames(cycle)
    cycle.append(generator)
    next(generator)
    monkeypatch.setattr(_library, "call", note)
    del generator, cycle
    gc.collect()
    assert freed == ["chario_reader_close", "chario_store_close"]


OPENINGS: dict[str, Callable[[chario.Store], Resource]] = {
    "area": lambda store: store.open("camera"),
    "stream": lambda store: chario.Stream(store, "camera", force=True),
    "reader": lambda store: chario.Reader(store, "camera"),
    "queue": chario.Queue,
    "pool": lambda store: chario.Buffer.pool(store, 4096),
    "registered": lambda store: chario.Buffer.register(store, mmap.mmap(-1, 4096)),
}


@pytest.mark.parametrize("kind", OPENINGS)
def test_nothing_is_open_in_what_is_closed(recorded: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread has just opened something, and nobody knows of it yet, when another closes the store."""
    store = chario.Store(recorded, writable=True)
    _ = store.device
    own = Resource._own
    has_opened, closes = threading.Event(), threading.Event()

    def own_late(self: Resource, *arguments: Any) -> None:
        has_opened.set()
        closes.wait()
        # Long enough for a close that waits for nobody.
        time.sleep(0.05)
        own(self, *arguments)

    monkeypatch.setattr(Resource, "_own", own_late)
    made: list[Resource] = []
    thread = threading.Thread(target=lambda: made.append(OPENINGS[kind](store)))
    thread.start()
    assert has_opened.wait(60)
    closes.set()
    store.close()
    thread.join()
    assert [each.closed for each in made] == [True]


def test_a_store_is_closed_while_areas_are_opened(recorded: Path) -> None:
    """By a thread that does nothing else: it is told."""
    told: list[str] = []

    def open_again_and_again(store: chario.Store, begun: threading.Event, kept: list[chario.Area]) -> None:
        try:
            while True:
                kept.append(store.open("camera"))
                begun.set()
        except ValueError as error:
            told.append(str(error))

    for _ in range(200):
        store, begun = chario.Store(recorded), threading.Event()
        kept: list[chario.Area] = []
        thread = threading.Thread(target=open_again_and_again, args=(store, begun, kept))
        thread.start()
        assert begun.wait(60)
        store.close()
        thread.join()
        assert all(area.closed for area in kept)
    assert told == ["I/O operation on closed store"] * 200


def test_a_store_waits_for_what_others_close(recorded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread ends a stream, by close() or by forgetting it, when another closes the store."""
    closed: list[str] = []
    ends = threading.Event()

    def close_late(name: str, *arguments: Any) -> int:
        if name == "chario_stream_close":
            ends.set()
            time.sleep(0.05)
        result = call(name, *arguments)
        if name.endswith("_close"):
            closed.append(name)
        return result

    monkeypatch.setattr(_library, "call", close_late)
    for end in (chario.Stream.close, id):
        ends.clear()
        store = chario.Store(recorded, writable=True)
        streams = [chario.Stream(store, "camera", force=True)]
        thread = threading.Thread(target=lambda end=end, streams=streams: end(streams.pop()))
        thread.start()
        assert ends.wait(60)
        store.close()
        thread.join()
    assert closed == ["chario_stream_close", "chario_store_close"] * 2


def test_ctrl_c_anywhere_leaves_no_use(recorded: Path) -> None:
    """At each line of a call: closing waits for nobody then."""
    with chario.Store(recorded) as store:
        area = store.open("camera")
        for number in itertools.count():
            came = interrupted(lambda: area.nbytes, number)
            assert not _uses.in_this_thread(area._users)
            if not came:
                break
        area.close()
        assert number > 10


def test_close_in_a_call_of_the_same_thread(recorded: Path) -> None:
    """As a signal's handler does it: an error instead of a wait for ever."""
    with chario.Store(recorded) as store, store.open("camera") as area:
        with area._use(), pytest.raises(RuntimeError, match="close it afterwards"):
            store.close()
        assert area.nbytes == 4 * MIB
