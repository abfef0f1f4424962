# SPDX-License-Identifier: MIT
"""The drive, its driver or the module goes while others are at it.

In QEMU the registers of a drive that has been pulled read zero and its
configuration space all ones; hardware answers all ones in both.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENODEV
from pathlib import Path

import pytest
from disks import KIB, MIB
from python_calls import printed, start_script
from rig import PATIENCE, Rig, results, uring_results
from shared_guest import Setup

from chario_lab.guest import faults
from chario_lab.guest.devices import PCI, bdf, bind, driver_of, find_block, load_module, unbind
from chario_lab.guest.spec import Blkdebug, Namespace, Nvme
from chario_lab.waiting import SETTLE_LIMIT_S, until

pytestmark = [
    pytest.mark.area("kernel/drive/", "kernel/back/nvme/"), pytest.mark.kernels("6.12-rt", "debug", "kcsan"),
    pytest.mark.cpus(2),
]  # fmt: skip

GONE = [("read", -ENODEV), ("hipri", -ENODEV), ("write", -ENODEV), ("sync", -ENODEV), ("seek", 0)]
ASK = ("read,0,4096", "hipri,0,4096", "write,0,4096", "sync", "seek")
ASK_IOCTLS = ("info", "stats", "size", "deadline,1000")

KEPT, SLEEPING, POLLED, ASYNCHRONOUS, POLLED_ASYNCHRONOUS, QUIET, PAGED = range(7)
DRIVES = (
    *(Nvme(f"drive-{n}", (Namespace(64),)) for n in range(6)),
    Nvme("paged", (Namespace(64, backing=Blkdebug()),)),
)
SETUP = Setup(drives=DRIVES, alone=True)


def after_removal(rig: Rig, drive: int) -> None:
    """Unbind what has been pulled: nothing of it is left."""
    assert rig.release(rig.address(drive)) == ""
    rig.wait_unpinned()


@pytest.mark.parametrize(("drive", "mode"), [(SLEEPING, 1), (POLLED, 2)], ids=["sleeping", "polled"])
def test_a_drive_is_pulled_under_a_caller(rig: Rig, drive: int, mode: int) -> None:
    """Calls end with ENODEV; the open file is harmless then, and after the driver has let go too."""
    disk = rig.disk(drive)
    options = ("deadline,200000", f"completion,{mode}")
    job = rig.start(disk, *options, f"read,0,{MIB}", "touch,/run/begun", f"until,0,{MIB}", *ASK, "touch,/run/ended",
                    "await,/run/unbound", *ASK, *ASK_IOCTLS)  # fmt: skip
    rig.wait_file("/run/begun")
    rig.pull(drive)
    rig.wait_file("/run/ended")
    after_removal(rig, drive)
    rig.touch("/run/unbound")
    calls = results(job.wait())
    assert calls[2:5] == [("read", MIB), ("touch", 0), ("until", -ENODEV)]
    assert calls[5:10] == GONE and calls[12:17] == GONE
    assert [value for _, value in calls[17:]] == [-ENODEV] * len(ASK_IOCTLS) + [0]


@pytest.mark.parametrize(
    ("drive", "options"), [(ASYNCHRONOUS, ()), (POLLED_ASYNCHRONOUS, ("iopoll",))], ids=["interrupts", "iopoll"]
)
def test_a_drive_is_pulled_under_io_uring(rig: Rig, drive: int, options: tuple[str, ...]) -> None:
    """Every request in flight completes with ENODEV."""
    disk = rig.disk(drive)
    job = rig.start_uring(disk, 8, 64 * KIB, "until", "fixed", "deadline=200000", "touch=/run/busy", *options)
    rig.wait_file("/run/busy")
    rig.pull(drive)
    counts = uring_results(job.wait())
    assert counts[-ENODEV] == 8 and set(counts) == {-ENODEV, 64 * KIB}
    after_removal(rig, drive)


def test_a_drive_is_pulled_while_nobody_looks(rig: Rig) -> None:
    """The first call finds out; the driver lets go without a complaint."""
    disk = rig.disk(QUIET)
    mark = rig.guest.log_mark()
    rig.pull(QUIET)
    assert rig.calls(disk, "deadline,200000", *ASK)[1:6] == GONE
    rig.wait_said(mark, "the drive has gone; calls give ENODEV")
    after_removal(rig, QUIET)


def load(rig: Rig, disk: str) -> list[object]:
    """Callers of every kind; each goes on until a call fails."""
    jobs = [
        rig.start(disk, "deadline,200000", f"read,0,{MIB}", "touch,/run/sleeps", f"until,0,{MIB}"),
        rig.start(disk, "deadline,200000", "completion,2", f"read,0,{MIB}", "touch,/run/polls", f"until,0,{64 * KIB}"),
        rig.start_uring(disk, 8, 64 * KIB, "until", "deadline=200000", "touch=/run/rings"),
    ]
    for name in ("sleeps", "polls", "rings"):
        rig.wait_file(f"/run/{name}")
    return [lambda: results(jobs[0].wait())[-2], lambda: results(jobs[1].wait())[-2],
            lambda: uring_results(jobs[2].wait())[-ENODEV]]  # fmt: skip


def test_unbinding_under_load(rig: Rig) -> None:
    """All callers get ENODEV, the drive is let go, and works when it is bound again."""
    disk = rig.disk(KEPT)
    rig.calls(disk, f"fill,2,0,{MIB}", f"write,0,{MIB}")
    ends = load(rig, disk)
    unbind(rig.guest, rig.address(KEPT))
    assert [end() for end in ends] == [("until", -ENODEV), ("until", -ENODEV), 8]  # type: ignore[operator]
    rig.wait_unpinned()
    assert rig.calls(rig.disk(KEPT), f"read,0,{MIB}", f"match,2,0,{MIB}")[:2] == [("read", MIB), ("match", 1)]


def test_the_module_stays_while_a_file_is_open(rig: Rig, module: Path) -> None:
    """rmmod is refused, also when the drive has been unbound; afterwards it works."""
    disk = rig.disk(KEPT)
    job = rig.start(disk, "touch,/run/open", "await,/run/close", *ASK, *ASK_IOCTLS)
    rig.wait_file("/run/open")
    assert "is in use" in rig.guest.run("rmmod chario").stderr
    rig.unbind(KEPT)
    assert "is in use" in rig.guest.run("rmmod chario").stderr
    rig.touch("/run/close")
    calls = results(job.wait())
    assert calls[2:7] == GONE and {value for _, value in calls[7:-1]} == {-ENODEV} and calls[-1] == ("close", 0)
    rig.guest.must("rmmod chario", timeout_s=SETTLE_LIMIT_S)
    load_module(rig.guest, module, PATIENCE)
    assert rig.call(rig.disk(KEPT), "read,0,4096") == 4096


def test_the_module_unloads_with_drives_bound(rig: Rig, module: Path) -> None:
    """rmmod lets go of all drives by itself."""
    rig.disk(KEPT)
    address = rig.address(KEPT)
    rig.guest.must("rmmod chario", timeout_s=SETTLE_LIMIT_S)
    assert driver_of(rig.guest, address) == ""
    assert rig.guest.must("ls /dev | grep -c chardisk || true") == "0"
    load_module(rig.guest, module, PATIENCE)


def test_a_number_is_used_again(rig: Rig) -> None:
    """An open file keeps its number busy, a closed one gives it back."""
    disk = rig.disk(KEPT)
    job = rig.start(disk, "touch,/run/open", "await,/run/close")
    rig.wait_file("/run/open")
    assert rig.disk(KEPT) != disk
    rig.touch("/run/close")
    results(job.wait())
    assert rig.disk(KEPT) == disk


def test_binding_many_times(rig: Rig) -> None:
    """Twenty times, with a read each: all of them work, and nothing stays behind."""
    address = rig.address(KEPT)
    disk = rig.disk(KEPT)
    rig.guest.must(
        f"cd /sys/bus/pci/drivers/chario && for i in $(seq 20); do echo {address} >unbind && echo {address} >bind && "
        f"dd if={disk} of=/dev/null bs=64k count=4 iflag=direct status=none || exit 1; done",
        timeout_s=5 * SETTLE_LIMIT_S,
    )
    assert rig.pinned_pages() == 0
    assert rig.guest.must("grep -c chario /proc/interrupts") == str(1 + int(rig.show(disk, "queue_count")))


def test_the_stock_driver_takes_over(rig: Rig) -> None:
    """A drive that was let go works with Linux's own driver and holds the same bytes; and the way back."""
    rig.calls(rig.disk(KEPT), f"fill,8,0,{MIB}", f"write,0,{MIB}", "sync")
    digest = rig.guest.must(f"head -c {MIB} {rig.disk(KEPT)} | sha256sum")
    address = rig.address(KEPT)
    unbind(rig.guest, address)
    # It is to take this drive, not all that nobody has.
    probing = f"{PCI}/drivers_autoprobe"
    rig.guest.must(f"echo 0 >{probing} && modprobe nvme && echo 1 >{probing}")
    bind(rig.guest, address, "nvme")
    assert rig.guest.must(f"head -c {MIB} {find_block(rig.guest, address)} | sha256sum") == digest
    unbind(rig.guest, address)
    assert rig.guest.must(f"head -c {MIB} {rig.disk(KEPT)} | sha256sum") == digest


def test_unplugging_and_plugging_in(rig: Rig) -> None:
    """An orderly hot unplug under load ends the calls; the drive comes back with its content, unclaimed."""
    disk = rig.disk(KEPT)
    rig.calls(disk, f"fill,4,0,{MIB}", f"write,0,{MIB}")
    ends = load(rig, disk)
    faults.unplug(rig.guest, KEPT)
    assert [end() for end in ends] == [("until", -ENODEV), ("until", -ENODEV), 8]  # type: ignore[operator]
    rig.wait_unpinned()
    faults.plug(rig.guest, KEPT)
    assert driver_of(rig.guest, bdf(rig.guest, KEPT)) != "chario"
    assert rig.calls(rig.disk(KEPT), f"read,0,{MIB}", f"match,4,0,{MIB}")[:2] == [("read", MIB), ("match", 1)]


READ_INTO_FILE = """
fd, file = disk(False), os.open("{file}", os.O_RDWR)
memory = mmap.mmap(file, 4096, mmap.MAP_PRIVATE, offset=32 << 20)
print(json.dumps(outcome(os.preadv, fd, [memory], 0)))
"""


@contextmanager
def linux_disk(rig: Rig, drive: int) -> Iterator[str]:
    """One drive in the hands of Linux's driver, which waits for it as long as it takes: its block device."""
    probe = f"{PCI}/drivers_autoprobe"
    # Where the module was loaded before, its parameter is too.
    timeout = "/sys/module/nvme_core/parameters/io_timeout"
    rig.guest.must(f"echo 0 >{probe}; modprobe nvme_core && echo 600 >{timeout}; modprobe nvme; echo 1 >{probe}")
    address = rig.address(drive)
    bind(rig.guest, address, "nvme")
    yield find_block(rig.guest, address)
    rig.release(address)
    rig.guest.must("rmmod nvme")


def test_a_caller_waits_for_its_memory(rig: Rig) -> None:
    """It is inside a call when the drive is let go, and its memory comes from a drive that hangs.

    Nobody else waits for that; when the memory is there, the call gives ENODEV.
    """
    disk = rig.disk(KEPT)
    with linux_disk(rig, PAGED) as file:
        faults.hold(rig.guest, PAGED)
        try:
            caller = start_script(rig.guest, disk, READ_INTO_FILE.format(file=file))
            until(lambda: "chario" in rig.guest.run("cat /proc/$(pidof python3)/stack").stdout, "it is not in the call")
            rig.unbind(KEPT)
            assert caller.poll() is None
        finally:
            faults.resume(rig.guest, PAGED)
        assert printed(caller) == "ENODEV"
    after_removal(rig, KEPT)
