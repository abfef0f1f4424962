# SPDX-License-Identifier: MIT
"""The plugin and the guest's program compile without a warning."""

import subprocess
from pathlib import Path

import pytest

from chario_lab import programs
from chario_lab.counting import build
from chario_lab.counting.build import INCLUDES, build_tools
from chario_lab.experiments.bench.matrix import CASES
from chario_lab.programs import LAB, ProgramError

pytestmark = pytest.mark.usefixtures("own_cache")


def test_both_are_built_once(own_cache: Path) -> None:
    """The second time gives the same files."""
    tools = build_tools()
    assert tools.plugin.is_relative_to(own_cache)
    before = tools.plugin.stat().st_mtime_ns
    assert build_tools() == tools
    assert tools.plugin.stat().st_mtime_ns == before


@pytest.mark.parametrize("folder", ["lib/include", "lib/src/stream", "kernel/uapi", "kernel/types", "lab/bench"])
def test_a_changed_header_is_another_program(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a source may include it from."""
    monkeypatch.setattr(build, "LAB", tmp_path / "lab")
    monkeypatch.setattr(build, "INCLUDES", tuple(tmp_path / each.relative_to(LAB.parent) for each in INCLUDES))
    header = tmp_path / folder / "split.h"
    header.parent.mkdir(parents=True)
    monkeypatch.setattr(programs, "build", lambda what, command: None)
    built = set()
    for text in ("one", "other"):
        header.write_text(text)
        built.add(build.compile_part("part", (), ()))
    assert len(built) == 2


def test_the_program_knows_every_call_of_the_matrix() -> None:
    """Run without arguments it lists them."""
    listing = subprocess.run([str(build_tools().program)], capture_output=True, text=True, check=False).stderr
    known = set(listing.partition("calls:")[2].split())
    assert known
    assert {case.words[0] for case in CASES.values()} <= known


def test_without_a_compiler_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a traceback."""
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ProgramError, match=r"cc is missing, which builds counter\.so: run scripts/setup\.sh"):
        build_tools()
