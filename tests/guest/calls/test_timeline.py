# SPDX-License-Identifier: MIT
"""The timeline: stages of every kind of call, in memory that user space maps; tags, stops, what is refused."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from disks import MIB, Programs, counters, grown, limited
from test_contract_trace import OF_A_COMMAND, STAGES

from chario_lab.guest.session import Guest

pytestmark = [
    pytest.mark.area("kernel/timeline/", "kernel/front/t", "kernel/memory/", "lib/src/timeline/", "cli/timeline"),
    pytest.mark.cpus(2),
]  # fmt: skip

BLOCK = 4096
RECORDS = 4096
OPEN = f"open {RECORDS} 0"
CONTROL = 0xC451
PROT_READ, PROT_WRITE, MAP_SHARED, MAP_PRIVATE = 1, 2, 1, 2
SECOND = 1_000_000_000
# Calls that are one request, and how they end.
KINDS = {
    "pread": False,
    "pwrite": False,
    "hipri": True,
    "transfer": False,
    "polled": True,
    "uring": False,
    "iopoll": True,
}


@dataclass(frozen=True)
class Record:
    """A record, or a request: a name and numbers."""

    name: str
    fields: dict[str, int]

    def __getitem__(self, name: str) -> int:
        return self.fields[name]


def parse(line: str) -> Record:
    """A line of records or requests."""
    name, *words = line.split()
    return Record(name, {key: int(value) for key, value in (word.split("=") for word in words)})


def run(guest: Guest, programs: Programs, node: str, script: Sequence[str]) -> list[str]:
    """What each line of a script for src/timeline.c answered; the lists of records are left out."""
    return [line for line in raw(guest, programs, node, script) if "=" not in line]


def raw(guest: Guest, programs: Programs, node: str, script: Sequence[str]) -> list[str]:
    """All that a script for src/timeline.c printed."""
    command = [guest.push(programs("timeline")), node]
    return guest.must(command, stdin="\n".join(script) + "\n", timeout_s=900).splitlines()


def listed(guest: Guest, programs: Programs, node: str, script: Sequence[str]) -> list[Record]:
    """What the lines `records` and `requests` of a script print."""
    lines = raw(guest, programs, node, script)
    failed = [line for line in lines if line.startswith("E")]
    assert not failed, lines
    return [parse(line) for line in lines if "=" in line]


def prepare(kind: str) -> list[str]:
    """What a call needs; memory that is mapped for long is used for nothing else, or DMA debugging complains."""
    return ["register"] if kind in ("transfer", "polled") else []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [BLOCK, MIB])
def test_every_stage_in_order(guest: Guest, guest_program: Programs, disk: str, kind: str, size: int) -> None:
    """Each kind of call passes all stages, the irq unless it polls; each command all of its own."""
    before = counters(guest, disk)
    script = [*prepare(kind), OPEN, f"{kind} {size} {8 * MIB}", "control 1", "records", "requests"]
    records = listed(guest, guest_program, disk, script)
    commands = grown(guest, disk, before)["write_commands" if kind == "pwrite" else "read_commands"]
    assert commands == size // (128 << 10) or commands == 1
    stages = [stage for stage in STAGES if stage != "irq" or not KINDS[kind]]
    request = records.pop()
    times = [request[stage] for stage in stages]
    assert request.name == "request" and all(times) and times == sorted(times)
    assert (request["commands"], request["result"], request["offset"]) == (commands, size, 8 * MIB)
    counts = Counter(record.name for record in records)
    assert KINDS[kind] == (counts.pop("irq", 0) == 0) == (request["irq"] == 0) == (request["polled"] == 1)
    # A call that could not be started without waiting enters twice.
    assert 1 <= counts.pop("enter") <= 2
    assert counts == {s: commands if s in OF_A_COMMAND else 1 for s in STAGES if s not in ("enter", "irq")}
    for command in {record["command"] for record in records if record.name == "split"}:
        mine = [record.name for record in records if record["command"] == command]
        assert mine == OF_A_COMMAND
    assert records[0].name == "enter" and records[-1].name == "finish"


@pytest.mark.smoke
def test_a_flush_has_no_memory(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """Enter, post, doorbell, irq, reap, unmap, finish."""
    records = listed(guest, guest_program, disk512, [OPEN, "flush", "control 1", "records", "requests"])
    assert [r.name for r in records[:-1]] == [s for s in STAGES if s not in ("split", "map", "queue")]
    assert records[-1]["finish"] >= records[-1]["enter"] > 0 == records[-1]["map"]


def test_records_stand_beside_the_clock_of_user_space(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """Tags before and after a call enclose its records: the times are of one clock."""
    script = [f"open {RECORDS} 64", "tag 7", f"pread {BLOCK} 0", "tag 8", f"hipri {BLOCK} 0", "tag 9", "control 1",
              "records"]  # fmt: skip
    records = listed(guest, guest_program, disk512, script)
    names = [record.name for record in records]
    assert [record["result"] for record in records if record.name == "tag"] == [7, 8, 9]
    assert names == ["tag", *STAGES, "tag", *(stage for stage in STAGES if stage != "irq"), "tag"]


def test_tags_of_many_threads(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """None is lost, none is there twice; what is overwritten is counted."""
    script = [f"open {RECORDS} 4096", "tag 0 500 8", "totals", "records"]
    lines = raw(guest, guest_program, disk512, script)
    assert lines[2] == "0 0 4000 0"
    tags = Counter(parse(line)["result"] for line in lines if line.startswith("tag"))
    assert tags == dict.fromkeys(range(500), 8)
    lines = raw(guest, guest_program, disk512, [f"open {RECORDS} 64", "tag 0 100", "totals", "records"])
    assert lines[2] == "0 0 64 36"
    assert [parse(line)["result"] for line in lines if line.startswith("tag")] == list(range(36, 100))


def test_nothing_is_recorded_while_it_is_frozen(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """From the beginning, where it is asked for; and from when it is told."""
    script = [f"open {RECORDS} 0 0 1", f"pread {BLOCK} 0 10", "totals", "header", "control 0", "header",
              f"pread {BLOCK} 0 10", "control 1", "totals", f"pread {BLOCK} 0", "totals"]  # fmt: skip
    answers = run(guest, guest_program, disk512, script)
    assert answers[2:6] == ["0 0 0 0", "1 0 1", "0", "0 0 0"]
    assert answers[8] == answers[10] == "100 0 0 0"


def test_the_newest_records_are_kept(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """A ring of 64 records after 100 calls: the last calls are whole, all else is counted as lost."""
    script = ["open 64 0", *(f"hipri {BLOCK} {place * BLOCK}" for place in range(100)), "control 1", "totals",
              "records", "requests"]  # fmt: skip
    lines = raw(guest, guest_program, disk512, script)
    records, lost, *_ = next(line for line in lines if line.count(" ") == 3 and "=" not in line).split()
    listing = [parse(line) for line in lines if "=" in line]
    kept = [record for record in listing if record.name != "request"]
    requests = [record for record in listing if record.name == "request"]
    assert len(kept) == int(records) and int(records) + int(lost) == 900
    offsets = [request["offset"] // BLOCK for request in requests]
    assert offsets == list(range(100 - len(offsets), 100)) and len(offsets) >= 63 // 8


def test_the_first_call_above_the_limit_stops_it(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """Its history stays, later calls leave no trace, poll tells; and it can go on."""
    never, always = 3600 * SECOND, 1
    script = [f"open {RECORDS} 0 {never}", f"pread {BLOCK} 0 3", "header", f"control 0 {always}",
              f"pread {BLOCK} {MIB}", "header", f"pread {BLOCK} 0 5", "totals", f"control 0 {never}",
              f"pread {BLOCK} {2 * MIB}", "header", "control 1", "requests"]  # fmt: skip
    lines = raw(guest, guest_program, disk512, script)
    answers = [line for line in lines if "=" not in line]
    requests = [parse(line) for line in lines if "=" in line]
    assert answers[2] == "0 0 0"
    frozen, duration, readable = map(int, answers[5].split())
    assert (frozen, readable) == (2, 1)
    assert duration == requests[3]["finish"] - requests[3]["enter"]
    assert answers[7] == "40 0 0 0" and answers[10].startswith("0 ")
    assert [request["offset"] for request in requests] == [0, 0, 0, MIB, 2 * MIB]


@pytest.mark.parametrize("kind", ["polled", "uring", "iopoll"])
def test_every_kind_of_call_can_stop_it(guest: Guest, guest_program: Programs, disk512: str, kind: str) -> None:
    """Also those that finish elsewhere, with the time since they entered."""
    calls = [f"{kind} {BLOCK} 0", f"{kind} {BLOCK} {MIB}", "header", "requests"]
    script = [*prepare(kind), f"open {RECORDS} 0 1", *calls]
    lines = raw(guest, guest_program, disk512, script)
    (request,) = [parse(line) for line in lines if "=" in line]
    assert lines[-3].split() == ["2", str(request["finish"] - request["enter"]), "1"]


def test_callers_on_all_cpus(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """Each CPU's calls are in the ring of its queue, complete, and time does not fall within a ring."""
    cpus, calls = guest.spec.cpus, 200
    program = guest.push(guest_program("timeline"))
    loads = "; ".join(
        f"echo 'pread {BLOCK} {cpu * MIB} {calls}' | taskset -c {cpu} {program} {disk512} & jobs=\"$jobs $!\""
        for cpu in range(cpus)
    )
    script = f"{OPEN}\ntouch /run/recording\nawait /run/done\ncontrol 1\ntotals\nrecords\n"
    lines = guest.must(
        f"rm -f /run/recording /run/done; (while [ ! -e /run/recording ]; do sleep 0.1; done; {loads}; "
        f"wait $jobs; touch /run/done) >/dev/null & {program} {disk512}",
        stdin=script,
        timeout_s=900,
    ).splitlines()
    records = [parse(line) for line in lines if "=" in line]
    assert lines[4] == f"{cpus * calls * 10} 0 0 0"
    assert Counter(record["cpu"] for record in records) == dict.fromkeys(range(cpus), calls * 10)
    assert [record["time"] for record in records] == sorted(record["time"] for record in records)
    queues: dict[int, set[int]] = defaultdict(set)
    for record in records:
        queues[record["cpu"]].add(record["queue"])
    assert len(set.union(*queues.values())) == cpus and all(len(found) == 1 for found in queues.values())


def test_one_timeline_a_drive(guest: Guest, guest_program: Programs, disk4096: str, disk_second: str) -> None:
    """The second one is refused, on each disk of the drive; when the first has been closed it is not."""
    program = guest.push(guest_program("timeline"))
    for other in (disk4096, disk_second):
        inner = f"echo '{OPEN}' | {program} {other} >/run/answer; touch /run/asked"
        guest.must(f"rm -f /run/open /run/asked; (while [ ! -e /run/open ]; do sleep 0.1; done; {inner}) & "
                   f"printf '{OPEN}\\ntouch /run/open\\nawait /run/asked\\n' | {program} {disk4096}")  # fmt: skip
        assert guest.must("cat /run/answer") == "EBUSY"
    assert run(guest, guest_program, disk4096, [OPEN, OPEN, "close"])[:2] == ["0", "EBUSY"]
    assert run(guest, guest_program, disk_second, [OPEN, "close", OPEN]) == ["0", "0", "0"]


def test_a_descriptor_that_is_one_too_many(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """EMFILE, and the place of the drive's timeline is free for the next."""
    program = guest.push(guest_program("timeline"))
    answers = guest.must(f"ulimit -n 4; exec {program} {disk512}", stdin=f"{OPEN}\n{OPEN}\n").split()
    assert answers == ["EMFILE", "EMFILE"]
    assert run(guest, guest_program, disk512, [OPEN]) == ["0"]


def test_other_disks_of_the_drive_are_left_out(
    guest: Guest, guest_program: Programs, disk4096: str, disk_second: str
) -> None:
    """They share the queues: of their calls doorbells and interrupts are seen."""
    script = [OPEN, "touch /run/open", "await /run/done", "control 1", "records"]
    program = guest.push(guest_program("timeline"))
    lines = guest.must(
        f"rm -f /run/open /run/done; (while [ ! -e /run/open ]; do sleep 0.1; done; "
        f"echo 'pread {BLOCK} 0' | {program} {disk_second}; touch /run/done) >/dev/null & {program} {disk4096}",
        stdin="\n".join(script) + "\n",
    ).splitlines()
    assert [parse(line).name for line in lines if "=" in line] == ["doorbell", "irq"]


def test_a_recorder_that_is_killed_leaves_nothing(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """Memory and place are free at once, and the calls of others go on."""
    for _ in range(3):
        program = guest.push(guest_program("timeline"))
        result = guest.run([program, disk512], stdin=f"{OPEN}\npread {BLOCK} 0\ndie\n")
        assert result.rc != 0 and result.stdout.split() == ["0", str(BLOCK)]
    assert run(guest, guest_program, disk512, [OPEN, f"pread {BLOCK} 0"]) == ["0", str(BLOCK)]


def test_what_cannot_be_mapped(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """The rings can only be read, shared, from their beginning; the tags are where the header says."""
    queues = int(guest.must(f"cat /sys/class/chario/{disk512.removeprefix('/dev/')}/queue_count"))
    maps = {
        f"map 0 1 {PROT_READ} {MAP_SHARED}": "0",
        f"map 0 1 {PROT_READ | PROT_WRITE} {MAP_SHARED}": "EACCES",
        f"map 0 1 {PROT_WRITE} {MAP_SHARED}": "EACCES",
        f"map 0 1 {PROT_READ} {MAP_PRIVATE}": "EINVAL",
        f"map 0 1 {PROT_READ | PROT_WRITE} {MAP_PRIVATE}": "EINVAL",
        f"map 1 1 {PROT_READ} {MAP_SHARED}": "EINVAL",
        f"map 0 {2**16} {PROT_READ} {MAP_SHARED}": "EINVAL",
        f"map {2**40} 1 {PROT_READ} {MAP_SHARED}": "EINVAL",
        "write": "EACCES",
    }
    assert queues > 0
    assert run(guest, guest_program, disk512, ["open 64 64", *maps]) == ["0", *maps.values()]


def test_what_cannot_be_asked(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """Numbers that are no sizes of rings, unknown flags and commands, other ioctls."""
    refused = ["open 0 0", "open 63 0", "open 65 0", "open 32 0", f"open {2**21} 0", "open 64 3", f"open 64 {2**21}",
               "open 64 0 0 2", "open 64 0 0 0x80000000"]  # fmt: skip
    assert run(guest, guest_program, disk512, refused) == ["EINVAL"] * len(refused)
    asked = {
        f"raw {CONTROL} 24 1": "0",
        f"raw {CONTROL} 24 2": "EINVAL",
        f"raw {CONTROL} 16 0": "EINVAL",
        f"raw {CONTROL} 24 0 0 0 1": "EINVAL",
        f"raw {CONTROL} 32 0 0 0 0 0 0": "0",
        f"raw {CONTROL} 32 0 0 0 0 0 1": "E2BIG",
        f"raw {0xC400} 208": "ENOTTY",
    }
    assert run(guest, guest_program, disk512, [OPEN, *asked]) == ["0", *asked.values()]


def test_its_memory_is_accounted(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """RLIMIT_MEMLOCK holds for rings and for tags, for who has no right to pass it, and is given back."""
    program = guest.push(guest_program("timeline"))
    script = "open 65536 0\nopen 64 65536\nopen 64 0\nclose\nopen 64 0\n"
    assert limited(guest, disk512, f"{program} {disk512}", script) == ["ENOMEM", "ENOMEM", "0", "0", "0"]


def test_its_memory_is_given_back(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """More often than the limit of a user allows at a time: with each timeline closed, and with each process ended."""
    program = guest.push(guest_program("timeline"))
    times = 64  # of 32 KiB and more
    script = "open 512 0\nclose\n" * times
    ended = f"for i in $(seq 16); do echo open 512 0 | {program} {disk512} || exit 1; done"
    # The shell lives on as that user, or the kernel would begin to count at nothing.
    answers = limited(guest, disk512, f"sh -c '{program} {disk512} && {ended}'", script, timeout_s=300)
    assert answers == ["0"] * (2 * times + 16)
