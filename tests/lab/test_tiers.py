# SPDX-License-Identifier: MIT
"""The tiers of tests: what is selected, what is left out and said, and that nothing passes by not running."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from chario_lab.kernel import DEBUG
from chario_lab.testing import areas, check, tiers
from chario_lab.testing.files import plant
from chario_lab.testing.stage import Stage, has_processes
from chario_lab.testing.tiers import Plan, Setting

SETTING = Setting(Path("python"), Path("build"), ("6.1", "6.12", DEBUG), base="abc", called="abc")
AREAS = {
    "block/test_block.py": 'import kit\npytestmark = pytest.mark.area("kernel/front/block/")\n',
    "calls/test_calls.py": 'pytestmark = pytest.mark.area("kernel/", "cli/cmd-")\n',
    "store/test_store.py": 'from test_block import x\npytestmark = pytest.mark.area("lib/src/store")\n',
    "store/test_none.py": 'def test_late(programs): programs("late")\n',
    "kit/kit.py": "",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with some files of guest tests."""
    for name, text in AREAS.items():
        plant(tmp_path / areas.GUEST / name, text)
    return tmp_path


def chosen(checkout: Path, *changed: str) -> list[str]:
    """The names of the files that a change selects."""
    return sorted(Path(name).stem.removeprefix("test_") for name in areas.select(changed, checkout))


def test_a_change_selects_the_files_that_show_or_use_it(checkout: Path) -> None:
    """A source, a file of tests that another one imports, a helper, a program; other paths select nothing."""
    assert chosen(checkout, "kernel/front/block/claim.c") == ["block", "calls"]
    assert chosen(checkout, "cli/cmd-put.c", "lib/src/store/area.c") == ["calls", "store"]
    assert chosen(checkout, "tests/guest/block/test_block.py") == ["block", "store"]
    assert chosen(checkout, "tests/guest/kit/kit.py") == ["block", "store"]
    assert chosen(checkout, "tests/guest/src/late.c") == chosen(checkout, "tests/guest/src/late/a.c") == ["none"]
    assert chosen(checkout, "tests/guest/store/test_gone.py", "README.md") == []
    assert chosen(checkout, "tests/guest/conftest.py") == ["block", "calls", "none", "store"]


def test_what_an_area_lacks_is_named(checkout: Path) -> None:
    """A file of tests that has none, a beginning that no path has, a kernel that is none, and a source."""
    (checkout / "tests/guest/calls/test_calls.py").write_text(
        'pytest.mark.area("kernel/front/")\npytest.mark.kernels("2.4")\n'
    )
    found = areas.complaints(checkout, ["kernel/front/block/claim.c", "kernel/main.c"])
    assert found == [
        "tests/guest/calls/test_calls.py: no kernel is called 2.4",
        f"tests/guest/store/test_none.py: {areas.NO_AREA}",
        "tests/guest/store/test_store.py: no path begins with lib/src/store, which its area names",
        "kernel/main.c: no file of guest tests has it in its area",
    ]
    assert areas.complaints(areas.TOP, areas.tracked_files(areas.TOP)) == []


def words_of(plan: Plan) -> dict[str, str]:
    """What each stage runs."""
    return {stage.name: " ".join(stage.command) for stage in plan.stages}


def test_check_has_the_product_on_the_first_kernel_and_what_has_changed_on_others() -> None:
    """The lab's own tests are there if the lab has changed; what is left out is said."""
    words = words_of(tiers.plan_check(SETTING))
    assert "--kernel=6.1 --choose=product --base=abc" in words["guests 6.1"]
    assert "--kernel=6.12 --choose=changed" in words["guests 6.12"] and "--choose=changed" in words["guests debug"]
    assert words["module"].endswith("--again 6.1 6.12 debug") and "tests/lab" not in words["host"]
    assert any("nothing of the lab has changed" in line for line in tiers.plan_check(SETTING).left_out)
    assert "tests/lab" in words_of(tiers.plan_check(replace(SETTING, changed=("lab/one.py",))))["host"]


def test_check_does_without_a_kernel_that_nothing_asks_for() -> None:
    """It says how long building it takes; a changed area whose files name it asks for it."""
    missing = replace(SETTING, missing=frozenset([DEBUG]))
    plan = tiers.plan_check(missing)
    assert "guests debug" not in words_of(plan) and words_of(plan)["module"].endswith("--again 6.1 6.12")
    assert any("make prefetch DEBUG=1" in line and "30 minutes" in line for line in plan.left_out)
    assert "guests debug" in words_of(tiers.plan_check(replace(missing, asked=frozenset([DEBUG]))))
    assert "guests debug" in words_of(tiers.plan_all(missing))


def test_the_other_tiers() -> None:
    """Quick is a part of check; all has each kernel's list; long has everything on every kernel, and no samples."""
    quick = words_of(tiers.plan_quick(SETTING))
    assert list(quick) == ["module", "static", "unit", "guests 6.1"] and "--choose=changed" in quick["guests 6.1"]
    everything = words_of(tiers.plan_all(SETTING))
    assert all("--choose=listed" in everything[f"guests {kernel}"] for kernel in SETTING.kernels)
    assert "tests/lab" in everything["host"]
    stages = {stage.name: stage for stage in tiers.plan_long(SETTING).stages}
    for kernel in SETTING.kernels:
        assert "--choose=all" in stages[f"guests {kernel}"].command
        assert stages[f"guests {kernel}"].environment["FAIL_NTH_STRIDE"] == "1"
    assert stages["100 killed machines"].environment["KILLS"] == "100"
    assert stages["1,000 killed writers"].environment["WRITERS"] == "112"
    assert stages["10,000 claims 6.12"].environment["CLAIM_TURNS"] == "2500"
    assert stages["siege debug"].environment["SIEGE_SECONDS"] == "600"
    assert {"mutants", "sweep", "fuzz", "coverage of the module", "fresh machines"} <= set(stages)
    for stage in stages.values():
        assert all((areas.TOP / word).exists() for word in stage.command if word.startswith("tests/"))


def test_kernels_that_are_not_named_are_left_out_and_said() -> None:
    """KERNELS= may name fewer than usual."""
    plan = tiers.plan_check(replace(SETTING, kernels=("6.12",)))
    assert "guests 6.1: KERNELS does not name it" in plan.left_out


def stage(name: str, program: str) -> Stage:
    """A stage that is a line of Python."""
    return Stage(name, (sys.executable, "-c", program))


def test_one_failure_fails_the_run_and_stops_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """All stages run; one that cannot be started has failed."""
    good, nowhere = stage("good", "print('b')"), Stage("nowhere", ("/none/such",))
    assert check.run(Plan("x", (stage("bad", "print('a'); exit(3)"), nowhere, good))) == 1
    said = capfd.readouterr().out
    assert "\na\n" in said and "\nb\n" in said and "FAILED (3)" in said
    assert "nowhere cannot be started: /none/such: No such file or directory" in said
    assert said.endswith("x: 1 passed, 2 failed\n")
    assert check.run(Plan("x", (good,))) == 0


def test_no_kernel_is_a_failure(capfd: pytest.CaptureFixture[str]) -> None:
    """A list of kernels that names none."""
    assert check.main(["guests", "--kernels", " "]) == 1
    assert "no kernel to test" in capfd.readouterr().err


def test_a_changed_checkout_is_a_failure(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Its tests have passed, but with which of its two states is unknown."""
    states = iter([{"a": "1", "b": "1"}, {"a": "1", "b": "2"}])
    monkeypatch.setattr(check, "read_files", lambda top: next(states))
    monkeypatch.setattr(check, "end_by_signals", lambda: None)
    monkeypatch.setitem(check.PLANS, "check", lambda setting: Plan("check", (stage("good", "print()"),)))
    monkeypatch.setattr(tiers, "make", lambda setting, name, target: stage(name, "print()"))
    assert check.main(["check"]) == 1
    captured = capfd.readouterr()
    assert captured.out.endswith("check: 2 passed, 0 failed\n")
    assert "changed while it was tested, nothing is shown of it: b" in captured.err


def test_the_table_has_seconds_of_processors(capfd: pytest.CaptureFixture[str]) -> None:
    """What a stage has computed is told from what it has waited for."""
    burn = stage("burns", "import time\nwhile time.process_time() < 2: pass")
    assert check.run(Plan("x", (burn, stage("waits", "import time; time.sleep(2)")))) == 0
    cpu_s = {words[0]: int(words[2]) for line in capfd.readouterr().out.splitlines()
             if (words := line.split()) and words[0] in ("burns", "waits")}  # fmt: skip
    assert cpu_s["burns"] >= 2 > cpu_s["waits"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_leaves_nothing_behind(tmp_path: Path, number: signal.Signals) -> None:
    """SIGTERM and a hangup, as ctrl-c, end the stage with all its processes; what had ended is in the table."""
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
        "check.run(Plan('x', (Stage('brief', ('true',)), Stage('endless', (sys.executable, '-c', endless)))))\n"
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
    assert "brief" in said and "interrupted" in complaint
    assert not has_processes(group)
