# SPDX-License-Identifier: MIT
"""Recorders at a fixed rate for half a minute, on a drive that is slowed down and that stalls.

Four of them at once, with each durability and as a ring.  What found no buffer is lost, what took too
long is late: both are counted, and the recordings have the gaps that the recorders
saw.  No time is asserted; that the recorders are on time is the business of a real machine.
"""

import time
from collections.abc import Iterator

import pytest
from conftest import Launcher
from disks import Programs

from chario_lab.guest import faults
from chario_lab.guest.devices import bdf, bind, nodes
from chario_lab.guest.job import Job
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Namespace, Nvme, Throttle

pytestmark = [pytest.mark.area("lib/src/", "cli/"), pytest.mark.slow]

SECONDS = 30
PERIOD_US = 20_000
RECORD_BYTES = 65_528
SEGMENT_BYTES = 256 << 10
RECORDS_A_SEGMENT = 3
BUFFERS = 8
AREA_MIB, RING_MIB = 150, 40
# The drive finishes what it holds back when it is reset; the same writes are then made again.
DEADLINE = "deadline_ms=4000"
LIMIT_S = 600
QUIET_S = 3.0
SLOW_S = 5.0
# Longer than the deadline, shorter than the retries of a write together.
STALL_S = 6.0
# Less than the recorders want, together.
SLOW_BYTES_PER_S = 4 << 20

DRIVE = Nvme("stream", (Namespace(700, 4096, backing=Throttle()),))
RECORDERS = {"none": "none", "flush": "flush", "fua": "fua", "ring": "flush ring"}

Numbers = dict[str, int]
Gaps = list[tuple[int, int]]


def parse(text: str) -> tuple[Numbers, Gaps]:
    """The lines of src/producer.c."""
    lines = [line.split() for line in text.splitlines()]
    numbers = {words[0]: int(words[1]) for words in lines if words[0] != "gap"}
    return numbers, [(int(words[1]), int(words[2])) for words in lines if words[0] == "gap"]


@pytest.fixture
def stalling(fresh_guest: Launcher) -> Iterator[tuple[Guest, str]]:
    """A guest whose drive can be slowed down, and its disk."""
    guest = fresh_guest(drives=(DRIVE,), parameters=DEADLINE, cpus=2)
    bind(guest, bdf(guest, 0))
    yield guest, nodes(guest, bdf(guest, 0))[0]
    faults.let_go(guest, 0)


def disturb(guest: Guest) -> None:
    """Half a minute of a drive: good, slow, good, stalled, good."""
    time.sleep(QUIET_S)
    faults.stall(guest, 0, bytes_per_s=SLOW_BYTES_PER_S)
    time.sleep(SLOW_S)
    faults.let_go(guest, 0)
    time.sleep(QUIET_S)
    faults.stall(guest, 0)
    guest.files.touch("/run/stalled")
    time.sleep(STALL_S)
    guest.files.remove("/run/stalled")
    faults.let_go(guest, 0)


def check(kind: str, numbers: Numbers, gaps: Gaps, again: Numbers, found: Gaps) -> None:
    """The counts of a recorder agree with each other, with the stall, and with its recording."""
    lost, attempts = numbers["lost"], numbers["attempts"]
    assert attempts == SECONDS * 1_000_000 // PERIOD_US
    assert numbers["records"] == numbers["durable_records"] == attempts - lost
    assert (numbers["lost_records"], numbers["lost_bytes"]) == (lost, lost * RECORD_BYTES)
    # While nothing goes to the drive, only what the buffers hold is not lost; some segments may still have passed.
    room = (BUFFERS + 6) * RECORDS_A_SEGMENT
    assert numbers["stalled_attempts"] - room <= numbers["stalled_lost"] <= numbers["stalled_attempts"]
    assert numbers["retries"] > 0 and numbers["stalled_lost"] > 0 and numbers["least_free_buffers"] == 0
    # What was in flight when the drive stalled, at least, came late.
    assert numbers["late"] > 0 and numbers["late_ns"] >= numbers["longest_ns"] - 500_000_000 > 0
    assert sum(records for _, records in gaps) == lost
    assert found == [gap for gap in gaps if gap[0] > again["first"]]
    if kind == "ring":
        assert again["first"] > 0 and again["records"] < numbers["records"]
    else:
        assert (again["records"], again["missing"]) == (numbers["records"], lost)
    assert numbers["flushes"] > 5 or kind not in ("flush", "ring")


def test_half_a_minute(stalling: tuple[Guest, str], guest_program: Programs) -> None:
    """Recorders, readers, and what both have counted."""
    guest, disk = stalling
    program = guest.push(guest_program("producer"))
    areas = " ".join(f"{kind} {RING_MIB if kind == 'ring' else AREA_MIB}" for kind in RECORDERS)
    guest.must(f"{program} make {disk} {areas}", LIMIT_S)
    jobs: dict[str, Job] = {}
    for kind, options in RECORDERS.items():
        words = f"{SECONDS} {PERIOD_US} {RECORD_BYTES} {SEGMENT_BYTES} {BUFFERS} {options}"
        jobs[kind] = guest.start(f"{program} record {disk} {kind} {words}", LIMIT_S)
    disturb(guest)
    for kind, job in jobs.items():
        numbers, gaps = parse(job.wait().check().stdout)
        again, found = parse(guest.must(f"{program} read {disk} {kind} {RECORD_BYTES}", LIMIT_S))
        check(kind, numbers, gaps, again, found)


def test_memory_apart(fresh_guest: Launcher, guest_program: Programs) -> None:
    """Where CPU and drive see memory apart, as with bounce buffers, a store and a recording are handed over."""
    guest = fresh_guest(drives=(DRIVE,), parameters=DEADLINE, append="swiotlb=force")
    bind(guest, bdf(guest, 0))
    disk = nodes(guest, bdf(guest, 0))[0]
    program = guest.push(guest_program("producer"))
    guest.must(f"{program} make {disk} sensor {RING_MIB}", LIMIT_S)
    words = f"3 {PERIOD_US} {RECORD_BYTES} {SEGMENT_BYTES} {BUFFERS} flush"
    numbers, gaps = parse(guest.must(f"{program} record {disk} sensor {words}", LIMIT_S))
    again, found = parse(guest.must(f"{program} read {disk} sensor {RECORD_BYTES}", LIMIT_S))
    assert numbers["records"] == again["records"] > 0 and found == gaps
