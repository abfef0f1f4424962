# SPDX-License-Identifier: MIT
"""Guests that files of tests have in turn, and what each file needs of its guest.

A file says it in one constant, and its tests ask the fixture `rig` for the
guest:

    SETUP = Setup(drives=(Nvme("fails"),), qtest=True)

On Debian's kernels such a file boots a guest with just these drives.  The
debug kernel takes ten times as long to boot, and another half minute to look
for leaks at the end; there a worker boots one guest with the drives of nearly
all files, and one file after another has it.  A file sees its own drives only:
drive 0 is the first of its own.  Between two files the module is unloaded.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from rig import PATIENCE, Rig

from chario_lab.guest import faults, leaks
from chario_lab.guest.devices import bdf, bind, load_module
from chario_lab.guest.launch import launch
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Drive, GuestSpec
from chario_lab.kernel import Kernel
from chario_lab.testing.places import Place, combine
from chario_lab.waiting import SETTLE_LIMIT_S, until

UNLOAD = "! grep -q ^chario /proc/modules || rmmod chario"
NOTHING_HELD = "! grep chario /proc/iomem /proc/interrupts"
# A drive that is promised to a driver is bound when the driver comes back.
FORGET_PROMISES = (
    "for promise in $(grep -lx chario /sys/bus/pci/devices/*/driver_override); do echo >$promise || exit 1; done"
)
# At which tests have met their scripts, see Rig.touch().
FORGET_MEETINGS = "find /run -maxdepth 1 -type f -delete"


@dataclass
class Watch:
    """A guest that a test uses, and where its log was when the test began."""

    guest: Guest
    mark: int
    test: str
    ended_on_purpose: bool = False
    failed: bool = False
    allowed: tuple[str, ...] = ()


WATCHED = pytest.StashKey[list[Watch]]()


def watch(item: pytest.Item, guest: Guest, mark: int) -> Watch:
    """Have a guest's log searched at the end of a test."""
    watched = Watch(guest, mark, item.nodeid)
    item.stash.setdefault(WATCHED, []).append(watched)
    return watched


def is_fit(guest: Guest, last: Watch | None, since: int = -1, allowed: Sequence[str] = ()) -> bool:
    """Whether another test can have a guest: not after one that failed, because its programs may run on.

    Raises when the guest has died, or its kernel has complained, since the end of a test that passed: such trouble
    comes late, or from what a test had to put back.  Without a last test the log is searched since a mark.
    """
    if last and last.failed:
        return False
    try:
        if guest.process.poll() is not None:
            raise guest.death()
        guest.check_log(last.mark if last else since, (*allowed, *(last.allowed if last else ())))
    except BaseException as error:
        blame(error, last)
        raise
    return True


def blame(error: BaseException, last: Watch | None) -> None:
    """Say whose trace this is: it comes to light when the next test asks for the guest."""
    if last:
        error.add_note(f"not the test that fails here: its guest was left like this by {last.test}")


class GuestKeeper:
    """Has the guest of a file, launched anew when a test has failed in it or it has died."""

    def __init__(self) -> None:
        self.stack = ExitStack()
        self.watched: Watch | None = None

    def launch(self) -> Guest:
        """The guest, whose log has been searched until now; `stack` ends it."""
        raise NotImplementedError

    def guest(self, item: pytest.Item) -> Guest:
        """The guest for one test; its log is searched after the test."""
        self.look()
        guest = self.watched.guest if self.watched else self.launch()
        self.watched = watch(item, guest, guest.log_mark())
        return guest

    def look(self) -> None:
        """End the guest unless it is fit for another test."""
        if not self.watched:
            return
        fit = False
        try:
            fit = is_fit(self.watched.guest, self.watched)
        finally:
            if not fit:
                self.watched = None
                self.stack.close()


@dataclass(frozen=True)
class Setup:
    """What the tests of a file need of their guest.

    `parameters` are the module's; None leaves it to the tests to load it.
    `bound` drives are given to chario at once, the others when a test asks.
    Log lines that match an `allowed` pattern do not spoil the guest.  A file
    that is `alone` never shares one: its tests use up drives, QEMU crashes, or
    its kernel's options would change what others see.
    The rest is as in GuestSpec.
    """

    drives: tuple[Drive, ...]
    parameters: str | None = ""
    bound: bool = False
    allowed: tuple[str, ...] = ()
    alone: bool = False
    append: str = ""
    qtest: bool = False
    native_hotplug: bool = False
    iommu: bool = False

    def spec(self, kernel: str, cpus: int) -> GuestSpec:
        """A guest for these tests alone."""
        return GuestSpec(
            kernel=kernel, cpus=cpus, drives=self.drives, append=self.append, qtest=self.qtest,
            native_hotplug=self.native_hotplug, iommu=self.iommu,
        )  # fmt: skip


@dataclass
class SharedGuest:
    """One guest, launched anew when a test has spoilt it; a file at a time has its tests there."""

    spec: GuestSpec
    module: Path
    guest: Guest | None = None
    setup: Setup | None = None
    watched: Watch | None = None
    began: int = -1
    stack: ExitStack = field(default_factory=ExitStack)

    def get(self, setup: Setup, first_drive: int, item: pytest.Item) -> Guest:
        """The guest for one test of a file; its log is searched after the test."""
        self._look()
        if self.setup and self.setup != setup:
            self._leave()
        guest = self.guest or self._boot()
        if self.setup != setup:
            self._enter(guest, setup, first_drive)
        self.watched = watch(item, guest, guest.log_mark())
        return guest

    def _boot(self) -> Guest:
        self.guest = self.stack.enter_context(launch(self.spec))
        leaks.forget(self.guest)
        return self.guest

    def _end(self) -> None:
        self.guest = self.setup = self.watched = None
        self.stack.close()

    def _enter(self, guest: Guest, setup: Setup, first_drive: int) -> None:
        """Load the module, and bind what the file wants bound: its tests begin here."""
        guest.first_drive, self.began = first_drive, guest.log_mark()
        try:
            if setup.parameters is not None:
                load_module(guest, self.module, setup.parameters)
            if setup.bound:
                for drive in range(len(setup.drives)):
                    bind(guest, bdf(guest, drive))
                # What probing said is searched too, once and not by any test.
                guest.check_log(self.began)
        except BaseException:
            self._end()
            raise
        self.setup = setup

    def _look(self) -> None:
        """End the guest unless it is fit for another test."""
        if not self.guest:
            return
        fit = False
        try:
            fit = is_fit(self.guest, self.watched, self.began, self.setup.allowed if self.setup else ())
        finally:
            if not fit:
                self._end()

    def _leave(self) -> None:
        """The file is over, and the guest not spoilt: nothing of the module is left."""
        guest, setup = self.guest, self.setup
        if not guest or not setup:
            return
        try:
            # Programs that a test has left behind may be about to end.
            until(lambda: guest.run(UNLOAD, SETTLE_LIMIT_S).rc == 0, "the module does not go")
            guest.must(FORGET_PROMISES)
            guest.must(FORGET_MEETINGS)
            guest.must(NOTHING_HELD)
            until(lambda: leaks.pinned_pages(guest) == 0, "pages are still pinned")
            guest.check_log(self.began, setup.allowed)
        except BaseException as error:
            blame(error, self.watched)
            self._end()
            raise
        self.setup = self.watched = None
        self.began = guest.log_mark()

    def close(self) -> None:
        """End the guest; raise when something has leaked in all its time."""
        try:
            self._look()
            self._leave()
            if self.guest:
                leaks.check(self.guest)
        finally:
            self._end()


class SharedGuests:
    """All guests of a worker that files have in turn."""

    def __init__(self, kernel: Kernel, module: Path, specs: Iterable[GuestSpec]) -> None:
        """Where booting is dear, the files with these specifications share guests."""
        self._kernel = kernel.name
        self._module = module
        self._places = combine(specs) if kernel.debug else {}
        self._guests: dict[GuestSpec, SharedGuest] = {}

    def get(self, setup: Setup, cpus: int, item: pytest.Item) -> Guest:
        """The guest for one test of a file; its log is searched after the test."""
        place = self._place(setup, cpus)
        if place.spec not in self._guests:
            self._guests[place.spec] = SharedGuest(place.spec, self._module)
        return self._guests[place.spec].get(setup, place.first_drive, item)

    def done(self, setup: Setup, cpus: int) -> None:
        """A file is over, and with it a guest that nobody else has."""
        place = self._place(setup, cpus)
        if place.spec == setup.spec(self._kernel, cpus) and place.spec in self._guests:
            self._guests.pop(place.spec).close()

    def close(self) -> None:
        """End all guests."""
        with ExitStack() as stack:
            for guest in self._guests.values():
                stack.callback(guest.close)
            self._guests = {}

    def _place(self, setup: Setup, cpus: int) -> Place:
        spec = setup.spec(self._kernel, cpus)
        return self._places.get(spec, Place(spec))


class FileGuest:
    """Hands the shared guest of a file to each of its tests."""

    def __init__(self, guests: SharedGuests, setup: Setup, cpus: int) -> None:
        self._guests = guests
        patient = f"{PATIENCE} {setup.parameters}"
        self._setup = setup if setup.parameters is None else replace(setup, parameters=patient)
        self._cpus = cpus
        self._rig: Rig | None = None

    def get(self, request: pytest.FixtureRequest) -> Rig:
        """The guest for one test, launched anew when a test has spoilt it; its log is searched after the test."""
        guest = self._guests.get(self._setup, self._cpus, request.node)
        if not self._rig or self._rig.guest is not guest:
            self._rig = Rig(guest)
        self._rig.begin()
        return self._rig

    def close(self) -> None:
        """The file is over."""
        self._guests.done(self._setup, self._cpus)


def throttled_rig(drive: int) -> Any:
    """The fixture `rig` of a file that stalls this drive: it has its full speed before and after each test."""

    @pytest.fixture
    def rig(keeper: FileGuest, request: pytest.FixtureRequest) -> Iterator[Rig]:
        rig = keeper.get(request)
        faults.let_go(rig.guest, drive)
        yield rig
        faults.let_go(rig.guest, drive)

    return rig
