# SPDX-License-Identifier: MIT
"""Measures one case on a machine that is ready for it."""

import statistics
from collections.abc import Sequence
from typing import Any

import msgspec

from chario_lab.cache import explain
from chario_lab.counting.counter import Counter, CounterError
from chario_lab.counting.layers import DOORBELL, HANDLER, INTERRUPT, WAKE
from chario_lab.counting.series import Operation
from chario_lab.counting.stats import differences, instructions, sum_busy, sum_events, sum_layers, summarise
from chario_lab.experiment.plan import Act, Case, Station
from chario_lab.guest.job import CommandFailed
from chario_lab.records import Book, FailureRecord, OmissionRecord, PointRecord, Said, SeriesRecord
from chario_lab.target.need import Need
from chario_lab.target.target import Target, TargetError, TargetStuck

# The points of a call in records: the plugin's number, and which of several.
SUBMITTED, RAISED, ENTERED, HANDLED, RESUMED = "submitted", "raised", "interrupt", "handled", "resumed"
POINTS = {SUBMITTED: (DOORBELL, 0), RAISED: (WAKE, -1), ENTERED: (INTERRUPT, -1), HANDLED: (HANDLER, -1)}
# What ends a case.
CASE_FAILURES = (CommandFailed, CounterError, TargetError)
# Of an answer that cannot be read.
SHOWN = 200


def measure(target: Target, station: Station, case: Case, book: Book) -> str:
    """All repetitions of a case, or why there are none, which is returned for a human."""
    for need in case.needs:
        if target.run(target.place.fill(need.test)).rc != 0:
            book.add(omitted(station, case, need))
            return f"left out, it needs {need.words}"
    try:
        for repeat in range(case.repeats):
            book.add(measure_once(target, station, case, repeat))
    except TargetStuck:
        raise
    except CASE_FAILURES as failure:
        book.add(failed(station, case, failure))
        return f"failed: {explain(failure).partition(chr(10))[0]}"
    return ""


def measure_once(target: Target, station: Station, case: Case, repeat: int) -> SeriesRecord:
    """What was measured while the program ran once."""
    place = target.place
    for path, text in case.settings:
        target.write(place.fill(path), text)
    if case.before:
        target.must(place.fill(case.before))
    if case.cold:
        target.must("sync; echo 3 >/proc/sys/vm/drop_caches")
    words = [place.fill(word).replace("{repeat}", str(repeat)) for word in case.words]
    under = [place.fill(word) for word in case.under]
    before, energy_before = target.commands(), target.energy()
    result = target.run([*under, target.program(case.program), *words], case.limit_s)
    energy, served = target.energy(), target.commands().since(before)
    if result.timed_out:
        raise TargetStuck(f"{case.title}: no end after {case.limit_s:.0f} s, so no more is measured on this machine")
    if result.rc != 0:
        raise TargetError(result.stderr.strip() or result.describe())
    counts = count(target.counter, case.operations) if target.counter else {}
    if case.after and target.run(place.fill(case.after)).rc != 0:
        raise TargetError(f"{case.title}: {case.wrong}")
    return SeriesRecord(
        machine=station.machine.name,
        station=station.name,
        case=case.key,
        repeat=repeat,
        words=(case.program, *words),
        operations=case.operations,
        calls=case.calls,
        call_bytes=case.call_bytes,
        warm_calls=case.warm_calls,
        commands=served,
        energy_uj=energy.since(energy_before) if energy and energy_before else None,
        said=read_answer(result.stdout),
        report=digest(case, target.must(place.fill(case.report))) if case.report else "",
        **counts,
    )


def digest(case: Case, report: str) -> str:
    """What records keep of what a profiler or a tracer has said, whatever that is."""
    try:
        return case.digest(report)
    except (ArithmeticError, LookupError, ValueError, RecursionError) as error:
        raise TargetError(f"{case.title}: what was reported cannot be read: {explain(error)}") from error


def count(counter: Counter, nr_operations: int) -> dict[str, Any]:
    """What a counter has seen of the newest series, as fields of its record."""
    operations = counter.take(nr_operations)
    return {
        "instructions": [instructions(operation) for operation in operations],
        "ticks": [operation.ticks for operation in operations],
        "summary": summarise(operations, counter.symbols),
        "events": sum_events(operations),
        "layers": sum_layers(operations),
        "busy_ns": sum_busy(operations),
        "differences": differences(operations, counter.symbols),
        "points": points_of(operations),
    }


def points_of(operations: Sequence[Operation]) -> list[PointRecord]:
    """Where operations were at each point: the first submission; the last wake-up, interrupt and handler; the end.

    Only those are looked at that waited for the drive, which have all points, and that no timer tick fell into.
    """
    quiet = [operation for operation in operations if not operation.ticks]
    courses = [course for operation in quiet if len(course := course_of(operation)) == len(POINTS) + 1]
    found = {name: [course[name] for course in courses] for name in (*POINTS, RESUMED)}
    return [
        PointRecord(name=name, operations=len(all_), mean=statistics.mean(all_), least=min(all_), most=max(all_))
        for name, all_ in found.items()
        if all_
    ]


def course_of(operation: Operation) -> dict[str, int]:
    """Instructions until each point that was reached."""
    first_cpu = next(iter(operation.cpus), 0)
    own = [point for point in operation.points if point.number != WAKE or point.cpu == first_cpu]
    course = {RESUMED: instructions(operation)}
    for name, (number, place) in POINTS.items():
        reached = [instructions(point) for point in own if point.number == number]
        if reached:
            course[name] = reached[place]
    return course


def omitted(station: Station, step: Case | Act, need: Need) -> OmissionRecord:
    """The record of a step for which the machine lacks something."""
    return OmissionRecord(machine=station.machine.name, station=station.name, case=step.key, needs=need.words)


def read_answer(text: str) -> Said:
    """What a program said of itself, if it did."""
    if not text.startswith("{"):
        return {}
    try:
        return msgspec.json.decode(text, type=Said)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise TargetError(f"the program's answer is no JSON: {error}: {text[:SHOWN]!r}") from None


def failed(station: Station, step: Case | Act, failure: Exception, logs: str = "") -> FailureRecord:
    """The record of a step that has come to nothing."""
    where = {"machine": station.machine.name, "station": station.name, "case": step.key}
    return FailureRecord(**where, reason=explain(failure), logs=logs)
