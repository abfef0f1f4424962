# SPDX-License-Identifier: MIT
"""scripts/setup.sh on machines that lack things, played by programs of the same names."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from chario_lab.testing.files import plant

TOP = Path(__file__).resolve().parents[2]
SCRIPTS = TOP / "scripts"
# Enough for the script itself; apt, dpkg and sudo are played.
TOOLS = ("sh", "sed", "awk", "tr", "cut", "grep", "tail", "dirname", "cat", "mkdir", "mktemp", "rm", "env", "getent")
INSTALLED = """\
shift 2
for name; do
	case " $MISSING " in *" $name "*) ;; *) echo "installed $name" ;; esac
done
"""
APT_CACHE = """\
shift
for name; do
	case " $UNKNOWN " in *" $name "*) echo "E: No packages found" >&2 ;; *) echo "Package: $name" ;; esac
done
"""
APT_GET = """\
echo "$*" >>"$CALLS"
case "$*" in *--print-uris*) echo "'http://a/b.deb' b.deb 41000000 SHA256:0"; exit ;; esac
echo "dlstatus:1:50.0000:one" >&3
[ -z "$FAILS" ] || { echo "E: $FAILS" >&2; exit 100; }
echo "pmstatus:b:100.0000:two" >&3
"""


@dataclass(frozen=True)
class Machine:
    """A machine with the programs that it is given."""

    programs: Path
    calls: Path
    scripts: Path = SCRIPTS

    def give(self, name: str, body: str) -> None:
        """A program, as a shell script."""
        plant(self.programs / name, f"#!/bin/sh\n{body}")

    def setup(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the script."""
        settings = {"PATH": str(self.programs), "CALLS": str(self.calls)}
        settings |= {"MISSING": "", "UNKNOWN": "", "FAILS": "", **environment}
        return subprocess.run(
            [str(self.scripts / "setup.sh"), *words],
            env=settings,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def called(self) -> list[str]:
        """How apt-get was called."""
        return self.calls.read_text().splitlines() if self.calls.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A Debian machine, used by root."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for tool in TOOLS:
        (programs / tool).symlink_to(
            next(Path(folder) / tool for folder in ("/usr/bin", "/bin") if os.path.exists(f"{folder}/{tool}"))
        )
    made = Machine(programs, tmp_path / "calls")
    made.give("id", "echo 0")
    made.give("dpkg-query", INSTALLED)
    made.give("apt-cache", APT_CACHE)
    made.give("apt-get", APT_GET)
    return made


@pytest.mark.parametrize("missing", ["", "qemu-system-x86 sox clang-format-19 python3-venv"])
def test_what_building_does_not_need_is_not_installed(machine: Machine, missing: str) -> None:
    """Where the rest is installed, apt is left alone: `make` and `make install` do not bring QEMU to a machine."""
    done = machine.setup("--build", MISSING=missing)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert machine.called() == []


def test_what_is_missing_is_installed_and_shown(machine: Machine) -> None:
    """One line of what and how much, then progress; only what is missing is asked for."""
    done = machine.setup("--build", MISSING="meson kmod")
    assert done.returncode == 0, done.stderr
    assert "setup: installing meson kmod (42 MB to download)\n" in done.stderr
    assert "setup: packages: downloading, 50 %\n" in done.stderr
    assert "setup: packages: unpacking, 100 %\n" in done.stderr
    assert machine.called()[-1].endswith("-y --no-install-recommends install meson kmod")


@pytest.fixture
def choice(machine: Machine, tmp_path: Path) -> Machine:
    """The same machine, for a packages.txt that has three names for one package."""
    packages = plant(tmp_path / "scripts/packages.txt", "# building\nmeson # needed\none|two|three # needed too\n")
    shutil.copy2(SCRIPTS / "setup.sh", packages.parent)
    return replace(machine, scripts=packages.parent)


@pytest.mark.parametrize(("unknown", "name"), [("", "one"), ("one", "two"), ("one two three", "one")])
def test_of_several_names_one_is_installed(choice: Machine, unknown: str, name: str) -> None:
    """The first that this release has; the first of all where no package lists could be fetched."""
    done = choice.setup("--build", MISSING="one two three", UNKNOWN=unknown)
    assert done.returncode == 0, done.stderr
    assert f"setup: installing {name} (42 MB to download)\n" in done.stderr
    assert choice.called()[-1].endswith(f"-y --no-install-recommends install {name}")


def test_names_are_chosen_after_the_update(choice: Machine) -> None:
    """A fresh machine knows no package before."""
    choice.give("apt-cache", f'[ ! -e "{choice.calls}" ] || echo "Package: two"')
    assert choice.setup("--build", MISSING="one two three").returncode == 0
    assert choice.called()[-1].endswith(" install two")


@pytest.mark.parametrize("missing", ["two three", "one three", "one two"])
def test_one_of_several_names_is_enough(choice: Machine, missing: str) -> None:
    """Whichever of them is installed, apt is left alone."""
    done = choice.setup("--build", MISSING=missing)
    assert (done.returncode, done.stderr) == (0, "")
    assert choice.called() == []


def test_the_command_that_is_told_has_one_of_several_names(choice: Machine) -> None:
    """root can run it as it stands."""
    choice.give("id", "echo 1000")
    done = choice.setup("--build", MISSING="meson one two three", UNKNOWN="one")
    assert done.stderr.endswith("run: apt-get install --no-install-recommends meson two \n")


# Programs of a machine, what apt says, and parts of what is said of it.
FAILURES: dict[str, tuple[dict[str, str], str, tuple[str, ...]]] = {
    "apt": ({}, "Unable to locate package meson", ("E: Unable to locate package meson\n", "Check the network")),
    "no sudo": (
        {"id": "echo 1000"},
        "",
        ("no root and no sudo", "run: apt-get install --no-install-recommends meson kmod"),
    ),
    "a refusal of sudo": (
        {"id": "echo 1000", "sudo": "echo 'you are not in the sudoers file' >&2; exit 1"},
        "",
        ("sudo does not let you",),
    ),
}


@pytest.mark.parametrize(("programs", "fails", "parts"), FAILURES.values(), ids=FAILURES)
def test_a_failure_is_explained(machine: Machine, programs: dict[str, str], fails: str, parts: tuple[str, ...]) -> None:
    """apt's own words, or what root has to run, and what to look at; of networks only where apt has run."""
    for name, body in programs.items():
        machine.give(name, body)
    done = machine.setup("--build", MISSING="meson kmod", FAILS=fails)
    assert done.returncode == 1
    assert all(part in done.stderr for part in parts) and parts[-1] in done.stderr.splitlines()[-1]
    assert ("network" in done.stderr) == bool(fails) == bool(machine.called())


def test_another_program_that_installs_is_waited_for(machine: Machine, tmp_path: Path) -> None:
    """A fresh machine updates itself in the background: apt's lock is taken for some seconds."""
    machine.give("sleep", f": >{tmp_path}/free")
    locked = f"[ -e {tmp_path}/free ] || {{ echo 'E: Could not get lock /var/lib/apt/lists/lock.' >&2; exit 100; }}\n"
    machine.give("apt-get", locked + APT_GET)
    done = machine.setup("--build", MISSING="meson")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("waiting for another program that installs packages") == 1


@pytest.mark.parametrize("home", [{"CHARIO_CACHE": "/proc/nowhere"}, {"HOME": "/proc/nowhere"}])
def test_a_cache_that_cannot_be_made_is_named_first(machine: Machine, home: dict[str, str]) -> None:
    """Before anything is installed; with the folder, the reason and the way out."""
    done = machine.setup(MISSING="meson", **home)
    assert done.returncode == 1
    assert done.stderr.startswith("setup: the cache /proc/nowhere")
    assert "No such file or directory" in done.stderr
    assert "set CHARIO_CACHE to a folder" in done.stderr
    assert machine.called() == []


PROJECT = """\
# checkout {name}
[project]
name = "chario_lab"
version = "{version}"
dependencies = []
[project.optional-dependencies]
report = ["pip>=1"]
"""
WHICH = "import chario_lab; print(chario_lab.__file__)"


@dataclass(frozen=True)
class Checkout:
    """A checkout in miniature: the real front door, and a lab that says where it lies."""

    top: Path

    def run(self, *command: str | Path, **settings: str) -> str:
        """What a command prints at the top, for a user who has set up nothing for Python."""
        environment = {key: value for key, value in os.environ.items() if key not in {"PYTHONPATH", "MAKEFLAGS"}}
        done = subprocess.run(
            [*map(str, command)],
            cwd=self.top,
            env={**environment, **settings},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for all tests with checkouts: an environment takes seconds to make."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def checkouts(tmp_path: Path, shared_cache: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> list[Checkout]:
    """Two checkouts that pin the same libraries, none, so that nothing is downloaded."""
    monkeypatch.setenv("CHARIO_CACHE", str(shared_cache))
    monkeypatch.setenv("PATH", f"{machine.programs}:{os.environ['PATH']}")
    monkeypatch.setenv("MISSING", "")
    made = []
    for name in ("one", "two"):
        top = tmp_path / name
        for path in ("Makefile", "pytest.ini", "scripts/setup.sh", "scripts/packages.txt", "scripts/check-common.sh"):
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TOP / path, top / path)
        plant(top / "lab/pyproject.toml", PROJECT.format(name=name, version=name))
        plant(top / "lab/chario_lab/__init__.py", "")
        plant(top / "lab/chario_lab/main.py", WHICH)
        subprocess.run(["git", "init", "--quiet", top], check=True)
        made.append(Checkout(top))
    return made


def test_two_checkouts_share_an_environment(checkouts: list[Checkout]) -> None:
    """It is named by what is pinned; with something else pinned, there is another one."""
    one, two = checkouts
    shared = one.run("scripts/setup.sh", "--venv")
    assert two.run("scripts/setup.sh", "--venv") == shared
    project = two.top / "lab/pyproject.toml"
    # pip itself is there already, so that this needs no network either.
    project.write_text(project.read_text().replace("[]", '["pip>=1"]'))
    assert two.run("scripts/setup.sh", "--venv") != shared
    assert one.run("scripts/setup.sh", "--venv") == shared


def test_what_draws_has_an_environment_of_its_own(checkouts: list[Checkout]) -> None:
    """The one that everything else uses stays as it is, and where it is."""
    one, _ = checkouts
    plain = Path(one.run("scripts/setup.sh", "--venv"))
    drawing = Path(one.run("scripts/setup.sh", "--report"))
    assert (drawing / "libraries").read_text() == "pip>=1\n"
    assert (plain / "libraries").read_text() == "\n"
    assert one.run("scripts/setup.sh", "--venv") == str(plain) != str(drawing)


def test_each_checkout_runs_its_own_lab(checkouts: list[Checkout]) -> None:
    """With the same environment: through make, in the checks, and where pytest is started by hand."""
    for checkout in checkouts:
        own = str(checkout.top / "lab/chario_lab/__init__.py")
        assert checkout.run("make", "--silent", "demo") == own
        checks = f". scripts/check-common.sh; find_python; \"$python\" -c '{WHICH}'"
        assert checkout.run("sh", "-c", checks, checkout.top / "scripts/check.sh") == own
        test = f"def test_own():\n    import chario_lab\n    assert chario_lab.__file__ == {own!r}\n"
        plant(checkout.top / "tests/test_own.py", test)
        checkout.run(sys.executable, "-m", "pytest", "-q", "tests/test_own.py")
        checkout.run("sh", "-c", f"cd tests && {sys.executable} -m pytest -q test_own.py")


def test_what_the_user_has_on_the_path_comes_behind(checkouts: list[Checkout], tmp_path: Path) -> None:
    """Libraries of the user are found, another lab there is not taken for the checkout's."""
    one, two = checkouts
    plant(tmp_path / "mine/my_library.py", "")
    (one.top / "lab/chario_lab/main.py").write_text(f"import my_library\n{WHICH}")
    path = f"{two.top / 'lab'}:{tmp_path / 'mine'}"
    assert one.run("make", "--silent", "demo", PYTHONPATH=path) == str(one.top / "lab/chario_lab/__init__.py")
