# SPDX-License-Identifier: MIT
"""Views: the unit tests on the guest's kernel, and the buffers of the module."""

import pytest
from conftest import Launcher
from disks import HIDDEN, HIDDEN_BYTES, Programs, counters, grown
from test_dmabuf import EXPORTERS, need

from chario_lab.guest.devices import bdf, bind, nodes
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Namespace, Nvme
from chario_lab.kernel import Kernel

pytestmark = [pytest.mark.area("lib/src/view/"), pytest.mark.kernels("6.12"), pytest.mark.stock, pytest.mark.slow]

LIMIT_S = 900
AUTO, MARKS, WRITE_PROTECT, COMPARE, NONE = range(5)
# Kernels without asynchronous userfaultfd.
OLD = ("6.1",)
BLOCKS = 64
# What src/view.c changes: every third block and one beside the first, then one more.
WRITES = len(range(0, BLOCKS, 3)) + 1


def units(guest: Guest, programs: Programs, name: str, tracking: str = "") -> str:
    """Run a unit test; what it says in its first line."""
    told = guest.must(f"cd /tmp && TRACKING={tracking} {guest.push(programs(name))}", LIMIT_S)
    plan = told.splitlines()[0]
    assert "not ok" not in told, told
    assert f"\n{told}".count("\nok ") == int(plan.split()[0].removeprefix("1..")), told
    return plan


def view(guest: Guest, programs: Programs, disk: str, kind: str, tracking: int) -> list[str]:
    """What src/view.c says."""
    command = [guest.push(programs("view")), disk, kind, str(tracking), str(HIDDEN)]
    return guest.must(command, LIMIT_S).splitlines()


def test_units(guest: Guest, guest_program: Programs, kernel: Kernel) -> None:
    """What tests/unit/test-view.c says of write-protection, and it knows which kernels have it.

    The kinds of tracking that need nothing of a kernel are tested on the machine itself.
    """
    plan = units(guest, guest_program, "view_unit", "write-protect")
    assert ("# SKIP" in plan) == (kernel.name in OLD), plan
    if kernel.name in OLD:
        pytest.skip(plan)


def test_units_of_errors(guest: Guest, guest_program: Programs) -> None:
    """What tests/unit/test-view-errors.c says, huge pages included."""
    guest.must("echo 4 >/proc/sys/vm/nr_hugepages")
    units(guest, guest_program, "view_errors")
    guest.must("echo 0 >/proc/sys/vm/nr_hugepages")


@pytest.mark.smoke
@pytest.mark.parametrize("kind", ["private", "shared", "pool", "streaming"])
@pytest.mark.parametrize("tracking", [MARKS, COMPARE])
def test_always(guest: Guest, guest_program: Programs, disk: str, kind: str, tracking: int) -> None:
    """Marks and checksums do with any buffer that the CPU reaches."""
    assert view(guest, guest_program, disk, kind, tracking) == [str(tracking), "done"]


@pytest.mark.parametrize("kind", ["private", "shared", "pool", "streaming"])
def test_choice(guest: Guest, guest_program: Programs, kernel: Kernel, disk4096: str, kind: str) -> None:
    """Pages are protected where the kernel can, which refuses those of a driver; else blocks are compared."""
    possible = kind in ("private", "shared") and kernel.name not in OLD
    choice = WRITE_PROTECT if possible else COMPARE
    said = [str(WRITE_PROTECT), "done"] if possible else ["EOPNOTSUPP"]
    assert view(guest, guest_program, disk4096, kind, AUTO) == [str(choice), "done"]
    assert view(guest, guest_program, disk4096, kind, WRITE_PROTECT) == said


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_dma_buf(guest: Guest, guest_program: Programs, disk: str, exporter: str) -> None:
    """The library has no address of it: marks, and nothing else."""
    need(guest, exporter)
    assert view(guest, guest_program, disk, exporter, AUTO) == [str(MARKS), "done"]
    assert view(guest, guest_program, disk, exporter, COMPARE) == ["EOPNOTSUPP"]


def test_a_window(fresh_guest: Launcher, guest_program: Programs) -> None:
    """Physical memory has no pages that could be tracked: the kernel would say that nothing has changed."""
    parameters = f"windows={HIDDEN:#x}+{HIDDEN_BYTES} deadline_ms=200000"
    drives = (Nvme("disk", (Namespace(64),)),)
    guest = fresh_guest(parameters=parameters, drives=drives, append=f"memmap=16M${HIDDEN:#x}")
    bind(guest, bdf(guest, 0))
    disk = nodes(guest, bdf(guest, 0))[0]
    for tracking, taken in ((AUTO, COMPARE), (MARKS, MARKS), (COMPARE, COMPARE)):
        assert view(guest, guest_program, disk, "window", tracking) == [str(taken), "done"]
    assert view(guest, guest_program, disk, "window", WRITE_PROTECT) == ["EOPNOTSUPP"]


def test_one_command_for_each_run(guest: Guest, guest_program: Programs, disk4096: str) -> None:
    """A run of changed blocks is one command; clean blocks between two runs are not written."""
    start = counters(guest, disk4096)
    view(guest, guest_program, disk4096, "pool", MARKS)
    with_flush = grown(guest, disk4096, start)["write_commands"]
    start = counters(guest, disk4096)
    view(guest, guest_program, disk4096, "pool", NONE)
    without = grown(guest, disk4096, start)["write_commands"]
    assert with_flush - without == WRITES
