# SPDX-License-Identifier: MIT
"""Records: what is written comes back, and what cannot be read is said."""

import lzma
import resource
from pathlib import Path

import pytest

from chario_lab.experiment import book
from chario_lab.experiment.book import find_book, open_book
from chario_lab.records import (
    PACKED,
    Book,
    FailureRecord,
    RecordError,
    RunRecord,
    SeriesRecord,
    TextRecord,
    of_kind,
    read,
    split_runs,
)
from chario_lab.testing.runs import write_book
from chario_lab.testing.series import series

BEGIN = RunRecord(experiment="bench", started="2026-11-26T12:00:00+00:00", checkout="abc", excluded="the drive's time")


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    """Each kind as itself, in order, over several runs."""
    path = tmp_path / "deep" / "bench.jsonl"
    write_book(path, [BEGIN, series("old")])
    failure = FailureRecord(machine="6.1", station="linux", case="write", reason="no such disk")
    second = write_book(path, [BEGIN, series("read", user=337), failure])
    records = read(path)
    assert len(records) == 5
    assert split_runs(records)[-1] == second
    (found,) = of_kind(split_runs(records)[-1], SeriesRecord)
    assert found == series("read", user=337)


def test_a_run_that_was_killed_while_it_wrote_can_be_read(tmp_path: Path) -> None:
    """All but its last line."""
    path = tmp_path / "bench.jsonl"
    written = write_book(path, [BEGIN])
    with path.open("ab") as file:
        file.write(b'{"record":"series","machine":"6')
    assert read(path) == written
    again = write_book(path, [BEGIN])
    assert split_runs(read(path))[-1] == again


@pytest.mark.parametrize(("line", "reason"), [
    (b"nonsense", ""),
    (b'{"record":"unheard-of"}', ": Invalid value 'unheard-of'"),
    (b'{"record":"failure","machine":"6.1"}', ": .*missing required field `station`"),
    (b'{"record": "end", "took_s": "\xff"}', ""),
    (b"[" * 200_000, ""),
    (b'{"record": "end", "took_s": NaN}', ""),
])  # fmt: skip
def test_what_is_no_record_is_named(tmp_path: Path, line: bytes, reason: str) -> None:
    """With the file, the line and the reason; whatever was put there, the report can go on with other files."""
    path = tmp_path / "bench.jsonl"
    write_book(path, [BEGIN])
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(RecordError, match=f"bench.jsonl.*line 2 is no record{reason}"):
        read(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """No traceback."""
    with pytest.raises(RecordError, match=r"none\.jsonl cannot be read: No such file"):
        read(tmp_path / "none.jsonl")


def test_records_are_kept_in_the_cache(own_cache: Path) -> None:
    """One file an experiment; the run's first record says what it was made with, and what it leaves out."""
    with book.open_book("demo", "waiting") as opened:
        pass
    (run,) = read(own_cache / "records/demo.jsonl")
    assert [run] == opened.records
    assert isinstance(run, RunRecord)
    assert (run.experiment, run.excluded) == ("demo", "waiting")


def test_a_file_of_something_else_is_left_alone(tmp_path: Path) -> None:
    """Whatever it holds, and whether its last line has an end or not; records of another experiment too."""
    notes = tmp_path / "notes.txt"
    notes.write_text("first\nsecond")
    with pytest.raises(RecordError, match="holds no records of the lab"):
        Book(notes)
    assert notes.read_text() == "first\nsecond"
    path = tmp_path / "one.jsonl"
    with open_book("one", "", path) as book, pytest.raises(RecordError, match="another run writes to"):
        Book(path)
    with pytest.raises(RecordError, match="has records of one, not of two"):
        open_book("two", "", path)
    assert read(path) == book.records


def test_a_record_that_finds_no_room_leaves_nothing(tmp_path: Path) -> None:
    """What can be written later follows the last whole one."""
    path = tmp_path / "full.jsonl"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Book(path) as book:
        book.add(TextRecord(machine="m", station="s", case="c", text="short"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 300, before[1]))
        try:
            with pytest.raises(OSError, match="File too large"):
                book.add(TextRecord(machine="m", station="s", case="c", text="long" * 1000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        book.add(TextRecord(machine="m", station="s", case="c", text="after"))
    assert [record.text for record in of_kind(read(path), TextRecord)] == ["short", "after"]


def test_records_may_be_packed(tmp_path: Path) -> None:
    """A file that is kept for long; a cut one is told, not read in part."""
    path = tmp_path / "kept.jsonl"
    records = write_book(path, [BEGIN])
    packed = path.with_name(path.name + PACKED)
    packed.write_bytes(lzma.compress(path.read_bytes()))
    assert find_book("kept", tmp_path) == path
    path.unlink()
    assert find_book("kept", tmp_path) == packed
    assert read(packed) == records
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(RecordError, match="is no whole file of xz"):
        read(packed)
