# SPDX-License-Identifier: MIT
"""A store that the program of the first release made: all of it is read, and it can go on."""

import base64
import json
import lzma
from pathlib import Path

import pytest
from format_lab import assert_same_areas, assert_same_records, chario
from format_store import FILLING, Store

FIXTURE = Path(__file__).with_name("first-release.b64")
RECORD_BYTES = 1000
# A machine that stands still makes segments late, which is no error here.
USUAL = ["--quiet", f"--record={RECORD_BYTES}", "--late-ms=1000000"]
# What each recording holds: its first record and how many there are.
RECORDINGS = {"closed": (0, 26), "ring": (77, 22), "cut": (0, 20)}


def lines(word: str, count: int) -> bytes:
    return b"".join(b"%s %05d\n" % (word.encode(), number) for number in range(count))


def recorded(name: str) -> bytes:
    first, count = RECORDINGS[name]
    everything = lines(name, 9000)
    return everything[RECORD_BYTES * first : RECORD_BYTES * (first + count)]


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A copy of the store."""
    text = "".join(line for line in FIXTURE.read_text().splitlines() if not line.startswith("#"))
    path = tmp_path / "store"
    path.write_bytes(lzma.decompress(base64.b64decode(text)))
    return path


def features(path: Path) -> int:
    with Store(path) as store:
        return store.header.read_features


def assert_whole(path: Path) -> None:
    """All that was put and recorded is there, for the program and for the reader."""
    chario(path, "check", "--data", "--quiet")
    assert_same_areas(path)
    assert chario(path, "cat", "plain") == lines("plain", 600)
    for name, (_, count) in RECORDINGS.items():
        assert assert_same_records(path, name, recorded(name)) == count


def recording(path: Path, name: str) -> dict[str, object]:
    said: dict[str, object] = json.loads(chario(path, "stat", "--json", name))["recording"]
    return said


def test_all_of_it_is_read(first: Path) -> None:
    """Nothing is damaged, nothing is written, and it is said what is not all there."""
    before = first.read_bytes()
    assert_whole(first)
    with Store(first) as store:
        assert [area.name for area in store.areas if area.flags & FILLING] == ["half"]
    assert [recording(first, name)["state"] for name in RECORDINGS] == ["closed", "closed", "cut off"]
    assert first.read_bytes() == before


@pytest.mark.parametrize("name", ["closed", "cut"])
def test_a_recording_goes_on(first: Path, name: str) -> None:
    """What was there stays, and how it ends is known from then on."""
    chario(first, "record", "--append", *USUAL, name, stdin=lines("more", 300))
    assert chario(first, "replay", name) == recorded(name) + lines("more", 300)
    said = recording(first, name)
    assert (said["records"], said["missing_records"], said["state"]) == (RECORDINGS[name][1] + 4, 0, "closed")
    assert said["ended_ns"]
    chario(first, "check", "--data", "--quiet")
    assert features(first) == 0


def test_a_ring_goes_on(first: Path) -> None:
    """The oldest goes."""
    chario(first, "record", "--append", "--ring", *USUAL, "ring", stdin=lines("more", 300))
    assert (recorded("ring") + lines("more", 300)).endswith(chario(first, "replay", "ring"))
    chario(first, "check", "--data", "--quiet")


def test_it_changes_and_stays_what_it_is(first: Path, tmp_path: Path) -> None:
    """For programs of the first release; what they could not read is refused."""
    (tmp_path / "file").write_bytes(lines("new", 1000))
    (tmp_path / "empty").write_bytes(b"")
    chario(first, "put", "--force", "--quiet", tmp_path / "file", "plain")
    chario(first, "rename", "--force", "twelve", "half")
    chario(first, "resize", "half", "200000")
    chario(first, "defrag", "--quiet")
    empty = tmp_path / "empty"
    for refused in (
        ["set", "plain", "key=value"],
        ["put", empty, "empty"],
        ["put", "--force", "--remove-first", empty, "plain"],
    ):
        chario(first, *refused, status=1)
    assert features(first) == 0
    assert chario(first, "cat", "plain") == lines("new", 1000)
    assert_same_areas(first)
    for name in RECORDINGS:
        assert_same_records(first, name, recorded(name))
    chario(first, "check")


def test_it_is_upgraded(first: Path) -> None:
    """It holds what it held, and can do what it could not."""
    chario(first, "format", "--upgrade", first)
    assert features(first) == 1
    assert_whole(first)
    chario(first, "set", "closed", "key=value")
    assert_whole(first)
