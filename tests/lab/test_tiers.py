# SPDX-License-Identifier: MIT
"""The tiers of tests: what is selected, what is left out and said, and that nothing passes by not running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from chario_lab.testing import areas, check, tiers
from chario_lab.testing.areas import Area, Map
from chario_lab.testing.guest_files import GuestFile, TableError, read_table
from chario_lab.testing.readers import Readers
from chario_lab.testing.stage import Stage, has_processes
from chario_lab.testing.tiers import Plan, Setting

BUFFERS = Area(
    "buffers", ("kernel/memory/buffer.c",), ("tests/guest/test_buffers.py",), "tests/guest/test_buffers.py::test_a"
)
BIND = Area("bind", ("cli/cmd-bind.c",), ("tests/guest/test_bind.py", "tests/lab/test_install.py"),
            "tests/guest/test_bind.py::test_b")  # fmt: skip
KNOWN = Map((BUFFERS, BIND), ("lab/*", "kernel/types/*.h"), ("lib/*", "cli/*"))
FILES = (
    GuestFile("test_bind.py", 1, 60),
    GuestFile("test_buffers.py", 1, 20, kernels=("6.12", "debug")),
    GuestFile("test_recovery.py", 2, 90, waits=True, kernels=("debug", "kcsan"), debug_first=True),
)
SETTING = Setting(Path("python"), Path("build"), ("6.1", "6.12", "debug"), FILES)


def quick(*changed: str) -> Plan:
    """The quick tier after these changes."""
    return tiers.plan_quick(SETTING, KNOWN, areas.select(KNOWN, changed), "abc", len(changed))


def words_of(plan: Plan) -> dict[str, str]:
    """What each stage runs."""
    return {stage.name: " ".join(stage.command) for group in plan.groups for stage in group}


def test_nothing_has_changed() -> None:
    """Static checks, unit tests and one smoke test of each feature; the rest is named as left out."""
    words = words_of(quick())
    assert set(words) == {"static", "unit", "smoke 6.1"}
    assert words["smoke 6.1"].endswith("tests/guest/test_buffers.py::test_a tests/guest/test_bind.py::test_b")
    assert any("3 of 3 files" in line for line in quick().left_out)


def test_a_changed_area_runs_all_its_tests() -> None:
    """The others only have their smoke tests; a changed program also asks for sanitizers and fuzzing."""
    words = words_of(quick("kernel/memory/buffer.c"))
    assert words["changed 6.1"].endswith("tests/guest/test_buffers.py tests/guest/test_bind.py::test_b")
    assert "sanitizers" not in words and "host" not in words
    words = words_of(quick("cli/cmd-bind.c"))
    assert {"sanitizers", "fuzz-library"} <= set(words)
    assert words["host"].endswith("tests/lab/test_install.py")


@pytest.mark.parametrize("path", ["lab/one.py", "kernel/types/request.h", "kernel/disk/new.c"])
def test_what_is_under_everything_selects_everything(path: str) -> None:
    """So does a path that no area has."""
    plan = quick("kernel/memory/buffer.c", path)
    for file in FILES:
        assert f"tests/guest/{file.name}" in words_of(plan)["changed 6.1"]
    assert any(path in note for note in plan.notes)


def test_each_kernel_runs_its_list() -> None:
    """The first one runs all files, each other one those that name it."""
    words = words_of(tiers.plan_check(SETTING))
    assert all(file.name in words["guests 6.1"] for file in FILES)
    assert words["guests 6.12"].endswith("--kernel=6.12 tests/guest/test_buffers.py")
    assert words["guests debug, first"].endswith("--kernel=debug tests/guest/test_recovery.py")
    assert words["guests debug, rest"].endswith("--kernel=debug tests/guest/test_buffers.py")
    assert words["module"].endswith("--again 6.1 6.12")
    assert words["module debug"].endswith("--again debug")
    assert list(words)[-4:] == ["guests 6.12", "module debug", "guests debug, first", "guests debug, rest"]


def test_the_long_tier_has_all_files_and_no_samples() -> None:
    """Every file on every kernel, every failing allocation; and what the other tiers name as left out."""
    plan = tiers.plan_long(SETTING)
    stages = {stage.name: stage for group in plan.groups for stage in group}
    for kernel in SETTING.kernels:
        assert all(file.name in " ".join(stages[f"guests {kernel}"].command) for file in FILES)
        assert stages[f"guests {kernel}"].environment["FAIL_NTH_STRIDE"] == "1"
        assert stages[f"guests {kernel}"].environment["LIES"] == "100000"
    assert [file.name in " ".join(stages["guests kcsan"].command) for file in FILES].count(True) == 1
    assert stages["100 killed machines"].environment["KILLS"] == "100"
    assert stages["1,000 killed writers"].environment["WRITERS"] == "112"
    assert stages["siege 6.1"].environment["SIEGE_LEAST"] == "1000"
    assert stages["siege debug"].environment["SIEGE_SECONDS"] == "600"
    assert {"mutants", "fuzz", "coverage of the module", "fresh machines"} <= set(stages)


def test_the_map_of_this_checkout() -> None:
    """Every file is in an area; the table of guest tests has every file."""
    assert areas.complaints(areas.read_map(), areas.tracked_files()) == []
    assert areas.missing_smoke(areas.read_map(), areas.TOP) == []
    assert read_table(areas.TOP / "tests/guest")


def test_a_smoke_test_that_is_gone_is_named(tmp_path: Path) -> None:
    """Its file is there, its function is not."""
    (tmp_path / "test_a.py").write_text("def test_other() -> None:\n")
    known = Map((Area("a", smoke="test_a.py::test_one[512]"), Area("b", smoke="test_a.py::test_other")), (), ())
    assert areas.missing_smoke(known, tmp_path) == [f"{areas.MAP}: a: test_a.py has no test_one"]


def test_a_map_that_does_not_fit_is_told() -> None:
    """A source in no area, a test that no area runs, a pattern for nothing, a smoke test from elsewhere."""
    stray = Area("stray", ("kernel/none.c",), (), "tests/guest/test_bind.py::test_b")
    tracked = ["kernel/memory/buffer.c", "kernel/queue/edge.c", "tests/guest/test_bind.py"]
    found = "\n".join(areas.complaints(Map((stray,), ("kernel/memory/b*",), ()), tracked))
    assert "kernel/queue/edge.c: in no area" in found
    assert "tests/guest/test_bind.py: no area of" in found
    assert "stray: nothing fits kernel/none.c" in found
    assert "stray: the smoke test tests/guest/test_bind.py::test_b is none of its tests" in found


def test_a_table_that_does_not_fit_is_told(tmp_path: Path) -> None:
    """A test file that the table does not name, and one that is not there."""
    (tmp_path / "files.toml").write_text("test_old = { cpus = 1, seconds = 1 }\n")
    (tmp_path / "test_new.py").touch()
    with pytest.raises(TableError, match=r"add test_new\.py; remove test_old\.py"):
        read_table(tmp_path)


def stage(name: str, program: str, minutes: float = 0.0) -> Stage:
    """A stage that is a line of Python."""
    return Stage(name, (sys.executable, "-c", program), minutes)


def test_one_failure_fails_the_run_and_stops_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """All stages run, those side by side too; each says what it has to say."""
    bad, good = stage("bad", "print('a'); exit(3)"), stage("good", "print('b')")
    assert check.run(Plan("x", ((bad, good), (stage("last", "print('c')"),)))) == 1
    said = capfd.readouterr().out
    assert "bad said\na\n" in said and "good said\nb\n" in said and "\nc\n" in said
    assert "FAILED (3)" in said and said.endswith("x: 2 passed, 1 failed\n")
    assert check.run(Plan("x", ((good,),))) == 0


def test_a_stage_that_cannot_be_started(capfd: pytest.CaptureFixture[str]) -> None:
    """It has failed, and who runs beside it comes to its end."""
    nowhere = Stage("nowhere", ("/none/such",), 1)
    assert check.run(Plan("x", ((stage("good", "print('b')"), nowhere),))) == 1
    said = capfd.readouterr().out
    assert "nowhere cannot be started: /none/such: No such file or directory" in said
    assert "good said\nb\n" in said and said.endswith("x: 1 passed, 1 failed\n")


def test_nothing_run_is_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    """A plan without stages, a list without kernels, and a run whose stages all came too late."""
    assert check.run(Plan("x", ())) == 1
    assert check.main(["guests", "--kernels", " "]) == 1
    assert "no kernel to test" in capfd.readouterr().err
    assert check.run(Plan("x", ((stage("long", "print()", 60),),)), within_min=5) == 1
    assert "left out for want of time, about 60 minutes: long" in capfd.readouterr().out


def test_what_nothing_is_shown_without_may_not_be_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    """Another stage may be, where it is named."""
    quick, slow = stage("quick", "print()", 1), stage("guests 6.1", "print()", 60)
    assert check.run(Plan("x", ((quick,), (slow,)), needed="guests 6.1"), within_min=5) == 1
    assert "no time for guests 6.1" in capfd.readouterr().err
    assert check.run(Plan("x", ((quick,), (slow,)), needed="quick"), within_min=5) == 0
    assert capfd.readouterr().out.endswith("x: 1 passed, 0 failed, 1 left out\n")


def test_a_kernel_that_has_to_be_built_takes_its_time() -> None:
    """What it takes is known before it begins."""
    plan = tiers.plan_check(replace(SETTING, missing=("debug",)))
    minutes = {stage.name: stage.minutes for group in plan.groups for stage in group}
    assert minutes["module debug"] > minutes["guests 6.1"] > minutes["module"]


def test_kernels_that_are_not_named_are_left_out_and_said() -> None:
    """KERNELS= may name fewer than usual."""
    plan = tiers.plan_check(replace(SETTING, kernels=("6.12",)))
    assert "guests 6.1: KERNELS does not name it" in plan.left_out


def test_no_module_is_built_for_no_kernel() -> None:
    """Where only a kernel of the lab is named, its module is the only one."""
    assert "module" not in words_of(tiers.plan_check(replace(SETTING, kernels=("debug",))))


def test_each_tier_needs_its_guests() -> None:
    """A run for which there was no time shows nothing."""
    assert quick().needed == "smoke 6.1"
    assert quick("kernel/memory/buffer.c").needed == "changed 6.1"
    assert tiers.plan_check(SETTING).needed == tiers.plan_long(SETTING).needed == "guests 6.1"


@pytest.mark.parametrize("word", ["abc", "nan", "inf", "0", "-5"])
def test_minutes_that_are_none_are_refused(word: str) -> None:
    """They are refused before anything is built."""
    with pytest.raises(SystemExit, match=f"WITHIN= is a number of minutes above 0, not '{word}'"):
        check.main(["quick", f"--within={word}"])


def test_a_changed_checkout_is_a_failure(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Its tests have passed, but nobody knows with which of its two states."""
    states = iter([{"a": "1", "b": "1"}, {"a": "1", "b": "2"}])
    monkeypatch.setattr(check, "read_files", lambda top: next(states))
    monkeypatch.setattr(check, "end_by_signals", lambda: None)
    monkeypatch.setattr(check, "make_plan", lambda options, setting: Plan("check", ((stage("good", "print()"),),)))
    monkeypatch.setattr(tiers, "make", lambda setting, name, target: stage(name, "print()"))
    assert check.main(["check"]) == 1
    captured = capfd.readouterr()
    assert captured.out.endswith("check: 2 passed, 0 failed\n")
    assert "changed while it was tested, nothing is shown of it: b" in captured.err


def test_the_table_has_seconds_of_processors(capfd: pytest.CaptureFixture[str]) -> None:
    """What a stage has computed is told from what it has waited for."""
    burn = stage("burns", "import time\nwhile time.process_time() < 2: pass")
    assert check.run(Plan("x", ((burn,), (stage("waits", "import time; time.sleep(2)"),)))) == 0
    cpu_s = {words[0]: int(words[2]) for line in capfd.readouterr().out.splitlines()
             if (words := line.split()) and words[0] in ("burns", "waits")}  # fmt: skip
    assert cpu_s["burns"] >= 2 > cpu_s["waits"]


def test_who_reads_a_program_or_a_module_is_selected(tmp_path: Path) -> None:
    """By itself, or by another test that it takes something from; the map need not say so."""
    folder = tmp_path / "tests/guest"
    folder.mkdir(parents=True)
    (folder / "test_runs.py").write_text("def test_a(programs): programs('late')\n")
    (folder / "test_imports.py").write_text("def test_b():\n    from test_runs import test_a\n")
    (folder / "test_other.py").write_text("import helper\n")
    readers = Readers(tmp_path)
    users = ["tests/guest/test_imports.py", "tests/guest/test_runs.py"]
    assert readers.of("tests/guest/src/late.c") == readers.of("tests/guest/src/late/part.c") == users
    assert readers.of("tests/guest/test_runs.py") == users
    assert readers.of("tests/guest/helper.py") == ["tests/guest/test_other.py"]
    assert readers.of("tests/guest/src/none.c") == readers.of("lib/late.c") == []
    known = Map((Area("late", ("tests/guest/src/late.c",)),), (), ())
    assert areas.select(known, ["tests/guest/src/late.c"], tmp_path).tests == tuple(users)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    """SIGTERM and a hangup, as ctrl-c, end the stages with all their processes; what had ended is in the table."""
    program = tmp_path / "run.py"
    program.write_text(
        "import signal, sys\n"
        "from chario_lab.testing import check\n"
        "from chario_lab.testing.stage import Stage\n"
        "from chario_lab.testing.tiers import Plan\n"
        f"signal.signal({number.value}, signal.SIG_DFL)  # nohup may have this test's run ignore it\n"
        "check.end_by_signals()\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a script does with what it starts in the background\n"
        # It takes its time to end, as guests do.
        'endless = \'import os, signal, subprocess, sys, time; p = subprocess.Popen(["sleep", "100"]); '
        "signal.signal(signal.SIGINT, lambda *_: (time.sleep(1), sys.exit())); "
        "print(os.getpid(), flush=True); p.wait()'\n"
        "stages = [Stage('brief', ('true',), 0), Stage('endless', (sys.executable, '-c', endless), 0)]\n"
        "check.run(Plan('x', tuple((stage,) for stage in stages)))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(areas.TOP / "lab")}
    with subprocess.Popen(
        [sys.executable, program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as run:
        assert run.stdout and run.stderr
        group = next(int(line) for line in run.stdout if line.strip().isdecimal())
        for _ in range(3):
            run.send_signal(number)
            time.sleep(0.2)  # signals that come at once are one
        said, complaint = run.stdout.read(), run.stderr.read()
    assert "brief" in said and "endless" not in said and "interrupted" in complaint
    assert not has_processes(group)
