# SPDX-License-Identifier: MIT
"""Counters of several guests become one report."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from chario_lab import coverage
from chario_lab.coverage import (
    GAPS,
    CoverageError,
    Missed,
    Reason,
    explained,
    functions,
    missed,
    ranges,
    read_reasons,
    unneeded,
)
from chario_lab.guest.counters import VARIABLE, collect, save
from chario_lab.guest.session import Guest, GuestDied
from chario_lab.guest.spec import GuestSpec

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
HEADER = "static inline int minus_one(int number) { return number - 1; }\n"
SOURCE = """\
static int half(int number)
{
	if (number < 0)
		return -1;
	return number / 2;
}
int main(int argc, char **argv)
{
	(void)argv;
	if (argc == 3)
		return 3;
	return half(minus_one(argc));
}
"""


HALF = '["half.c:half"]\nwhy = "no number is negative"\nlines = ["return -1;"]\n'


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A program in the place of a module, built from a kernel's tree that is gone afterwards."""
    folder, tree = tmp_path / "modules/6.12-chario-gcov-0123", tmp_path / "tree"
    for made in (folder, tree / "include"):
        made.mkdir(parents=True)
    (tree / "include/minus.h").write_text(HEADER)
    (folder / "half.c").write_text(SOURCE)
    source, program = str(folder / "half.c"), str(folder / "half")
    command = ["gcc", "--coverage", "-Iinclude", "-include", "minus.h", "-o", program, source]
    subprocess.run(command, cwd=tree, check=True)
    shutil.rmtree(tree)
    return folder


def run_guest(build: Path, folder: Path, name: str, *words: str) -> None:
    """Run the program once, as a guest that leaves its counters behind."""
    subprocess.run([build / "half", *words], cwd=build, check=False)
    share = folder / "share" / name
    scratch = share / "home/modules/cache/modules" / f".{build.name}"
    scratch.mkdir(parents=True)
    for path in build.glob("*.gcda"):
        # The kernel names counters like the object file.
        shutil.move(path, scratch / "half.gcda")
    save(share, folder / "guests" / name)


def trace_of(folder: Path, build: Path) -> dict[str, object]:
    """The report of all guests, as gcovr writes it."""
    coverage.tables(folder, coverage.add_up(folder, build), build)
    return dict(json.loads((folder / "coverage.json").read_text()))


def test_guests_add_up(build: Path, tmp_path: Path) -> None:
    """A line that ran in any guest has run; one that ran in none is told with its function."""
    run_guest(build, tmp_path, "first")
    run_guest(build, tmp_path, "second", "word", "word")
    assert list(missed(trace_of(tmp_path, build), build)) == [Missed("half.c:half", {4: "return -1;"})]


def test_one_guest_is_enough(build: Path, tmp_path: Path) -> None:
    """Lines of one function are put together."""
    run_guest(build, tmp_path, "only", "word", "word")
    half = {1: "static int half(int number)", 3: "if (number < 0)", 4: "return -1;", 5: "return number / 2;"}
    assert list(missed(trace_of(tmp_path, build), build)) == [
        Missed("half.c:half", half),
        Missed("half.c:main", {12: "return half(minus_one(argc));"}),
    ]


def test_functions_are_those_of_the_source() -> None:
    """Also where a name has a line of its own, and where the compiler makes the function part of others."""
    text = "static int\nfirst(int a)\n{\n\tif (a)\n}\n#define SECOND(a) \\\n\tcall(a)\nint third(int a)\n{\n"
    assert functions(text.splitlines()) == ["", *["first"] * 6, *["third"] * 2]


def test_a_line_of_an_inline_function_runs_where_it_is_part_of_another(tmp_path: Path) -> None:
    """gcovr tells such a line once for each."""
    (tmp_path / "part.h").write_text("static int part(int a)\n{\n\tuse(a);\n\treturn a;\n}\n")
    lines = [{"line_number": 3, "count": 0}, {"line_number": 4, "count": 0}, {"line_number": 3, "count": 7}]
    trace = {"files": [{"file": "part.h", "lines": lines, "functions": [{"lineno": 1}]}]}
    assert list(missed(trace, tmp_path)) == [Missed("part.h:part", {4: "return a;"})]


def test_each_function_that_a_macro_makes_is_to_run(tmp_path: Path) -> None:
    """They are all of one line."""
    (tmp_path / "pair.c").write_text("PAIR(enter)\nPAIR(leave)\n")
    lines = [{"line_number": number, "count": count} for number, count in ((1, 5), (1, 5), (2, 5), (2, 0))]
    functions_made = [{"lineno": number} for number in (1, 1, 2, 2)]
    trace = {"files": [{"file": "pair.c", "lines": lines, "functions": functions_made}]}
    assert list(missed(trace, tmp_path)) == [Missed("pair.c:PAIR", {2: "PAIR(leave)"})]


def test_reasons_are_of_lines_that_there_are() -> None:
    """Code that changes takes its reasons with it."""
    for place, reason in read_reasons(coverage.REASONS.read_text()).items():
        file, _, name = place.partition(":")
        text = (coverage.SOURCE / file).read_text().splitlines()
        lines = Counter(line.strip() for line, function in zip(text, functions(text), strict=True) if function == name)
        assert reason.why and Counter(reason.lines) <= lines, place


@pytest.mark.parametrize("text", ['"a.c:f" = "why"', "[a", '["a.c:f"]\nwhy = "so"'])
def test_reasons_in_another_form_are_refused(text: str) -> None:
    """With the name of the file."""
    with pytest.raises(CoverageError, match=r"unreached\.toml"):
        read_reasons(text)


def test_no_counters_are_explained(build: Path, tmp_path: Path) -> None:
    """Counters of another build of the module do not count for this one."""
    other = tmp_path / "guests/first/6.12-chario-gcov-9999"
    other.mkdir(parents=True)
    with pytest.raises(CoverageError, match="no counters of this module"):
        coverage.add_up(tmp_path, build)


class StandIn:
    """A guest that writes its counters when it is told to copy them, or dies."""

    def __init__(self, folder: Path, kernel: str, dies: bool = False) -> None:
        self.spec = GuestSpec(kernel=kernel)
        self.host = SimpleNamespace(run_dir=folder / "run-1", share=folder / "share")
        self.dies = dies

    def must(self, command: str, timeout_s: float) -> str:
        """Answer the one command that there is."""
        if self.dies:
            raise GuestDied("the guest died: QEMU ended with -9\nand more")
        path = self.host.share / "gcov/cache/modules/.built/queue/queue.gcda"
        path.parent.mkdir(parents=True)
        path.write_text(command)
        return ""


def test_a_guest_leaves_its_counters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are saved by guest and build, where somebody wants them, and of the kernel that counts only."""
    wanted = tmp_path / "wanted"
    collect(cast(Guest, StandIn(tmp_path / "unasked", "gcov")))
    monkeypatch.setenv(VARIABLE, str(wanted))
    collect(cast(Guest, StandIn(tmp_path / "other", "6.1")))
    assert not wanted.exists()
    collect(cast(Guest, StandIn(tmp_path / "right", "gcov")))
    assert [path.relative_to(wanted).as_posix() for path in wanted.rglob("*.gcda")] == [
        "guests/run-1/built/queue/queue.gcda"
    ]


def test_a_guest_that_died_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It leaves no counters, which is no error, but is told with the test that it belonged to."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "wanted"))
    collect(cast(Guest, StandIn(tmp_path / "guest", "gcov", dies=True)))
    lines = (tmp_path / "wanted/lost").read_text().splitlines()
    assert len(lines) == 1 and lines[0].startswith("run-1 ") and "test_a_guest_that_died_is_noted" in lines[0]


def numbers() -> Iterator[int]:
    """Lines as gcovr tells them: one can be told twice."""
    yield from (3, 4, 4, 5, 9, 11, 12)


def test_reasons() -> None:
    """A line that has one is told with it, another line of the function apart; a reason of no line is told too."""
    found = [Missed("half.c:half", {4: "return -1;", 5: "return number / 2;"}), Missed("half.c:main", {12: "return;"})]
    reasons = {"half.c:half": Reason("no number is negative", ("return -1;", "return 0;"))}
    assert explained(found, reasons) == (
        ["  half.c:half: 4: no number is negative"],
        ["  half.c:half: 5", "  half.c:main: 12"],
    )
    assert unneeded(found, reasons) == ["half.c:half: return 0;"]


def test_a_reason_is_of_as_many_lines_as_it_names() -> None:
    """Another one that reads the same has none."""
    found = [Missed("half.c:half", {4: "goto out;", 8: "goto out;", 9: "goto out;"})]
    once = Reason("why", ("goto out;",))
    assert explained(found, {"half.c:half": once}) == (["  half.c:half: 4: why"], ["  half.c:half: 8-9"])
    twice = Reason("why", ("goto out;", "goto out;"))
    assert explained(found, {"half.c:half": twice}) == (["  half.c:half: 4,8: why"], ["  half.c:half: 9"])


def test_ranges() -> None:
    """Numbers that follow each other are put together."""
    assert ranges(numbers()) == "3-5,9,11-12"
    assert ranges([]) == ""


@pytest.fixture
def module(build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of reasons, where the program is taken for the module, and the report is asked for."""
    monkeypatch.setattr(coverage, "get_kernel", lambda _name: None)
    monkeypatch.setattr(coverage, "build_module", lambda _kernel, _source: build / "chario.ko")
    monkeypatch.setattr(coverage, "TOP", tmp_path)
    monkeypatch.setattr(coverage, "SOURCE", build)
    monkeypatch.setattr(coverage, "REASONS", tmp_path / "reasons.toml")
    monkeypatch.setattr(sys, "argv", ["coverage", str(tmp_path)])
    return tmp_path / "reasons.toml"


def test_a_line_without_a_reason_fails_the_report(
    module: Path, build: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its exit code says so; where each line that has not run has a reason, there is nothing to complain of."""
    run_guest(build, tmp_path, "only")
    module.write_text(HALF)
    assert coverage.main() == GAPS
    assert "write a test, or the reason to reasons.toml\n  half.c:main: 11\n" in capsys.readouterr().out
    module.write_text(HALF + '["half.c:main"]\nwhy = "nobody has two words"\nlines = ["return 3;"]\n')
    assert coverage.main() == 0
    assert "write a test" not in capsys.readouterr().out


def test_no_report_is_no_gap(module: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An error, or ctrl-c, is one line and has an exit code of its own."""
    assert coverage.main() == 1
    monkeypatch.setattr(coverage, "report", interrupt)
    assert coverage.main() == 130
    assert len(capsys.readouterr().err.splitlines()) == 2


def interrupt(_folder: Path) -> bool:
    """What ctrl-c does."""
    raise KeyboardInterrupt


@dataclass(frozen=True)
class Checkout:
    """A checkout in miniature, with the real scripts but for setup.sh."""

    top: Path

    def plant(self, path: str, text: str) -> Path:
        """A file, which is a program where it begins like one."""
        target = self.top / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        if text.startswith("#!"):
            target.chmod(0o755)
        return target

    def run(self, script: str, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """One of the scripts."""
        settings = {**os.environ, "PATH": f"{self.top}/bin:{os.environ['PATH']}", **environment}
        command = [str(self.top / "scripts" / script), *words]
        return subprocess.run(command, env=settings, capture_output=True, text=True, check=False)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """It uses the Python that runs this test."""
    made = Checkout(tmp_path)
    for name in ("build-common.sh", "coverage.sh", "coverage-module.sh", "fuzz-library.sh"):
        made.plant(f"scripts/{name}", (SCRIPTS / name).read_text())
    made.plant("scripts/setup.sh", f"#!/bin/sh\necho '{sys.prefix}'\n")
    return made


@pytest.mark.parametrize("word", ["tests/guest/test_x.py::nonsense", "tests/guest/test_y.py"])
def test_the_last_report_outlives_a_wrong_name(checkout: Checkout, word: str) -> None:
    """A file or a test that does not exist is named, and nothing is removed for it."""
    checkout.plant("tests/guest/conftest.py", "def pytest_addoption(parser):\n    parser.addoption('--kernel')\n")
    checkout.plant("tests/guest/test_x.py", "def test_one():\n    pass\n")
    report = checkout.plant("results/coverage-module/coverage.json", "{}")
    done = checkout.run("coverage-module.sh", word)
    assert done.returncode == 2 and report.exists()
    assert "FILES=" in done.stderr and ("nonsense" in done.stderr or word in done.stderr)
    assert checkout.run("coverage-module.sh", "--check", "tests/guest/test_x.py::test_one").returncode == 0


PROGRAM = """\
int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return 0;
	return 0;
}
"""
MESON = """\
#!/bin/sh
case $1 in
setup)
	mkdir "$2/lib" "$2/meson-logs"
	: >"$2/build.ninja"
	gcc --coverage -o "$2/lib/program" lib/src/program.c ;;
test)
	build-coverage/lib/program
	build-coverage/lib/program $WORDS
	: >build-coverage/meson-logs/testlog.txt ;;
esac
"""


def test_the_floors_of_the_library_hold(checkout: Checkout) -> None:
    """A library of which the tests run less than lib/gcovr.cfg asks for fails `make coverage`."""
    checkout.plant("lib/gcovr.cfg", (SCRIPTS.parent / "lib/gcovr.cfg").read_text())
    checkout.plant("lib/src/program.c", PROGRAM)
    checkout.plant("bin/meson", MESON)
    checkout.plant("bin/ninja", "#!/bin/sh\n")
    assert checkout.run("coverage.sh", WORDS="").returncode != 0
    done = checkout.run("coverage.sh", WORDS="one")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", [["coverage.sh"], ["fuzz-library.sh", "1"]])
def test_a_build_needs_its_folder_and_meson(checkout: Checkout, words: list[str]) -> None:
    """Where one is missing, one line says which, and what to do."""
    folder = checkout.plant("no folder", "")
    done = checkout.run(*words, str(folder))
    assert done.returncode == 1 and f"the folder {folder} cannot be written to: give make BUILD=" in done.stderr
    few = checkout.top / "few"
    few.mkdir()
    for tool in ("dirname", "realpath"):
        (few / tool).symlink_to(shutil.which(tool) or "/nonexistent")
    done = checkout.run(*words, str(folder), PATH=str(few))
    assert (done.returncode, done.stderr) == (1, "meson is missing: run scripts/setup.sh as root\n")


@pytest.mark.parametrize("seconds", ["", "ten", "-1"])
def test_seconds_are_a_number(checkout: Checkout, seconds: str) -> None:
    """Anything else is told as it was given."""
    done = checkout.run("fuzz-library.sh", seconds)
    assert (done.returncode, done.stderr) == (1, f"FUZZ_SECONDS is a number of seconds, not '{seconds}'\n")
