# SPDX-License-Identifier: MIT
"""Counters of several guests become one report."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from unittest.mock import Mock

import pytest

from chario_lab import coverage
from chario_lab.coverage import GAPS, CoverageError
from chario_lab.guest.counters import VARIABLE, collect, save
from chario_lab.guest.session import Guest, GuestDied
from chario_lab.guest.spec import GuestSpec
from chario_lab.testing.files import plant

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
HEADER = "static inline int minus_one(int number) { return number - 1; }\n"
SOURCE = """\
static int half(int number)
{
	if (number < 0)
		return -1; /* GCOVR_EXCL_LINE: no number is negative */
	return number / 2;
}
int main(int argc, char **argv)
{
	(void)argv;
	if (argc == 3) /* GCOVR_EXCL_LINE: it runs all the same */
		return 3;
	return half(minus_one(argc));
}
"""


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A program in the place of a module, built from a kernel's tree that is gone afterwards."""
    folder, tree = tmp_path / "modules/6.12-chario-gcov-0123", tmp_path / "tree"
    plant(tree / "include/minus.h", HEADER)
    source, program = plant(folder / "half.c", SOURCE), folder / "half"
    command: list[str | Path] = ["gcc", "--coverage", "-Iinclude", "-include", "minus.h", "-o", program, source]
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


def test_guests_add_up(module: Path, build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line that ran in any guest has run; one that ran in none fails the report, unless it is marked.

    A mark of a line that has run is named.
    """
    run_guest(build, module, "first")
    assert coverage.main() == GAPS
    said = capsys.readouterr().out
    assert re.search(r"half\.c .*11$", said, re.MULTILINE) and "write a test" in said
    assert re.search(r"half\.c:10.*hit\(s\) excluded", said)
    run_guest(build, module, "second", "word", "word")
    assert coverage.main() == 0
    assert "write a test" not in capsys.readouterr().out


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
        plant(self.host.share / "gcov/cache/modules/.built/queue/queue.gcda", command)
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


@pytest.fixture
def module(build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a report where the program is taken for the module."""
    monkeypatch.setattr(coverage, "get_kernel", lambda _name: None)
    monkeypatch.setattr(coverage, "build_module", lambda _kernel, _source: build / "chario.ko")
    monkeypatch.setattr(sys, "argv", ["coverage", str(tmp_path)])
    return tmp_path


def test_no_report_is_no_gap(module: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An error, or ctrl-c, is one line and has an exit code of its own."""
    assert coverage.main() == 1
    monkeypatch.setattr(coverage, "report", Mock(side_effect=KeyboardInterrupt))
    assert coverage.main() == 130
    assert len(capsys.readouterr().err.splitlines()) == 2


@dataclass(frozen=True)
class Checkout:
    """A checkout in miniature, with the real scripts but for setup.sh."""

    top: Path

    def plant(self, path: str, text: str) -> Path:
        """A file, which is a program where it begins like one."""
        return plant(self.top / path, text)

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
