# SPDX-License-Identifier: MIT
"""A drive that lies: whatever it says is bounded, told, and over when the drive has gone.

It puts completions into the driver's queues that nobody has asked for, with what comes to its mind in each field, and
describes itself and its namespaces at random.  LIES=N says how many completions, 10,000 unless said; there is a
description for each thousand.  Each run draws its own seed, and a failure shows it: FUZZ_SEED=N repeats a run.
"""

import os
import random
import re
from collections.abc import Sequence
from errno import EROFS, errorcode

import pytest
from played import (
    CONTROLLER_FIELDS,
    NAMESPACE_FIELDS,
    OK,
    REGISTERS,
    Command,
    Completion,
    Fields,
    Opcode,
    controller_page,
    health_page,
    namespace_page,
    played,
    set_up,
    taken,
    well,
)
from rig import Rig

from chario_lab.guest.job import CommandFailed
from chario_lab.waiting import until

pytestmark = [pytest.mark.area("kernel/drive/", "kernel/back/nvme/"), pytest.mark.slow]

SETUP = set_up(private_queues=1)
LIES = int(os.environ.get("LIES") or 10_000)
SEED = int(os.environ.get("FUZZ_SEED") or random.getrandbits(32))
# With each command: fewer than the queue has entries, or the drive would wait for itself.
AT_ONCE, AT_ONCE_ADMIN, EARLY = 240, 12, 8
READS, POLL = 50, "completion,2"
PIN_RETRY, ASKS = 1 << 4, 3
STATUSES = (0x000, 0x002, 0x007, 0x080, 0x281, 0x7FF, 0x4004, 0x7FFF)
STRAY = "not in flight"


class Liar:
    """Makes up completions, some of them nearly true."""

    def __init__(self) -> None:
        self.random = random.Random(SEED)
        self.known: list[int] = [0]
        self.told = 0
        print(f"FUZZ_SEED={SEED} repeats this run", flush=True)

    def completions(self, command: Command, count: int, truth: float) -> list[Completion]:
        """So many, a part of which names the command itself."""
        self.known = [*self.known[-300:], command.cid]
        self.told += count
        return [self._completion(command, truth) for _ in range(count)]

    def _completion(self, command: Command, truth: float) -> Completion:
        draw = self.random
        near = (draw.choice(self.known), command.cid ^ 1 << draw.randrange(16), draw.getrandbits(16))
        cid = command.cid if draw.random() < truth else draw.choice(near)
        status = draw.choice((draw.getrandbits(15), *STATUSES))
        return Completion(draw.getrandbits(32), draw.getrandbits(16), draw.getrandbits(16), cid, status)

    def page(self, page: bytes, fields: Fields, names: Sequence[str]) -> bytes:
        """A description with some bytes of some fields changed, and some elsewhere."""
        lie = bytearray(page)
        for name in self.random.sample(names, self.random.randrange(1, 4)):
            place = fields[name][0] + self.random.randrange(2)
            lie[place] = self.random.choice((0, 1, 0xFF, self.random.getrandbits(8)))
        for _ in range(self.random.randrange(8)):
            lie[self.random.randrange(len(lie))] = self.random.getrandbits(8)
        return bytes(lie)


@pytest.fixture
def liar() -> Liar:
    """Each test has its own, with the seed of the run."""
    return Liar()


def is_result(result: int, good: int = 4096) -> bool:
    """What was asked for, or an error that there is."""
    return result == good or -result in errorcode


def works(rig: Rig, address: str, **what: object) -> None:
    """The drive is bound anew and tells the truth: nothing is left of what it said before."""
    with played(rig, REGISTERS, **what) as drive:
        assert drive.address == address
        (disk,) = rig.take(address)
        assert rig.calls(disk, POLL, "write,0,4096", "read,0,4096")[1:3] == [("write", 4096), ("read", 4096)]


@pytest.mark.parametrize("truth", [0.0, 0.01], ids=["others", "own"])
def test_completions_of_all_kinds(rig: Rig, liar: Liar, truth: float) -> None:
    """None that is another's changes what a read gives; what names the read itself ends it, one way or the other."""
    with taken(rig, REGISTERS) as (drive, disk):

        def status(queue: int, command: Command) -> int:
            if queue:
                # Who polls leaves some behind when his own read has been ended by a lie; and the truth takes one.
                room = drive.room(queue) - EARLY - 1
                lies = liar.completions(command, min(AT_ONCE, max(room, 0)), truth)
                if not truth:
                    lies = [lie for lie in lies if lie.cid != command.cid]
                drive.put(queue, lies)
                if room >= 0:
                    drive.put_early(queue, liar.completions(command, EARLY, 1.0))
            return OK

        drive.status = status
        # The log takes some of them every few seconds.
        while liar.told < LIES or STRAY not in rig.said(rig.began):
            reads = [result for name, result in rig.calls(disk, POLL, *["read,0,4096"] * READS) if name == "read"]
            assert all(is_result(result) for result in reads)
            assert truth or set(reads) == {4096}
        assert truth or rig.counters(disk)["errors"] == 0
    works(rig, drive.address)


def test_answers_to_admin_commands(rig: Rig, liar: Liar) -> None:
    """They may cost the drive its disks, or a reset; whoever asked is told something, and not the next who asks."""
    with taken(rig, REGISTERS) as (drive, disk):

        def status(queue: int, command: Command) -> int:
            if queue == 0 and command.opcode not in (Opcode.CREATE_CQ, Opcode.CREATE_SQ):
                drive.put(0, liar.completions(command, AT_ONCE_ADMIN, 0.02))
            return OK

        drive.status = status
        told = -1
        # A drive that has been given up is asked nothing any more.
        while told < liar.told < LIES / 20:
            told = liar.told
            asked = rig.calls(disk, *[f"pin,{PIN_RETRY}", "in-force", "pin,0"] * ASKS)
            assert all(is_result(result, 0) or name == "in-force" for name, result in asked)
        drive.status = well
        until(lambda: STRAY in rig.said(rig.began), "no lie is told")
    works(rig, drive.address)


def test_descriptions(rig: Rig, liar: Liar) -> None:
    """The drive is refused with a reason, or its disks can be read, or cannot; it is let go again each time."""
    for _ in range(max(LIES // 1000, 1)):
        controller = liar.page(controller_page(), CONTROLLER_FIELDS, sorted(CONTROLLER_FIELDS))
        spaces = {nsid: liar.page(namespace_page(), NAMESPACE_FIELDS, sorted(NAMESPACE_FIELDS)) for nsid in (1, 2)}
        listed = tuple(liar.random.choices((1, 2, 2, 3, 0xFFFF_FFFE, 0xFFFF_FFFF), k=4))
        health = liar.random.randbytes(len(health_page()))
        what = {"controller": controller, "namespaces": spaces, "listed": listed, "health": health}
        with played(rig, REGISTERS, **what) as drive:
            try:
                disks = rig.take(drive.address)
            except CommandFailed as refusal:
                assert re.search("refused|not bound", str(refusal))
                continue
            for disk in disks:
                results = dict(rig.calls(disk, POLL, "read,0,65536", "write,0,65536", "atomic", "info"))
                # It may say that it is write protected.
                if results != {"open": -EROFS}:
                    assert is_result(results["read"], 65536) and results["info"] == 0
                rig.guest.run(f"grep -rs . /sys/class/chario/{disk.rpartition('/')[2]}/health")
    works(rig, drive.address)
