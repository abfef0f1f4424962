# SPDX-License-Identifier: MIT
"""Work that a power cut ends, and what must be there after it.

It runs in a guest, until the machine is killed: `python3 cut_work.py WORK PLACE TOLD SEED ...`.  When
something is durable, and before anything else is begun, a line is appended to the file TOLD.  The
host imports it to judge what is left.
"""

import hashlib
import itertools
import os
import random
import signal
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

BLOCK_BYTES = 16384
NAMES = [f"file{number}" for number in range(12)]

# What is done to a file: the kind, its name, and its content or new name.
Change = tuple[str, str, "str | bytes"]
Files = dict[str, bytes]


def content(seed: str, number: int, most: int) -> bytes:
    """Bytes that belong to a number."""
    dice = random.Random(f"{seed} {number}")
    return hashlib.shake_128(f"{seed} {number}".encode()).digest(dice.randint(1, most))


def block(seed: str, number: int) -> bytes:
    """A block of a recording."""
    return hashlib.shake_128(f"{seed} {number}".encode()).digest(BLOCK_BYTES)


def tell(told: int) -> None:
    """Say to the host that one thing more is durable."""
    os.write(told, b"\n")


# A database


def keep_rows(path: str, told: int, seed: str, journal: str) -> None:
    """Commit row after row.  With a journal that is deleted, only EXTRA makes that durable, too."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(f"PRAGMA journal_mode={journal}")
        database.execute(f"PRAGMA synchronous={'EXTRA' if journal == 'DELETE' else 'FULL'}")
        database.execute("CREATE TABLE kept (number INTEGER PRIMARY KEY, content BLOB)")
        for number in itertools.count(1):
            database.execute("INSERT INTO kept VALUES (?, ?)", (number, content(seed, number, 12000)))
            tell(told)


def judge_rows(path: Path, seed: str, least: int) -> None:
    """The database is whole, and has the rows up to some number that is not less than what was told."""
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        made = database.execute("SELECT name FROM sqlite_schema").fetchall()
        rows = database.execute("SELECT number, content FROM kept ORDER BY number").fetchall() if made else []
    assert len(rows) >= least, f"{least} rows were told, {len(rows)} are there"
    for number, (found, data) in enumerate(rows, start=1):
        assert (found, data) == (number, content(seed, number, 12000)), f"row {number} is wrong"


# A recording


def record(disk: str, told: int, seed: str, first: int, length: int) -> None:
    """Write block after block to a region, each of them durable by itself."""
    import region_calls  # noqa: PLC0415  the host does not need it

    reader = os.open(disk, os.O_RDONLY)
    assert region_calls.set_regions(reader, [(1, first, length)]) == 0
    part, memory = os.open(f"{disk}p1", os.O_RDWR), region_calls.aligned(BLOCK_BYTES)
    for number in range(length // BLOCK_BYTES):
        memory[:] = block(seed, number)
        assert os.pwritev(part, [memory], number * BLOCK_BYTES, os.RWF_DSYNC) == BLOCK_BYTES
        tell(told)
    # The region is full: it stays claimed until the machine is killed.
    signal.pause()


def judge_recording(image: Path, seed: str, least: int) -> None:
    """The region has all blocks that were told."""
    with image.open("rb") as file:
        for number in range(least):
            assert file.read(BLOCK_BYTES) == block(seed, number), f"block {number} of {least} is wrong"


# A folder


def changes(seed: str) -> Iterator[Change]:
    """Changes of files that are there when the changes before have been made."""
    names: set[str] = set()
    for number in itertools.count():
        dice = random.Random(f"{seed} change {number}")
        kind = dice.choice(["write", "write", "append", "rename", "remove"]) if len(names) > 1 else "write"
        name = dice.choice(NAMES if kind == "write" else sorted(names))
        if kind == "rename":
            target = dice.choice([other for other in NAMES if other != name])
            names = names - {name} | {target}
            yield kind, name, target
        else:
            names = names - {name} if kind == "remove" else names | {name}
            yield kind, name, content(seed, number, 40000)


def after(files: Files, change: Change) -> Files:
    """The files when a change has been made."""
    kind, name, argument = change
    rest = {other: data for other, data in files.items() if other != name}
    if isinstance(argument, str):
        return rest | {argument: files[name]}
    if kind == "remove":
        return rest
    return rest | {name: (files[name] if kind == "append" else b"") + argument}


def touched(change: Change) -> set[str]:
    """The names whose files may be anything while a change is under way."""
    _, name, argument = change
    return {name, argument} if isinstance(argument, str) else {name}


def make(folder: str, change: Change) -> None:
    """Make a change, and wait until it is durable."""
    kind, name, argument = change
    path = f"{folder}/{name}"
    if isinstance(argument, str):
        os.rename(path, f"{folder}/{argument}")
    elif kind == "remove":
        os.unlink(path)
    else:
        with open(path, "ab" if kind == "append" else "wb", buffering=0) as file:
            file.write(argument)
            os.fsync(file)
    directory = os.open(folder, os.O_RDONLY)
    os.fsync(directory)
    os.close(directory)


def change_files(folder: str, told: int, seed: str, number: int) -> None:
    """Make some durable changes, with others beside them that are not."""
    beside = f"{folder}-beside"
    os.makedirs(folder)
    os.mkdir(beside)
    for turn, change in enumerate(itertools.islice(changes(seed), number)):
        Path(beside, f"{turn}").write_bytes(content(seed, turn, 60000))
        if turn >= 8:
            os.replace(f"{beside}/{turn - 4}", f"{beside}/{turn - 8}")
        make(folder, change)
        tell(told)


def judge_files(folder: Path, seed: str, least: int, most: int) -> None:
    """The files are as after some number of changes, not less than what was told; the next may be half made."""
    found = {path.name: path.read_bytes() for path in folder.iterdir()} if folder.exists() else {}
    files: Files = {}
    wrong: list[str] = []
    for number, change in enumerate(itertools.islice(changes(seed), most + 1)):
        if number >= least:
            wrong = [name for name in NAMES if files.get(name) != found.get(name) and name not in touched(change)]
            if not wrong:
                return
        files = after(files, change)
    raise AssertionError(f"of {least} to {most} changes none has left these files; at last {wrong} differ")


if __name__ == "__main__":
    work, place, told_path, seed_text, *rest = sys.argv[1:]
    line = os.open(told_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    if work == "rows":
        keep_rows(place, line, seed_text, *rest)
    elif work == "record":
        record(place, line, seed_text, *map(int, rest))
    else:
        change_files(place, line, seed_text, *map(int, rest))
