# SPDX-License-Identifier: MIT
"""scripts/test-fresh.sh leaves nothing behind, however it ends; debootstrap is played."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from chario_lab.testing.files import plant
from chario_lab.testing.stage import has_processes
from chario_lab.waiting import until

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/test-fresh.sh"
LIMIT_S = 60
# The new system's folder is the fourth argument of debootstrap.
SLOW = """\
mount -t tmpfs tmpfs "$4" && mkdir "$4/etc" && touch "$4/etc/inside" "$BEGUN"
sleep 1000
"""


@dataclass(frozen=True)
class Machine:
    """A folder for the scratch folder, and programs that come before the machine's."""

    scratch: Path
    programs: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def give(self, name: str, body: str) -> None:
        """A program, as a shell script."""
        plant(self.programs / name, f"#!/bin/sh\n{body}")

    def start(self, *words: str) -> subprocess.Popen[str]:
        """The script, in a process group of its own."""
        settings = {
            **os.environ,
            "PATH": f"{self.programs}:{os.environ['PATH']}",
            "TMPDIR": str(self.scratch),
            "BEGUN": str(self.programs / "begun"),
        }
        script = subprocess.Popen([SCRIPT, *words], env=settings, stderr=subprocess.PIPE, text=True, process_group=0)
        self.started.append(script)
        return script

    def end(self) -> None:
        """End what a failed test has left."""
        for script in self.started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(script.pid, signal.SIGKILL)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine with enough room on a disk."""
    made = Machine(tmp_path / "scratch", tmp_path / "bin")
    made.scratch.mkdir()
    made.give("df", "echo 1K-blocks; echo 99999999999")
    made.give("stat", "echo ext2/ext3")
    made.give("debootstrap", "echo 'E: no such mirror' >&2; exit 1")
    yield made
    made.end()


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts and namespaces need root")


def test_another_release_is_refused(machine: Machine) -> None:
    """Before anything is made."""
    script = machine.start("11")
    assert "usage: scripts/test-fresh.sh" in script.communicate(timeout=LIMIT_S)[1]
    assert script.returncode == 1


@needs_root
def test_memory_is_refused(machine: Machine) -> None:
    """A system of several GB in a file system in memory takes the machine down."""
    machine.give("stat", "echo tmpfs")
    script = machine.start("12")
    assert "is in memory: set TMPDIR" in script.communicate(timeout=LIMIT_S)[1]
    assert script.returncode == 1


@needs_root
def test_a_failure_is_shown_and_cleaned_up(machine: Machine) -> None:
    """With the words of the program that failed; the second Debian is not begun."""
    script = machine.start()
    said = script.communicate(timeout=LIMIT_S)[1]
    assert script.returncode == 1
    assert "E: no such mirror\n" in said
    assert "Debian 12: bare system FAILED" in said
    assert "Debian 13" not in said
    assert list(machine.scratch.iterdir()) == []


@needs_root
@pytest.mark.parametrize("everybody", [True, False], ids=["ctrl-c", "one-process"])
def test_nothing_is_left_when_it_is_ended(machine: Machine, everybody: bool) -> None:
    """No process, no mount and no file, whether all processes get the signal or the script alone."""
    machine.give("debootstrap", SLOW)
    script = machine.start("13")
    until((machine.programs / "begun").exists, "debootstrap was not called")
    (folder,) = machine.scratch.iterdir()
    assert str(folder) not in Path("/proc/mounts").read_text(), "its mounts are seen outside"
    if everybody:
        os.killpg(script.pid, signal.SIGINT)
    else:
        script.send_signal(signal.SIGTERM)
    script.communicate(timeout=LIMIT_S)
    assert script.returncode == (130 if everybody else 143)
    assert list(machine.scratch.iterdir()) == []
    until(lambda: not has_processes(script.pid), "its processes live on")
