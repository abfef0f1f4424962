# SPDX-License-Identifier: MIT
"""The examples of both pages are a store: the program reads it, and makes the same one."""

import re
from pathlib import Path

import pytest
from format_lab import TOP, assert_same_areas, assert_same_records, chario, seal
from format_recording import Recording
from format_store import BLOCK, Store, crc32c

LINE = re.compile(r"^    ([0-9a-f]{5})  ((?:[0-9a-f]{2} {0,2}){16})$", re.MULTILINE)
IMAGE_BYTES = 1 << 20
PAGES = ("store-format.md", "recording-format.md")
# What is random, a time, or a matter of who was faster: the block, and from where to where.
OF_A_RUN = {
    0x0000: [(8, 24), (88, 96)],
    0x1000: [(8, 24)],
    0x2000: [(8, 24), (72, 80), (96 + 8, 96 + 16), (96 + 40, 96 + 56), (96 + 88, 96 + 96), (196, 200), (232, 240)],
    0x3000: [(16, 32), (112, 120), (128 + 16, 128 + 24), (176, 184)],
    0x4000: [(16, 32), (88, 96), (112, 120), (176, 184)],
}


@pytest.fixture
def example() -> bytearray:
    """The store of the pages."""
    image = bytearray(IMAGE_BYTES)
    for page in PAGES:
        for address, row in LINE.findall((TOP / "docs" / page).read_text()):
            image[int(address, 16) : int(address, 16) + 16] = bytes.fromhex(row)
    image[0xFE000:0xFF000] = image[0x2000:0x3000]
    image[0xFF000:] = image[:BLOCK]
    return image


def test_the_example_is_read(example: bytearray, tmp_path: Path) -> None:
    """By the program, which finds no damage, and by the reader."""
    path = tmp_path / "image"
    path.write_bytes(example)
    chario(path, "check")
    assert_same_areas(path)
    assert assert_same_records(path, "camera0", b"hello, world") == 1
    with Store(path) as store:
        area = store.find("camera0")
        assert (area.offset, area.length, area.segment_bytes, area.window) == (0x3000, 65536, 8192, 8)
        assert [batch.nr_ends for batch in Recording(store, area).batches()] == [1, 0]


def test_the_program_makes_the_example(example: bytearray, tmp_path: Path) -> None:
    """Byte for byte, but for what is random or a time, and the checksums of that."""
    path = tmp_path / "image"
    chario(path, "format", "--size=1M", "--areas=10", "--align=4k", path)
    chario(path, "create", "camera0", "64k")
    options = ["--segment=8k", "--flush-ms=1000000", "--late-ms=1000000"]
    chario(path, "record", *options, "camera0", stdin=b"hello, world")
    made = bytearray(path.read_bytes())
    for block, spans in OF_A_RUN.items():
        for start, end in spans:
            made[block + start : block + end] = example[block + start : block + end]
        made[block : block + BLOCK] = signed(made[block : block + BLOCK])
    made[0xFE000:0xFF000] = made[0x2000:0x3000]
    made[0xFF000:] = made[:BLOCK]
    assert [hex(at) for at in range(0, IMAGE_BYTES, 16) if made[at : at + 16] != example[at : at + 16]] == []


def signed(block: bytearray) -> bytes:
    """With the checksums that it has to have now."""
    if block[:4] != b"CTCH":
        return seal(block)
    block[124:128] = crc32c(0, block[176:192]).to_bytes(4, "little")
    block[12:16] = bytes(4)
    block[12:16] = crc32c(crc32c(0, block[16:24]), block[:128]).to_bytes(4, "little")
    if block[128:132] == b"CRCD":
        block[172:176] = bytes(4)
        seed = crc32c(0, block[16:40])
        block[172:176] = crc32c(seed, block[128:176] + block[192:204]).to_bytes(4, "little")
    return bytes(block)


@pytest.mark.parametrize("at", [0x08, 0x41, 0x2060, 0x20F0, 0x3010, 0x30A0, 0x30C0, 0x4008])
def test_a_wrong_byte_in_a_page_is_found(example: bytearray, tmp_path: Path, at: int) -> None:
    """Each is in a checksum, of both copies where there are two."""
    example[at] ^= 1
    example[0xFE000:0xFF000] = example[0x2000:0x3000]
    example[0xFF000:] = example[:BLOCK]
    with pytest.raises((AssertionError, ValueError, IndexError)):
        test_the_example_is_read(example, tmp_path)
