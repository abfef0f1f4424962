# SPDX-License-Identifier: MIT
"""The program that was built, stores to try it on, and what it says of them beside what the reader does."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from format_recording import META, NO_CRC, Recording
from format_store import BLOCK, FILLING, MOVING, RECORDING, Area, Store, crc32c

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CHARIO_BUILD", TOP / "build"))
PROGRAM = str(BUILD / "cli" / "chario")
CRC_AT = 36

if not Path(PROGRAM).exists():
    raise RuntimeError(f"{PROGRAM} is missing: run make user, or set CHARIO_BUILD to the folder of the build")

# For those recordings that the program does not make.
os.environ["CHARIO_LIBRARY"] = str(BUILD / "lib" / "libchario.so.0")
sys.path.insert(0, str(TOP / "python" / "src"))


def chario(image: Path, *words: object, status: int = 0, stdin: bytes = b"") -> bytes:
    """What the program prints."""
    command = [PROGRAM, *map(str, words)]
    done = subprocess.run(command, input=stdin, capture_output=True, env=environment(image), check=False)
    assert done.returncode == status, f"{command} ended with {done.returncode}: {done.stderr.decode()}"
    return done.stdout


def environment(image: Path) -> dict[str, str]:
    return {**os.environ, "CHARIO_STORE": str(image)}


def listing(image: Path) -> list[dict[str, Any]]:
    """The areas as the program lists them."""
    areas: list[dict[str, Any]] = json.loads(chario(image, "ls", "--json"))["areas"]
    return areas


def as_listed(area: Area) -> dict[str, Any]:
    """An area as the reader finds it, in the words of the program."""
    filling = bool(area.flags & FILLING)
    return {
        "name": area.name,
        "id": area.id,
        "bytes": area.length,
        "allocated_bytes": area.bytes,
        "disk_offset": area.offset,
        "stream": bool(area.flags & RECORDING),
        "filling": filling,
        "moving": bool(area.flags & MOVING),
        "filled_bytes": area.filled_bytes if filling else area.length,
        "fill_tag": area.source,
        "created_ns": area.created_ns,
        "changed_ns": area.changed_ns,
        "attributes": area.attributes,
    }


def assert_same_areas(image: Path, listed: list[dict[str, Any]] | None = None) -> None:
    """The reader finds what the program lists, and in each area the same bytes."""
    with Store(image) as store:
        assert [as_listed(area) for area in store.areas] == (listing(image) if listed is None else listed)
        held = b"".join(store.read(area, 0, area.length) for area in store.areas)
        names = [area.name for area in store.areas]
    assert held == chario(image, "cat", "--force", *names)


def assert_same_records(image: Path, name: str, replayed: bytes | None = None, status: int = 0) -> int:
    """The reader finds the records that the program replays, all but the marked ones; returns how many."""
    with Store(image) as store:
        records = [r for r in Recording(store, store.find(name)).records() if not r.flags & META]
    told = [
        {
            "sequence": record.sequence,
            "time_ns": record.time_ns,
            "bytes": len(record.data),
            "missing": record.missing,
            "checksum": not record.flags & NO_CRC,
            "boottime_ns": record.boottime_ns,
        }
        for record in records
    ]
    lines = chario(image, "replay", "--json", name, status=status).splitlines()
    said = [json.loads(line) for line in lines]
    assert told == [{key: line.get(key) for key in told[0]} for line in said if "sequence" in line]
    if replayed is None:
        replayed = chario(image, "replay", name, status=status)
    assert b"".join(record.data for record in records) == replayed
    return len(records)


def overwrite(image: Path, offset: int, data: bytes) -> None:
    with image.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def read(image: Path, offset: int, length: int) -> bytes:
    with image.open("rb") as file:
        file.seek(offset)
        return file.read(length)


def seal(block: bytes | bytearray) -> bytes:
    """A block of a store with the right checksum."""
    plain = bytes(block[:CRC_AT]) + bytes(4) + bytes(block[CRC_AT + 4 :])
    return plain[:CRC_AT] + crc32c(0, plain).to_bytes(4, "little") + plain[CRC_AT + 4 :]


def table_offsets(image: Path, number: int = 0) -> tuple[int, int]:
    """Where both copies of a block of the table are."""
    with Store(image) as store:
        return 2 * BLOCK + number * BLOCK, store.header.second_offset + number * BLOCK
