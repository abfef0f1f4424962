# SPDX-License-Identifier: MIT
"""Reads what trace-cmd says of a binary trace of the function_graph tracer: time and calls of each function.

    trace = read_trace(text, operations=8)      refuses a trace that has lost events
    trace.layers["bio"]                         Spent(calls=2560, self_ns=...)

A function's own time is its duration without those of the functions that it has called.  An event may have no
partner: a function that has no begin was entered before tracing, one that has no end left by another way.  Depths
tell where in the chain of callers the next event belongs, so that only the function without a partner is lost, and
its own time goes to its caller.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from chario_lab.counting.layers import layer_of, parse_kallsyms
from chario_lab.experiments.tracing import TraceError, refuse_lost

EVENT = re.compile(
    r"\s*(?P<task>.+-\d+)\s+\[(?P<cpu>\d+)\].*? funcgraph_(?P<kind>entry|exit):\s+\S+ (?P<name>\S+) \((?P<depth>\d+)\)"
    r"(?: \(start: (?P<start>[0-9a-f]+)\s+end: (?P<end>[0-9a-f]+)\))?"
)
IDLE_TASK = "<idle>-0"
CALL = re.compile(r"(__x64_sys_|__arm64_sys_|ksys_)p(read|write)64")
TICKS = ("__sysvec_apic_timer_interrupt", "arch_timer_handler_virt", "arch_timer_handler_phys")
# What runs behind a tick, as behind any interrupt.
AFTER_INTERRUPT = "irq_exit_rcu"


@dataclass(frozen=True)
class Event:
    """A function of a chain of callers begins, or has ended after `duration_ns`."""

    chain: str
    name: str
    depth: int
    duration_ns: int | None = None


class Spent(msgspec.Struct):
    """Calls of a function or of a layer, and its own time."""

    calls: int = 0
    self_ns: int = 0


class Trace(msgspec.Struct, kw_only=True):
    """What a trace says: each layer and each function, by name.

    `ticks_ns` is the time of timer ticks, which is in no layer; `unclosed` and `unopened` are the functions without
    an end, and without a begin.
    """

    layers: dict[str, Spent]
    functions: dict[str, Spent]
    ticks_ns: int
    events: int
    unclosed: int
    unopened: int


def keep(trace: Trace) -> str:
    """What records keep of a trace; recall() reads it."""
    return msgspec.json.encode(trace).decode()


def recall(report: str) -> Trace:
    """The trace that a record has kept."""
    return msgspec.json.decode(report, type=Trace)


def read_trace(text: str, operations: int) -> Trace:
    """The trace of the last `operations` calls: modules' lines of /proc/kallsyms, and what trace-cmd reports."""
    refuse_lost(text)
    lines = text.splitlines()
    events = [event for line in lines if (event := parse_event(line))]
    begins = [place for place, event in enumerate(events)
              if event.depth == 0 and event.duration_ns is None and CALL.fullmatch(event.name)]  # fmt: skip
    if len(begins) < operations:
        raise TraceError(f"the trace has {len(begins)} of {operations} calls")
    return add_up(events[begins[-operations] :], module_layers(lines))


def parse_event(line: str) -> Event | None:
    """The event of a line; None where it is of another kind, or cut off."""
    match = EVENT.match(line)
    if match is None or (match["kind"] == "exit" and match["end"] is None):
        return None
    # Each CPU has an idle task of the same number.
    chain = f"{match['task']}/{match['cpu']}" if match["task"] == IDLE_TASK else match["task"]
    duration = int(match["end"], 16) - int(match["start"], 16) if match["kind"] == "exit" else None
    return Event(chain, match["name"], int(match["depth"]), duration)


def module_layers(lines: Iterable[str]) -> dict[str, str]:
    """The layer of each function of a module, from the lines of /proc/kallsyms."""
    of_modules = [line for line in lines if line.endswith("]") and len(line.split("\t")) == 2]
    return {symbol.name: symbol.layer for symbol in parse_kallsyms("\n".join(of_modules))}


def add_up(events: Sequence[Event], of_modules: dict[str, str]) -> Trace:
    """Time and calls of all functions, and of their layers."""
    chains: dict[str, Chain] = defaultdict(Chain)
    functions: dict[str, Spent] = defaultdict(Spent)
    layers: dict[str, Spent] = defaultdict(Spent)
    ticks_ns = 0
    for event in events:
        for name, self_ns, in_tick in chains[event.chain].follow(event):
            if in_tick:
                ticks_ns += self_ns
                continue
            for spent in (functions[name], layers[of_modules.get(name) or layer_of(name)]):
                spent.calls += 1
                spent.self_ns += self_ns
    return Trace(
        layers=dict(layers),
        functions=dict(functions),
        ticks_ns=ticks_ns,
        events=len(events),
        unclosed=sum(chain.unclosed + sum(bool(frame.name) for frame in chain.open) for chain in chains.values()),
        unopened=sum(chain.unopened for chain in chains.values()),
    )


@dataclass
class Frame:
    """A function that has begun; `name` is empty where only its place is known."""

    name: str
    in_tick: bool = False
    called_ns: int = 0


@dataclass
class Chain:
    """The functions of one task that have begun, outermost first."""

    open: list[Frame] = field(default_factory=list)
    unclosed: int = 0
    unopened: int = 0
    _last: str = ""

    def follow(self, event: Event) -> Iterator[tuple[str, int, bool]]:
        """Name and own time of the function that ends with the event, and whether a tick has called it."""
        if event.duration_ns is None:
            self._reach(event.depth)
            self.open.append(Frame(event.name, self._in_tick(event.name)))
            return
        self._reach(event.depth + 1)
        frame = self.open.pop()
        if frame.name != event.name:
            self.unopened += 1
            self.unclosed += bool(frame.name)
        if self.open:
            self.open[-1].called_ns += event.duration_ns
        self._last = event.name
        yield event.name, max(0, event.duration_ns - frame.called_ns), frame.in_tick

    def _reach(self, depth: int) -> None:
        """Make so many functions be open: those below have ended, and those that lack have begun unseen."""
        while len(self.open) > depth:
            gone = self.open.pop()
            self.unclosed += bool(gone.name)
            if self.open:
                self.open[-1].called_ns += gone.called_ns
        while len(self.open) < depth:
            self.open.append(Frame("", self._in_tick("")))

    def _in_tick(self, name: str) -> bool:
        behind = name == AFTER_INTERRUPT and self._last in TICKS
        return name in TICKS or behind or bool(self.open and self.open[-1].in_tick)
