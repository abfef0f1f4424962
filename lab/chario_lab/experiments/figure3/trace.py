# SPDX-License-Identifier: MIT
"""Reads what trace-cmd says of reads by way of Linux: when each was entered, submitted, handled and resumed.

    points = read_trace(text, operations=10_000)      refuses a trace that has lost events
    points.points["handled"]                          Point(requests=..., median_ns=..., ...)

A read has waited for the drive if something woke its program, or if a command went meanwhile that is no read-ahead.
Linux sends commands from the program or from a worker, so all that go while the program is in a call are its own, if
they go to the drive: that is where most of them go.  The interrupt that ended the wait is the last one before the
program was woken, of the queue that the CPU uses from which the command went: interrupts of other queues, and of other
drives, come in between.  Read-ahead whose interrupt comes while the call copies has not been waited for.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from chario_lab.experiment.measure import HANDLED, RESUMED, SUBMITTED
from chario_lab.experiments.figure3.points import Points, keep, point_of
from chario_lab.experiments.tracing import TraceError, refuse_lost

# In a buffer of its own the name of the buffer comes first.
EVENT = re.compile(
    r"(?:\S+:)?\s+(?P<task>\S.*-\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<s>\d+)\.(?P<ns>\d{9}): (?P<name>\w+):\s+(?P<said>.*)"
)
ENTER, EXIT, ISSUE, INTERRUPT, WAKE = (
    "sys_enter_pread64", "sys_exit_pread64", "block_rq_issue", "irq_handler_entry", "sched_waking",
)  # fmt: skip
LINE = re.compile(r"irq=(\d+)")
# The letter of read-ahead among those of a request, which are the second word of its event.
AHEAD = "A"


@dataclass(frozen=True)
class Event:
    """Something happens, on a CPU, at a time in nanoseconds; `said` are the words of the event."""

    cpu: int
    at_ns: int
    name: str
    said: str


@dataclass
class Read:
    """One call, from `entered_ns` to `resumed_ns`, and what happened meanwhile.

    `wakes_ns` are the times at which the program was woken.
    """

    entered_ns: int
    resumed_ns: int = 0
    commands: list[Event] = field(default_factory=list)
    interrupts: list[Event] = field(default_factory=list)
    wakes_ns: list[int] = field(default_factory=list)

    @property
    def waited_until_ns(self) -> int | None:
        """When the wait was over at the latest; None where the read did not wait for the drive.

        A drive that is faster than its caller wakes nobody.
        """
        if self.wakes_ns:
            return self.wakes_ns[-1]
        return self.resumed_ns if any(AHEAD not in command.said.split()[1] for command in self.commands) else None

    @property
    def candidates(self) -> list[Event]:
        """The interrupts that may have ended the wait, in their order."""
        until_ns = self.waited_until_ns
        if until_ns is None or not self.commands:
            return []
        return [each for each in self.interrupts if self.commands[0].at_ns <= each.at_ns <= until_ns]

    def handled_ns(self, lines: Mapping[int, str]) -> int | None:
        """When the interrupt was handled that ended the wait; `lines` are those of the queues, by CPU."""
        own = [each for each in self.candidates if line_of(each) == lines[self.commands[0].cpu]]
        return own[-1].at_ns if own else None


def read_trace(text: str, operations: int) -> Points:
    """What a trace of so many reads says, which are all that is in it."""
    refuse_lost(text)
    reads = of_drive(list(reads_of(event for line in text.splitlines() if (event := parse_event(line)))))
    if len(reads) != operations:
        raise TraceError(f"the trace has {len(reads)} of {operations} reads")
    return add_up(reads)


def digest_trace(text: str, operations: int) -> str:
    """What records keep of a trace."""
    return keep(read_trace(text, operations))


def parse_event(line: str) -> Event | None:
    """The event of a line; None where it is of another kind, or cut off."""
    match = EVENT.fullmatch(line)
    if match is None:
        return None
    return Event(int(match["cpu"]), int(match["s"]) * 10**9 + int(match["ns"]), match["name"], match["said"])


def reads_of(events: Iterable[Event]) -> Iterator[Read]:
    """The calls that have both a begin and an end."""
    read = None
    for event in events:
        if event.name == ENTER:
            read = Read(event.at_ns)
        elif read is None:
            continue
        elif event.name == EXIT:
            read.resumed_ns = event.at_ns
            yield read
            read = None
        elif event.name == WAKE:
            read.wakes_ns.append(event.at_ns)
        elif event.name in {ISSUE, INTERRUPT}:
            (read.commands if event.name == ISSUE else read.interrupts).append(event)


def of_drive(reads: Sequence[Read]) -> list[Read]:
    """The same without the commands for other drives."""
    votes = Counter(device_of(command) for read in reads for command in read.commands)
    drive = votes.most_common(1)[0][0] if votes else ""
    return [
        replace(read, commands=[command for command in read.commands if device_of(command) == drive]) for read in reads
    ]


def device_of(command: Event) -> str:
    """Major and minor number of the disk."""
    return command.said.split()[0]


def line_of(interrupt: Event) -> str:
    """The number of an interrupt."""
    match = LINE.match(interrupt.said)
    return match[1] if match else ""


def lines_of(reads: Sequence[Read]) -> dict[int, str]:
    """The interrupt of the queue that each CPU uses: the one that ends most of the waits for commands from there."""
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for read in reads:
        if read.candidates:
            votes[read.commands[0].cpu][line_of(read.candidates[-1])] += 1
    return {cpu: found.most_common(1)[0][0] for cpu, found in votes.items()}


def add_up(reads: Sequence[Read]) -> Points:
    """The points of all reads that have waited, and the time of all."""
    lines = lines_of(reads)
    times: dict[str, list[int]] = defaultdict(list)
    computing_ns: list[int] = []
    unclear = 0
    for read in reads:
        whole_ns = read.resumed_ns - read.entered_ns
        handled_ns = read.handled_ns(lines)
        if read.waited_until_ns is None:
            computing_ns.append(whole_ns)
        elif handled_ns is None:
            unclear += 1
        else:
            course_ns = (read.commands[0].at_ns - read.entered_ns, handled_ns - read.entered_ns, whole_ns)
            for name, time_ns in zip((SUBMITTED, HANDLED, RESUMED), course_ns, strict=True):
                times[name].append(time_ns)
            computing_ns.append(course_ns[0] + whole_ns - course_ns[1])
    if not computing_ns:
        raise TraceError("the trace shows of no read when it waited")
    return Points(
        points={name: point_of(all_ns) for name, all_ns in times.items()},
        whole=point_of([read.resumed_ns - read.entered_ns for read in reads]),
        computing_ns=sum(computing_ns) / len(computing_ns),
        unclear=unclear,
    )
