# SPDX-License-Identifier: MIT
"""Fixtures of the guest tests.

    guest            the guest most tests share: chario.ko is loaded and has two drives
    fresh_guest      a function that launches a guest of a test's own
    disk, disk512, disk4096, disk_second
                     device nodes in the shared guest; `disk` runs a test on both formats
    guest_program    a function that compiles tests/guest/src/NAME.c on the host, with NAME/*.c where there are

After every test the kernel log of each guest it used is searched; a complaint
fails the test.  A test that provokes one names it:

    @pytest.mark.allow_log(r"WARNING: .* deliberate")

A guest that died, whose kernel complained, or in which a test failed and may
have left its programs running, is not used again.

QEMU 7.2 sometimes crashes when a function is reset or pulled while its drive
works.  A test whose QEMU was ended by a signal has shown nothing about CharIO:
it is run again, twice at most, and the summary counts it as rerun.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from chario_lab import kmsg
from chario_lab.cache import cache_dir
from chario_lab.guest import leaks
from chario_lab.guest.devices import bdf, bind, load_module, nodes
from chario_lab.guest.launch import launch
from chario_lab.guest.session import Guest, QemuCrashed
from chario_lab.guest.spec import GuestSpec, Namespace, Nvme
from chario_lab.kernel import Kernel, build_module, get_kernel
from chario_lab.testing import costs
from chario_lab.testing.guest_files import read_table
from chario_lab.testing.schedule import FILES, Schedule

TOP = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
SOURCES = HERE / "src"
CFLAGS = ("-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{TOP / 'kernel/uapi'}")
# What is not used goes, and with it the wish for libraries that Debian has for 64 bits only.
CFLAGS_32 = ("-m32", "-static", "-D_FILE_OFFSET_BITS=64", "-ffunction-sections", "-Wl,--gc-sections")
TEST_LIMIT_S = 1800
RERUNS = 2
# Emulation is slow, and slower still on the debug kernel: a call of many MiB may take longer than the default deadline.
PATIENT = "deadline_ms=600000"
LDLIBS = ("-luring", "-lisal")

DRIVES = (
    Nvme("chario-512", (Namespace(256, 512),)),
    Nvme("chario-4096", (Namespace(256, 4096), Namespace(64, 4096))),
)

Launcher = Callable[..., Guest]


@dataclass
class Watch:
    """A guest that a test uses, and where its log was when the test began."""

    guest: Guest
    mark: int
    ended_on_purpose: bool = False
    failed: bool = False


WATCHED = pytest.StashKey[list[Watch]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """--kernel=NAME chooses what the guests boot; --costs=FILE keeps what each file took."""
    costs.add_options(parser)
    parser.addoption("--kernel", default="6.1", metavar="NAME", help="guests boot it: 6.1, 6.12, 6.12-rt, debug, gcov")


def pytest_configure(config: pytest.Config) -> None:
    """Declare our marks; the table of files says which begins first, the costs what each took."""
    config.pluginmanager.register(costs.Costs(config))
    config.pluginmanager.register(Schedule(config, read_table(HERE)))
    config.addinivalue_line("markers", "allow_log(pattern, ...): kernel log lines that this test provokes")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """No test takes for ever, whatever it waits for; one whose QEMU crashed is run again."""
    for item in items:
        item.add_marker(pytest.mark.flaky(reruns=RERUNS, only_rerun=QemuCrashed))
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
    except Exception as error:
        for watch in watched:
            error.add_note(log_note(watch))
            watch.failed = True
        raise
    for watch in watched:
        if not watch.ended_on_purpose:
            watch.guest.check_log(watch.mark, allowed)
    return outcome


def log_note(watch: Watch) -> str:
    """What the kernel said during a failed test."""
    try:
        lines = watch.guest.kernel_log(watch.mark)
    except Exception as error:  # the guest may be what failed
        return f"no kernel log: {error}"
    return "\n".join([f"kernel log since the test began ({len(lines)} lines):", *lines[-80:]])


def watch(item: pytest.Item, guest: Guest, mark: int) -> Watch:
    """Have a guest's log searched at the end of a test."""
    watched = Watch(guest, mark)
    item.stash.setdefault(WATCHED, []).append(watched)
    return watched


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
    """Processors of the guests of this file, as the table says."""
    return request.config.stash[FILES][request.path.name].cpus_on(request.config.getoption("--kernel"))


@dataclass
class SharedGuest:
    """A guest of the session, launched anew when it is spoilt."""

    kernel: Kernel
    module: Path
    cpus: int
    guest: Guest | None = None
    watched: Watch | None = None
    stack: ExitStack = field(default_factory=ExitStack)

    def spec(self) -> GuestSpec:
        """What it is made of."""
        return GuestSpec(kernel=self.kernel.name, drives=DRIVES, cpus=self.cpus)

    def watch(self, item: pytest.Item) -> Guest:
        """The guest, for a test that tells us how it ended."""
        running = self.get()
        self.watched = watch(item, running, running.log_mark())
        return running

    def spoilt(self, guest: Guest) -> bool:
        """Whether the guest is not what it was when it was new."""
        failed = self.watched is not None and self.watched.failed
        return failed or guest.process.poll() is not None or bool(kmsg.complaints(guest.kernel_records()))

    def get(self) -> Guest:
        """A guest that runs, with the module and both drives."""
        if self.guest and self.spoilt(self.guest):
            self.stack.close()
            self.guest = self.watched = None
        if self.guest is None:
            self.guest = self.stack.enter_context(launch(self.spec()))
            leaks.forget(self.guest)
            load_module(self.guest, self.module, PATIENT)
            for drive in range(len(DRIVES)):
                bind(self.guest, bdf(self.guest, drive))
            # What probing said is searched too, once and not by any test.
            self.guest.check_log()
        return self.guest

    def close(self) -> None:
        """Unload the module, look for leaks where the kernel can, end the guest."""
        try:
            if self.guest and not self.spoilt(self.guest):
                mark = self.guest.log_mark()
                # Programs that a test has left behind may be about to end.
                self.guest.must("for i in $(seq 100); do rmmod chario && exit; sleep 0.1; done; exit 1", timeout_s=120)
                self.guest.check_log(mark)
                leaks.check(self.guest)
        finally:
            self.stack.close()


@pytest.fixture(scope="session")
def shared_guests(kernel: Kernel, module: Path) -> Iterator[Callable[[int], SharedGuest]]:
    """of(cpus): what `guest` hands out, one for each number of processors."""
    shared: dict[int, SharedGuest] = {}
    with ExitStack() as stack:

        def of(cpus: int) -> SharedGuest:
            if cpus not in shared:
                shared[cpus] = SharedGuest(kernel, module, cpus)
                stack.callback(shared[cpus].close)
            return shared[cpus]

        yield of


@pytest.fixture
def guest(shared_guests: Callable[[int], SharedGuest], cpus: int, request: pytest.FixtureRequest) -> Guest:
    """The shared guest; its log is searched from here on."""
    return shared_guests(cpus).watch(request.node)


@pytest.fixture
def fresh_guest(kernel: Kernel, cpus: int, request: pytest.FixtureRequest) -> Iterator[Launcher]:
    """launch(drives=..., qtest=True, module=True, ...): a guest of the test's own.

    chario.ko is loaded unless module=False; nothing is bound.  With dies=True
    the test kills the guest itself and the log is not searched.
    """
    with ExitStack() as stack:

        def start(module: bool = True, parameters: str = "", dies: bool = False, **fields: Any) -> Guest:
            running = stack.enter_context(launch(GuestSpec(**{"kernel": kernel.name, "cpus": cpus, **fields})))
            watch(request.node, running, -1).ended_on_purpose = dies
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


def compile_program(name: str, bits: int = 64) -> Path:
    """The program, compiled once for this content; of 32 bits, it brings its libraries along."""
    source = SOURCES / f"{name}.c"
    kernel_files = [*(TOP / "kernel/uapi").rglob("*.h"), *(TOP / "kernel/core").glob("split.*")]
    headers = sorted([*SOURCES.rglob("*.h"), *kernel_files])
    flags, library = [*CFLAGS, *CFLAGS_32] if bits == 32 else [*CFLAGS], sorted((SOURCES / name).glob("*.c"))
    if re.search("#include <chario/(?!uapi)", source.read_text()):
        # xxHash comes along in its header: there is no library of 32 bits.
        flags += ["-D_GNU_SOURCE=", '-DCHARIO_VERSION="tests"', "-DXXH_INLINE_ALL"]
        flags += [f"-I{TOP / folder}" for folder in ("lib/include", "lib/src", "kernel/core")]
        library += sorted([*(TOP / "lib/src").rglob("*.c"), TOP / "kernel/core/split.c"])
        headers += sorted((TOP / "lib").rglob("*.h"))
        library += [SOURCES / "library32.c"] if bits == 32 else []
    if bits == 32 and re.search("#include .*ring.h", source.read_text()):
        library.append(SOURCES / "liburing32.c")
    digest = hashlib.sha256(repr(flags).encode())
    for path in [source, *headers, *library]:
        digest.update(path.read_bytes())
    target = cache_dir() / "programs" / digest.hexdigest()[:16] / name
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        # Tests that run side by side may both be here: the name appears when the file is whole.
        part = target.with_suffix(f".{os.getpid()}")
        command = ["gcc", *flags, str(source), *map(str, library), "-o", str(part)]
        command += LDLIBS if bits == 64 else []
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{source.name} does not compile:\n{done.stderr}"
        part.replace(target)
    return target
