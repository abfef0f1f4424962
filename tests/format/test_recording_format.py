# SPDX-License-Identifier: MIT
"""docs/recording-format.md: a reader that knows nothing else finds what the program replays."""

import os
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from format_lab import PROGRAM, assert_same_records, chario, environment, overwrite, read
from format_recording import APART, END, META, MIDDLE, NO_CRC, SEALED, Batch, Record, Recording
from format_store import BLOCK, Store, crc32c

import chario as package
from chario_lab.waiting import until

pytest_plugins = ("format_image",)
SEGMENT = 16 << 10
# A machine that stands still makes segments late, which is no error here.
USUAL = ["--quiet", f"--segment={SEGMENT}", "--late-ms=1000000"]


def record(image: Path, data: bytes, *words: str, size: str = "512k", of: int = 1000) -> bytes:
    """A recording of records of so many bytes in the area tape."""
    options = [f"--size={size}", f"--record={of}", *USUAL, *words]
    chario(image, "record", *options, "tape", stdin=data)
    return data


@contextmanager
def stream(image: Path, *, ring: bool = False, checksums: bool = True) -> Iterator[package.Stream]:
    """A recording that the program does not make."""
    chario(image, "create", "tape", "512k")
    with (
        package.Store(image, writable=True) as store,
        package.Stream(store, "tape", segment_bytes=SEGMENT, ring=ring, checksums=checksums) as made,
    ):
        yield made


def places(image: Path) -> tuple[int, int]:
    """Where the area is, and the number of its newest segment."""
    with Store(image) as store:
        area = store.find("tape")
        return area.offset, Recording(store, area).newest


def recorded(image: Path) -> tuple[list[Record], list[Batch]]:
    """The records and the batches of the recording."""
    with Store(image) as store:
        recording = Recording(store, store.find("tape"))
        return list(recording.records()), list(recording.batches())


def test_records_come_back(image: Path) -> None:
    """Each with its number and time, the last shorter than the others."""
    data = record(image, os.urandom(100_500))
    assert assert_same_records(image, "tape", data) == 101
    _, batches = recorded(image)
    assert batches[-1].flags & END
    assert [batch.serial for batch in batches] == list(range(len(batches)))
    assert {batch.run for batch in batches} == {0}


@pytest.mark.parametrize("lost", ["byte", "record"])
def test_a_difference_is_found(image: Path, lost: str) -> None:
    """The comparison that all else here stands on is not blind."""
    data = record(image, os.urandom(5000))
    wrong = data[:-1] + bytes([data[-1] ^ 1]) if lost == "byte" else data[:-1000]
    with pytest.raises(AssertionError):
        assert_same_records(image, "tape", wrong)


@pytest.mark.parametrize("length", [100, 130_000, 140_000, 400_001])
def test_a_ring(image: Path, length: int) -> None:
    """Before it comes round, as it does, and after some laps."""
    data = record(image, os.urandom(length), "--ring", size="128k")
    records = assert_same_records(image, "tape")
    kept = chario(image, "replay", "tape")
    assert data.endswith(kept)
    assert (len(kept) == length) == (length <= 100) or records > 90


def long_records(image: Path) -> bytes:
    """Four of 60,000 bytes."""
    data = os.urandom(240_000)
    with stream(image) as made:
        for at in range(0, len(data), 60_000):
            made.write(data[at : at + 60_000])
    return data


def test_a_record_longer_than_a_segment(image: Path) -> None:
    """Its fragments are put together; the batches behind the first begin in its middle."""
    data = long_records(image)
    assert assert_same_records(image, "tape", data) == 4
    assert sum(bool(batch.flags & MIDDLE) for batch in recorded(image)[1]) > 8


def test_a_long_record_that_lost_its_middle(image: Path) -> None:
    """It is none, and those around it are whole."""
    long_records(image)
    overwrite(image, places(image)[0] + 5 * SEGMENT, bytes(BLOCK))
    assert assert_same_records(image, "tape", status=3) == 3


def test_a_recording_that_goes_on(image: Path) -> None:
    """A new part begins in a new segment."""
    data = record(image, os.urandom(30_000)) + record(image, os.urandom(20_000), "--append")
    assert assert_same_records(image, "tape", data) == 50
    _, batches = recorded(image)
    assert len({batch.part for batch in batches}) == 2


def test_a_new_recording_hides_the_old_one(image: Path) -> None:
    """What lies behind its end is of another session."""
    record(image, os.urandom(300_000))
    data = record(image, os.urandom(3000), "--force")
    assert assert_same_records(image, "tape", data) == 3


@pytest.mark.parametrize("ring", [False, True])
def test_a_recording_that_was_killed(image: Path, ring: bool) -> None:
    """It has no end, and is read up to its head; going on with it begins a new part."""
    options = ["--size=256k", "--record=1000", "--flush-ms=5", *USUAL, *(["--ring"] if ring else [])]
    command = [PROGRAM, "record", *options, "tape"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment(image)) as process:
        assert process.stdin
        process.stdin.write(os.urandom(700_500 if ring else 50_500))
        process.stdin.flush()
        until(lambda: newest(image) >= (40 if ring else 3), "nothing is recorded")
        process.kill()
        with suppress(BrokenPipeError):
            process.stdin.close()
    status = subprocess.run([PROGRAM, "replay", "tape"], env=environment(image), capture_output=True, check=False)
    assert assert_same_records(image, "tape", status.stdout, status.returncode) > 40
    record(image, os.urandom(10_000), "--append", size="256k")
    assert assert_same_records(image, "tape", status=status.returncode) > 50


def newest(image: Path) -> int:
    """That of the recording, -1 before it has begun."""
    with Store(image) as store:
        tapes = [area for area in store.areas if area.window]
        return Recording(store, tapes[0]).newest if tapes else -1


@pytest.mark.parametrize("ring", [False, True])
def test_damaged_segments(image: Path, ring: bool) -> None:
    """Blocks of rubbish: at the start of a segment, among records, in the newest segment."""
    record(image, os.urandom(420_000), *(["--ring"] if ring else []), size="256k" if ring else "512k")
    offset, last = places(image)
    slots = (256 if ring else 512) * 1024 // SEGMENT
    for segment, block in ((last - 3, 0), (last - 5, 1), (last - 7, 3), (last, 0), (last - 1, 2)):
        overwrite(image, offset + segment % slots * SEGMENT + block * BLOCK, os.urandom(BLOCK))
        assert assert_same_records(image, "tape", status=3) > 100


def test_damaged_batches(image: Path) -> None:
    """They hide none of those behind them, in a segment of four, or at the end."""
    broken = image.with_name("broken")
    with stream(image) as made:
        for number in range(10):
            made.write(bytes([number]) * 500)
            made.wait()
    for damaged in ((0,), (2,), (4,), (9,), (8, 9), (1, 2, 6)):
        shutil.copyfile(image, broken)
        for block in damaged:
            at = places(image)[0] + block * BLOCK
            overwrite(broken, at, bytes(byte ^ 1 for byte in read(image, at, BLOCK)))
        assert assert_same_records(broken, "tape", status=3) == 10 - len(damaged)


def test_every_byte_of_a_header_counts(image: Path) -> None:
    """Of the batch and of its first record: what a flipped bit takes away is the same for both."""
    record(image, os.urandom(50_000))
    start = places(image)[0] + SEGMENT
    for at in (*range(0, 128, 17), *range(128, 176, 9), 192, 200):
        byte = read(image, start + at, 1)
        overwrite(image, start + at, bytes([byte[0] ^ 0x10]))
        assert assert_same_records(image, "tape", status=3) in range(30, 50)
        overwrite(image, start + at, byte)
    assert assert_same_records(image, "tape") == 50


@pytest.mark.parametrize(("at", "counts"), [(48, False), (72, False), (80, False), (88, True)])
def test_a_number_that_none_can_have(image: Path, at: int, counts: bool) -> None:
    """A batch header with one does not count, although its checksum is right."""
    record(image, os.urandom(50_000))
    start = places(image)[0] + SEGMENT
    header = bytearray(read(image, start, 128))
    struct.pack_into("<Q", header, at, 1 << 62)
    header[12:16] = bytes(4)
    header[12:16] = crc32c(crc32c(0, header[16:24]), header).to_bytes(4, "little")
    overwrite(image, start, bytes(header))
    assert (assert_same_records(image, "tape", status=0 if counts else 3) == 50) == counts


def test_lost_void_and_marked_records(image: Path) -> None:
    """Numbers that are left out were lost; one that was taken back was not."""
    with stream(image) as made:
        made.write(b"one")
        made.lose(2, 300)
        made.write(b"two", meta=True)
        with suppress(KeyError), made.room(100):
            made.write(b"three", time_ns=10**18)
            raise KeyError
    records, batches = recorded(image)
    assert [(r.sequence, r.data, r.missing) for r in records] == [(0, b"one", 0), (3, b"two", 2), (5, b"three", 0)]
    assert [bool(r.flags & META) for r in records] == [False, True, False]
    assert (batches[-1].lost, batches[-1].lost_bytes) == (2, 300)
    assert assert_same_records(image, "tape", status=3) == 2


def test_times_that_go_back(image: Path) -> None:
    """They begin a run; times of the producer's own are none of the clock of the machine."""
    with stream(image) as made:
        for time_ns in (0, 5000 * 10**9, 3000 * 10**9, 2999 * 10**9, 0):
            made.write(b"record", time_ns=time_ns)
            made.wait()
    records, batches = recorded(image)
    assert [record.boottime_ns is not None for record in records] == [True, False, False, False, True]
    assert [batch.run for batch in batches[:5]] == [0, 1, 2, 2, 2]
    assert assert_same_records(image, "tape") == 5


@pytest.mark.parametrize("rounds", [1, 30])
@pytest.mark.parametrize("damaged", [False, True])
def test_records_without_checksums(image: Path, rounds: int, damaged: bool) -> None:
    """Their batches are sealed; where the seal is broken they do not count."""
    with stream(image, ring=True, checksums=False) as made:
        for number in range(20 * rounds):
            made.write(struct.pack("<I", number) * 500)
    records, batches = recorded(image)
    assert all(record.flags & NO_CRC and not record.flags & APART for record in records)
    assert all(batch.flags & SEALED for batch in batches if batch.nr_ends)
    if damaged:
        offset, last = places(image)
        overwrite(image, offset + (last - 1) % 32 * SEGMENT + 2000, b"rubbish")
    assert assert_same_records(image, "tape", status=3 if damaged else 0) > 0
