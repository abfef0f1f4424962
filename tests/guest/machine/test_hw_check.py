# SPDX-License-Identifier: MIT
"""The check of a real drive, tests/hw/check-drive.sh, on an emulated one."""

import re
import signal

import pytest
from bind_lab import Machine, machine_keeper, plain_machine
from programs import TOP

from chario_lab.guest.job import Result
from chario_lab.guest.spec import Namespace, Nvme
from chario_lab.waiting import until

pytestmark = [pytest.mark.area("lib/src/machine/", "cli/cmd-bind", "cli/keep", "packaging/")]

CHECK = TOP / "tests/hw/check-drive.sh"
LIMIT_S = 600
BRIEF = "CHECK_SIZE_MIB=8 CHECK_FIO_SECONDS=1"
MEMORY_WITHOUT_BUS_MASTER = 2


keeper = machine_keeper((Nvme("real", (Namespace(64, 4096),)),))
machine = plain_machine()


def check(machine: Machine, *words: str, settings: str = BRIEF) -> Result:
    """Run the check as root."""
    return machine.guest.run(f"env {settings} {machine.guest.push(CHECK)} {' '.join(words)}", LIMIT_S)


def test_a_good_drive_passes(machine: Machine) -> None:
    """Every line is ok, none is left out, and the drive is back with its driver."""
    done = check(machine, "--destroy-data", machine.address(0))
    lines = done.stdout.splitlines()
    assert done.rc == 0, done.describe()
    assert lines[0] == "1..10"
    assert [re.sub(r" - .*", "", line) for line in lines[1:]] == [f"ok {i}" for i in range(1, 11)], done.stdout
    assert "SKIP" not in done.stdout
    assert machine.driver(0) == "nvme"


@pytest.mark.allow_log(r"chario .*: .*")
def test_a_drive_that_fails_does_not_pass(machine: Machine) -> None:
    """A disk whose drive cannot reach memory: lines say not ok, and so does the exit code."""
    job = machine.guest.start(f"env {BRIEF} {machine.guest.push(CHECK)} --destroy-data {machine.address(0)}", LIMIT_S)
    until(lambda: machine.driver(0) == "chario", "the drive was not bound")
    machine.must(f"setpci -s {machine.address(0)} COMMAND={MEMORY_WITHOUT_BUS_MASTER}")
    done = job.wait()
    assert done.rc != 0
    assert "not ok" in done.stdout or "Bail out!" in done.stdout, done.describe()


def test_a_drive_that_is_too_small_goes_back(machine: Machine) -> None:
    """The check gives up when it has the drive."""
    done = check(machine, "--destroy-data", machine.address(0), settings="CHECK_SIZE_MIB=64")
    assert done.rc == 1 and "Bail out! /dev/chardisk0 has 64 MiB" in done.stdout, done.describe()
    assert machine.driver(0) == "nvme"


@pytest.mark.parametrize(("number", "rc"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_check_that_is_stopped_gives_the_drive_back(machine: Machine, number: signal.Signals, rc: int) -> None:
    """Ctrl-c or a kill, in the middle: it and what it runs get the signal."""
    settings = f"{BRIEF} TMPDIR={machine.must('mktemp -d -p /run')}"
    job = machine.guest.start(
        f"exec env {settings} {machine.guest.push(CHECK)} --destroy-data {machine.address(0)}", LIMIT_S
    )
    until(lambda: bool(machine.disks(0)), "the drive was not bound")
    assert job.kill(number)
    done = job.wait()
    assert done.rc == rc, done.describe()
    assert machine.driver(0) == "nvme"
    assert machine.must("ls -d /run/tmp.*/* 2>/dev/null || true") == ""


@pytest.mark.parametrize(
    ("words", "rc", "says"),
    [
        (("0000:01:00.0",), 2, "usage:"),
        (("--destroy-data",), 2, "usage:"),
        (("--destroy-data", "0000:7f:00.0"), 1, "there is no PCI device"),
    ],
)
def test_nothing_is_touched_without_the_words(machine: Machine, words: tuple[str, ...], rc: int, says: str) -> None:
    """Both the option and an address that exists are needed."""
    done = check(machine, *words)
    assert done.rc == rc and says in done.stdout + done.stderr
    assert machine.driver(0) == "nvme"


def test_a_drive_in_use_is_not_touched(machine: Machine) -> None:
    """bind refuses it, and the check ends there."""
    disk = machine.block(0)
    machine.must(f"mkfs.ext4 -q {disk} && mkdir -p /run/mnt && mount {disk} /run/mnt && cp /etc/passwd /run/mnt")
    try:
        done = check(machine, "--destroy-data", machine.address(0))
        assert done.rc != 0 and "Bail out!" in done.stdout, done.describe()
        assert machine.must("cmp /etc/passwd /run/mnt/passwd") == ""
    finally:
        machine.must("umount /run/mnt")
