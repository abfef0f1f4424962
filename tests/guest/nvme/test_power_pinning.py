# SPDX-License-Identifier: MIT
"""Pins: what a file asks of its drive and host, what comes of it, and what is left of it afterwards.

QEMU's drive has one power state and makes no transitions of its own, holds back no
interrupts, refuses to be told so for each vector, and lets its retries be
limited for each namespace.  QEMU's trace shows every Set Features.
"""

import re
from errno import EINVAL, ENODEV, EOPNOTSUPP, ETIMEDOUT

import pytest
from python_calls import PYTHON
from qemu_log import QemuLog
from rig import Rig, results
from shared_guest import FileGuest, Setup

from chario_lab.guest import faults
from chario_lab.guest.devices import PCI, bind, driver_of
from chario_lab.guest.job import Job
from chario_lab.guest.spec import Namespace, Nvme
from chario_lab.waiting import until

pytestmark = [
    pytest.mark.area("kernel/back/nvme/power", "kernel/disk/pin", "lib/src/device/pin", "cli/cmd-pin"),
    pytest.mark.cpus(2), pytest.mark.slow,
]  # fmt: skip

APST, POWER_STATE, COALESCING, VECTORS, RETRY, CPU, LINK = (1 << place for place in range(7))
ALL = 0x7F
RETRY_FEATURE, VECTOR_FEATURE = 0x05, 0x09
NOT_CHANGEABLE = 0x10E
# What a namespace of the drive has before: 700 ms, 900 ms.
BEFORE = (7, 9)
LIMITED = 1
NO_LIMIT_US, NO_SLEEP_US = 2_000_000_000, 0
KEPT, PULLED = range(2)
DRIVES = (Nvme("kept", (Namespace(64), Namespace(32))), Nvme("pulled", (Namespace(64),)))
SET = re.compile(r"pci_nvme_setfeat cid \d+ nsid 0x([0-9a-f]+) fid 0x([0-9a-f]+) save 0x\w+ cdw11 0x([0-9a-f]+)")
GET = re.compile(r"pci_nvme_getfeat cid \d+ nsid 0x([0-9a-f]+) fid 0x([0-9a-f]+) ")
LINUX_DRIVER = "/sys/bus/pci/drivers/nvme"
LOOPBACK = "grep -l loopback /sys/class/chario/*/backend | cut -d/ -f5"
SETUP = Setup(drives=DRIVES, parameters="loopback_mib=1", qtest=True)


# Prints the Error Recovery feature of the first namespaces of a controller, or sets it.  nvme-cli can do it too, a
# namespace a process, and each costs an emulated processor half a second.
RETRIES = """
import fcntl, os, struct, sys
NVME_IOCTL_ADMIN_CMD, SET_FEATURES, GET_FEATURES = 0xC0484E41, 0x09, 0x0A
fd, namespaces, limits = os.open(sys.argv[1], os.O_RDONLY), int(sys.argv[2]), sys.argv[3:]
for place in range(namespaces):
    opcode, limit = (SET_FEATURES, int(limits[place])) if limits else (GET_FEATURES, 0)
    command = bytearray(struct.pack("=B3xI32xII24x", opcode, place + 1, 0x05, limit))
    assert fcntl.ioctl(fd, NVME_IOCTL_ADMIN_CMD, command) == 0
    if not limits:
        print(struct.unpack_from("=I", command, 68)[0])
"""


@pytest.fixture
def rig(keeper: FileGuest, request: pytest.FixtureRequest) -> Rig:
    """The guest, for one test, with a drive whose retries have limits of their own."""
    rig = keeper.get(request)
    if not rig.guest.files.exists(LINUX_DRIVER):
        rig.guest.must("modprobe nvme")
    retries(rig, *BEFORE)
    return rig


def retries(rig: Rig, *limits: int) -> tuple[int, ...]:
    """The retry limits of the drive, read or set through Linux's driver."""
    shown = rig.guest.must([*PYTHON, RETRIES, stock(rig), str(len(BEFORE)), *map(str, limits)])
    return tuple(int(line) for line in shown.splitlines())


def stock(rig: Rig) -> str:
    """The drive in the hands of Linux's driver; its controller."""
    address, files = rig.address(KEPT), rig.guest.files
    if driver_of(rig.guest, address) != "nvme":
        bind(rig.guest, address, "nvme")
    (controller,) = files.list(f"{PCI}/devices/{address}/nvme")
    until(lambda: files.value(f"/sys/class/nvme/{controller}/state") == "live", "not live")
    return f"/dev/{controller}"


def watch(rig: Rig) -> QemuLog:
    """What QEMU says of the drives' features from now on."""
    return QemuLog(rig.guest, ("pci_nvme_setfeat", "pci_nvme_getfeat"))


def retries_set(log: QemuLog) -> list[tuple[int, int]]:
    """Namespace and value of each change of the retry limit."""
    found = (tuple(int(word, 16) for word in words) for words in SET.findall(log.all()))
    return [(nsid, value) for nsid, feature, value in found if feature == RETRY_FEATURE]


def vectors_set(log: QemuLog) -> list[int]:
    """The vectors whose coalescing was to be switched off."""
    found = (tuple(int(word, 16) for word in words) for words in SET.findall(log.all()))
    return [value & 0xFFFF for _, feature, value in found if feature == VECTOR_FEATURE]


def cpu_latency(rig: Rig) -> int:
    """What PM QoS holds the CPUs to, microseconds."""
    raw = rig.guest.files.read("/dev/cpu_dma_latency").encode(errors="surrogateescape")
    return int.from_bytes(raw, "little", signed=True)


def has_idle_states(rig: Rig) -> bool:
    """Whether the kernel has idle states to keep CPUs out of."""
    return rig.guest.files.exists("/sys/devices/system/cpu/cpuidle")


def hold(rig: Rig, disk: str, *steps: str, pins: int = ALL) -> Job:
    """A process that pins and stays until /run/go; it has pinned when this returns."""
    job = rig.start(disk, f"pin,{pins}", "touch,/run/pinned", "await,/run/go", *steps)
    rig.wait_file("/run/pinned")
    return job


def test_what_comes_of_it(rig: Rig) -> None:
    """In force, absent or refused with the drive's status; Linux's driver finds the drive as it was."""
    disk = rig.disk(KEPT)
    log = watch(rig)
    calls = rig.calls(disk, f"pin,{ALL}", "in-force", "absent", "refused", "pin-status,3", "pin-status,4",
                      "read,0,4096", "pin,0", "in-force", "refused")  # fmt: skip
    absent = APST | POWER_STATE | (0 if has_idle_states(rig) else CPU)
    assert calls == [("pin", 0), ("in-force", ALL & ~VECTORS), ("absent", absent), ("refused", VECTORS),
                     ("pin-status", NOT_CHANGEABLE), ("pin-status", 0), ("read", 4096), ("pin", 0), ("in-force", 0),
                     ("refused", 0), ("close", 0)]  # fmt: skip
    assert retries_set(log) == [(1, LIMITED), (2, LIMITED), (1, BEFORE[0]), (2, BEFORE[1])]
    assert retries(rig) == BEFORE


@pytest.mark.parametrize("end", ["close", "kill"])
def test_it_ends_with_the_file(rig: Rig, end: str) -> None:
    """Closed, or its process killed: the drive and the CPUs are as before."""
    disk = rig.disk(KEPT)
    log = watch(rig)
    job = hold(rig, disk)
    if has_idle_states(rig):
        assert cpu_latency(rig) == NO_SLEEP_US
    assert retries_set(log) == [(1, LIMITED), (2, LIMITED)]
    if end == "kill":
        assert job.stop().rc == -9
    else:
        rig.touch("/run/go")
        assert results(job.wait())[-1] == ("close", 0)
    until(lambda: len(retries_set(log)) == 4, "the drive was not restored")
    assert retries_set(log)[2:] == [(1, BEFORE[0]), (2, BEFORE[1])]
    until(lambda: cpu_latency(rig) == NO_LIMIT_US, "the CPUs are still held")


@pytest.mark.smoke
def test_the_last_file_counts(rig: Rig) -> None:
    """Two files, on two disks of one drive: it stays while one of them asks; each is told of its own."""
    first, second = rig.disks(KEPT)
    log = watch(rig)
    job = hold(rig, first, pins=RETRY | CPU)
    assert rig.calls(second, f"pin,{RETRY}", "in-force", f"pin,{COALESCING}", "in-force", "pin,0") == [
        ("pin", 0), ("in-force", RETRY), ("pin", 0), ("in-force", COALESCING), ("pin", 0), ("close", 0),
    ]  # fmt: skip
    assert retries_set(log) == [(1, LIMITED), (2, LIMITED)]
    rig.touch("/run/go")
    results(job.wait())
    assert retries_set(log)[2:] == [(1, BEFORE[0]), (2, BEFORE[1])]


def test_a_file_that_asks_twice_counts_once(rig: Rig) -> None:
    """What is not asked for again is given up."""
    disk = rig.disk(KEPT)
    log = watch(rig)
    rig.calls(disk, f"pin,{RETRY}", f"pin,{RETRY}", "pin,0", "read,0,4096")
    assert retries_set(log) == [(1, LIMITED), (2, LIMITED), (1, BEFORE[0]), (2, BEFORE[1])]


def test_it_outlasts_a_reset(rig: Rig) -> None:
    """The drive is asked again when its controller is up; what was before is still known at the end."""
    disk = rig.disk(KEPT)
    job = hold(rig, disk, "in-force", "refused")
    log = watch(rig)
    faults.fail_controller(rig.guest, KEPT)
    assert rig.calls(disk, "deadline,200000", "read,0,4096")[1] == ("read", 4096)
    rig.wait_reset(disk)
    assert rig.counters(disk)["resets"] == 1

    def asked() -> set[int]:
        return {int(feature, 16) for _, feature in GET.findall(log.all())}

    until(lambda: len(asked()) == 3 and len(vectors_set(log)) == 2, "the drive was not asked again")
    assert (asked(), vectors_set(log)) == ({0x05, 0x08, 0x09}, [1, 2])
    rig.touch("/run/go")
    assert results(job.wait())[3:] == [("in-force", ALL & ~VECTORS), ("refused", VECTORS), ("close", 0)]
    assert retries(rig) == BEFORE


def test_a_queue_of_one_s_own_is_pinned_too(rig: Rig) -> None:
    """Its vector is asked for when it has come, and no longer when it has gone."""
    disk = rig.disk(KEPT)
    log = watch(rig)
    job = hold(rig, disk, pins=VECTORS)
    assert vectors_set(log) == [1, 2]
    other = rig.start(disk, "own-queue", "read,0,4096", "await,/run/go")
    until(lambda: vectors_set(log) == [1, 2, 1, 2, 3], "the new vector was not asked for")
    rig.touch("/run/go")
    assert results(other.wait())[:2] == [("own-queue", 0), ("read", 4096)]
    results(job.wait())
    assert rig.calls(disk, f"pin,{VECTORS}", "refused")[1] == ("refused", VECTORS)


def test_the_drive_is_let_go_as_it_was(rig: Rig) -> None:
    """Unbinding restores it although the file is open; that file can be closed later."""
    disk = rig.disk(KEPT)
    log = watch(rig)
    job = hold(rig, disk, f"pin,{ALL}", "pin,0")
    rig.unbind(KEPT)
    assert retries_set(log)[2:] == [(1, BEFORE[0]), (2, BEFORE[1])]
    assert cpu_latency(rig) == NO_LIMIT_US
    assert retries(rig) == BEFORE
    rig.touch("/run/go")
    assert results(job.wait())[3:] == [("pin", -ENODEV), ("pin", -ENODEV), ("close", 0)]


def test_a_drive_is_pulled_while_it_is_pinned(rig: Rig) -> None:
    """Nothing waits for it; the CPUs may sleep again when the driver has let go."""
    disk = rig.disk(PULLED)
    job = hold(rig, disk)
    rig.pull(PULLED)
    assert rig.release(rig.address(PULLED)) == ""
    assert cpu_latency(rig) == NO_LIMIT_US
    rig.touch("/run/go")
    assert results(job.wait())[-1] == ("close", 0)


def test_a_drive_that_does_not_answer(rig: Rig) -> None:
    """The caller is told that it has not, and the next reset sets what was asked for."""
    disk = rig.disk(KEPT)
    log = watch(rig)
    rig.set_admin_timeout(500)
    faults.disable_controller(rig.guest, KEPT)
    job = hold(rig, disk, "in-force", "refused", "pin-status,4", pins=RETRY)
    rig.set_admin_timeout()
    assert rig.calls(disk, "refused", "deadline,200000", "read,0,4096")[2] == ("read", 4096)
    until(lambda: len(retries_set(log)) == 2, "the drive was not asked again")
    rig.touch("/run/go")
    assert results(job.wait())[3:] == [("in-force", RETRY), ("refused", 0), ("pin-status", 0), ("close", 0)]
    assert retries(rig) == BEFORE


def test_the_status_of_a_drive_that_does_not_answer(rig: Rig) -> None:
    """No answer is told as ETIMEDOUT."""
    disk = rig.disk(KEPT)
    rig.set_admin_timeout(500)
    faults.disable_controller(rig.guest, KEPT)
    calls = rig.calls(disk, f"pin,{COALESCING}", "in-force", "refused", "pin-status,2")
    rig.set_admin_timeout()
    assert calls == [("pin", 0), ("in-force", 0), ("refused", COALESCING), ("pin-status", -ETIMEDOUT), ("close", 0)]


def test_what_cannot_be_asked_for(rig: Rig) -> None:
    """Bits that are not known; a disk that has nothing to pin."""
    disk = rig.disk(KEPT)
    assert rig.calls(disk, f"pin,{ALL + 1}", f"pin,{1 << 31}")[:2] == [("pin", -EINVAL)] * 2
    memory = f"/dev/{rig.guest.must(LOOPBACK)}"
    assert rig.calls(memory, f"pin,{RETRY}")[0] == ("pin", -EOPNOTSUPP)
