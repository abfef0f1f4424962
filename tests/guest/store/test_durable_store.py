# SPDX-License-Identifier: MIT
"""What a store and a recording make durable, in the entries that the drive fetches, see entries.py.

A change of a store is durable block by block, in an order that no power cut can turn into
damage (docs/store-format.md, "Changing the table"); data is durable before the table counts it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from bind_lab import COMMAND_LIMIT_S, install_into_cache, installing
from disks import MIB
from entries import FLUSH, WRITE, Entry, Submissions
from rig import Rig
from shared_guest import FileGuest, Setup

from chario_lab.guest.spec import Namespace, Nvme

pytestmark = [pytest.mark.area("kernel/front/transfer", "kernel/front/ioctl", "kernel/memory/", "lib/src/", "cli/")]

BLOCK = 4096
DISK_MIB = 64
AREAS_A_BLOCK = 10
NOTE, FIRST_TABLE = 1, 2  # blocks of a store
TABLE_BLOCKS = 4
SECOND_TABLE = DISK_MIB * MIB // BLOCK - 1 - TABLE_BLOCKS
LAST_BLOCK = DISK_MIB * MIB // BLOCK - 1
SOURCE = "/run/source"
SETUP = Setup(drives=(Nvme("durable", (Namespace(DISK_MIB), Namespace(DISK_MIB, 4096))),))


@dataclass(frozen=True)
class Step:
    """A write to a store, or a flush: a part of the store, and whether FUA says that it is durable."""

    part: str
    durable: bool


FLUSHED = Step("flush", False)
# One change of one area, up to the moment from which nothing can take it back.
CHANGE = [Step("note", True), Step("first", True), Step("second", True)]
END_OF_CHANGE = "note"


@dataclass
class Store:
    """A store that has been made for one test."""

    rig: Rig
    node: str
    block: int
    submissions: Submissions

    @property
    def format(self) -> str:
        """How the store is made."""
        return f"format --force --areas {TABLE_BLOCKS * AREAS_A_BLOCK} {self.node}"

    def chario(self, words: str) -> list[Entry]:
        """Run the program to its end; the writes and flushes that the drive has had from it."""
        self.rig.guest.must(f"chario {words}", COMMAND_LIMIT_S, env={"CHARIO_STORE": self.node})
        return [entry for entry in self.submissions.fetched() if entry.opcode in (FLUSH, WRITE)]

    def steps(self, words: str) -> list[Step]:
        """The same as what it has done to the store."""
        return [self._step(entry) for entry in self.chario(words)]

    def _step(self, entry: Entry) -> Step:
        if entry.opcode == FLUSH:
            return FLUSHED
        place = entry.first_block * self.block // BLOCK
        return Step(part_of(place), entry.fua)


def part_of(place: int) -> str:
    """What a block of a store belongs to."""
    if place in (0, LAST_BLOCK):
        return "header"
    if place == NOTE:
        return "note"
    if FIRST_TABLE <= place < FIRST_TABLE + TABLE_BLOCKS:
        return "first"
    if SECOND_TABLE <= place < LAST_BLOCK:
        return "second"
    return "data"


@pytest.fixture(params=[512, 4096])
def store(keeper: FileGuest, request: pytest.FixtureRequest) -> Store:
    """A store on either format."""
    rig = keeper.get(request)
    rig.guest.must(
        f"[ -e /run/installed ] || {{ {installing(install_into_cache())} && "
        f"dd if=/dev/urandom of={SOURCE} bs=1000 count=5000 && touch /run/installed; }}",
        COMMAND_LIMIT_S,
    )
    submissions = Submissions(rig.guest)
    node = rig.disks(0)[0 if request.param == 512 else 1]
    made = Store(rig, node, request.param, submissions)
    made.chario(made.format)
    return made


def changes_of(steps: Sequence[Step]) -> list[list[Step]]:
    """What was done in each change: from the note that it begins to the note that it has ended."""
    changes: list[list[Step]] = []
    inside = False
    for step in steps:
        if step.part == "note":
            inside = not inside
            if inside:
                changes.append([])
        if inside:
            changes[-1].append(step)
    assert not inside, f"a change was not ended: {steps}"
    return changes


def unsettled(steps: Sequence[Step]) -> list[str]:
    """The parts of what was written that neither FUA nor a flush has made durable."""
    parts: list[str] = []
    for step in steps:
        if step == FLUSHED:
            parts = []
        elif not step.durable:
            parts.append(step.part)
    return parts


def check_order(steps: Sequence[Step]) -> None:
    """Changes are whole, there is one at least, and no data that one may count is left to a cache when it begins."""
    changes = changes_of(steps)
    assert changes and all(change == CHANGE for change in changes), steps
    begins = [place for place, step in enumerate(steps) if step == CHANGE[0]]
    assert not [place for place in begins if "data" in unsettled(steps[:place])], steps


VERBS = {
    "create": "create two 1M",
    "grow": "resize one 2M",
    "shrink": "resize one 512K",
    "rename": "rename one three",
    "remove": "rm one",
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_a_change_is_durable_block_by_block(store: Store, verb: str) -> None:
    """The note says where, then the first copy, then the second: each with FUA, in this order, and nothing else."""
    store.steps("create one 1M")
    steps = store.steps(verb)
    assert steps[:-1] == CHANGE and steps[-1].part == END_OF_CHANGE


def test_a_header_comes_last(store: Store) -> None:
    """All of an empty store is durable before either header says that there is one."""
    steps = store.steps(store.format)
    assert steps[:2] == steps[-2:] == [Step("header", True)] * 2
    made = steps[2:-2]
    assert {step.part for step in made} == {"first", "second", "note", "flush"}
    assert made[-1] == FLUSHED


def test_data_is_durable_before_it_counts(store: Store) -> None:
    """Put: what the table says is there was flushed before; in the end no data is left to a cache."""
    steps = store.steps(f"put {SOURCE} one")
    check_order(steps)
    assert "data" in [step.part for step in steps] and "data" not in unsettled(steps)


def test_a_move_is_durable_before_it_counts(store: Store) -> None:
    """Defrag: each piece that was copied is flushed before the table counts it as moved."""
    for words in ("create one 1M", f"put {SOURCE} two", "rm one"):
        store.chario(words)
    steps = store.steps("defrag")
    check_order(steps)
    assert "data" in [step.part for step in steps]


@pytest.mark.parametrize("durability", ["none", "flush", "fua", "auto"])
def test_a_recording_is_durable_as_it_was_asked_for(store: Store, durability: str) -> None:
    """Each segment carries FUA with fua and none does otherwise; in the end all is durable, whatever was asked for."""
    steps = store.steps(f"record --size 8M --segment 64K --late-ms 600000 --durability {durability} one <{SOURCE}")
    data = [step for step in steps if step.part == "data"]
    assert len(data) >= 5_000_000 // (128 << 10)
    fua = [step.durable for step in data]
    assert all(fua) if durability == "fua" else not any(fua), steps
    assert (FLUSHED in steps) == (durability != "fua")
    assert "data" not in unsettled(steps), steps


def test_a_recording_is_flushed_on_the_way(store: Store) -> None:
    """With durability by flush the first bytes are durable long before the end."""
    steps = store.steps(f"record --size 8M --segment 64K --late-ms 600000 --flush-ms 1 -d flush one <{SOURCE}")
    flushes = [place for place, step in enumerate(steps) if step == FLUSHED]
    assert len(flushes) >= 2 and any(step.part == "data" for step in steps[flushes[0] :])
