# SPDX-License-Identifier: MIT
"""Drives that are kept: bound again when they come back, by who they are and not by where they are.

The guest has udev and no systemd: what udev would have systemd start is run by the test.
"""

import pytest
from bind_lab import COMMAND_LIMIT_S, KILLED, OK, Machine, MachineKeeper, machine_keeper
from programs import compile_program

from chario_lab.guest.devices import PCI
from chario_lab.guest.spec import Namespace, Nvme
from chario_lab.waiting import until

pytestmark = [pytest.mark.area("lib/src/machine/", "cli/cmd-bind", "cli/keep", "packaging/")]

NAMED, OTHER, TWIN, ITS_TWIN = range(4)
DRIVES = (
    Nvme("na_m/ed", (Namespace(64),)),
    Nvme("other", (Namespace(64),)),
    Nvme("same", (Namespace(64),)),
    # Blanks at the end are none to the kernel.
    Nvme("same ", (Namespace(64),)),
)
NOTES = "/etc/chario/drives"
NOTE = "QEMU%20NVMe%20Ctrl_na%5Fm%2Fed"
keeper = machine_keeper(DRIVES)


@pytest.fixture
def machine(keeper: MachineKeeper, request: pytest.FixtureRequest) -> Machine:
    """The guest, for one test; Linux's driver has all drives, and none is kept."""
    machine = keeper.get(request)
    machine.must(f"rm -rf {NOTES}")
    return machine


def replug(machine: Machine, drive: int) -> None:
    """The drive goes and comes, and udev and what it asks for have done their work."""
    device = f"{PCI}/devices/{machine.address(drive)}"
    machine.must(f"echo 1 >{device}/remove; echo 1 >/sys/bus/pci/rescan")
    until(lambda: machine.driver(drive) == "nvme", "no driver took the drive")
    assert machine.override(drive) == ""
    machine.must("udevadm settle")
    controller = machine.must(f"ls {device}/nvme")
    wanted = machine.must(f"udevadm info --query=property /sys/class/nvme/{controller}").splitlines()
    if f"SYSTEMD_WANTS=chario-rebind@{controller}.service" in wanted:
        unit = machine.must("cat $(find /usr/lib/systemd /usr/local/lib/systemd -name 'chario-rebind@.service')")
        (start,) = [line.partition("=")[2] for line in unit.splitlines() if line.startswith("ExecStart=")]
        machine.must(start.replace("%i", controller))


def notes(machine: Machine) -> list[str]:
    """What is kept."""
    return machine.must(f"ls {NOTES} 2>/dev/null || true").split()


def note(machine: Machine, name: str) -> None:
    """Have a drive kept."""
    machine.must(f"mkdir -p {NOTES} && touch {NOTES}/{name}")


def test_a_drive_that_is_kept_comes_back(machine: Machine) -> None:
    """It does each time, until it is unbound; a drive that nobody has named stays with Linux's driver."""
    assert machine.chario("bind", "--keep", machine.address(NAMED)).rc == OK
    assert notes(machine) == [NOTE]
    for _ in range(2):
        replug(machine, NAMED)
        assert machine.driver(NAMED) == "chario"
    replug(machine, OTHER)
    assert machine.driver(OTHER) == "nvme"
    assert machine.chario("unbind", machine.address(NAMED)).rc == OK
    assert notes(machine) == []
    replug(machine, NAMED)
    assert machine.driver(NAMED) == "nvme"


def test_a_drive_that_is_not_kept_does_not_come_back(machine: Machine) -> None:
    """Binding alone is for once; and a drive that was kept is not when unbind finds it with another driver."""
    assert machine.chario("bind", machine.address(NAMED)).rc == OK
    replug(machine, NAMED)
    assert machine.driver(NAMED) == "nvme"
    note(machine, NOTE)
    assert machine.chario("unbind", machine.address(NAMED)).rc != OK
    assert notes(machine) == []


def test_a_drive_that_stays_is_still_kept(machine: Machine) -> None:
    """Unbinding is refused while a disk is open, and then nothing has changed."""
    assert machine.chario("bind", "--keep", machine.address(NAMED)).rc == OK
    with machine.held_open(machine.disks(NAMED)[0]):
        assert machine.chario("unbind", machine.address(NAMED)).rc != OK
    assert notes(machine) == [NOTE]


def test_a_drive_in_use_is_left_alone(machine: Machine) -> None:
    """Its note is no right to take it away from who uses it."""
    note(machine, NOTE)
    with machine.held_open(machine.block(NAMED)):
        done = machine.chario("bind", "--if-kept", machine.address(NAMED))
        assert done.rc != OK and "in use" in done.stderr
    assert machine.driver(NAMED) == "nvme"


def test_twins_are_not_kept(machine: Machine) -> None:
    """Two drives of one model and serial number: one is bound and not noted, and a note holds for neither."""
    done = machine.chario("bind", "--keep", machine.address(TWIN))
    assert done.rc != OK and "another drive has its model and serial number" in done.stderr
    assert (machine.driver(TWIN), notes(machine)) == ("chario", [])
    note(machine, "QEMU%20NVMe%20Ctrl_same")
    assert machine.chario("bind", "--if-kept", machine.address(ITS_TWIN)).rc != OK
    assert machine.chario("bind", "--keep", "--if-kept", machine.address(NAMED)).rc == 2
    assert machine.driver(ITS_TWIN) == "nvme"


def test_a_killed_command_can_be_repeated(machine: Machine) -> None:
    """Killed at any step, the same command again does all of its work: driver, block disk and note."""
    address, kill_at = machine.address(NAMED), machine.guest.push(compile_program("kill_at"))
    step, was_killed = 0, True
    while was_killed:
        step, was_killed = step + 1, False
        for words, driver, kept in ((["bind", "-kb"], "chario", [NOTE]), (["unbind"], "nvme", [])):
            killed = machine.guest.run([kill_at, str(step), "chario", *words, address], COMMAND_LIMIT_S)
            was_killed |= killed.rc == KILLED
            # A note is whole or not there: an empty one says that there is to be no block disk.
            assert machine.must(f"cat {NOTES}/{NOTE} 2>/dev/null || echo block") == "block", step
            again = machine.chario(*words, address)
            assert again.rc == OK or "is not with chario but with nvme" in again.stderr, f"{step}: {again.describe()}"
            assert (machine.driver(NAMED), notes(machine)) == (driver, kept), step
        assert machine.override(NAMED) == "", step
