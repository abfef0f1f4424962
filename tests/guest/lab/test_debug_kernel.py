# SPDX-License-Identifier: MIT
"""The kernels that check, held against mistakes that are planted.

A run on such a kernel that finds nothing means something only if its
checkers work: that they are compiled in, switched on, and that the search of
the kernel log knows what they say.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Launcher

from chario_lab import kmsg
from chario_lab.guest.launch import launch
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import GuestSpec, Nvme
from chario_lab.kernel import KCSAN, Kernel, build_module

pytestmark = [pytest.mark.area("lab/"), pytest.mark.kernels("debug", "kcsan"), pytest.mark.cpus(2)]

PLANTED = Path(__file__).resolve().parents[1] / "src/planted"
KMEMLEAK = "/sys/kernel/debug/kmemleak"
# Any other report switches lockdep off, so its own mistake comes first.
MISTAKES = {
    "lock-both-ways": "possible circular locking",
    "sleep-under-spinlock": "sleeping function called from invalid context",
    "unmap-half": "DMA-API: .*different size",
    "warn": "WARNING: ",
    "shift-too-far": "UBSAN: shift-out-of-bounds",
    "index-too-high": "UBSAN: array-index-out-of-bounds",
    "add-twice": "WARNING: .*list_debug",
    "free-armed-timer": "ODEBUG: free active",
    "use-after-free": "KASAN: slab-use-after-free",
    "write-past-the-end": "KASAN: slab-out-of-bounds",
}


@pytest.fixture(scope="module")
def debugged(kernel: Kernel, cpus: int) -> Iterator[Guest]:
    """A guest with the debug kernel, whose log nobody else searches."""
    if not kernel.debug:
        pytest.skip(f"kernel {kernel.name} does not check this: --kernel=debug does")
    with launch(GuestSpec(kernel=kernel.name, cpus=cpus, drives=(Nvme("disk"),), append="kasan_multi_shot")) as guest:
        yield guest


@pytest.fixture(scope="module")
def planted(kernel: Kernel, debugged: Guest) -> str:
    """The module that makes mistakes."""
    return debugged.push(build_module(kernel, PLANTED, name="planted"))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_reported(debugged: Guest, planted: str, mistake: str) -> None:
    """The checker that is meant for a mistake reports it, and the search of the log finds the report."""
    mark = debugged.log_mark()
    debugged.run(f"insmod {planted} mistake={mistake}; rmmod planted")
    found = kmsg.complaints(debugged.kernel_records(mark))
    assert kmsg.complaints(found, [MISTAKES[mistake]]) != found, f"no report of {mistake}: {found}"


def test_a_leak_is_reported(debugged: Guest, planted: str) -> None:
    """kmemleak finds memory that nobody points to any more; it looks at nothing younger than five seconds."""
    debugged.must(f"echo clear > {KMEMLEAK}; insmod {planted} mistake=leak; sleep 6")
    leaks = debugged.must(f"echo scan > {KMEMLEAK}; echo scan > {KMEMLEAK}; cat {KMEMLEAK}", timeout_s=300)
    assert "(size 96)" in leaks
    assert "planted" in leaks or "insmod" in leaks


def test_every_allocation_can_fail(debugged: Guest) -> None:
    """A thread chooses which of its coming allocations fails, and can read that it did."""
    program = (
        "import os\n"
        "f = os.open('/proc/thread-self/fail-nth', os.O_RDWR)\n"
        "os.write(f, b'1')\n"
        "try:\n"
        "    os.eventfd(0)\n"
        "    print('made')\n"
        "except OSError as error:\n"
        "    print(error.strerror)\n"
        "print(os.pread(f, 9, 0).decode())\n"
    )
    debugged.must("echo N > /sys/kernel/debug/failslab/ignore-gfp-wait")
    assert debugged.must(["python3", "-c", program]).split("\n")[:2] == ["Cannot allocate memory", "0"]


def test_a_race_is_reported(fresh_guest: Launcher, kernel: Kernel) -> None:
    """Two processors count with one variable, and no lock."""
    if kernel.name != KCSAN:
        pytest.skip(f"kernel {kernel.name} does not look for races: --kernel=kcsan does")
    guest = fresh_guest(module=False, dies=True)
    guest.must(f"insmod {guest.push(build_module(kernel, PLANTED, name='planted'))} mistake=race")
    assert any("KCSAN: data-race in" in record.text for record in kmsg.complaints(guest.kernel_records()))
