# SPDX-License-Identifier: MIT
"""The experiment layers: its plan, and what it makes of records."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from chario_lab.counting.layers import IDLE, LAYERS, USER
from chario_lab.experiment.page import Section, Table
from chario_lab.experiment.plan import SPIN, Case
from chario_lab.experiment.spec import Choice
from chario_lab.experiments.layers.field import WAITING
from chario_lab.experiments.layers.methods import BOUNDARIES, METHODS, PROBED, TRACED, digest_probes
from chario_lab.experiments.layers.plan import NVME, SATA, SIZES, UNWRITTEN, WAYS, Cell, plan
from chario_lab.experiments.layers.section import LARGEST, section
from chario_lab.experiments.layers.shares import SHOWN, all_shares
from chario_lab.experiments.layers.trace import Spent, Trace, keep, recall
from chario_lab.experiments.ways import READ, WRITE
from chario_lab.records import AnyRecord, MachineRecord, SeriesRecord
from chario_lab.target.target import TargetError
from chario_lab.testing.series import machine_record, operation, record

MACHINE = f"6.1, {NVME}"


def machine(medium: str = NVME, emulator: str = "QEMU") -> MachineRecord:
    """What shares are measured on."""
    return machine_record(f"6.1, {medium}", emulator=emulator)


def measured(cell: Cell, layers: dict[str, int], ticks: int = 0) -> SeriesRecord:
    """A series of one call that spent its instructions in these layers, and took 100 us."""
    where: dict[str, Any] = {"machine": f"6.1, {cell.medium}", "station": cell.way, "layers": layers}
    said = {"elapsed_us": 100}
    return record(cell.key, [operation(layers, ticks)], call_bytes=cell.size.size_bytes, said=said, **where)


def spin(way: str = "ext4", **layers: int) -> SeriesRecord:
    """Two ticks in these layers."""
    all_layers = {USER: 1000, **layers}
    where: dict[str, Any] = {"machine": MACHINE, "station": way, "layers": all_layers, "call_bytes": 0}
    return record(SPIN.key, [operation(all_layers, ticks=2)], **where)


def cases(short: bool = False) -> Sequence[Case]:
    """All cases of a plan."""
    return [step for station in plan(Choice(short=short)) for step in station.steps if isinstance(step, Case)]


def test_all_ways_sizes_and_directions_are_planned() -> None:
    """And no bare disk has a file with unwritten blocks."""
    keys = {case.key for case in cases()} - {SPIN.key}
    wanted = {
        Cell(medium, way, direction, size).key
        for medium in (NVME, SATA)
        for way in WAYS
        for direction in (READ, WRITE, UNWRITTEN)
        for size in SIZES
        if (way, direction) != ("raw", UNWRITTEN)
    }
    assert wanted <= keys


@pytest.mark.parametrize("short", [False, True])
def test_a_first_write_finds_blocks_for_all_its_calls(short: bool) -> None:
    """The calls that come before it too."""
    for case in cases(short):
        if case.before.startswith("fallocate"):
            assert int(case.before.split()[2]) == (case.operations + case.warm_calls) * case.call_bytes


def test_every_layer_is_shown_once() -> None:
    """But for the idle loop's."""
    shown = [layer for layers in SHOWN.values() for layer in layers]
    assert sorted(shown) == sorted(set(LAYERS) - {IDLE})


def test_shares_are_without_ticks_and_idle() -> None:
    """A tick of 10 in "timer" is taken out of a call of two; the rest is the total."""
    cell = Cell(NVME, "ext4", READ, LARGEST)
    layers = {"bio": 30, "merge": 50, "nvme": 10, "driver": 10, "timer": 25, IDLE: 99}
    share = all_shares([spin(timer=20), measured(cell, layers, ticks=2)], [MACHINE])[cell.key]
    assert share.total == 105
    assert (share.of("driver"), share.of("clocks")) == (20 / 105, 5 / 105)


def test_a_tick_that_was_cheap_leaves_nothing_below_zero() -> None:
    """Where the mean tick has more in a layer than the call."""
    cell = Cell(NVME, "ext4", READ, LARGEST)
    share = all_shares([spin(timer=20), measured(cell, {"bio": 30, "timer": 5}, ticks=1)], [MACHINE])[cell.key]
    assert (share.of("clocks"), share.of("BIO creation")) == (0, 1)


def large_calls(bio: int, merge: int, request: int) -> list[AnyRecord]:
    """Large reads and writes on both file systems and media; the rest of 100 is pinning."""
    layers = {"bio": bio, "merge": merge, "request": request, "gup": 100 - bio - merge - request}
    return [
        measured(Cell(medium, way, direction, LARGEST), layers)
        for medium in (NVME, SATA)
        for way in ("ext4", "XFS")
        for direction in (READ, WRITE)
    ]


def verdicts(records: Sequence[AnyRecord]) -> dict[str, bool | None]:
    """By the first words of the sentence."""
    found = section([machine(NVME), machine(SATA), *records]).verdicts
    return {" ".join(verdict.sentence.split()[:4]): verdict.holds for verdict in found}


@pytest.mark.parametrize(("parts", "significant", "ordered"), [
    ((3, 7, 11), True, True),
    ((3, 7, 2), True, False),
    ((1, 2, 3), False, True),
])  # fmt: skip
def test_the_sentences_of_the_paper(parts: tuple[int, int, int], significant: bool, ordered: bool) -> None:
    """What holds is judged by the figures alone; a share of the time is judged by nobody."""
    found = verdicts(large_calls(*parts))
    assert found["A significant amount is"] is significant
    assert found["In writes to an"] is ordered
    assert found["21 % of the"] is None
    assert found["The sum over the"] is True


def test_a_record_whose_layers_are_not_the_total_is_told() -> None:
    """By its name."""
    cell = Cell(NVME, "ext4", READ, LARGEST)
    wrong = record(cell.key, [operation({"bio": 30})], machine=MACHINE, layers={"bio": 29})
    verdict = section([machine(), wrong]).verdicts[-1]
    assert (verdict.holds, verdict.figures) == (False, f"{MACHINE}, {cell.key}")


def test_nothing_is_judged_where_nothing_was_measured() -> None:
    """A run of which all has failed."""
    assert set(verdicts([]).values()) == {None}


def test_the_short_form_measures_less_of_the_same() -> None:
    """Each medium, way and direction, and one case by each method of the field."""
    short, full = ({case.key for case in cases(of)} for of in (True, False))
    assert short < full
    assert {key.rpartition("/")[0] for key in short if key[-1].isdigit()} == {
        key.rpartition("/")[0] for key in full if key[-1].isdigit()
    }
    assert [key.rpartition("/")[2] for key in sorted(short) if key.rpartition("/")[2] in METHODS] == [PROBED, TRACED]


def test_what_is_seen_in_the_field_is_the_counted_case() -> None:
    """But for the number of calls, and the gate that shows them alone."""
    plain = {case.key: case for case in cases()}
    for case in cases():
        key, _, method = case.key.rpartition("/")
        if method in METHODS:
            assert case.words[:5] == plain[key].words[:5]
            assert case.words[5] == str(case.operations)
            assert case.words[6:] == (*plain[key].words[6:], case.words[-1])
            assert case.words[-1].startswith("gate=")


def seen(cell: Cell, method: str, layers: dict[str, int], merge_ns: int, bio_ns: int) -> SeriesRecord:
    """A series whose tracer saw two layers."""
    spent = {"merge": Spent(2, merge_ns), "bio": Spent(1, bio_ns)}
    trace = Trace(layers=spent, functions=spent, ticks_ns=0, events=6, unclosed=0, unopened=0)
    where: dict[str, Any] = {"machine": MACHINE, "station": cell.way, "layers": layers, "report": keep(trace)}
    said = {"elapsed_us": 300}
    return record(cell.key_by(method), [operation(layers)], call_bytes=cell.size.size_bytes, said=said, **where)


@pytest.mark.parametrize(("merge_ns", "bio_ns", "agrees"), [(80, 20, True), (20, 80, False)])
def test_a_method_of_the_field_beside_the_count(merge_ns: int, bio_ns: int, agrees: bool) -> None:
    """Its shares, its cost in instructions, and whether the order is the same."""
    cell = Cell(NVME, "ext4", READ, LARGEST)
    counted = measured(cell, {"merge": 60, "bio": 40})
    found = section([machine(), counted, seen(cell, TRACED, {"merge": 100, "tracing": 900}, merge_ns, bio_ns)])
    shares, costs = (table for title, table in tables(found).items() if title.startswith(("Counted, and", "What the")))
    row = next(row for row in shares.rows if row[0] == "split, merge, plug")
    assert row[1:] == ["60.0%", f"{merge_ns}.0%"]
    assert list(costs.rows[0][1:]) == ["10.0", "-", "3", "300", "0", "1.00" if agrees else "-1.00"]
    verdict = next(each for each in found.verdicts if each.sentence.startswith(TRACED))
    assert verdict.holds is agrees


@pytest.mark.parametrize(("together_us", "holds"), [(63, True), (62, False)])
def test_where_times_mean_something_they_are_shares_of_the_time(together_us: int, holds: bool) -> None:
    """With what is left for the drive; the paper's 21 % are judged, and nothing is said of instructions."""
    cell = Cell(NVME, "ext4", WRITE, LARGEST)
    traced = seen(cell, TRACED, {"bio": 1}, (together_us - 10) * 1000, 10_000)
    uncounted = [replace(each, layers={}) for each in (measured(cell, {"bio": 1}), traced)]
    found = section([machine(emulator=""), *uncounted])
    shares, costs, groups = (part for part in found.parts if isinstance(part, Table) and part.rows)
    assert [row[1] for row in shares.rows if row[0] in {"BIO creation", WAITING}] == [
        "3.3%",
        f"{1 - together_us / 300:.1%}",
    ]
    assert list(costs.rows[0][1:]) == ["-", "3.0", "3", "-", "0", "-"]
    assert groups.rows[-1][2] == f"{together_us / 300:.1%}"
    assert [verdict.holds for verdict in found.verdicts if verdict.sentence.startswith("21 %")] == [holds]
    assert not any("instructions" in verdict.figures for verdict in found.verdicts)


def test_on_hardware_what_is_seen_is_also_timed_without_a_tracer() -> None:
    """The bare disk among it, for nothing else tells of it; timer ticks need not be known."""
    keys = {step.key for station in plan(Choice(here=True)) for step in station.steps if isinstance(step, Case)}
    assert SPIN.key not in keys
    for key in keys:
        name, _, method = key.rpartition("/")
        assert {f"{name}/{method}"} <= keys if method in METHODS else {f"{key}/{each}" for each in METHODS} <= keys
    assert {key.split("/")[1] for key in keys} == set(WAYS)


def test_what_probes_have_written() -> None:
    """Functions of one layer are added up; a cut file is refused."""
    trace = recall(digest_probes("vfs_read 16 80\nbio_endio 2 30\nbio_alloc_bioset 1 20\nlost 1\n"))
    assert trace.layers == {"vfs": Spent(16, 80), "bio": Spent(3, 50)}
    assert (trace.unopened, trace.functions["bio_endio"]) == (1, Spent(2, 30))
    for cut in ("", "vfs_read 16 80\n", "lost 0\n"):
        with pytest.raises(TargetError, match="cut off"):
            digest_probes(cut)
    with pytest.raises(TargetError, match="lost 5 of 400 calls"):
        digest_probes("vfs_read 400 80\nlost 5\n")


def test_every_boundary_has_a_layer() -> None:
    """One that is shown."""
    assert set(BOUNDARIES.values()) <= {layer for layers in SHOWN.values() for layer in layers}


def tables(found: Section) -> dict[str, Table]:
    """By their titles."""
    return {part.title: part for part in found.parts if isinstance(part, Table)}


def test_the_groups_stand_beside_the_paper() -> None:
    """With what the paper has not said left open."""
    found = tables(section([machine(NVME), machine(SATA), *large_calls(3, 7, 11)]))
    table = found["The paper's groups, read 10 MiB, Linux 6.1: shares of the instructions"]
    assert table.columns == ["", "in the paper, of the time", "SATA disk, ext4", "SATA disk, XFS"]
    assert table.rows[1] == ["splitting, merging, plugging", "5.4%", "7.0%", "7.0%"]
    assert table.rows[2] == ["reordering, queueing", "-", "11.0%", "11.0%"]
    assert table.rows[3] == ["together", "6.2%", "21.0%", "21.0%"]
