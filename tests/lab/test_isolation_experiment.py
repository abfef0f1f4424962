# SPDX-License-Identifier: MIT
"""The experiment isolation: its plan, the load that it runs, and what it makes of records."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from chario_lab.counting.build import build_tools
from chario_lab.counting.layers import USER
from chario_lab.experiment.chapter import compose
from chario_lab.experiment.page import Plot, Section, Table
from chario_lab.experiment.plan import Case
from chario_lab.experiment.spec import Choice
from chario_lab.experiments.isolation import EXPERIMENT
from chario_lab.experiments.isolation.cells import CELLS, LOAD, OFF, ON, RECORDER, Cell
from chario_lab.experiments.isolation.load import DEPTH, HAS_FIO, OUTPUT, START_TRIES, beside, digest_waits, read_waits
from chario_lab.experiments.isolation.plan import HERE, HERE_SHORT, IN_GUEST, IN_GUEST_SHORT, Extent
from chario_lab.records import MachineRecord, SeriesRecord
from chario_lab.target.machine import THIS_MACHINE
from chario_lab.target.place import Holder, Place
from chario_lab.testing.files import plant
from chario_lab.testing.series import machine_record, operation, record

MIB, NS_A_MS = 1 << 20, 1_000_000
LIMIT_S = 60

CHOICES = [Choice(), Choice(short=True), Choice(here=True), Choice(here=True, short=True)]
# Where the block side stands back less and less, a call takes this many milliseconds, and it moves this many MiB/s.
FALLING = {OFF: (90, 8), ON[0]: (10, 6), ON[1]: (4, 4), ON[2]: (3, 1)}


def cases(choice: Choice) -> dict[str, Case]:
    """All cases of a plan."""
    steps = [step for station in EXPERIMENT.plan(choice) for step in station.steps]
    return {step.key: step for step in steps if isinstance(step, Case)}


@pytest.mark.parametrize("choice", CHOICES)
def test_every_cell_is_planned(choice: Choice) -> None:
    """By CharIO first, then by Linux; with a load where there is one, and only CharIO's calls are urgent."""
    found = cases(choice)
    assert list(found) == [cell.key for cell in CELLS]
    assert [station.holder for station in EXPERIMENT.plan(choice)] == [Holder.CHARIO, Holder.BLOCK]
    for cell in CELLS:
        case = found[cell.key]
        assert bool(case.report) == cell.load and ("fio" in " ".join(case.under)) == cell.load
        assert ("latency=yes" in case.words) == cell.recorder
        assert (case.words[0] == "pwrite-urgent") == cell.urgent
        assert HAS_FIO in case.needs


def test_what_the_block_side_is_allowed_is_set() -> None:
    """Each time: what a case has set is there in the next one."""
    found = cases(Choice())
    depths = {cell.depth: dict(found[cell.key].settings) for cell in (OFF, *ON)}
    for depth, settings in depths.items():
        assert settings["/sys/class/chario/{name}/isolation_depth"] == str(depth)
    for cell in CELLS:
        names = {path.rpartition("/")[2] for path, _ in found[cell.key].settings}
        assert names == ({"isolation_depth", "isolation_ms"} if cell.holder is Holder.CHARIO else {"scheduler"})


@pytest.mark.parametrize("extent", [HERE, HERE_SHORT, IN_GUEST, IN_GUEST_SHORT])
def test_the_block_side_stands_back_from_call_to_call(extent: Extent) -> None:
    """Or it would make up between calls for what it has lost."""
    assert extent.isolation_ms * 1000 > extent.period_us


def report(error: int = 0, p99_ms: int = 5, longest_ms: int = 9) -> str:
    """What fio says when it is ended."""

    def waits(p99_ms: int, longest_ms: int) -> dict[str, object]:
        return {"clat_ns": {"max": longest_ms * NS_A_MS, "percentile": {"99.000000": p99_ms * NS_A_MS}}}

    job = {"error": error, "read": waits(1, longest_ms), "write": waits(p99_ms, 2)}
    return f"fio: terminating on signal 15\n\n{json.dumps({'jobs': [job]}, indent=2)}"


def test_the_report_of_the_load_is_read() -> None:
    """Of reads and writes the longer waits; whatever stands before; a load whose requests failed is none."""
    waits = read_waits(digest_waits(report()))
    assert (waits.p99_us, waits.longest_us) == (5000, 9000)
    with pytest.raises(ValueError, match="error 5"):
        digest_waits(report(error=5))
    with pytest.raises(ValueError):
        digest_waits("fio: failed to start\n")


def run_beside(folder: Path, fio: str, *program: str, tries: int = START_TRIES) -> subprocess.CompletedProcess[str]:
    """Run a program beside a load that is a script of the shell, on a disk that is a file."""
    disk, programs = folder / "disk", folder / "programs"
    plant(disk / "stat", "1 0 0 0 2 0 0 0 0\n")
    plant(programs / "fio", f"#!/bin/sh\ncd {disk}\n{fio}\n")
    # The name of a block device, as a path from where the kernel lists them.
    place = Place("chario", work=str(folder))
    words = [place.fill(word) for word in beside(f"../../..{disk}", tries)]
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    return subprocess.run(
        [*words, *program], capture_output=True, text=True, env=environment, timeout=LIMIT_S, check=False
    )


RUNS = f"trap 'touch ended; exit' TERM; echo 1 0 0 0 {2 + DEPTH} 0 0 0 0 >stat; touch busy; while :; do sleep 0.1; done"


@pytest.mark.parametrize("code", [0, 7])
def test_the_program_runs_while_the_load_does(tmp_path: Path, code: int) -> None:
    """It begins when enough requests have ended; its output and its exit code are those of the whole."""
    program = f"ls {tmp_path}/disk; exit {code}"
    done = run_beside(tmp_path, RUNS, "sh", "-c", program)
    assert (done.returncode, done.stdout.split()) == (code, ["busy", "stat"]), done.stderr
    assert (tmp_path / "disk/ended").exists()


def test_a_load_that_does_not_start_is_said(tmp_path: Path) -> None:
    """The program does not run then, and nobody waits."""
    done = run_beside(tmp_path, "echo no such engine >&2; exit 1", "echo", "ran")
    assert (done.returncode, done.stdout) == (1, "") and "no such engine" in done.stderr


def test_a_load_that_nobody_counts_is_said(tmp_path: Path) -> None:
    """It goes on, but its requests do not end: a kernel need not count those of every disk."""
    done = run_beside(tmp_path, RUNS.replace("stat", "other"), "echo", "ran", tries=2)
    assert (done.returncode, done.stdout) == (1, "") and "counts no requests" in done.stderr
    assert (tmp_path / "disk/ended").exists()


def test_an_old_report_is_not_taken_for_a_new_one(tmp_path: Path) -> None:
    """One that a run before has left."""
    old = Path(OUTPUT.format(work=tmp_path))
    old.write_text(report())
    run_beside(tmp_path, "exit 1", "true")
    assert not old.exists()


def test_times_of_calls_are_told_apart(tmp_path: Path) -> None:
    """By the program that makes them: a quantile is not above a higher one, and one call is all of them."""
    words = [str(tmp_path / "file"), "4096", "plain", "free"]
    for calls in ("1", "1000"):
        command = [build_tools().program, "pwrite", *words, calls, "open=buffered", "latency=yes"]
        said = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        times = [said["latency_ns"][name] for name in ("p50", "p99", "p999", "max")]
        assert times == sorted(times)
        assert calls != "1" or len(set(times)) == 1


def machine(emulator: str = "QEMU") -> MachineRecord:
    """What figures are measured on."""
    return machine_record(cpus=2, emulator=emulator, device="Good Drive")


def series(cell: Cell, call_ms: int, rate_mib: int) -> SeriesRecord:
    """Two seconds of a case, whose longest calls take ten times as long as most do."""
    times = {"p50": call_ms, "p99": 2 * call_ms, "p999": 5 * call_ms, "max": 10 * call_ms}
    said: dict[str, object] = {"elapsed_us": 2_000_000, "beside_bytes": 2 * rate_mib * MIB * cell.load}
    if cell.recorder:
        said["latency_ns"] = {name: time_ms * NS_A_MS for name, time_ms in times.items()}
    waits = digest_waits(report()) if cell.load else ""
    return record(cell.key, [operation({USER: 1})], station=cell.holder.value, said=said, report=waits)


def show(found: Mapping[Cell, tuple[int, int]], emulator: str = "QEMU") -> Section:
    """What is made of cases with such times and rates."""
    records = [series(cell, call_ms, rate_mib) for cell, (call_ms, rate_mib) in found.items()]
    return EXPERIMENT.section([machine(emulator), *records])


def rows(section: Section) -> dict[str, Sequence[str]]:
    """The rows of the table, by name."""
    (table,) = [part for part in section.parts if isinstance(part, Table)]
    return {row[0]: row[1:] for row in table.rows}


def holds(found: Mapping[Cell, tuple[int, int]]) -> list[bool | None]:
    """Whether each promise is kept."""
    return [verdict.holds for verdict in show(found).verdicts]


def test_figures_of_a_case() -> None:
    """Microseconds and MiB a second; what is lost of the block side's rate alone, and of that without isolation."""
    alone = {cell: (1, 10) for cell in CELLS if cell.title in {RECORDER, LOAD}}
    shown = rows(show({**alone, **FALLING, CELLS[-1]: (20, 5)}))
    assert len(shown) == len(alone) + len(FALLING) + 1
    assert shown[ON[0].name] == [
        *("10,000", "20,000", "50,000", "100,000"), "6.00", "40%", "25%", "5,000", "9,000",
    ]  # fmt: skip
    assert shown[CELLS[0].name] == ["1,000", "2,000", "5,000", "10,000", *["-"] * 5]
    assert shown[CELLS[1].name] == [*["-"] * 4, "10.00", "-", "-", "5,000", "9,000"]
    assert list(shown[CELLS[-1].name])[4:7] == ["5.00", "50%", "-"]


def test_the_promises() -> None:
    """Both are kept, each is broken alone, and nothing is said of what was not measured."""
    assert holds(FALLING) == [True, True]
    assert holds({**FALLING, ON[0]: (90, 6)}) == [False, True]
    assert holds({**FALLING, ON[-1]: (3, 0)}) == [True, False]
    assert holds({OFF: FALLING[OFF]}) == [None, None]
    assert "50,000 µs with 4" in show(FALLING).verdicts[0].figures


def test_pictures_have_all_that_was_measured() -> None:
    """A point for each quantile, a bar for each rate."""
    times, rates = [part for part in show(FALLING).parts if isinstance(part, Plot)]
    assert len(times.rows) == 4 * len(FALLING) and len(rates.rows) == len(FALLING)
    assert {row["quantile"] for row in times.rows} == {"p50", "p99", "p99.9", "max"}


@pytest.mark.parametrize(
    ("emulator", "words"), [("QEMU", "not what a drive does"), ("", "this machine and this drive")]
)
def test_it_is_said_what_was_measured(emulator: str, words: str) -> None:
    """A guest's times are no drive's."""
    assert words in " ".join(compose(EXPERIMENT, [machine(emulator)]).excluded.split())
    (table,) = [part for part in show(FALLING, emulator).parts if isinstance(part, Table)]
    assert "Good Drive" in table.note and ("times show that it works" in table.note) == bool(emulator)


def test_this_machine_fills_what_is_read() -> None:
    """But for the short form."""
    for short in (False, True):
        for station in EXPERIMENT.plan(Choice(here=True, short=short)):
            assert station.machine == THIS_MACHINE
            assert ("dd if=/dev/zero" in " ".join(station.prepare)) == (not short)
