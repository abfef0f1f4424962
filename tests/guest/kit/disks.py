# SPDX-License-Identifier: MIT
"""What tests ask of a disk in a guest: its sysfs files, its counters, a script of calls."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from chario_lab.guest.session import Guest

Programs = Callable[[str], Path]

KIB, MIB = 1 << 10, 1 << 20
# The first disk of a guest.
NODE = "/dev/chardisk0"
# Memory that Linux leaves alone where it is told to by memmap=, for windows.
HIDDEN, HIDDEN_BYTES = 0x3000_0000, 16 * MIB


def folder(node: str) -> str:
    """The disk's folder in sysfs."""
    return f"/sys/class/chario/{node.removeprefix('/dev/')}"


def attributes(guest: Guest, node: str) -> dict[str, str]:
    """All attributes of a disk."""
    return guest.files.values(folder(node))


@contextlib.contextmanager
def setting(guest: Guest, node: str, name: str, value: object) -> Iterator[None]:
    """A value in sysfs, put back at the end of the block."""
    path = f"{folder(node)}/{name}"
    before = guest.files.value(path)
    guest.files.write(path, value)
    try:
        yield
    finally:
        guest.files.write(path, before)


def counters(guest: Guest, node: str) -> dict[str, int]:
    """All counters of a disk."""
    return {name: int(value) for name, value in guest.files.values(f"{folder(node)}/counters").items()}


def grown(guest: Guest, node: str, before: dict[str, int]) -> dict[str, int]:
    """The counters that have changed since, and by how much."""
    now = counters(guest, node)
    return {name: now[name] - before[name] for name in now if now[name] != before[name]}


def calls(guest: Guest, programs: Programs, node: str, script: Sequence[str], flags: Sequence[str] = ()) -> list[str]:
    """Make the calls of src/calls.c; what each of them answered."""
    command = [guest.push(programs("calls")), node, *flags]
    return guest.must(command, stdin="\n".join(script) + "\n").splitlines()


def limited(guest: Guest, node: str, command: str, stdin: str, kib: int = 1024, timeout_s: float = 60) -> list[str]:
    """What a program says to a user who may do nothing but use a disk, and lock so much memory."""
    guest.must(f"chmod 666 {node}")
    user = f"ulimit -l {kib}; exec setpriv --reuid=65534 --clear-groups {command}"
    answers = guest.must(user, stdin=stdin, timeout_s=timeout_s).split()
    guest.must(f"chmod 600 {node}")
    return answers
