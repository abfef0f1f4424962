# SPDX-License-Identifier: MIT
"""The block disk of a disk, as tests make and use it."""

from pathlib import Path, PurePosixPath

from disks import folder

from chario_lab.guest.session import Guest

# What scripts of Python in a guest begin with to have the functions of region_calls.py.
REGION_CALLS = (Path(__file__).parent / "region_calls.py").read_text()


def enable(guest: Guest, disk: str) -> str:
    """Make the block disk of a disk; its node."""
    guest.files.write(f"{folder(disk)}/block", 1)
    return f"{disk}b"


def disable(guest: Guest, disk: str) -> int:
    """Take the block disk away; the exit code, 0 where it is not in use."""
    return guest.run(f"echo 0 >{folder(disk)}/block").rc or 0


def set_regions(guest: Guest, disk: str, *table: tuple[int, int, int]) -> None:
    """Give the module the regions of a disk: number, offset and length of each."""
    script = f"print(set_regions(os.open('{disk}', os.O_RDONLY), {table}))"
    assert guest.must(["python3", "-"], stdin=REGION_CALLS + script) == "0"


def is_taken(guest: Guest, node: str) -> bool:
    """Whether somebody has a block device to himself."""
    done = guest.run(["python3", "-c", f"import os; os.open({node!r}, os.O_RDONLY | os.O_EXCL)"])
    return done.rc != 0 and "busy" in done.stderr


def queue(guest: Guest, block: str, name: str) -> str:
    """An attribute of the block disk's queue."""
    return guest.files.value(f"/sys/block/{PurePosixPath(block).name}/queue/{name}")


def noise(guest: Guest, kib: int, path: str = "/run/noise") -> str:
    """A file of random bytes; its path."""
    guest.must(f"head -c {kib << 10} /dev/urandom >{path}")
    return path


def write(guest: Guest, node: str, path: str, at_kib: int = 0) -> None:
    """Write a file to a disk, whole blocks of 64 KiB."""
    guest.must(f"dd if={path} of={node} seek={at_kib << 10} oflag=direct,seek_bytes bs=64k conv=notrunc status=none")


def holds(guest: Guest, node: str, path: str, at_kib: int = 0) -> bool:
    """Whether a disk has the bytes of a file at a place."""
    bytes_ = int(guest.must(f"stat -c %s {path}"))
    command = f"dd if={node} skip={at_kib << 10} iflag=direct,skip_bytes bs=64k status=none | head -c {bytes_}"
    return guest.run(f"{command} | cmp - {path}").rc == 0
