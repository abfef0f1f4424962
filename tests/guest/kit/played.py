# SPDX-License-Identifier: MIT
"""An NVMe controller that a test plays: it says what no emulated drive would say.

A RegisterFile has the registers; a thread reads from outside the guest what the driver writes
there, fetches commands from the guest's memory and puts answers and completions into it, as a
drive does by DMA.  It raises no interrupts: the driver asks now and then whether an admin
command has ended, and a file that polls needs none.

    with taken(rig, drive, controller=controller_page(oaes=NAMESPACE_EVENTS)) as (controller, disk):
        controller.status = ending_with(Opcode.GET_LOG, INVALID_FIELD)

Sections are those of the NVMe Base Specification 2.0 where nothing else is said.
"""

import struct
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import IntEnum
from queue import SimpleQueue
from typing import Any, TypeVar

from rig import Rig
from shared_guest import Setup

from chario_lab.guest import faults
from chario_lab.guest.devices import bar_address
from chario_lab.guest.spec import RegisterFile
from chario_lab.waiting import SETTLE_LIMIT_S, until

REGISTERS = 0  # the drive of a set_up()
PAGE, LOG_BYTES = 4096, 512
# Registers, section 3.1.3, and the doorbells behind them.
CC, CSTS, AQA, ASQ, ACQ, DOORBELLS = 0x14, 0x1C, 0x24, 0x28, 0x30, 0x1000
ENABLE, SHUTDOWN, READY, FAILED, SHUTDOWN_COMPLETE = 0x1, 0xC000, 0x1, 0x2, 0x8
NAMESPACE, CONTROLLER, LIST, DESCRIPTORS, LIMITS = 0, 1, 2, 3, 6  # what IDENTIFY can ask for
UUID, COMMAND_SET = 3, 4  # types of descriptors, section 5.17.2.3
NUMBER_OF_QUEUES, EVENTS, TRANSITIONS = 0x07, 0x0B, 0x0C  # features
TRANSITIONS_BYTES = 256
HEALTH_LOG, CHANGED_NAMESPACES = 2, 4
NAMESPACE_EVENTS = 1 << 8  # Optional Asynchronous Events Supported, and what SET_FEATURES asks for
PAIRS = 8
# Status codes, section 3.3.3.2.
OK, INVALID_FIELD, INVALID_NAMESPACE, INVALID_SIZE, UNRECOVERED_READ = 0x000, 0x002, 0x00B, 0x102, 0x281
FORMAT_IN_PROGRESS = 0x084
ENTRY_BYTES, COMPLETION_BYTES = 64, 16
ENTRY = struct.Struct("<BxHI16xQ8xIII12x")
COMPLETION = struct.Struct("<IIHHHH")
NOT_ABORTED = 1  # section 5.1.1
IDLE_S, STOPS_AFTER_S = 0.002, 3.0


class Opcode(IntEnum):
    """Admin commands, section 5."""

    DELETE_SQ = 0x00
    CREATE_SQ = 0x01
    GET_LOG = 0x02
    DELETE_CQ = 0x04
    CREATE_CQ = 0x05
    IDENTIFY = 0x06
    ABORT = 0x08
    SET_FEATURES = 0x09
    GET_FEATURES = 0x0A
    ASYNC_EVENT = 0x0C


Fields = Mapping[str, tuple[int, str]]

# Section 5.17.2.1.
CONTROLLER_FIELDS: Fields = {
    "serial": (4, "20s"), "model": (24, "40s"), "firmware": (64, "8s"), "mdts": (77, "B"), "oaes": (92, "I"),
    "cntrltype": (111, "B"), "power_states": (263, "B"), "autonomous": (265, "B"),
    "warning_k": (266, "H"), "critical_k": (268, "H"), "entries": (512, "H"), "namespaces": (516, "I"),
    "oncs": (520, "H"), "write_cache": (525, "B"),
}  # fmt: skip
# NVM Command Set Specification 1.0, section 4.1.5.4.
LIMIT_FIELDS: Fields = {"wzsl": (1, "B"), "dmrl": (3, "B"), "dmrsl": (4, "I"), "dmsl": (8, "Q")}
# NVM Command Set Specification 1.0, section 4.1.5.1.
NAMESPACE_FIELDS: Fields = {
    "blocks": (0, "Q"), "nsfeat": (24, "B"), "nawupf": (36, "H"), "nabo": (42, "H"), "nabspf": (44, "H"),
    "noiob": (46, "H"), "npwg": (64, "H"), "nsattr": (99, "B"),
    "nguid": (104, "16s"), "eui64": (120, "8s"), "ms": (128, "H"), "shift": (130, "B"),
}  # fmt: skip
# Section 5.16.1.3.
HEALTH_FIELDS: Fields = {
    "critical_warning": (0, "B"), "temperature_k": (1, "H"), "spare": (3, "B"), "spare_threshold": (4, "B"),
    "used": (5, "B"), "media_errors": (160, "Q"), "throttle_light_count": (216, "I"),
}  # fmt: skip


def fill(bytes_: int, fields: Fields, values: Mapping[str, int | bytes]) -> bytes:
    """A page with some fields set, and zeros elsewhere."""
    page = bytearray(bytes_)
    for name, value in values.items():
        offset, kind = fields[name]
        struct.pack_into(f"<{kind}", page, offset, value)
    return bytes(page)


def controller_page(**values: int | bytes) -> bytes:
    """What IDENTIFY says of the controller."""
    usual: dict[str, int | bytes] = {
        "serial": b"played",
        "model": b"played",
        "mdts": 5,
        "cntrltype": 1,
        "entries": 0x4466,
        "namespaces": 1,
    }
    return fill(PAGE, CONTROLLER_FIELDS, {**usual, **values})


def namespace_page(**values: int | bytes) -> bytes:
    """What IDENTIFY says of a namespace; by default it has 64 MiB in blocks of 512 bytes."""
    return fill(PAGE, NAMESPACE_FIELDS, {"blocks": 1 << 17, "shift": 9, **values})


def limits_page(**values: int) -> bytes:
    """What IDENTIFY says of commands that move no data; by default, nothing."""
    return fill(PAGE, LIMIT_FIELDS, values)


def health_page(**values: int) -> bytes:
    """The log page of a healthy drive, but for some values."""
    usual = {"temperature_k": 300, "spare": 100, "spare_threshold": 10}
    return fill(LOG_BYTES, HEALTH_FIELDS, {**usual, **values})


@dataclass(frozen=True)
class Command:
    """An entry of a submission queue."""

    opcode: int
    cid: int
    nsid: int
    prp1: int
    dword10: int
    dword11: int
    dword12: int


@dataclass(frozen=True)
class Completion:
    """An entry of a completion queue, but for its phase."""

    result: int
    head: int
    queue: int
    cid: int
    status: int


def joined(entries: Iterable[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """The same, with neighbours in one piece."""
    pieces: list[tuple[int, bytes]] = []
    for address, data in entries:
        if pieces and pieces[-1][0] + len(pieces[-1][1]) == address:
            pieces[-1] = (pieces[-1][0], pieces[-1][1] + data)
        else:
            pieces.append((address, data))
    return pieces


# How a command on a queue ends: its status, or None where it is not answered.
Status = Callable[[int, Command], int | None]
T = TypeVar("T")


def well(queue: int, command: Command) -> int:
    """All commands end well."""
    return OK


def is_admin(queue: int, command: Command, opcode: int, dword10: int | None = None) -> bool:
    """Whether a command is an admin command of a kind, and asks for this feature or page."""
    return queue == 0 and command.opcode == opcode and dword10 in (None, command.dword10 & 0xFF)


def ending_with(opcode: Opcode, status: int | None, dword10: int | None = None) -> Status:
    """Admin commands of a kind end with a status, or are not answered; all others end well."""
    return lambda queue, command: status if is_admin(queue, command, opcode, dword10) else OK


@dataclass
class Queue:
    """A submission queue with the completion queue of its number."""

    submissions: int
    completions: int
    entries: int
    completion_entries: int
    head: int = 0
    place: int = 0
    phase: int = 1


@dataclass
class Played:
    """A controller; nobody else may use the guest's qtest line while it is played.

    `status(queue, command)` says how a command ends; where it is OK the usual answer comes.
    A command for which `status` is None is not answered: complete() may do that later.  It,
    and what the drive says of its health, may be changed at any time.
    """

    rig: Rig
    drive: int
    controller: bytes = controller_page()
    namespaces: Mapping[int, bytes] = field(default_factory=lambda: {1: namespace_page()})
    command_sets: Mapping[int, int] = field(default_factory=dict)
    uuids: Mapping[int, bytes] = field(default_factory=dict)
    being_formatted: Collection[int] = ()
    listed: Sequence[int] = ()
    health: bytes = health_page()
    limits: bytes = limits_page()
    registers: Mapping[int, int] = field(default_factory=dict)
    ready_after_s: float = 0.0
    shuts_down: bool = True
    status: Status = well
    fetched: list[tuple[int, Command]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.address = faults.load_registers(self.rig.guest, self.drive, {**faults.PLAIN, **self.registers})
        self._bar = bar_address(self.rig.guest, self.address)
        self._memory = self.rig.guest.qtest
        self._queues: dict[int, Queue] = {}
        self._rings: dict[int, tuple[int, int]] = {}
        self._features: dict[int, int] = {}
        self._events: list[int] = []
        self._wishes: SimpleQueue[Callable[[], None]] = SimpleQueue()

    def play(self, stop: threading.Event) -> None:
        """Be a drive until it is to stop."""
        while not stop.is_set():
            if self._memory.readl(self._bar + faults.VS) != self.registers.get(faults.VS, faults.PLAIN_VS):
                time.sleep(IDLE_S)  # Its link is being reset, and nobody reaches its registers.
                continue
            self._look_at_registers()
            while not self._wishes.empty():
                self._wishes.get()()
            # Serving the admin queue may delete others.
            busy = [self._serve(number) for number in sorted(self._queues) if number in self._queues]
            if not any(busy):
                time.sleep(IDLE_S)

    def _look_at_registers(self) -> None:
        control = self._memory.readl(self._bar + CC)
        if control & ENABLE and not self._queues:
            sizes = self._memory.readl(self._bar + AQA)
            submissions, completions = (self._memory.readq(self._bar + place) for place in (ASQ, ACQ))
            self._queues[0] = Queue(submissions, completions, (sizes & 0xFFF) + 1, (sizes >> 16 & 0xFFF) + 1)
            self._memory.fill(self._bar + DOORBELLS, PAGE, 0)
            time.sleep(self.ready_after_s)
            self._memory.writel(self._bar + CSTS, READY)
        elif not control & ENABLE and self._queues:
            self._queues.clear()
            self._events.clear()
            self._memory.writel(self._bar + CSTS, 0)
        elif control & SHUTDOWN and self.shuts_down:
            self._memory.writel(self._bar + CSTS, SHUTDOWN_COMPLETE | (READY if self._queues else 0))

    def _serve(self, number: int) -> bool:
        """Take and answer what is new in a queue; whether there was anything."""
        queue = self._queues[number]
        tail = self._memory.readl(self._bar + DOORBELLS + 8 * number)
        busy = queue.head != tail
        while queue.head != tail:
            raw = self._memory.read(queue.submissions + queue.head * ENTRY_BYTES, ENTRY_BYTES)
            queue.head = (queue.head + 1) % queue.entries
            self._answer(number, queue, Command(*ENTRY.unpack(raw)))
        return busy

    def _answer(self, number: int, queue: Queue, command: Command) -> None:
        self.fetched.append((number, command))
        status = self.status(number, command)
        if status == OK and number == 0 and command.opcode == Opcode.ASYNC_EVENT:
            self._events.append(command.cid)
        elif status == OK and number == 0:
            self.answer(command)
        elif status is not None:
            self.complete(number, [command.cid], status)

    def answer(self, command: Command) -> None:
        """Answer an admin command as usual.  On the playing thread."""
        self.complete(0, [command.cid], *self._administer(command))

    def complete(self, number: int, cids: Sequence[int], status: int = OK, result: int = 0) -> None:
        """Complete commands of a queue; the driver sees them all at once.  For `status`, on the playing thread."""
        head = self._queues[number].head
        self.put(number, [Completion(result, head, number, cid, status) for cid in cids])

    def put(self, number: int, completions: Sequence[Completion]) -> None:
        """Put completions into a queue, as they are; the driver sees them all at once."""
        entries = self._entries(self._queues[number], completions)
        # The driver looks at the first of them.
        for address, answers in (*joined(entries[1:]), *entries[:1]):
            self._memory.write(address, answers)

    def room(self, number: int) -> int:
        """How many completions a queue takes before one is overwritten that the driver has not looked at."""
        queue = self._queues[number]
        head = self._memory.readl(self._bar + DOORBELLS + 8 * number + 4)
        return (head - queue.place - 1) % queue.completion_entries

    def put_early(self, number: int, completions: Sequence[Completion]) -> None:
        """Put completions where the next ones will be, without the phase that says so."""
        queue = replace(self._queues[number])
        queue.phase ^= 1
        for address, answers in joined(self._entries(queue, completions)):
            self._memory.write(address, answers)

    def _entries(self, queue: Queue, completions: Iterable[Completion]) -> list[tuple[int, bytes]]:
        """Where each completion goes, and how it looks there; the queue goes on behind them."""
        entries: list[tuple[int, bytes]] = []
        for one in completions:
            answer = COMPLETION.pack(one.result, 0, one.head, one.queue, one.cid, one.status << 1 | queue.phase)
            entries.append((queue.completions + queue.place * COMPLETION_BYTES, answer))
            queue.place += 1
            if queue.place == queue.completion_entries:
                queue.place, queue.phase = 0, queue.phase ^ 1
        return entries

    def admin_commands(self, opcode: Opcode, dword10: int | None = None) -> list[Command]:
        """The admin commands of a kind that have been fetched."""
        return [command for queue, command in self.fetched if is_admin(queue, command, opcode, dword10)]

    def wait_request(self, count: int = 1) -> None:
        """Return when the driver has asked for events so often."""
        until(lambda: len(self.admin_commands(Opcode.ASYNC_EVENT)) == count, "no request for events")

    def tell(self, log: int) -> None:
        """Complete the request for events: a log page has news.  Seen when an admin command ends."""
        self._wishes.put(lambda: self.complete(0, [self._events.pop()], result=log << 16 | 1))

    def fail(self, number: int, ending: Sequence[int] = (), status: int = OK) -> None:
        """Report a failure (CSTS.CFS).  Some commands of a queue end when the driver has disabled the controller."""
        self.run_between(lambda: self._fail(number, ending, status))

    def run_between(self, act: Callable[[], T]) -> T:
        """Run a function on the playing thread, between two commands; what was sent before has been taken then."""
        answer: Future[T] = Future()

        def answer_with() -> None:
            try:
                answer.set_result(act())
            except BaseException as error:
                answer.set_exception(error)
                raise

        self._wishes.put(answer_with)
        return answer.result(SETTLE_LIMIT_S)

    def report_failure(self) -> None:
        """Report a failure (CSTS.CFS), until the driver disables the controller.  On the playing thread."""
        self._memory.writel(self._bar + CSTS, READY | FAILED)

    def _fail(self, number: int, ending: Sequence[int], status: int) -> None:
        self.report_failure()
        until(lambda: not self._memory.readl(self._bar + CC) & ENABLE, "the controller is not disabled")
        self.complete(number, ending, status)

    def fail_slowly(self, question: Command, waiting: Callable[[], bool]) -> bool:
        """Fail; once disabled, answer an admin command, and stop a while later.  Has somebody waited all along?

        On the playing thread.
        """
        self._fail(0, (), OK)
        self.answer(question)
        end = time.monotonic() + STOPS_AFTER_S
        while waiting() and time.monotonic() < end:
            time.sleep(IDLE_S)
        return waiting()

    def _administer(self, command: Command) -> tuple[int, int]:
        """Do what an admin command asks for; its status and result."""
        number, entries = command.dword10 & 0xFFFF, (command.dword10 >> 16) + 1
        match command.opcode:
            case Opcode.IDENTIFY:
                return self._identify(command), 0
            case Opcode.GET_LOG:
                self._memory.write(command.prp1, self.health)
            case Opcode.SET_FEATURES if command.dword10 & 0xFF == NUMBER_OF_QUEUES:
                return OK, (PAIRS - 1) << 16 | (PAIRS - 1)
            case Opcode.SET_FEATURES:
                self._features[command.dword10 & 0xFF] = command.dword11
            case Opcode.GET_FEATURES:
                if command.dword10 & 0xFF == TRANSITIONS:
                    self._memory.fill(command.prp1, TRANSITIONS_BYTES, 0)
                return OK, self._features.get(command.dword10 & 0xFF, 0)
            case Opcode.ABORT:
                return OK, NOT_ABORTED
            case Opcode.CREATE_CQ:
                self._rings[number] = command.prp1, entries
            case Opcode.CREATE_SQ:
                ring, completion_entries = self._rings[number]
                self._queues[number] = Queue(command.prp1, ring, entries, completion_entries)
            case Opcode.DELETE_SQ:
                self._queues.pop(number, None)
        return OK, 0

    def _identify(self, command: Command) -> int:
        kind = command.dword10 & 0xFF
        if kind == NAMESPACE and command.nsid not in self.namespaces:
            return INVALID_NAMESPACE
        if kind == NAMESPACE and command.nsid in self.being_formatted:
            return FORMAT_IN_PROGRESS
        numbers = b"".join(struct.pack("<I", nsid) for nsid in self.listed or sorted(self.namespaces))
        pages = {CONTROLLER: self.controller, LIST: numbers.ljust(PAGE, b"\0"), LIMITS: self.limits}
        if kind == DESCRIPTORS:
            uuid = self.uuids.get(command.nsid, b"")
            told = bytes([UUID, len(uuid), 0, 0]) + uuid if uuid else b""
            told += bytes([COMMAND_SET, 1, 0, 0, self.command_sets.get(command.nsid, 0)])
            pages[kind] = told.ljust(PAGE, b"\0")
        self._memory.write(command.prp1, pages[kind] if kind in pages else self.namespaces[command.nsid])
        return OK


def set_up(private_queues: int) -> Setup:
    """The guest of a file whose only drive is played."""
    return Setup(drives=(RegisterFile(),), parameters=f"private_queues={private_queues}", qtest=True)


@contextmanager
def played(rig: Rig, drive: int, **what: Any) -> Iterator[Played]:
    """A controller that is played while the block lasts; what it is made of is as in Played."""
    controller, stop = Played(rig, drive, **what), threading.Event()
    with ThreadPoolExecutor(1) as threads:
        playing = threads.submit(controller.play, stop)
        try:
            yield controller
            rig.release(controller.address)
        finally:
            stop.set()
            # Whoever waits for the driver is to learn why it got no answer.
            playing.result()


@contextmanager
def taken(rig: Rig, drive: int, **what: Any) -> Iterator[tuple[Played, str]]:
    """The same with its only namespace bound: the controller, and the disk."""
    with played(rig, drive, **what) as controller:
        (disk,) = rig.take(controller.address)
        yield controller, disk
