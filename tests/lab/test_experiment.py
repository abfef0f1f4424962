# SPDX-License-Identifier: MIT
"""Running a plan: what is asked of the machine, what is recorded, and what becomes of failures."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

import pytest

from chario_lab import records
from chario_lab.counting.counter import Counter, CounterError
from chario_lab.counting.layers import USER
from chario_lab.counting.series import Operation
from chario_lab.experiment.measure import read_answer
from chario_lab.experiment.plan import SERIES, Act, Case, Station
from chario_lab.experiment.run import run
from chario_lab.guest.job import Result
from chario_lab.guest.session import GuestDied
from chario_lab.guest.spec import GuestSpec, Nvme
from chario_lab.progress import Progress
from chario_lab.target.machine import Machine
from chario_lab.target.need import Need
from chario_lab.target.place import SETTLED, Holder
from chario_lab.target.target import Target, TargetError
from chario_lab.testing.series import SYMBOLS, machine_record, operation

FIRST, SECOND = (Machine(name, GuestSpec(drives=(Nvme(name),))) for name in ("first", "second"))


class Seen:
    """What a human sees."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def step(self, title: str) -> AbstractContextManager[None]:
        """A step begins."""
        self.lines.append(title)
        return nullcontext()

    def show(self, text: str) -> None:
        """A program said something."""
        self.lines.append(f"  {text}")


class FakeCounter(Counter):
    """Sees one operation of 337 instructions a case."""

    def __init__(self) -> None:
        self.symbols = SYMBOLS

    def take(self, operations: int) -> list[Operation]:
        """As many as are expected, unless there are thirteen."""
        if operations == 13:
            raise CounterError("the plugin did not see the operations")
        return [operation({USER: 337})] * operations


class FakeTarget(Target):
    """Notes what is asked of it; a command with the word fail, hang or die does so."""

    address = "0000:01:00.0"

    def __init__(self, machine: Machine, progress: Progress) -> None:
        super().__init__("chario", progress)
        self.machine = machine
        self.counter = FakeCounter()
        self.asked: list[str] = []
        self.warning = ""

    def run(self, command: str | Sequence[str], timeout_s: float = 0) -> Result:
        """Nothing happens."""
        text = command if isinstance(command, str) else " ".join(command)
        self.asked.append(text)
        if "die" in text.split():
            raise GuestDied("the guest died: a signal ended it")
        answers = {
            "ls /sys/bus/pci/devices/0000:01:00.0/chario": "chardisk10 chardisk9",
            "chario-bench garbage": '{"elapsed_us": \x1b\x00',
            "ls -d /sys/bus/pci/devices/0000:01:00.0/nvme/nvme*/nvme*n[0-9]*": "/a/nvme0c0n10 /a/nvme0c0n9",
            "ls -U /dev/ng0n9 /dev/ng0n10 2>/dev/null; :": "/dev/ng0n9 /dev/ng0n10",
        }
        answer = answers.get(text, "")
        if "hang" in text.split():
            return Result(text, -9, "", "", timed_out=True)
        failed = int("fail" in text.split() or text.startswith("test -e"))
        return Result(text, failed, answer, "it failed" if "fail" in text.split() else "")

    def push(self, source: Path) -> str:
        """Everything is there."""
        return str(source)

    def program(self, name: str) -> str:
        """By its name."""
        return name

    def write(self, path: str, text: str) -> None:
        """Noted like a command."""
        self.asked.append(f"{text} >{path}")

    def learn(self, points: bool) -> None:
        """Noted like a command."""
        self.asked.append("learn points" if points else "learn")

    def read(self, path: str) -> str:
        """Three flushes, wherever they are counted; and which namespace a disk is."""
        if path.endswith("/nsid"):
            return {"nvme0n9": "1\n", "nvme0n10": "2\n"}[path.split("/")[-2]]
        return "3\n" if path.startswith("/sys/class/chario/") else f"{' '.join(map(str, range(15)))} 3 0\n"

    def served(self) -> tuple[int, int]:
        """One more read for each thing that was asked."""
        return len(self.asked), 0

    def describe(self) -> records.MachineRecord:
        """As little as can be said."""
        return machine_record(self.machine.name)

    def complaint(self) -> str:
        """What a test has put there."""
        return self.warning


class Rig:
    """Runs plans on fake machines."""

    def __init__(self, path: Path) -> None:
        self.targets: list[FakeTarget] = []
        self.seen = Seen()
        self.book = records.Book(path / "records")
        self.warning = ""

    @contextmanager
    def make(self, machine: Machine, progress: Progress) -> Iterator[Target]:
        """A machine."""
        target = FakeTarget(machine, progress)
        target.warning = self.warning
        self.targets.append(target)
        yield target

    def run(self, *stations: Station) -> None:
        """The plan."""
        run(stations, self.make, self.book, self.seen)

    def run_cases(self, *cases: Act | Case) -> None:
        """The plan of one station."""
        self.run(Station("raw", FIRST, Holder.BLOCK, cases))

    def failures(self) -> list[tuple[str, str, str]]:
        """Machine, case and reason of each."""
        return [
            (one.machine, one.case, one.reason) for one in records.of_kind(self.book.records, records.FailureRecord)
        ]


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    """Fake machines and an empty book."""
    return Rig(tmp_path)


def case(key: str, *words: str, **fields: object) -> Case:
    """A case with these words."""
    return Case(key, f"title of {key}", words or (key,), **fields)  # type: ignore[arg-type]


def test_the_drive_is_given_and_words_are_filled(rig: Rig) -> None:
    """What a case is told depends on who has the drive, and where."""
    settings = (("/sys/class/chario/{name}/completion", "poll"),)
    rig.run(
        Station("disk", FIRST, Holder.CHARIO, (case("a", "read", "{node}", "{second}", settings=settings),)),
        Station("raw", FIRST, Holder.BLOCK, (case("b", "{node}", "{generic}", program=SERIES),), ("echo {name}",)),
        Station("ext4", FIRST, Holder.EXT4, (case("c", "{folder}/file-{repeat}", repeats=2, cold=True),)),
        Station("again", FIRST, Holder.EXT4, (case("d"),), namespace=1, settings=(("/proc/{name}", "1"),)),
    )
    (target,) = rig.targets
    looks = ("nvme*", "[ -b", "ls -U", "mkfs.ext4 >/dev/null")
    assert [text for text in target.asked if not any(look in text for look in looks)] == [
        "chario bind 0000:01:00.0",
        "ls /sys/bus/pci/devices/0000:01:00.0/chario",
        "learn",
        "poll >/sys/class/chario/chardisk9/completion",
        "chario-bench read /dev/chardisk9 /dev/chardisk10",
        "chario unbind 0000:01:00.0",
        "echo nvme0n9",
        "learn",
        "repeat /dev/nvme0n9 /dev/ng0n9",
        f"mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 /dev/nvme0n9 && "
        f"mount /dev/nvme0n9 /mnt && {SETTLED}",
        "learn",
        "sync; echo 3 >/proc/sys/vm/drop_caches",
        "chario-bench /mnt/file-0",
        "sync; echo 3 >/proc/sys/vm/drop_caches",
        "chario-bench /mnt/file-1",
        "umount /mnt",
        f"mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 /dev/nvme0n10 && "
        f"mount /dev/nvme0n10 /mnt && {SETTLED}",
        "1 >/proc/nvme0n10",
        "learn",
        "chario-bench d",
    ]
    assert rig.failures() == []


def test_a_measurement_says_where_it_belongs_and_what_it_cost(rig: Rig) -> None:
    """Its machine, station, case and repeat; the drive's commands; each operation."""
    rig.run_cases(case("a", operations=3, calls=8))
    (record,) = records.of_kind(rig.book.records, records.SeriesRecord)
    assert (record.machine, record.station, record.case, record.repeat) == ("first", "raw", "a", 0)
    assert (record.instructions, record.calls, record.commands) == ([337, 337, 337], 8, records.Commands(1, 0, 0))
    assert record.words == ("chario-bench", "a")


def test_steps_are_shown_once_and_what_is_said_below(rig: Rig) -> None:
    """Cases of one step are one line; an act is a line of its own, with what is to be shown."""
    acts = (
        Act("said", "asking", lambda target: "an answer", shown=True),
        Act("kept", "asking again", lambda target: "another"),
        Act("done", "doing", lambda target: None),
    )
    rig.run_cases(*acts, case("a", step="counting"), case("b", step="counting"))
    assert rig.seen.lines == ["asking", "  an answer", "asking again", "doing", "counting"]
    texts = records.of_kind(rig.book.records, records.TextRecord)
    assert [(text.case, text.text) for text in texts] == [("said", "an answer"), ("kept", "another")]


def test_a_case_that_fails_leaves_the_others_alone(rig: Rig) -> None:
    """By its program, by what had to come before or after, by what it says, or because nothing was counted."""
    rig.run_cases(
        case("program", "fail"),
        case("before", before="fail before"),
        case("after", after="fail after", wrong="the data is another"),
        case("uncounted", operations=13),
        case("garbage"),
        case("lacking", needs=(Need("test -e /dev/udmabuf", "/dev/udmabuf"),)),
        case("good"),
    )
    assert rig.failures() == [
        ("first", "program", "it failed"),
        ("first", "before", "`fail before` ended with 1\nstderr:\nit failed"),
        ("first", "after", "title of after: the data is another"),
        ("first", "uncounted", "the plugin did not see the operations"),
        (
            "first",
            "garbage",
            "the program's answer is no JSON: JSON is malformed: invalid character (byte 15): "
            "'{\"elapsed_us\": \\x1b\\x00'",
        ),
    ]
    assert [record.case for record in records.of_kind(rig.book.records, records.SeriesRecord)] == ["good"]
    assert [record.needs for record in records.of_kind(rig.book.records, records.OmissionRecord)] == ["/dev/udmabuf"]


def test_a_machine_that_dies_takes_only_its_own_cases(rig: Rig) -> None:
    """What was measured before stays; the next machine is measured."""
    rig.run(
        Station("raw", FIRST, Holder.BLOCK, (case("a"), case("b", "die"), case("c"))),
        Station("disk", FIRST, Holder.CHARIO, (case("d"),)),
        Station("raw", SECOND, Holder.BLOCK, (case("a"),)),
    )
    died = "the guest died: a signal ended it"
    assert rig.failures() == [("first", "b", died), ("first", "c", died), ("first", "d", died)]
    measured = [(record.machine, record.case) for record in records.of_kind(rig.book.records, records.SeriesRecord)]
    assert measured == [("first", "a"), ("second", "a")]


def test_a_program_that_hangs_ends_what_was_to_be_done_there(rig: Rig) -> None:
    """A machine on which everything hangs would take the limit of each case."""
    rig.run(
        Station("raw", FIRST, Holder.BLOCK, (case("a", "hang", limit_s=5), case("b"))),
        Station("raw", SECOND, Holder.BLOCK, (case("a"),)),
    )
    reason = "title of a: no end after 5 s, so no more is measured on this machine"
    assert rig.failures() == [("first", "a", reason), ("first", "b", reason)]
    assert [record.machine for record in records.of_kind(rig.book.records, records.SeriesRecord)] == ["second"]


def test_a_machine_that_dies_after_its_last_case(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was measured stays, and the death is recorded."""
    monkeypatch.setattr(FakeTarget, "complaint", lambda target: target.must("die"))
    rig.run_cases(case("a"))
    assert rig.failures() == [("first", "", "the guest died: a signal ended it")]
    assert len(records.of_kind(rig.book.records, records.SeriesRecord)) == 1


def test_an_act_that_fails_ends_what_was_to_be_done_there(rig: Rig) -> None:
    """What follows may need it."""

    def fail(target: Target) -> None:
        raise TargetError("the data is another")

    rig.run_cases(Act("job", "doing the job", fail), case("a"))
    assert [reason for _, _, reason in rig.failures()] == ["the data is another"] * 2


def test_what_the_kernel_complains_of_is_recorded(rig: Rig) -> None:
    """With the machine."""
    rig.warning = "WARNING: at queue/queue.c"
    rig.run_cases(case("a"))
    (complaint,) = records.of_kind(rig.book.records, records.ComplaintRecord)
    assert (complaint.machine, complaint.text) == ("first", "WARNING: at queue/queue.c")


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": 1e999}', '{"a": {"b": {"c": 1}}}', "{" * 100_000, '{"a": null}'])
def test_an_answer_that_records_could_not_keep_is_refused(text: str) -> None:
    """Or the file could never be read again."""
    with pytest.raises(TargetError, match="is no JSON"):
        read_answer(text)
    assert read_answer('{"a": [1], "b": {"1": 2}, "c": "x", "d": 1.5}') == {"a": [1], "b": {"1": 2}, "c": "x", "d": 1.5}
