# SPDX-License-Identifier: MIT
"""A guest as a user's machine: CharIO is installed there, Linux's driver has the drives.

The program and its library are what `meson install` gives, below /usr/local;
modprobe finds the module; udev, LVM and MD are there, see tools.py.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from programs import TOP, run_here
from shared_guest import GuestKeeper, is_fit

from chario_lab.cache import locked
from chario_lab.guest import leaks, tools
from chario_lab.guest.devices import PCI, bdf, driver_of, find_block, nodes, offer_module
from chario_lab.guest.job import Job, Result
from chario_lab.guest.launch import launch
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Drive, GuestSpec
from chario_lab.kernel import Kernel
from chario_lab.programs import build_chario
from chario_lab.waiting import SETTLE_LIMIT_S, until

RULES = TOP / "packaging/udev/60-chario.rules"
UDEVD = "/lib/systemd/systemd-udevd"
PARTITION = f"/usr/bin/python3 -S -E {TOP / 'tests/guest/kit/partition.py'}"

# Guests are slow and hosts are busy: nothing here is about speed.
COMMAND_LIMIT_S = 300

OK, FAILED, USAGE, KILLED = 0, 1, 2, 137


class Machine:
    """A user's machine with some drives."""

    def __init__(self, guest: Guest) -> None:
        self.guest = guest
        self._addresses = [bdf(guest, drive) for drive in range(len(guest.spec.drives))]

    def chario(self, *words: str) -> Result:
        """The program, run by root, to its end."""
        return self.guest.run(["chario", *words], COMMAND_LIMIT_S)

    def start_chario(self, *words: str) -> Job:
        """The same, not waited for."""
        return self.guest.start(["chario", *words], COMMAND_LIMIT_S)

    def must(self, command: str) -> str:
        """A shell command that has to succeed."""
        return self.guest.must(command, COMMAND_LIMIT_S)

    def address(self, drive: int) -> str:
        """PCI address of a drive."""
        return self._addresses[drive]

    def driver(self, drive: int) -> str:
        """Who has a drive."""
        return driver_of(self.guest, self.address(drive))

    def override(self, drive: int) -> str:
        """The driver that the drive is reserved for; empty for any."""
        shown = self.guest.files.value(f"{PCI}/devices/{self.address(drive)}/driver_override")
        return "" if shown == "(null)" else shown

    def disks(self, drive: int) -> list[str]:
        """Character disks of a drive, as sysfs names them."""
        return nodes(self.guest, self.address(drive))

    def block(self, drive: int, nsid: int = 1) -> str:
        """Block device of a namespace, which appears some time after the driver has the drive."""
        return find_block(self.guest, self.address(drive), nsid)

    @contextmanager
    def held_open(self, path: str, write: bool = False) -> Iterator[str]:
        """A process named sleep has a device open, for reading alone or for both; its number."""
        way = "<>" if write else "<"
        opens = f"exec 3{way}{path} && echo $$ >/run/held && exec sleep {SETTLE_LIMIT_S}"
        job = self.guest.start(opens, COMMAND_LIMIT_S)
        until(lambda: self.guest.run("test -s /run/held").rc == 0, f"{path} was not opened")
        try:
            yield self.must("cat /run/held && rm /run/held")
        finally:
            job.stop()

    def bring_home(self) -> None:
        """Linux's driver has all drives, whatever a test has left."""
        for drive, address in enumerate(self._addresses):
            if self.driver(drive) == "chario":
                self.must(f"chario unbind --force {address}")
            if self.override(drive):
                self.guest.files.write(f"{PCI}/devices/{address}/driver_override", "\n")
            if not self.driver(drive):
                self.must(f"echo {address} >{PCI}/drivers_probe")
            assert self.driver(drive) == "nvme"


class MachineKeeper(GuestKeeper):
    """Sets up the machine of a file, and again when it is spoilt."""

    def __init__(self, spec: GuestSpec, module: Path, prepare: str) -> None:
        super().__init__()
        self._spec = spec
        self._module = module
        self._prepare = prepare

    def launch(self) -> Guest:
        """The machine, as a user has it."""
        guest = self.stack.enter_context(launch(self._spec))
        leaks.forget(guest)
        set_up(guest, self._module)
        guest.must(self._prepare, COMMAND_LIMIT_S)
        guest.check_log()
        self._machine = Machine(guest)
        return guest

    def get(self, request: pytest.FixtureRequest) -> Machine:
        """The machine for one test."""
        self.guest(request.node)
        self._machine.bring_home()
        return self._machine

    def close(self) -> None:
        """Unload the module, look for what it has left behind, end the guest."""
        with self.stack:
            self.look()
            if self.watched:
                guest = self.watched.guest
                self._machine.bring_home()
                # udev may still be looking at a node of the module.
                guest.must("udevadm settle", SETTLE_LIMIT_S)
                guest.must("! grep -q ^chario /proc/modules || rmmod chario", SETTLE_LIMIT_S)
                is_fit(guest, self.watched)
                leaks.check(guest)


@contextmanager
def keep(
    kernel: Kernel, module: Path, drives: tuple[Drive, ...], prepare: str = "true", **fields: Any
) -> Iterator[MachineKeeper]:
    """A machine for the tests of a file; `prepare` is run once when it is up, fields are those of GuestSpec."""
    keeper = MachineKeeper(GuestSpec(kernel=kernel.name, drives=drives, **fields), module, prepare)
    try:
        yield keeper
    finally:
        keeper.close()


def machine_keeper(drives: tuple[Drive, ...], prepare: str = "true", **fields: Any) -> Any:
    """The fixture `keeper` of a file: one machine for its tests, as keep() has it."""

    @pytest.fixture(scope="module")
    def keeper(kernel: Kernel, module: Path, cpus: int) -> Iterator[MachineKeeper]:
        with keep(kernel, module, drives, prepare, cpus=cpus, **fields) as keeper:
            yield keeper

    return keeper


def plain_machine() -> Any:
    """The fixture `machine` of a file whose tests need nothing else: Linux's driver has all drives."""

    @pytest.fixture
    def machine(keeper: MachineKeeper, request: pytest.FixtureRequest) -> Machine:
        return keeper.get(request)

    return machine


def set_up(guest: Guest, module: Path) -> None:
    """Install what a user has, start udev, give the drives to Linux's driver."""
    tools.install(guest, tools.Tools.STORAGE)
    guest.must(installing(install_into_cache()), COMMAND_LIMIT_S)
    guest.must(f"mkdir -p /lib/udev/rules.d && cp {guest.push(RULES)} /lib/udev/rules.d/")
    guest.must("getent group chardisk || echo chardisk:x:987: >>/etc/group")
    offer_module(guest, module)
    start_udev(guest)
    guest.must("modprobe nvme && udevadm settle", SETTLE_LIMIT_S)


def installing(stage: Path) -> str:
    """A shell command for a guest that takes what is installed in a folder.

    Copied: who is not root cannot look into the cache.  ldconfig would read all libraries of the host, and
    so a guest is told where the library is, instead of searching the host's folders for it.
    """
    libraries = [f"/{path.relative_to(stage)}" for path in stage.rglob("libchario.so.*")]
    return f"cp -r {stage}/. / && ln -s {' '.join(libraries)} /usr/lib/"


def start_udev(guest: Guest) -> None:
    """Start udev; it has read its rules when this returns."""
    guest.must(f"{UDEVD} --daemon && udevadm control --ping")


@cache
def install_into_cache() -> Path:
    """A folder with the program, the library and all else that is installed with them; made once a session."""
    folder = build_chario(TOP).parents[1]
    stage = folder.with_name(f"{folder.name}-installed")
    command = ["meson", "install", "-C", str(folder), "--no-rebuild", "--only-changed", "--quiet",
               "--destdir", str(stage)]  # fmt: skip
    # Guests of tests that run side by side copy from it: what is there stays as it is.
    with locked(stage, "the installed program"):
        run_here(*command)
    return stage
