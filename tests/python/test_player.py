# SPDX-License-Identifier: MIT
"""The records of a recording are given to a function, from Python."""

import errno
from collections.abc import Iterator
from typing import Any

import pytest
from package_signals import ctrl_c_soon

import chario
from chario import reader as reader_module

pytest_plugins = ("package_store",)

# A second, and a time that no test waits for.
SECOND_NS = 10**9
FAR_NS = 3000 * SECOND_NS


@pytest.fixture
def reader(stream: chario.Stream, store: chario.Store) -> Iterator[chario.Reader]:
    """A reader of three records in a millisecond, a marked one, and a gap before the last one."""
    stream.write(b"zero", time_ns=SECOND_NS)
    stream.write(b"one", time_ns=SECOND_NS + 10**6)
    stream.write(b"about", time_ns=1, meta=True)
    stream.lose(2, 10)
    stream.write(b"five", time_ns=SECOND_NS + 2 * 10**6)
    stream.wait()
    with chario.Reader(store, "camera") as opened:
        yield opened


def test_all_records_are_given(reader: chario.Reader) -> None:
    """All but the marked one, at full pace and at that of the recording."""
    taken: list[chario.Record] = []
    for paced in (False, True):
        taken.clear()
        reader.seek(0)
        assert reader.play(taken.append, paced=paced) == chario.Played(chario.PlayEnd.SOURCE, 3, 11, 2, 0, 0)
        assert [bytes(record.data) for record in taken] == [b"zero", b"one", b"five"]
        assert [record.missing for record in taken] == [0, 0, 2]
    reader.seek(0)
    assert reader.play(taken.append, meta=True).records == 4


def test_it_ends_at_its_limits(reader: chario.Reader) -> None:
    """A number of records, a time."""
    assert reader.play(lambda record: None, limit_records=1).end is chario.PlayEnd.LIMIT
    reader.seek(0)
    for from_ns, until_ns, records in ((0, SECOND_NS, 1), (SECOND_NS + 1, 0, 2)):
        reader.seek(0)
        assert reader.play(lambda record: None, from_ns=from_ns, until_ns=until_ns).records == records
    with pytest.raises(ValueError, match="negative"):
        reader.play(lambda record: None, limit_records=-1)


def test_it_ends_by_its_callbacks(stream: chario.Stream, reader: chario.Reader) -> None:
    """By False, by an exception, by ctrl-c, also while it waits."""

    def fail(_record: chario.Record) -> None:
        raise LookupError

    assert reader.play(lambda record: record.sequence < 1).records == 2
    reader.seek(0)
    with pytest.raises(LookupError):
        reader.play(fail)
    stream.write(b"six", time_ns=FAR_NS)
    stream.wait()
    reader.seek(0)
    assert reader.play(lambda record: None, paced=True, wait=lambda: False).end is chario.PlayEnd.STOPPED
    for follow, paced in ((False, True), (True, False)):
        reader.seek(0)
        reader.follow = follow
        with pytest.raises(KeyboardInterrupt), ctrl_c_soon():
            reader.play(lambda record: None, paced=paced)


def test_it_follows_a_recording(stream: chario.Stream, reader: chario.Reader) -> None:
    """Until that is ended."""
    texts = [b"six", b"seven"]

    def go_on() -> None:
        if texts:
            stream.write(texts.pop(0))
            stream.wait()
        else:
            stream.close()

    reader.follow = True
    reader.seek_newest(1)
    taken: list[bytes] = []
    played = reader.play(lambda record: taken.append(bytes(record.data)), wait=go_on)
    assert (played.end, taken) == (chario.PlayEnd.SOURCE, [b"five", b"six", b"seven"])


def test_an_error_ends_it(stream: chario.Stream, reader: chario.Reader, store: chario.Store) -> None:
    """A new recording in the area is an error that cannot pass."""
    stream.close()
    with chario.Stream(store, "camera", force=True), pytest.raises(chario.ChariOError, match="ESTALE"):
        reader.play(lambda record: None, limit_errors=3, fault=lambda error: False)


def test_errors_are_told(reader: chario.Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """The callback gets an exception of the package, and may end the call."""
    told: list[chario.ChariOError] = []

    def fail(_name: str, _pointer: int, player: Any) -> int:
        assert player._obj.fault(-errno.ETIMEDOUT) == 0
        player._obj.end = chario.PlayEnd.STOPPED
        return int(player._obj.fault(-errno.ENODEV))

    def note(error: chario.ChariOError) -> bool:
        told.append(error)
        return error.errno != errno.ENODEV

    monkeypatch.setattr(reader_module, "call", fail)
    assert reader.play(lambda record: None, fault=note).end is chario.PlayEnd.STOPPED
    assert [error.errno for error in told] == [errno.ETIMEDOUT, errno.ENODEV]
    assert "recording camera" in str(told[0])
