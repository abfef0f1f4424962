# SPDX-License-Identifier: MIT
"""Fixtures of the guest tests.

    guest            the guest most tests share: chario.ko is loaded and has two drives
    rig              the guest of a file that says with SETUP what it needs, see shared_guest.py
    fresh_guest      a function that launches a guest of a test's own
    disk, disk512, disk4096, disk_second
                     device nodes in the shared guest; `disk` runs a test on both formats
    guest_program    a function that compiles tests/guest/src/NAME.c on the host, with NAME/*.c where there are

After every test the kernel log of each guest it used is searched; a complaint
fails the test.  A test that provokes one names it:

    @pytest.mark.allow_log(r"WARNING: .* deliberate")

A guest that died, whose kernel complained, or in which a test failed and may
have left its programs running, is not used again.

QEMU 7.2 sometimes crashes, or loses an interrupt for good (see apic.py in the
lab), when a function is reset or pulled while its drive works.  A test whose
QEMU was ended by a signal, or has lost an interrupt, has shown nothing about
CharIO: it is run again, twice at most, and the summary counts it as rerun.  So is one whose host was
too busy to see what the drive fetched (entries.py).
"""

import os
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from entries import Overwritten
from programs import TOP, compile_program
from rig import Rig
from shared_guest import WATCHED, FileGuest, Setup, SharedGuests, Watch, watch

from chario_lab.guest import leaks
from chario_lab.guest.apic import InterruptLost, check_interrupts
from chario_lab.guest.devices import bdf, load_module, nodes
from chario_lab.guest.launch import launch
from chario_lab.guest.session import Guest, QemuCrashed
from chario_lab.guest.spec import GuestSpec, Namespace, Nvme
from chario_lab.kernel import NAMES, Kernel, build_module, get_kernel
from chario_lab.testing import choice
from chario_lab.testing.areas import cpus_of

TEST_LIMIT_S = 1800
RERUNS = 2
# Variables of the environment by which the long tier asks for more.
NUMBERS = (
    "FUZZ_COMMANDS", "FUZZ_SEED", "KILLS", "CUT_PLACES", "CLAIM_TURNS", "FS_LOAD", "LIES", "WRITERS",
    "FAIL_NTH_STRIDE", "SIEGE_SECONDS", "SIEGE_LEAST", "SIEGE_SEED",
)  # fmt: skip
# Emulation is slow, and slower still on the debug kernel: a call of many MiB may take longer than the default deadline.
PATIENT = "deadline_ms=600000"

# What most tests need: a drive of each format, with the module.
PLAIN = Setup(
    drives=(
        Nvme("chario-512", (Namespace(256, 512),)),
        Nvme("chario-4096", (Namespace(256, 4096), Namespace(64, 4096))),
    ),
    parameters=PATIENT,
    bound=True,
)

Launcher = Callable[..., Guest]


def pytest_addoption(parser: pytest.Parser) -> None:
    """--kernel=NAME chooses what the guests boot; the rest is choice.py's."""
    choice.add_options(parser)
    parser.addoption(
        "--kernel", default="6.1", metavar="NAME", choices=NAMES, help=f"guests boot it: {', '.join(NAMES)}"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare our marks, and choose the tests."""
    for name in NUMBERS:
        if not os.environ.get(name, "1").isdecimal():
            raise pytest.UsageError(f"{name} is a number, not {os.environ[name]!r}")
    config.pluginmanager.register(choice.Choice(config))
    config.addinivalue_line("markers", "allow_log(pattern, ...): kernel log lines that this test provokes")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """No test takes for ever, whatever it waits for; one that QEMU has failed is run again."""
    for item in items:
        item.add_marker(pytest.mark.flaky(reruns=RERUNS, only_rerun=[QemuCrashed, InterruptLost, Overwritten]))
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TEST_LIMIT_S))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test that is run again does not answer for the guests of its last run."""
    item.stash[WATCHED] = []


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Run a test, then hold the kernel log against it."""
    allowed = [str(text) for mark in pyfuncitem.iter_markers("allow_log") for text in mark.args]
    watched = pyfuncitem.stash.get(WATCHED, [])
    try:
        outcome = yield
    except pytest.skip.Exception:
        raise
    except BaseException as error:
        for one in watched:
            one.failed = True
            check_interrupts(one.guest)
            error.add_note(log_note(one))
        if isinstance(error, QemuCrashed):
            # Such a test is run again: what the kernels of its other guests said would be lost.
            for one in watched:
                if one.guest.process.poll() is None:
                    one.guest.check_log(one.mark, allowed)
        raise
    for one in watched:
        if not one.ended_on_purpose:
            # A complaint is told once, here: the next test gets another guest.
            one.failed = True
            one.guest.check_log(one.mark, allowed)
            one.failed = False
            one.mark, one.allowed = one.guest.log_mark(), tuple(allowed)
    return outcome


def log_note(watch: Watch) -> str:
    """What the kernel said during a failed test."""
    try:
        lines = watch.guest.kernel_log(watch.mark)
    except Exception as error:  # the guest may be what failed
        return f"no kernel log: {error}"
    return "\n".join([f"kernel log since the test began ({len(lines)} lines):", *lines[-80:]])


@pytest.fixture(scope="session")
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """The kernel that --kernel names."""
    return get_kernel(request.config.getoption("--kernel"))


@pytest.fixture(scope="session")
def module(kernel: Kernel) -> Path:
    """chario.ko for that kernel."""
    return build_module(kernel, TOP / "kernel")


@pytest.fixture(scope="module")
def cpus(request: pytest.FixtureRequest) -> int:
    """Processors of the guests of this file."""
    return marked_cpus(request.node, request.config.getoption("--kernel"))


def marked_cpus(node: pytest.Item | pytest.Module, kernel: str) -> int:
    """The processors that a mark asks for; one without a mark."""
    mark = node.get_closest_marker("cpus")
    return cpus_of(kernel, int(mark.args[0]) if mark else 1)


@pytest.fixture(scope="session")
def shared_guests(request: pytest.FixtureRequest, kernel: Kernel, module: Path) -> Iterator[SharedGuests]:
    """The guests that files have in turn."""
    guests = SharedGuests(kernel, module, specs(request.session, kernel.name))
    yield guests
    guests.close()


def specs(session: pytest.Session, kernel: str) -> Iterator[GuestSpec]:
    """What each file of this run that shares a guest needs."""
    for item in session.items:
        cpus = marked_cpus(item, kernel)
        names = getattr(item, "fixturenames", ())
        if "guest" in names:
            yield PLAIN.spec(kernel, cpus)
        setup = getattr(getattr(item, "module", None), "SETUP", None)
        if "keeper" in names and setup and not setup.alone:
            yield setup.spec(kernel, cpus)


@pytest.fixture
def guest(shared_guests: SharedGuests, cpus: int, request: pytest.FixtureRequest) -> Guest:
    """The guest of most tests; its log is searched from here on."""
    return shared_guests.get(PLAIN, cpus, request.node)


@pytest.fixture(scope="module")
def keeper(shared_guests: SharedGuests, cpus: int, request: pytest.FixtureRequest) -> Iterator[FileGuest]:
    """Who has the guest of a file that says with SETUP what it needs."""
    keeper = FileGuest(shared_guests, request.module.SETUP, cpus)
    yield keeper
    keeper.close()


@pytest.fixture
def rig(keeper: FileGuest, request: pytest.FixtureRequest) -> Rig:
    """The guest of a file with a SETUP, for one test; its drives are bound when the test asks."""
    return keeper.get(request)


@pytest.fixture
def fresh_guest(kernel: Kernel, cpus: int, request: pytest.FixtureRequest) -> Iterator[Launcher]:
    """launch(drives=..., qtest=True, module=True, ...): a guest of the test's own.

    chario.ko is loaded unless module=False; nothing is bound.  With dies=True
    the test kills the guest itself and the log is not searched.
    """
    with ExitStack() as stack:

        def start(module: bool = True, parameters: str = "", dies: bool = False, **fields: Any) -> Guest:
            running = stack.enter_context(launch(GuestSpec(**{"kernel": kernel.name, "cpus": cpus, **fields})))
            running.check_log()
            watch(request.node, running, running.log_mark()).ended_on_purpose = dies
            leaks.forget(running)
            if module:
                load_module(running, request.getfixturevalue("module"), parameters)
            return running

        yield start


def only_node(guest: Guest, drive: int, place: int = 0) -> str:
    """A device node of a drive of the shared guest."""
    found = nodes(guest, bdf(guest, drive))
    assert len(found) > place, f"drive {drive} has the nodes {found}"
    return found[place]


@pytest.fixture
def disk512(guest: Guest) -> str:
    """256 MiB in blocks of 512 bytes."""
    return only_node(guest, 0)


@pytest.fixture
def disk4096(guest: Guest) -> str:
    """256 MiB in blocks of 4096 bytes."""
    return only_node(guest, 1)


@pytest.fixture
def disk_second(guest: Guest) -> str:
    """64 MiB in blocks of 4096 bytes: the second namespace of a drive."""
    return only_node(guest, 1, 1)


@pytest.fixture(params=[512, 4096])
def disk(request: pytest.FixtureRequest) -> str:
    """Either format: the test runs once for each."""
    return str(request.getfixturevalue(f"disk{request.param}"))


@pytest.fixture(scope="session")
def guest_program() -> Callable[[str], Path]:
    """compile(NAME): tests/guest/src/NAME.c as a program, for Guest.push()."""
    return compile_program
