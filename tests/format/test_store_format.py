# SPDX-License-Identifier: MIT
"""docs/store-format.md: a reader that knows nothing else finds what the program lists."""

import os
import struct
import subprocess
from pathlib import Path

import pytest
from format_image import copy
from format_lab import (
    PROGRAM,
    assert_same_areas,
    chario,
    environment,
    listing,
    overwrite,
    read,
    seal,
    table_offsets,
)
from format_store import BLOCK, ENTRY_BYTES, FILLING, MOVING, Area, FormatError, Store, crc32c

from chario_lab.waiting import until

pytest_plugins = ("format_image",)
RUBBISH = b"rubbish " * (BLOCK // 8)
NAMES = ["first", "Gerät 2", "n" * 255, "last"]


@pytest.fixture(scope="session")
def full(empty: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of several areas with something in each."""
    folder = tmp_path_factory.mktemp("full")
    path = copy(empty, folder / "image")
    for number, name in enumerate(NAMES):
        put(path, folder, name, 50_000 * number + 1)
    return path


@pytest.fixture
def filled(full: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return copy(full, tmp_path / "image")


def put(image: Path, folder: Path, name: str, length: int) -> bytes:
    data = os.urandom(length)
    (folder / "file").write_bytes(data)
    chario(image, "put", "--quiet", folder / "file", name)
    return data


def first_block(image: Path) -> bytearray:
    """Block 0 of the table."""
    return bytearray(read(image, table_offsets(image)[0], BLOCK))


def rewrite(image: Path, block: bytearray) -> None:
    """Change block 0 of the table as the page says it."""
    struct.pack_into("<Q", block, 24, struct.unpack_from("<Q", block, 24)[0] + 1)
    for offset in table_offsets(image):
        overwrite(image, offset, seal(block))


def test_the_checksum_is_the_one_that_the_page_names() -> None:
    """The check value of CRC-32C, in one piece and in two."""
    assert crc32c(0, b"123456789") == 0xE3069283
    assert crc32c(crc32c(0, b"1234"), b"56789") == 0xE3069283


def test_areas_are_found_with_what_they_hold(filled: Path) -> None:
    """Names of all kinds, lengths that end inside a block."""
    assert sorted(area["name"] for area in listing(filled)) == sorted(NAMES)
    assert_same_areas(filled)


def test_every_change_is_seen(filled: Path, tmp_path: Path) -> None:
    """Rename, resize in place and elsewhere, remove, create again, defrag."""
    chario(filled, "rename", "first", "renamed")
    assert_same_areas(filled)
    chario(filled, "set", "renamed", "größe=a=b", "lens=35mm", "empty=")
    chario(filled, "set", "renamed", "--unset", "lens")
    assert_same_areas(filled)
    chario(filled, "resize", "renamed", "700k")
    chario(filled, "resize", "last", "90k")
    assert_same_areas(filled)
    chario(filled, "rm", "Gerät 2")
    assert_same_areas(filled)
    for number in range(12):
        chario(filled, "create", f"more-{number}", 1000 * number + 1)
    put(filled, tmp_path, "again", 123_456)
    assert_same_areas(filled)
    chario(filled, "defrag", "--quiet")
    assert_same_areas(filled)
    with Store(filled) as store:
        assert max(area.slot for area in store.areas) > 10


@pytest.mark.parametrize("key", ["name", "bytes", "disk_offset", "moving", "attributes"])
def test_a_difference_is_found(filled: Path, key: str) -> None:
    """The comparison that all else here stands on is not blind."""
    listed = listing(filled)
    assert_same_areas(filled, listed)
    listed[1][key] = listed[2][key] if listed[2][key] != listed[1][key] else not listed[1][key]
    with pytest.raises(AssertionError):
        assert_same_areas(filled, listed)


def test_the_header_is_the_store_that_the_program_describes(image: Path) -> None:
    """Alignment, sizes, the number of areas."""
    chario(image, "format", "--force", "--areas=55", "--align=64k", image)
    chario(image, "create", "area", 5000)
    with Store(image) as store:
        header = store.header
        assert (header.nr_blocks, header.align_bytes) == (6, 65536)
        assert header.capacity_bytes == image.stat().st_size
        assert header.second_offset == header.capacity_bytes - BLOCK - BLOCK * header.nr_blocks
        assert header.data_offset % 65536 == store.find("area").offset % 65536 == 0
    assert read(image, 0, BLOCK) == read(image, header.capacity_bytes - BLOCK, BLOCK)
    assert_same_areas(image)


@pytest.mark.parametrize("copy", [0, 1])
def test_one_damaged_copy_costs_nothing(filled: Path, copy: int) -> None:
    """Header and table: the other copy is there."""
    listed = listing(filled)
    overwrite(filled, (0, filled.stat().st_size - BLOCK)[copy], RUBBISH)
    assert_same_areas(filled, listed)
    overwrite(filled, table_offsets(filled)[copy], RUBBISH)
    assert_same_areas(filled, listed)


@pytest.mark.parametrize("copy", [0, 1])
def test_the_newer_copy_counts(filled: Path, copy: int) -> None:
    """A cut between the two copies of a change."""
    offset = table_offsets(filled)[copy]
    old = read(filled, offset, BLOCK)
    chario(filled, "rename", "first", "renamed")
    overwrite(filled, offset, old)
    assert "renamed" in [area["name"] for area in listing(filled)]
    assert_same_areas(filled)


def test_what_is_zero_stays_as_it_is(filled: Path) -> None:
    """A later format may have something there: no change takes it away, nor is it damage."""
    block = first_block(filled)
    places = [(96 + 100, 96 + 144), (96 + ENTRY_BYTES + 100, 96 + ENTRY_BYTES + 144)]
    for start, end in places:
        block[start:end] = bytes(range(1, 1 + end - start))
    rewrite(filled, block)
    assert_same_areas(filled)
    chario(filled, "rename", "first", "renamed")
    chario(filled, "resize", "last", "700k")
    assert_same_areas(filled)
    chario(filled, "check")
    after = first_block(filled)
    assert [after[start:end] for start, end in places] == [block[start:end] for start, end in places]


@pytest.mark.parametrize("rest", [b"=y\0z=1\0", b"y\0z=1\0", b"\0z=1\0", b"y=" + b"z" * 256])
def test_what_is_no_attribute_ends_them(filled: Path, rest: bytes) -> None:
    """One without a key, one without a value, an empty text, one that the entry ends in."""
    block = first_block(filled)
    block[96 + 144 : 96 + ENTRY_BYTES] = (b"first\0x=1\0" + rest).ljust(256, b"\0")[:256]
    rewrite(filled, block)
    assert_same_areas(filled)
    with Store(filled) as store:
        assert store.find("first").attributes == {"x": "1"}


def test_a_block_of_another_place_does_not_count(filled: Path) -> None:
    """One of another number, or of another store, is as good as rubbish."""
    first, second = table_offsets(filled)
    block = bytearray(read(filled, first, BLOCK))
    struct.pack_into("<Q", block, 24, 1 << 40)
    listed = listing(filled)
    for offset, value in ((32, 1), (8, block[8] ^ 1), (0, 0x64)):
        foreign = bytearray(block)
        foreign[offset] = value
        overwrite(filled, second, seal(foreign))
        assert_same_areas(filled, listed)
    overwrite(filled, first, RUBBISH)
    assert listing(filled) == []
    with Store(filled) as store:
        assert (store.areas, store.lost_blocks) == ([], [0])


# What a store of the first release has there.
NOTHING_SAID = bytes(56)


def all_offsets(image: Path) -> list[int]:
    """Where the blocks of the table are, the first copy first."""
    with Store(image) as store:
        count = store.header.nr_blocks
    pairs = [table_offsets(image, number) for number in range(count)]
    return [offset for copy in zip(*pairs, strict=True) for offset in copy]


def silence(image: Path) -> None:
    """Have the table say nothing of its store."""
    for offset in all_offsets(image):
        block = bytearray(read(image, offset, BLOCK))
        block[40:96] = NOTHING_SAID
        overwrite(image, offset, seal(block))


@pytest.mark.parametrize("says", [True, False])
def test_without_a_header_the_table_is_one(filled: Path, says: bool) -> None:
    """For the program and for the reader; also where it says nothing of its store."""
    if not says:
        silence(filled)
    with Store(filled) as store:
        count = store.header.nr_blocks
    for offset in (0, filled.stat().st_size - BLOCK, 2 * BLOCK):
        overwrite(filled, offset, RUBBISH)
        assert_same_areas(filled)
    chario(filled, "check", "--repair")
    with Store(filled) as store:
        assert store.header.nr_blocks == count


def test_without_header_and_table_there_is_no_store(filled: Path) -> None:
    """Neither for the program nor for the reader."""
    for offset in (0, filled.stat().st_size - BLOCK, *all_offsets(filled)):
        overwrite(filled, offset, RUBBISH)
    chario(filled, "ls", status=1)
    with pytest.raises(FormatError, match="no store"):
        Store(filled)


def test_half_a_table_is_no_store(filled: Path) -> None:
    """Nobody knows what the other half had."""
    offsets = all_offsets(filled)
    for offset in (0, filled.stat().st_size - BLOCK, *offsets[len(offsets) // 2 :]):
        overwrite(filled, offset, RUBBISH)
    assert b"damaged" in failing(filled, "ls")
    with pytest.raises(FormatError, match="belong together"):
        Store(filled)


def change_header(image: Path, offset: int, value: int) -> None:
    """Set a number of the first copy."""
    header = bytearray(read(image, 0, BLOCK))
    struct.pack_into("<I", header, offset, value)
    overwrite(image, 0, seal(header))


@pytest.mark.parametrize(("offset", "what"), [(40, "version 2"), (96, "features 0x2"), (100, "features 0x200000000")])
def test_a_later_format_is_not_read(filled: Path, offset: int, what: str) -> None:
    """Although the second copy is one that is known."""
    change_header(filled, offset, 2)
    before = filled.read_bytes()
    for verb in ("ls", "check"):
        assert b"newer" in failing(filled, verb)
    assert b"newer" in failing(filled, "check", "--repair")
    assert filled.read_bytes() == before
    with pytest.raises(FormatError, match=what):
        Store(filled)


def test_a_later_layout_is_no_damage(filled: Path) -> None:
    """Where sizes stand here a later format may have something else."""
    change_header(filled, 40, 2)
    change_header(filled, 72, 1)
    for words in (["ls"], ["check"], ["check", "--repair"]):
        assert b"newer" in failing(filled, *words)


@pytest.mark.parametrize("offset", [104, 108])
def test_a_store_that_only_later_programs_write(filled: Path, offset: int) -> None:
    """It is read, and not changed."""
    change_header(filled, offset, 4)
    before = filled.read_bytes()
    assert len(listing(filled)) == len(NAMES)
    assert_same_areas(filled)
    for words in (["create", "more", "1M"], ["rm", "last"], ["defrag"], ["check", "--repair"]):
        assert b"newer" in failing(filled, *words)
    assert filled.read_bytes() == before


def failing(image: Path, *words: str) -> bytes:
    """What the program says as it ends with 1."""
    done = subprocess.run([PROGRAM, *words], env=environment(image), capture_output=True, check=False)
    assert done.returncode == 1
    return done.stderr


@pytest.mark.parametrize(("at", "value"), [(0, 1 | 32), (0, 1 | 1 << 31), (16, 0), (16, 8 << 20)])
def test_an_area_that_cannot_be_is_passed_over(filled: Path, at: int, value: int) -> None:
    """One with a flag of a later format, or outside the space for areas; nothing is written to such a store."""
    block = first_block(filled)
    struct.pack_into("<I", block, 96 + at, value)
    rewrite(filled, block)
    assert len(listing(filled)) == len(NAMES) - 1
    assert_same_areas(filled)
    failing(filled, "create", "more", "4k")


@pytest.mark.parametrize("says", [True, False])
def test_a_store_on_a_larger_disk(filled: Path, says: bool) -> None:
    """It is found by its first header, or by what its table says; nobody looks for its end."""
    if not says:
        silence(filled)
    os.truncate(filled, filled.stat().st_size + 5 * BLOCK + 1)
    assert_same_areas(filled)
    overwrite(filled, 0, RUBBISH)
    if says:
        assert_same_areas(filled)
        return
    assert b"damaged" in failing(filled, "ls")
    with pytest.raises(FormatError, match="belong together"):
        Store(filled)


def test_a_store_that_was_cut_is_read(filled: Path) -> None:
    """As far as it is there; nothing is written to it."""
    os.truncate(filled, filled.stat().st_size - 1)
    before = filled.read_bytes()
    assert len(listing(filled)) == len(NAMES)
    assert_same_areas(filled)
    assert b"smaller" in failing(filled, "create", "more", "4k")
    assert filled.read_bytes() == before


def test_the_end_of_another_store_does_not_count(filled: Path) -> None:
    """A header at the end of the disk that says another place is of something inside."""
    last = filled.stat().st_size - BLOCK
    header = bytearray(read(filled, last, BLOCK))
    struct.pack_into("<QQQ", header, 64, last - 7 * BLOCK, 3 * BLOCK, last - 9 * BLOCK)
    struct.pack_into("<Q", header, 48, 1)
    overwrite(filled, last, seal(header))
    assert_same_areas(filled)
    overwrite(filled, 0, RUBBISH)
    assert_same_areas(filled)


def test_a_partition_table_costs_nothing(image: Path, tmp_path: Path) -> None:
    """A GPT takes both headers, and of no block both copies."""
    chario(image, "format", "--force", "--areas=100", image)
    put(image, tmp_path, "area", 50_000)
    listed = listing(image)
    overwrite(image, 0, bytes(34 * 512))
    overwrite(image, image.stat().st_size - 33 * 512, bytes(33 * 512))
    assert_same_areas(image, listed)


@pytest.mark.parametrize("whole", [True, False])
def test_what_a_longer_table_has_left(image: Path, tmp_path: Path, whole: bool) -> None:
    """An older store does not come back; where it may be the living one, neither is read."""
    old = tmp_path / "old"
    chario(old, "format", "--size=4M", "--areas=100", "--align=4k", old)
    chario(image, "format", "--force", "--areas=10", "--align=64k", image)
    put(image, tmp_path, "living", 50_000)
    overwrite(image, 3 * BLOCK, read(old, 3 * BLOCK, 9 * BLOCK))
    if whole:
        offset = table_offsets(old)[1]
        overwrite(image, offset, read(old, offset, 11 * BLOCK))
    for block in range(3):
        overwrite(image, block * BLOCK, RUBBISH)
    if not whole:
        assert_same_areas(image)
        return
    assert b"damaged" in failing(image, "ls")
    with pytest.raises(FormatError, match="either"):
        Store(image)


def write_log(image: Path, entries: dict[int, bytes]) -> None:
    """A change of several entries has begun, and nothing of it has been written."""
    note = bytearray(read(image, BLOCK, BLOCK))
    struct.pack_into("<Q", note, 24, struct.unpack_from("<Q", note, 24)[0] + 1)
    struct.pack_into("<II", note, 808, len(entries), 0)
    for place, slot in enumerate(sorted(entries)):
        struct.pack_into("<II400s", note, 816 + 408 * place, slot, 0, entries[slot])
    overwrite(image, BLOCK, seal(note))


def test_a_change_that_is_in_the_log(filled: Path) -> None:
    """It has happened, for the program and for the reader; the next change writes it, and so does a repair."""
    with Store(filled) as store:
        first, last = store.find("first").slot, store.find("last").slot
    block = first_block(filled)
    entry = bytearray(block[96 + ENTRY_BYTES * last : 96 + ENTRY_BYTES * (last + 1)])
    entry[144:] = b"first".ljust(256, b"\0")
    write_log(filled, {first: bytes(ENTRY_BYTES), last: bytes(entry)})
    before = sorted(set(NAMES) - {"last"})
    assert sorted(area["name"] for area in listing(filled)) == before
    assert_same_areas(filled)
    chario(filled, "check")
    repaired = copy(filled, filled.with_name("repaired"))
    chario(repaired, "check", "--repair")
    chario(filled, "create", "more", "4k")
    for image, names in ((filled, [*before, "more"]), (repaired, before)):
        assert sorted(area["name"] for area in listing(image)) == sorted(names)
        assert_same_areas(image)
        assert struct.unpack_from("<Q", read(image, BLOCK, BLOCK), 24)[0] % 2 == 0
        chario(image, "check")


@pytest.mark.parametrize("moved_blocks", [0, 3, 13])
def test_an_area_that_is_being_moved(image: Path, tmp_path: Path, moved_blocks: int) -> None:
    """The bytes that were moved are at the new place, the others at the old one, and nowhere else."""
    chario(image, "create", "gap", 80_000)
    data = put(image, tmp_path, "area", 50_000)
    chario(image, "rename", "gap", "hole")
    area = move_half(image, data, moved_blocks * BLOCK)
    assert (area.flags & MOVING, area.moved_bytes) == (MOVING, moved_blocks * BLOCK)
    assert_same_areas(image)
    with Store(image) as store:
        assert store.read(area, 0, area.length) == data
        assert store.read(area, 12_000, 700) == data[12_000:12_700]


def move_half(image: Path, data: bytes, moved: int) -> Area:
    """Swap the two areas of block 0: one goes, the other is half in its place."""
    with Store(image) as store:
        hole, area = store.find("hole"), store.find("area")
    chario(image, "rm", "hole")
    block = first_block(image)
    entry = 96 + ENTRY_BYTES * area.slot
    struct.pack_into("<I", block, entry, area.flags | MOVING)
    struct.pack_into("<Q", block, entry + 16, hole.offset)
    struct.pack_into("<QQ", block, entry + 72, area.offset, moved)
    overwrite(image, hole.offset, data[:moved] + RUBBISH)
    overwrite(image, area.offset, bytes(moved))
    rewrite(image, block)
    with Store(image) as store:
        return store.find("area")


def test_a_put_that_was_killed(image: Path) -> None:
    """It is being filled, and says how far it is."""
    command = [PROGRAM, "put", "--quiet", "--bytes=3M", "-", "half"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=environment(image)) as process:
        assert process.stdin
        process.stdin.write(os.urandom(1 << 20))
        process.stdin.flush()
        until(lambda: bool(listing(image)), "no area is made")
        process.kill()
    with Store(image) as store:
        assert store.find("half").flags & FILLING
    assert_same_areas(image)


def test_an_area_that_is_filled_in_part(filled: Path) -> None:
    """Its state and both of its numbers."""
    block = first_block(filled)
    struct.pack_into("<I", block, 96, 1 | FILLING)
    struct.pack_into("<QQ", block, 96 + 56, 1, 0x1234)
    rewrite(filled, block)
    listed = next(area for area in listing(filled) if area["filling"])
    assert (listed["filled_bytes"], listed["fill_tag"]) == (1, 0x1234)
    assert_same_areas(filled)
