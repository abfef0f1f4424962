# SPDX-License-Identifier: MIT
"""Errors of the link that the PCI core handles: AER, with a slot that it can reset.

QEMU's drive cannot report errors itself, its root port can: a fatal error of the
port's link and one that is not fatal take the same way through the kernel as one
of the drive.  That the PCI core gives a drive up for good (a permanent failure)
is not for x86 to show: only other architectures' recovery says so.
"""

from collections.abc import Callable
from errno import ENODEV

import pytest
from disks import KIB, MIB
from rig import Rig, results, uring_results
from shared_guest import Setup, throttled_rig

from chario_lab.guest import faults
from chario_lab.guest.devices import PCI
from chario_lab.guest.job import CommandFailed
from chario_lab.guest.spec import Namespace, Nvme, Throttle

pytestmark = [pytest.mark.area("kernel/drive/", "kernel/back/nvme/"), pytest.mark.cpus(2), pytest.mark.slow]

DRIVES = (Nvme("fails", (Namespace(64, backing=Throttle()),)), Nvme("other", (Namespace(64),)))
NOT_FATAL, CORRECTED = "COMP_TIME", "BAD_TLP"
FAILING, OTHER = range(2)
SETUP = Setup(drives=DRIVES, native_hotplug=True)
rig = throttled_rig(FAILING)


def fail_link(rig: Rig, outcome: str = "device recovery successful") -> int:
    """The link fails, and the PCI core has said what came of it: where the kernel log was before."""
    mark = rig.guest.log_mark()
    faults.fail_link(rig.guest, FAILING)
    rig.wait_said(mark, outcome)
    return mark


def reset_by_hand(rig: Rig) -> None:
    """What an administrator can ask the PCI core for."""
    rig.guest.must(f"echo 1 >/sys/bus/pci/devices/{rig.address(FAILING)}/reset")


def test_a_link_is_reset(rig: Rig) -> None:
    """The drive is quiet until its slot has been reset, then it works as before, time and again."""
    disk, other = rig.disk(FAILING), rig.disk(OTHER)
    rig.calls(disk, f"fill,8,0,{MIB}", f"write,0,{MIB}", "sync")
    for resets in (1, 2, 3):
        said = rig.said(fail_link(rig))
        assert said.index("the link has failed") < said.index("has been reset (0)") < said.index("is up again")
        assert (rig.counters(disk)["resets"], rig.show(disk, "state")) == (resets, "live")
        for way in ("read", "hipri"):
            assert rig.calls(disk, f"{way},0,{MIB}", f"match,8,0,{MIB}")[:2] == [(way, MIB), ("match", 1)]
        assert rig.uring(disk, 8, 64 * KIB, "iopoll") == {64 * KIB: 8}
    assert rig.counters(other)["resets"] == 0 and rig.call(other, "read,0,4096") == 4096


def test_calls_wait_for_the_link(rig: Rig) -> None:
    """Calls that the drive has when its link fails are sent again: none fails, all data is right."""
    disk = rig.disk(FAILING)
    rig.calls(disk, f"fill,9,0,{MIB}", f"write,0,{MIB}", "sync")
    rig.stall(FAILING, disk)
    deadline = "deadline,200000"
    jobs = [
        rig.start(disk, deadline, *mode, "touch,/run/waits", f"read,0,{MIB}", f"match,9,0,{MIB}")
        for mode in ([], ["completion,2"])
    ]
    flying = rig.start_uring(disk, 8, 4096, "deadline=200000", "touch=/run/flies")
    for name in ("waits", "flies"):
        rig.wait_file(f"/run/{name}")
    mark = rig.guest.log_mark()
    # What is sent again finds the drive at full speed.
    rig.guest.qmp("stop")
    faults.fail_link(rig.guest, FAILING)
    faults.let_go(rig.guest, FAILING)
    rig.guest.qmp("cont")
    assert [results(job.wait())[-3:-1] for job in jobs] == [[("read", MIB), ("match", 1)]] * 2
    assert uring_results(flying.wait()) == {4096: 8}
    assert rig.counters(disk)["errors"] == rig.counters(disk)["timeouts"] == 0
    rig.wait_unpinned()
    # Or the next test finds a drive that is to be reset once more.
    rig.wait_said(mark, "device recovery successful")


@pytest.mark.parametrize("disturb", [fail_link, reset_by_hand])
def test_a_reset_under_load(rig: Rig, disturb: Callable[[Rig], object]) -> None:
    """Readers that never pause see nothing of five failures of the link, nor of resets that others have asked for."""
    disk = rig.disk(FAILING)
    jobs = [rig.start_uring(disk, 8, 64 * KIB, "until", "deadline=200000", "touch=/run/busy", *way)
            for way in ([], ["iopoll"])]  # fmt: skip
    rig.wait_file("/run/busy")
    for _ in range(5):
        disturb(rig)
        assert rig.show(disk, "state") == "live"
    assert rig.counters(disk)["resets"] == 5 and [job.poll() for job in jobs] == [None, None]
    rig.unbind(FAILING)
    for job in jobs:
        counts = uring_results(job.wait())
        assert set(counts) <= {64 * KIB, -ENODEV}
        assert disturb is reset_by_hand or (64 * KIB in counts and counts[-ENODEV] == 8)
    rig.wait_unpinned()


def test_a_link_is_reset_after_a_reset_by_hand(rig: Rig) -> None:
    """The drive gets its addresses back once more."""
    disk = rig.disk(FAILING)
    reset_by_hand(rig)
    fail_link(rig)
    assert (rig.counters(disk)["resets"], rig.show(disk, "state")) == (2, "live")
    assert rig.call(disk, "read,0,4096") == 4096


@pytest.mark.parametrize("error", [NOT_FATAL, CORRECTED])
def test_an_error_that_does_not_break_the_link(rig: Rig, error: str) -> None:
    """It is none of the driver's business: calls go on, nothing is reset."""
    disk = rig.disk(FAILING)
    job = rig.start_uring(disk, 8, 64 * KIB, "until", "deadline=200000", "touch=/run/busy")
    rig.wait_file("/run/busy")
    mark = rig.guest.log_mark()
    faults.fail_link(rig.guest, FAILING, error)
    # "Corrected" on 6.1, "Correctable" on 6.12.
    rig.wait_said(mark, "device recovery successful" if error == NOT_FATAL else "severity=Correct")
    assert (rig.counters(disk)["resets"], rig.counters(disk)["errors"], job.poll()) == (0, 0, None)
    assert rig.call(disk, f"read,0,{MIB}") == MIB
    job.stop()
    rig.wait_unpinned()


def test_a_link_fails_while_a_disk_is_let_go(rig: Rig) -> None:
    """Whoever comes first, the drive can be bound again: what a reset takes from a drive without driver is restored."""
    for _ in range(5):
        disk = rig.disk(FAILING)
        mark = rig.guest.log_mark()
        faults.fail_link(rig.guest, FAILING)
        rig.unbind(FAILING)
        rig.wait_said(mark, "device recovery")
        assert rig.call(rig.disk(FAILING), "read,0,4096") == 4096, disk
    rig.wait_unpinned()


def test_a_link_fails_while_no_driver_has_the_drive(rig: Rig) -> None:
    """Its address is lost in the reset, and restored when it is bound again."""
    rig.disk(FAILING)
    rig.unbind(FAILING)
    fail_link(rig, "device recovery failed")
    assert rig.call(rig.disk(FAILING), "read,0,4096") == 4096


def test_an_address_that_nobody_has_saved(rig: Rig) -> None:
    """The drive was never bound before: it is refused, with what to do, and that works; newer kernels have saved it."""
    device = f"{PCI}/devices/{rig.address(OTHER)}"
    found_anew = f"echo 1 >{device}/remove; echo 1 >/sys/bus/pci/rescan"
    rig.guest.must(f"{found_anew}; printf '\\0\\0\\0\\0' | dd of={device}/config bs=4 seek=4 conv=notrunc status=none")
    try:
        rig.disk(OTHER)
    except CommandFailed as refused:
        assert "its address was lost in a reset: remove it, and rescan its bus" in str(refused)
        rig.guest.must(found_anew)
    assert rig.call(rig.disk(OTHER), "read,0,4096") == 4096


def test_a_dead_disk_stays_dead(rig: Rig) -> None:
    """A reset of the link does not bring back a drive that has been given up; binding it anew does."""
    address = rig.address(FAILING)
    disk = rig.disk(FAILING)
    rig.set_admin_timeout(300)
    try:
        faults.deafen(rig.guest, address)
        assert rig.calls(disk, "deadline,2000", "read,0,4096")[1][1] < 0
        rig.wait_state(disk, "dead")
        fail_link(rig, "device recovery")
        assert rig.show(disk, "state") == "dead" and rig.call(disk, "read,0,4096") < 0
    finally:
        rig.set_admin_timeout()
        faults.undeafen(rig.guest, address)
    assert rig.call(rig.disk(FAILING), "read,0,4096") == 4096
