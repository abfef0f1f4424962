# SPDX-License-Identifier: MIT
"""A pass is used again only with all that its stage reads unchanged."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from chario_lab.testing import areas, check, tiers
from chario_lab.testing.checkout import differing, read_files
from chario_lab.testing.reuse import Passes, key_of, machine
from chario_lab.testing.stage import Stage
from chario_lab.testing.tiers import Plan

MACHINE = "gcc 12"
BUILD = Path("none")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small checkout and a cache of its own."""
    monkeypatch.setenv("CHARIO_CACHE", str(tmp_path / "cache"))
    top = tmp_path / "checkout"
    for name in ("lib/one.c", "lib/two.c", "docs/page.md"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(f"{name}\n")
    (top / "lib/link.c").symlink_to("one.c")
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
    assert check.run(plan, passes=Passes(checkout, BUILD)) == 0
    assert check.run(plan, passes=Passes(checkout, BUILD)) == 0
    assert runs(checkout) == 1
    assert "reused" in capfd.readouterr().out
    assert check.run(plan) == 0
    assert runs(checkout) == 2


@pytest.mark.parametrize(
    "change", ["content", "new file", "tracked", "gone", "mode", "link", "command", "environment", "machine"]
)
def test_each_input_counts(checkout: Path, change: str) -> None:
    """With any of them changed the key is another one."""
    stage, machine = unit(checkout), MACHINE
    before = key_of(stage, read_files(checkout), machine)
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
    elif change == "link":
        (checkout / "docs/one.c").write_text("lib/one.c\n")
        (checkout / "lib/link.c").unlink()
        (checkout / "lib/link.c").symlink_to("../docs/one.c")
    elif change == "command":
        stage = Stage("unit", (*stage.command, "x"), 1.0, inputs=stage.inputs)
    elif change == "environment":
        stage = unit(checkout, environment={"CUTS": "1"})
    else:
        machine = "gcc 13"
    assert key_of(stage, read_files(checkout), machine) != before


@pytest.mark.parametrize("change", ["options of the build", "kernel", "variable", "path"])
def test_the_machine_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    """Another configuration, another release of a kernel, another compiler: each makes another machine of it."""
    monkeypatch.setenv("CHARIO_CACHE", str(tmp_path / "cache"))
    options, kernel = tmp_path / "meson-info/intro-buildoptions.json", tmp_path / "cache/kernels/6.1.json"
    for path in (options, kernel):
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    before = machine(tmp_path)
    assert machine(tmp_path) == before
    if change == "variable":
        monkeypatch.setenv("CC", "another-compiler")
    elif change == "path":
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    else:
        (kernel if change == "kernel" else options).write_text("{ }")
    assert machine(tmp_path) != before


def test_what_has_changed_is_named(checkout: Path) -> None:
    """A file that is new, one that is gone, one with other bytes; not one that git ignores."""
    before = read_files(checkout)
    (checkout / "lib/one.c").write_text("changed\n")
    (checkout / "lib/two.c").unlink()
    (checkout / "new").touch()
    (checkout / ".git/info/exclude").write_text("made\n")
    (checkout / "made").touch()
    assert differing(before, read_files(checkout)) == ["lib/link.c", "lib/one.c", "lib/two.c", "new"]


def test_what_a_stage_does_not_read_does_not_count(checkout: Path) -> None:
    """A page may change without the unit tests running again."""
    stage = unit(checkout)
    before = key_of(stage, read_files(checkout), MACHINE)
    (checkout / "docs/page.md").write_text("changed\n")
    assert key_of(stage, read_files(checkout), MACHINE) == before


def test_a_change_during_the_run_is_no_pass(checkout: Path) -> None:
    """What has passed is what was there before the stage ran, not what its user has written meanwhile."""
    edit = f"open('{checkout}/lib/one.c', 'a').write('changed')"
    stage = Stage("unit", (sys.executable, "-c", edit), 1.0, inputs=("lib/*",))
    assert check.run(Plan("quick", ((stage,),)), passes=Passes(checkout, BUILD)) == 0
    assert not Passes(checkout, BUILD).has(stage)
    (checkout / "lib/one.c").write_text("lib/one.c\n")
    assert not Passes(checkout, BUILD).has(stage), "what was there before may not be what it has read"


def test_a_failure_is_never_used_again(checkout: Path) -> None:
    """It runs until it passes."""
    bad = Stage("unit", (sys.executable, "-c", "exit(1)"), 1.0, inputs=("lib/*",))
    for _ in range(2):
        assert check.run(Plan("quick", ((bad,),)), passes=Passes(checkout, BUILD)) == 1
    assert not Passes(checkout, BUILD).has(bad)


def test_the_inputs_of_this_checkout_are_whole() -> None:
    """What meson reads for the unit tests is among their inputs; every check reads every file."""
    assert tiers.INPUTS["static"] == ("*",)
    folders = re.findall(r"^subdir\('(.+)'\)", (areas.TOP / "meson.build").read_text(), re.M)
    patterns = ("meson*", "kernel/uapi/*", "kernel/types/split.*", *(f"{folder}/*" for folder in folders))
    read = [path for path in areas.tracked_files() if areas.matches(path, patterns)]
    assert len(folders) > 3
    assert read and [path for path in read if not areas.matches(path, tiers.INPUTS["unit"])] == []
