# SPDX-License-Identifier: MIT
"""Calls on memory that does not come keep no command, no lock and no drive from anybody else."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from programs import compile_program
from rig import CALL_LIMIT_S, NOBODY, Rig
from shared_guest import Setup

from chario_lab.guest.job import Job
from chario_lab.guest.spec import Namespace, Nvme

pytestmark = [
    pytest.mark.area("kernel/front/", "kernel/queue/edge", "kernel/drive/", "kernel/back/nvme/", "kernel/compat/"),
    pytest.mark.kernels("debug"), pytest.mark.cpus(2),
]  # fmt: skip

FEW = 0
BLOCK, COUNT = 4096, 6
# Two commands, of which the second has the page that does not come.
LONG = 132 * 1024
WAITING, GO = "/run/waiting", "/run/go"
SETUP = Setup(drives=(Nvme("few", (Namespace(64, BLOCK),), mqes=2, max_ioqpairs=1),))
WAYS = ("read", "write", "uring")
STRICT = [(way, size) for way in WAYS for size in (BLOCK, LONG)]
# Each of a huge page, which some kernels wait for although they are told not to.
HUGE = [(way, size) for way in ("read-huge", "write-huge") for size in (BLOCK, LONG)]
PARTS = [(way, size) for way in ("read-parts", "write-parts") for size in (100, LONG + 100)]


@pytest.fixture
def disk(rig: Rig) -> Iterator[str]:
    """A disk of two commands, which unprivileged callers may use."""
    node = rig.disk(FEW)
    rig.guest.must(f"chmod 666 {node}; echo 1 >/proc/sys/vm/unprivileged_userfaultfd; mkdir -p /run; chmod 1777 /run; "
                   f"echo {COUNT} >/proc/sys/vm/nr_hugepages")  # fmt: skip
    yield node
    rig.unbind(FEW)


@contextmanager
def waiting(rig: Rig, disk: str, way: str, size: int) -> Iterator[Job]:
    """Calls of one who may do nothing else, each of which waits for a page: more than there are commands."""
    command = [rig.guest.push(compile_program("absent")), disk, way, str(COUNT), str(size), WAITING, GO]
    job = rig.guest.start([*NOBODY, *command], timeout_s=CALL_LIMIT_S)
    try:
        rig.wait_file(WAITING)
        yield job
    finally:
        rig.touch(GO)


@pytest.mark.parametrize(("way", "size"), STRICT + HUGE + PARTS)
def test_others_are_served(rig: Rig, disk: str, way: str, size: int) -> None:
    """All of them wait at one time, and a call of somebody else passes; when the memory comes they end well."""
    with waiting(rig, disk, way, size) as job:
        for call in (f"read,0,{BLOCK}", f"write,{32 << 20},{BLOCK}"):
            assert rig.call(disk, call) == BLOCK
    assert job.wait().check().stdout == f"{COUNT * size}\n"
    assert rig.counters(disk)["timeouts"] == 0
    rig.wait_unpinned()


@pytest.mark.parametrize("way", ["read", "uring", "write-parts"])
def test_the_drive_can_be_taken_away(rig: Rig, disk: str, way: str) -> None:
    """Unbinding waits for none of them."""
    with waiting(rig, disk, way, BLOCK + 100 if "parts" in way else BLOCK) as job:
        rig.unbind(FEW)
    assert not job.wait().stdout


@pytest.mark.parametrize("way", ["read", "uring", "write-parts"])
def test_who_waits_can_be_killed(rig: Rig, disk: str, way: str) -> None:
    """At once, though its memory never comes."""
    with waiting(rig, disk, way, LONG) as job:
        rig.guest.must("kill -9 $(pidof absent)")
        job.wait()
    assert rig.call(disk, f"read,0,{BLOCK}") == BLOCK
