# SPDX-License-Identifier: MIT
"""The controller fails: it is reset where that helps, and given up where it does not."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EIO, ENODEV, ETIMEDOUT

import pytest
from block_side import enable
from disks import MIB, folder
from rig import CALL_LIMIT_S, WAITS_TO_UNBIND, Rig, results, unbinding, uring_results
from shared_guest import FileGuest, Setup
from traces import TRACING

from chario_lab.guest import faults
from chario_lab.guest.spec import Namespace, Nvme, Throttle, root_port_bdf
from chario_lab.waiting import until

pytestmark = [pytest.mark.area("kernel/"), pytest.mark.kernels("debug", "kcsan"), pytest.mark.cpus(2), pytest.mark.slow]

# A recovery that lasts: all that is to happen during it takes less, on a busy host too.
MEMORY_WITHOUT_BUS_MASTER, MEMORY_AND_BUS_MASTER = 2, 6
DRIVES = (Nvme("fails", (Namespace(64, backing=Throttle()), Namespace(64))),)
SETUP = Setup(drives=DRIVES, qtest=True)


@pytest.fixture
def rig(keeper: FileGuest, request: pytest.FixtureRequest) -> Iterator[Rig]:
    """The guest, for one test, with a drive at full speed; binding it lets it reach memory."""
    rig = keeper.get(request)
    faults.let_go(rig.guest, 0)
    yield rig
    faults.let_go(rig.guest, 0)
    rig.set_admin_timeout()


def stalled(rig: Rig) -> list[str]:
    """The disks of a drive whose first namespace does not answer any more."""
    disks = rig.disks(0)
    rig.stall(0, disks[0])
    return disks


@pytest.mark.smoke
def test_a_controller_that_reports_failure_is_reset(rig: Rig) -> None:
    """CSTS.CFS is noticed while calls wait; after the reset they succeed, with right data."""
    disk = rig.disk(0)
    rig.calls(disk, f"fill,3,0,{MIB}", f"write,0,{MIB}")
    mark = rig.guest.log_mark()
    faults.fail_controller(rig.guest, 0)
    jobs = [
        rig.start(disk, "deadline,200000", f"read,0,{MIB}", f"match,3,0,{MIB}"),
        rig.start(disk, "deadline,200000", "completion,2", f"read,0,{MIB}", f"match,3,0,{MIB}"),
    ]
    reads = rig.start_uring(disk, 8, 4096, "deadline=200000")
    assert [results(job.wait())[-3:-1] for job in jobs] == [[("read", MIB), ("match", 1)]] * 2
    assert uring_results(reads.wait()) == {4096: 8}
    rig.wait_reset(disk)
    counters = rig.counters(disk)
    assert (counters["resets"], counters["aborts"], counters["timeouts"]) == (1, 0, 0)
    assert "resetting the controller" in rig.said(mark)


def test_a_controller_that_forgets_its_queues_is_reset(rig: Rig) -> None:
    """It takes doorbells, answers nothing and is not ready: no abort is tried, and the call succeeds late."""
    disk = rig.disk(0)
    faults.disable_controller(rig.guest, 0)
    assert rig.calls(disk, "deadline,200000", "read,0,4096")[1] == ("read", 4096)
    rig.wait_reset(disk)
    counters = rig.counters(disk)
    assert (counters["resets"], counters["aborts"], counters["timeouts"]) == (1, 0, 0)
    assert rig.call(disk, "read,0,4096") == 4096


def test_all_disks_of_a_controller_survive_its_reset(rig: Rig) -> None:
    """One namespace hangs, the calls on the other do not fail."""
    first, second = stalled(rig)
    busy = rig.start(second, "deadline,200000", f"fill,4,0,{8 * MIB}", f"write,0,{8 * MIB}", "await,/run/reset",
                     f"read,0,{8 * MIB}", f"match,4,0,{8 * MIB}")  # fmt: skip
    assert rig.calls(first, "deadline,300", "read,0,4096")[1][1] == -ETIMEDOUT
    faults.let_go(rig.guest, 0)
    rig.wait_reset(second)
    assert rig.counters(second)["resets"] == 1
    rig.touch("/run/reset")
    assert results(busy.wait())[2:] == [("write", 8 * MIB), ("await", 0), ("read", 8 * MIB), ("match", 1), ("close", 0)]


def lose_memory_access(rig: Rig, admin_timeout_ms: int) -> str:
    """A disk whose drive answers registers but cannot reach memory: no reset helps, which shows after this time."""
    rig.set_admin_timeout()
    disk = rig.disk(0)
    rig.set_admin_timeout(admin_timeout_ms)
    rig.guest.must(["setpci", "-s", rig.address(0), f"COMMAND={MEMORY_WITHOUT_BUS_MASTER}"])
    return disk


def test_a_drive_that_does_not_come_up_is_given_up(rig: Rig) -> None:
    """Waiting calls end with EIO, later ones at once; nothing stays pinned; bus mastering is off."""
    disk = lose_memory_access(rig, admin_timeout_ms=300)
    jobs = [rig.start(disk, "deadline,200000", *mode, f"read,0,{8 * MIB}") for mode in ([], ["completion,2"])]
    reads = rig.start_uring(disk, 8, 4096, "deadline=200000")
    assert [results(job.wait())[-2] for job in jobs] == [("read", -EIO)] * 2
    assert uring_results(reads.wait()) == {-EIO: 8}
    rig.wait_state(disk, "dead")
    assert rig.calls(disk, "read,0,4096", "write,0,4096", "sync", "info", "seek") == [
        ("read", -EIO), ("write", -EIO), ("sync", -EIO), ("info", 0), ("seek", 0), ("close", 0),
    ]  # fmt: skip
    health = rig.guest.run(f"cat {folder(disk)}/health/status; cat {folder(disk)}/health/reasons")
    assert health.stdout == "" and health.stderr.count("Input/output error") == 2
    rig.wait_said(rig.began, "it is kept off memory, calls give EIO")
    assert int(rig.guest.must(["setpci", "-s", rig.address(0), "COMMAND"]), 16) & 4 == 0
    rig.wait_unpinned()


def test_a_drive_that_was_given_up_can_be_bound_again(rig: Rig) -> None:
    """Unbinding cleans up, and the repaired drive works with its old content."""
    rig.calls(rig.disk(0), "fill,6,0,65536", "write,0,65536")
    disk = lose_memory_access(rig, admin_timeout_ms=300)
    assert rig.call(disk, "read,0,4096") == -EIO
    rig.set_admin_timeout()
    assert rig.calls(rig.disk(0), "read,0,65536", "match,6,0,65536") == [("read", 65536), ("match", 1), ("close", 0)]


def test_a_link_that_is_not_reset(rig: Rig) -> None:
    """Calls wait for the PCI core; when it has not called back, the drive is revived without it."""
    disk = rig.disk(0)
    rig.calls(disk, f"fill,7,0,{MIB}", f"write,0,{MIB}")
    mark = rig.guest.log_mark()
    for resets in (1, 2):
        faults.fail_link(rig.guest, 0)
        rig.wait_state(disk, "recovering")
        calls = rig.calls(disk, "deadline,200000", f"read,0,{MIB}", f"match,7,0,{MIB}")
        assert calls[1:3] == [("read", MIB), ("match", 1)]
        rig.wait_reset(disk, resets)
        assert rig.counters(disk)["resets"] == resets
    assert "the link has failed; calls wait until it has been reset" in rig.said(mark)


@contextmanager
def looks(rig: Rig) -> Iterator[Callable[[], int]]:
    """While the block lasts, how often the driver has looked at a link that failed."""
    switch = f"{TRACING}/events/workqueue/workqueue_execute_end/enable"
    rig.guest.must(f"echo >{TRACING}/trace; echo 1 >{switch}")
    yield lambda: int(rig.guest.run(f"grep -c 'function chario_nvme_link_check' {TRACING}/trace").stdout)
    rig.guest.must(f"echo 0 >{switch}")


def test_a_drive_that_comes_back_late(rig: Rig) -> None:
    """Nothing is behind the link when the driver looks: it looks again, and calls wait until the drive is there."""
    disk, mark = rig.disk(0), rig.guest.log_mark()
    bus = ["setpci", "-s", root_port_bdf(rig.guest.place(0)), "SECONDARY_BUS"]
    number = rig.guest.must(bus)
    with looks(rig) as looked:
        faults.fail_link(rig.guest, 0)
        rig.wait_said(mark, "device recovery failed")
        rig.guest.must([*bus[:-1], "SECONDARY_BUS=ff"])
        try:
            until(lambda: looked() > 0, "the driver does not look")
            assert (rig.show(disk, "state"), rig.counters(disk)["resets"]) == ("recovering", 0)
        finally:
            rig.guest.must([*bus[:-1], f"SECONDARY_BUS={number}"])
    rig.wait_reset(disk)
    assert rig.call(disk, "read,0,4096") == 4096


def test_unbinding_while_the_link_is_down(rig: Rig) -> None:
    """What the page cache of the block disk has is written when the drive is back, for whom nobody waits for ever."""
    guest, mark = rig.guest, rig.guest.log_mark()
    block = enable(guest, rig.disk(0))
    keeper = guest.start(
        f"exec 5<>{block} && head -c 4096 /dev/zero | tr '\\0' n >&5 && touch /run/open && exec sleep 999"
    )
    rig.wait_file("/run/open")
    bus = f"setpci -s {root_port_bdf(guest.place(0))} SECONDARY_BUS"
    number = guest.must(bus)
    faults.fail_link(guest, 0)
    rig.wait_said(mark, "device recovery failed")
    guest.must(f"{bus}=ff")
    job = guest.start(unbinding(rig.address(0)), timeout_s=CALL_LIMIT_S)
    until(lambda: guest.run(WAITS_TO_UNBIND).rc == 0, "nobody waits")
    guest.must(f"{bus}={number}")
    job.wait().check()
    keeper.stop()
    guest.must(f"head -c 4096 {rig.disk(0)} | tr -d n | cmp - /dev/null")


def test_unbinding_while_a_partition_table_is_read(rig: Rig) -> None:
    """A read that is not answered is sent as often as ever and is the last one; what is unwritten is still written."""
    guest, mark, again = rig.guest, rig.guest.log_mark(), "resetting the controller"
    disk = rig.disk(0)
    block = enable(guest, disk)
    for name, value in (("recovery_age_ms", 0), ("deadline_ms", 3000)):
        rig.set(disk, name, value)
    late = "until [ -e /run/go ]; do sleep 0.1; done && tr '\\0' n </dev/zero | dd bs=4k seek=9 count=1 >&5"
    writer = guest.start(f"exec 5<>{block} && touch /run/open && {late} && rm /run/go && exec sleep 999")
    rig.wait_file("/run/open")
    rig.stall(0, disk, bytes_per_s=1)
    reader = guest.start(f"blockdev --rereadpt {block}", timeout_s=CALL_LIMIT_S)
    rig.wait_said(mark, again)
    rig.touch("/run/go")
    until(lambda: not guest.files.exists("/run/go"), "nothing is written to the page cache")
    job = guest.start(unbinding(rig.address(0)), timeout_s=CALL_LIMIT_S)
    until(lambda: guest.run(WAITS_TO_UNBIND).rc == 0, "nobody waits")
    reader.wait()
    faults.let_go(guest, 0)
    job.wait().check()
    # One read is sent four times, and so is the page that is written beside it; many parsers would read after it.
    assert rig.said(mark).count(again) <= 16
    writer.stop()
    guest.must(f"dd if={rig.disk(0)} bs=4k skip=9 count=1 | tr -d n | cmp - /dev/null")


def test_files_are_written_although_a_read_has_failed(rig: Rig) -> None:
    """While a drive leaves, what a file system on one namespace has in memory needs reads; one of the other hangs."""
    guest, mark, (silent, disk) = rig.guest, rig.guest.log_mark(), rig.disks(0)
    for one in (silent, disk):
        rig.set(one, "recovery_age_ms", 0)
        rig.set(one, "deadline_ms", 2000)
    hung, block = enable(guest, silent), enable(guest, disk)
    # Without these features and caches, a block's place is found by reading, when the block is written.
    mount = f"mount -o no_prefetch_block_bitmaps {block} /run/mnt"
    guest.must(f"mkfs.ext4 -qF -g 8192 -O ^metadata_csum,^uninit_bg,^flex_bg,^has_journal {block} && mkdir -p /run/mnt")
    guest.must(f"head -c 16M /dev/urandom >/run/noise && sync && echo 3 >/proc/sys/vm/drop_caches && {mount}")
    guest.must("cp /run/noise /run/mnt")
    faults.set_limits(guest, 0, 1, {"bps-read": 1})
    guest.must(f"dd if={silent} of=/dev/null bs=64k count=1 iflag=direct")
    reader = guest.start(f"dd if={hung} iflag=direct bs=4k count=1", timeout_s=CALL_LIMIT_S)
    rig.wait_said(mark, "resetting the controller")
    job = guest.start(unbinding(rig.address(0)), timeout_s=CALL_LIMIT_S)
    assert reader.wait().rc
    job.wait().check()
    faults.set_limits(guest, 0, 1, {"bps-read": 0})
    guest.must("umount /run/mnt")
    enable(guest, rig.disks(0)[1])
    guest.must(f"{mount} && cmp /run/noise /run/mnt/noise && umount /run/mnt")


def test_a_drive_that_is_lost_behind_its_link_is_given_up(rig: Rig) -> None:
    """Its registers do not answer after the link has failed: the disk is dead, and calls end with EIO."""
    disk = rig.disk(0)
    port = ["setpci", "-s", root_port_bdf(rig.guest.place(0))]
    # Nobody looks at the registers of an idle drive, so that they can be lost before the driver hears of the link.
    rig.guest.must([*port, f"COMMAND=0:{MEMORY_WITHOUT_BUS_MASTER}"])
    try:
        faults.fail_link(rig.guest, 0)
        rig.wait_state(disk, "recovering")
        calls = rig.calls(disk, "deadline,200000", "read,0,4096", "read,0,4096")
    finally:
        rig.guest.must([*port, f"COMMAND={MEMORY_WITHOUT_BUS_MASTER}:{MEMORY_WITHOUT_BUS_MASTER}"])
    assert calls[1:3] == [("read", -EIO)] * 2
    rig.wait_state(disk, "dead")
    rig.wait_unpinned()
    assert rig.call(rig.disk(0), "read,0,4096") == 4096


def test_registers_that_cannot_be_reached(rig: Rig) -> None:
    """Memory decoding switched off: calls end, and the disk is dead.

    Hardware answers with all ones then (ENODEV), QEMU with zeros (EIO).
    """
    disk = rig.disk(0)
    faults.deafen(rig.guest, rig.address(0))
    try:
        calls = rig.calls(disk, "deadline,200000", "read,0,4096", "read,0,4096", "hipri,0,4096", "write,0,4096")[1:5]
    finally:
        faults.undeafen(rig.guest, rig.address(0))
    assert {value for _, value in calls} in ({-EIO}, {-ENODEV})
    rig.wait_state(disk, "dead")


def test_unbinding_in_the_middle_of_recovery(rig: Rig) -> None:
    """Recovery and removal do not wait for each other for ever."""
    disk = lose_memory_access(rig, admin_timeout_ms=3000)
    read = "read,0,4096"
    job = rig.start(disk, "deadline,200000", read, read, "await,/run/unbound", read)
    rig.wait_state(disk, "recovering")
    rig.unbind(0)
    rig.touch("/run/unbound")
    calls = results(job.wait())
    answers = [value for name, value in calls if name == "read"]
    # Whoever is first: the drive may have been given up a moment before it goes.
    assert set(answers[:2]) <= {-EIO, -ENODEV} and answers[2] == -ENODEV
    rig.wait_unpinned()
    rig.set_admin_timeout()
    assert rig.call(rig.disk(0), "read,0,4096") == 4096
