# SPDX-License-Identifier: MIT
"""A pass is used again only with all that its stage reads unchanged."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from chario_lab.testing import areas, check, reuse, tiers
from chario_lab.testing.reuse import Passes, key_of
from chario_lab.testing.stage import Stage
from chario_lab.testing.tiers import Plan

MACHINE = "gcc 12"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small checkout and a cache of its own."""
    monkeypatch.setenv("CHARIO_CACHE", str(tmp_path / "cache"))
    top = tmp_path / "checkout"
    for name in ("lib/one.c", "lib/two.c", "docs/page.md"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(f"{name}\n")
    subprocess.run(["git", "init", "--quiet", str(top)], check=True)
    return top


def unit(top: Path, **fields: object) -> Stage:
    """A stage that reads lib/ and writes down that it ran."""
    command = (sys.executable, "-c", f"open('{top.parent}/runs', 'a').write('x')")
    return Stage("unit", command, 1.0, **{"inputs": ("lib/*",), **fields})  # type: ignore[arg-type]


def runs(top: Path) -> int:
    """How often the stage has run."""
    path = top.parent / "runs"
    return len(path.read_text()) if path.exists() else 0


def test_a_pass_is_used_again_and_said(checkout: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The second run runs nothing and says so; the tiers that may not use passes run it."""
    plan = Plan("quick", ((unit(checkout),),))
    assert check.run(plan, passes=Passes(checkout)) == 0
    assert check.run(plan, passes=Passes(checkout)) == 0
    assert runs(checkout) == 1
    assert "reused" in capfd.readouterr().out
    assert check.run(plan) == 0
    assert runs(checkout) == 2


@pytest.mark.parametrize(
    "change", ["content", "new file", "tracked", "gone", "mode", "command", "environment", "machine"]
)
def test_each_input_counts(checkout: Path, change: str) -> None:
    """With any of them changed the key is another one."""
    stage, machine = unit(checkout), MACHINE
    before = key_of(stage, checkout, reuse.files_of(checkout), machine)
    if change == "content":
        (checkout / "lib/two.c").write_text("changed\n")
    elif change == "new file":
        (checkout / "lib/three.c").touch()
    elif change == "tracked":
        subprocess.run(["git", "-C", str(checkout), "add", "lib/two.c"], check=True)
    elif change == "gone":
        (checkout / "lib/one.c").unlink()
    elif change == "mode":
        (checkout / "lib/one.c").chmod(0o755)
    elif change == "command":
        stage = Stage("unit", (*stage.command, "x"), 1.0, inputs=stage.inputs)
    elif change == "environment":
        stage = unit(checkout, environment={"CUTS": "1"})
    else:
        machine = "gcc 13"
    assert key_of(stage, checkout, reuse.files_of(checkout), machine) != before


def test_what_a_stage_does_not_read_does_not_count(checkout: Path) -> None:
    """A page may change without the unit tests running again."""
    stage = unit(checkout)
    before = key_of(stage, checkout, reuse.files_of(checkout), MACHINE)
    (checkout / "docs/page.md").write_text("changed\n")
    assert key_of(stage, checkout, reuse.files_of(checkout), MACHINE) == before


def test_a_change_during_the_run_is_no_pass(checkout: Path) -> None:
    """What has passed is what was there before the stage ran, not what its user has written meanwhile."""
    edit = f"open('{checkout}/lib/one.c', 'a').write('changed')"
    stage = Stage("unit", (sys.executable, "-c", edit), 1.0, inputs=("lib/*",))
    assert check.run(Plan("quick", ((stage,),)), passes=Passes(checkout)) == 0
    assert not Passes(checkout).has(stage)
    (checkout / "lib/one.c").write_text("lib/one.c\n")
    assert not Passes(checkout).has(stage), "what was there before may not be what it has read"


def test_a_failure_is_never_used_again(checkout: Path) -> None:
    """It runs until it passes."""
    bad = Stage("unit", (sys.executable, "-c", "exit(1)"), 1.0, inputs=("lib/*",))
    for _ in range(2):
        assert check.run(Plan("quick", ((bad,),)), passes=Passes(checkout)) == 1
    assert not Passes(checkout).has(bad)


def test_the_inputs_of_this_checkout_are_whole() -> None:
    """What meson reads for the unit tests is among their inputs; every check reads every file."""
    assert tiers.INPUTS["static"] == ("*",)
    folders = re.findall(r"^subdir\('(.+)'\)", (areas.TOP / "meson.build").read_text(), re.M)
    patterns = ("meson*", "kernel/uapi/*", "kernel/core/split.*", *(f"{folder}/*" for folder in folders))
    read = [path for path in areas.tracked_files() if areas.matches(path, patterns)]
    assert len(folders) > 3
    assert read and [path for path in read if not areas.matches(path, tiers.INPUTS["unit"])] == []
