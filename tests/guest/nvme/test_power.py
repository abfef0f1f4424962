# SPDX-License-Identifier: MIT
"""Sleep, restart, power off, and the hand-over to another kernel.

What a driver told the controller is taken from QEMU's own trace of its
registers: QEMU has no counter of unsafe shutdowns that ever moves.
"""

import os
from collections.abc import Callable, Iterator
from errno import ENODEV, ETIMEDOUT
from pathlib import Path

import pytest
from block_side import enable, set_regions
from disks import MIB, folder
from programs import compile_program, run_here
from rig import CALL_LIMIT_S, PATIENCE, pull, results, uring_results
from shared_guest import GuestKeeper

from chario_lab import kmsg
from chario_lab.guest import faults, leaks, power
from chario_lab.guest.devices import PCI, bdf, bind, driver_of, load_module, nodes
from chario_lab.guest.job import Job
from chario_lab.guest.launch import launch
from chario_lab.guest.power import BUSYBOX, busybox
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import GuestSpec, Namespace, Nvme, RawFile, Throttle
from chario_lab.kernel import Kernel
from chario_lab.waiting import until

pytestmark = [
    pytest.mark.area("kernel/back/nvme/power", "kernel/disk/pin", "lib/src/device/pin", "cli/cmd-pin"),
    pytest.mark.kernels("6.12", "6.12-rt", "debug"), pytest.mark.slow,
]  # fmt: skip

DEPTH = 8
SLEEPS = 5
INFO = 6
FAST, STALLED, PULLED = range(3)
ONE = (Nvme("one", (Namespace(64),)),)
STALLS = (Nvme("stalls", (Namespace(64, backing=Throttle()),)),)
SLEEPING = (*ONE, *STALLS, Nvme("pulled", (Namespace(64),)))
ALONE = "/run/alone"

Launcher = Callable[..., Guest]


class Sleepers(GuestKeeper):
    """Has the guest that the tests of sleep share."""

    def __init__(self, spec: GuestSpec, module: Path) -> None:
        super().__init__()
        self._spec, self._module = spec, module

    def launch(self) -> Guest:
        """A guest that has all in memory that its tests start, because it loses its file systems when it sleeps."""
        guest = self.stack.enter_context(launch(self._spec))
        if not power.can_sleep(guest):
            pytest.skip("this kernel is built without suspend to memory")
        load_module(guest, self._module, PATIENCE)
        for name in ("fault_io", "fault_uring"):
            alone(guest, name)
        guest.check_log()
        return guest


@pytest.fixture(scope="module")
def sleepers(kernel: Kernel, module: Path) -> Iterator[Sleepers]:
    """The guest of the tests of sleep, which has two processors: both of them are to work afterwards."""
    sleepers = Sleepers(GuestSpec(kernel=kernel.name, drives=SLEEPING, can_sleep=True, cpus=2), module)
    with sleepers.stack:
        yield sleepers
        sleepers.look()


@pytest.fixture
def sleeper(sleepers: Sleepers, request: pytest.FixtureRequest) -> Guest:
    """The guest that sleeps, for one test; no drive is bound, and all answer."""
    guest = sleepers.guest(request.node)
    faults.let_go(guest, STALLED)
    busybox(guest, f"cd {PCI}/drivers/chario && for d in 0000:*; do [ ! -e $d ] || echo $d >unbind; done")
    return guest


def disk_of(guest: Guest, drive: int) -> str:
    """Bind a drive, also when there are no file systems any more; its device node."""
    address = bdf(guest, drive)
    busybox(guest, f"echo chario >{PCI}/devices/{address}/driver_override && echo {address} >{PCI}/drivers_probe")
    return nodes(guest, address)[0]


def wait_file(guest: Guest, path: str) -> None:
    """Return when a program has come to its `touch`; the next one to use this name finds it free."""
    until(lambda: guest.files.exists(path), f"{path} did not appear")
    guest.files.remove(path)


def alone(guest: Guest, name: str) -> None:
    """Put a program where it needs no file system but the one in memory, from its start to its end."""
    program, folder = guest.push(compile_program(name)), f"{ALONE}/{name}"
    guest.must(f"mkdir -p {folder} && cp -L {program} $(ldd {program} | grep -o '/[^ ]*') {folder}")


def command_of(guest: Guest, name: str) -> list[str]:
    """How to start a program, from memory where it has been put there."""
    folder = f"{ALONE}/{name}"
    if not guest.files.exists(folder):
        return [guest.push(compile_program(name))]
    return [f"{folder}/ld-linux-x86-64.so.2", "--library-path", folder, f"{folder}/{name}"]


def calls(guest: Guest, disk: str, *steps: str) -> Job:
    """Begin a script of calls, see src/fault_io.c."""
    return guest.start([*command_of(guest, "fault_io"), disk, *steps], CALL_LIMIT_S)


def read_all(guest: Guest, disk: str, *how: str) -> None:
    """Read 4 MiB, by a program that is in memory."""
    guest.must([BUSYBOX, *how, "dd", f"if={disk}", "of=/dev/null", "bs=1M", "count=4"])


def stalled_reads(guest: Guest, drive: int, disk: str, deadline_ms: int) -> Job:
    """Reads through io_uring that the drive has, and does not answer."""
    faults.stall(guest, drive)
    # The first of all still passes.
    guest.must([BUSYBOX, "dd", f"if={disk}", "of=/dev/null", "bs=64k", "count=1"])
    options = [f"deadline={deadline_ms}", "touch=/run/flying"]
    job = guest.start([*command_of(guest, "fault_uring"), disk, str(DEPTH), "4096", *options], CALL_LIMIT_S)
    wait_file(guest, "/run/flying")
    return job


def attribute(guest: Guest, disk: str, name: str) -> str:
    """An attribute of a disk."""
    return guest.files.value(f"{folder(disk)}/{name}")


def interrupts(guest: Guest) -> list[int]:
    """How many of the queues have come on each processor."""
    lines = guest.files.read("/proc/interrupts").splitlines()
    counts = [[int(count) for count in line.split()[1:3]] for line in lines if line.endswith(" chario")]
    return [sum(column) for column in zip(*counts, strict=True)]


# Sleep

AFTER = ("unmap", "map", f"read,0,{MIB}", f"match,5,0,{MIB}", f"hipri,0,{MIB}", f"match,5,0,{MIB}",
         f"fill,6,{MIB},{MIB}", f"write,{MIB},{MIB}", "sync", f"read,{MIB},{MIB}", f"match,6,{MIB},{MIB}")  # fmt: skip
AFTER_RESULTS = [("unmap", 0), ("map", 0), ("read", MIB), ("match", 1), ("hipri", MIB), ("match", 1),
                 ("fill", 0), ("write", MIB), ("sync", 0), ("read", MIB), ("match", 1)]  # fmt: skip


# Both end when /run/enough is there, or with a difference.
ROUNDS = """
rounds=0
until $b test -e /run/enough; do
	rounds=$((rounds + 1))
	{work} || exit 1
	echo $rounds >/run/{name}-rounds
done
"""
# The page cache is dropped: what is compared comes from the drive.
WRITER = ROUNDS.format(
    name="writer",
    work="""$b dd if=/run/noise of=/run/mnt/$((rounds % 8)) bs=64k conv=fsync 2>/dev/null &&
	echo 3 >/proc/sys/vm/drop_caches && $b cmp /run/noise /run/mnt/$((rounds % 8))""",
)
CALLER = ROUNDS.format(
    name="caller",
    work="""$b dd if=/run/noise of=/dev/chardisk0p2 bs=64k conv=notrunc 2>/dev/null &&
	$b dd if=/dev/chardisk0p2 bs=64k count=16 2>/dev/null | $b cmp - /run/noise""",
)
# A file system, and a region behind it.
TABLE = "label: gpt\nstart=1MiB, size=39MiB\nstart=40MiB, size=20MiB\n"


def wait_rounds(guest: Guest, name: str, count: int = 2) -> None:
    """Return when a writer has done some more rounds."""
    path = f"/run/{name}-rounds"

    def rounds() -> int:
        return int(guest.files.value(path) or 0) if guest.files.exists(path) else 0

    before = rounds()
    until(lambda: rounds() >= before + count, f"the {name} does not go on")


def test_sleep(sleeper: Guest) -> None:
    """Through a sleep in which the drives lose power: open files, data, and reads that were in flight.

    The reads are with the drive when the machine falls asleep, and are sent again when it wakes up.  Afterwards every
    way to call works on both processors, each takes its interrupts, and so it is after a second sleep.  It counts as no
    reset, and the log has no warning of it.
    """
    guest = sleeper
    log = guest.log_mark()
    disk, slow = disk_of(guest, FAST), disk_of(guest, STALLED)
    script = [f"fill,5,0,{MIB}", f"write,0,{MIB}", "touch,/run/ready", "await,/run/awake", *AFTER]
    caller = calls(guest, disk, *script)
    second = calls(guest, disk, "touch,/run/second", "await,/run/again", *AFTER)
    block = enable(guest, slow)
    flying = stalled_reads(guest, STALLED, slow, 600000)
    # Of the block disk, whose queues are others.
    beside = guest.start(
        [*command_of(guest, "fault_uring"), block, str(DEPTH), "4096", "touch=/run/flying"], CALL_LIMIT_S
    )
    wait_file(guest, "/run/flying")
    for path in ("/run/ready", "/run/second"):
        wait_file(guest, path)
    mark = power.watch_controller(guest)

    job = power.sleep(guest)
    faults.let_go(guest, STALLED)
    power.wake(guest, job)
    guest.files.touch("/run/awake")
    assert results(caller.wait())[4:-1] == AFTER_RESULTS
    assert uring_results(flying.wait()) == uring_results(beside.wait()) == {4096: DEPTH}
    assert sum(event.is_shutdown for event in power.controller_events(guest, mark)) == 2

    power.rehearse_sleep(guest, asleep_s=0).wait().check()
    guest.files.touch("/run/again")
    assert results(second.wait())[2:-1] == AFTER_RESULTS
    for name in (disk, slow):
        assert (attribute(guest, name, "state"), attribute(guest, name, "counters/resets")) == ("live", "0")
        for cpu, mask in enumerate(("1", "2")):
            # The first one may still come where it came from during sleep.
            read_all(guest, name, "taskset", mask, BUSYBOX)
            before, queued = interrupts(guest), int(attribute(guest, name, "counters/interrupts"))
            read_all(guest, name, "taskset", mask, BUSYBOX)
            assert int(attribute(guest, name, "counters/interrupts")) > queued
            grown = [after - count for after, count in zip(interrupts(guest), before, strict=True)]
            assert grown[cpu] and not grown[1 - cpu], f"of processor {cpu}: {grown}"
    assert leaks.pinned_pages(guest) == 0
    assert [record for record in guest.kernel_records(log) if "chario" in record.text and record.level < INFO] == []
    guest.files.remove("/run/awake", "/run/again")


def test_sleep_under_a_file_system(fresh_guest: Launcher, tmp_path: Path) -> None:
    """A mounted file system and a region, written and verified through several sleeps; fsck is clean.

    Both writers say how far they have come, and so it is seen that they go on after each sleep.
    """
    image = tmp_path / "disk.img"
    image.touch()
    os.truncate(image, 64 * MIB)
    drive = Nvme("one", (Namespace(64, backing=RawFile(image)),))
    guest = fresh_guest(drives=(drive,), can_sleep=True, cpus=2, dies=True, parameters=PATIENCE)
    disk = disk_of(guest, 0)
    guest.must(f"sfdisk -q {enable(guest, disk)}", stdin=TABLE)
    set_regions(guest, disk, (2, 40 * MIB, 20 * MIB))
    guest.must(f"mkfs.ext4 -qF {disk}b1 && mkdir -p /run/mnt && mount {disk}b1 /run/mnt")
    guest.must(f"head -c {MIB} /dev/urandom >/run/noise")
    jobs = [guest.start([BUSYBOX, "sh", "-c", words], CALL_LIMIT_S, env={"b": BUSYBOX}) for words in (WRITER, CALLER)]
    for _ in range(SLEEPS):
        for name in ("writer", "caller"):
            wait_rounds(guest, name)
        power.rehearse_sleep(guest, asleep_s=0).wait().check()
    guest.files.touch("/run/enough")
    for job in jobs:
        job.wait().check()
    busybox(guest, "$b umount /run/mnt")
    assert (attribute(guest, disk, "state"), attribute(guest, disk, "counters/resets")) == ("live", "0")
    assert attribute(guest, disk, "counters/errors") == attribute(guest, disk, "counters/timeouts") == "0"
    guest.kill()
    partition = tmp_path / "partition.img"
    partition.write_bytes(image.read_bytes()[MIB : 40 * MIB])
    run_here("e2fsck", "-fn", partition)


def test_deadlines_pass_during_sleep(sleeper: Guest) -> None:
    """Reads whose deadline passes while their drive sleeps end with ETIMEDOUT, and are not sent again.

    QEMU finishes some of them, on a slow host all, while it is being reset; those have come back in time, and the
    machine sleeps once more.
    """
    guest = sleeper
    disk = disk_of(guest, STALLED)
    for _ in range(SLEEPS):
        flying = stalled_reads(guest, STALLED, disk, 2000)
        mark = power.watch_controller(guest)
        job = power.rehearse_sleep(guest, asleep_s=4)
        power.wait_shutdowns(guest, mark, 1)
        faults.let_go(guest, STALLED)
        job.wait().check()
        counts = uring_results(flying.wait())
        expired = counts.get(-ETIMEDOUT, 0)
        assert expired + counts.get(4096, 0) == DEPTH
        assert attribute(guest, disk, "state") == "live" and attribute(guest, disk, "counters/timeouts") == str(expired)
        read_all(guest, disk)
        if expired:
            break
    assert expired, f"no deadline passed in {SLEEPS} sleeps"
    assert leaks.pinned_pages(guest) == 0


def test_a_drive_goes_while_the_machine_sleeps(sleeper: Guest) -> None:
    """Calls end with ENODEV when it wakes up, another drive works on, and the driver can let go.

    In a rehearsal: QEMU does not survive the reset of a drive that has been pulled, which a real waking up is to it.
    """
    guest = sleeper
    disk, pulled, address = disk_of(guest, FAST), disk_of(guest, PULLED), bdf(guest, PULLED)
    ask = ("read,0,4096", "hipri,0,4096", "write,0,4096", "sync")
    script = ("read,0,4096", "touch,/run/ready", "await,/run/awake", *ask)
    caller = calls(guest, pulled, *script)
    wait_file(guest, "/run/ready")
    mark = power.watch_controller(guest)
    job = power.rehearse_sleep(guest, asleep_s=3)
    power.wait_shutdowns(guest, mark, 2)
    pull(guest, PULLED)
    job.wait().check()
    guest.files.touch("/run/awake")
    gone = [(name, -ENODEV) for name in ("read", "hipri", "write", "sync")]
    assert results(caller.wait())[3:-1] == gone
    assert attribute(guest, pulled, "state") == "dead" and attribute(guest, disk, "state") == "live"
    read_all(guest, disk)
    busybox(guest, f"echo {address} >{PCI}/devices/{address}/driver/unbind")
    assert driver_of(guest, address) == "" and not guest.files.exists(pulled)
    assert leaks.pinned_pages(guest) == 0
    guest.files.remove("/run/awake")


# The end


def say_all(guest: Guest) -> None:
    """Have the kernel write its whole log to the console, because nobody can ask for it when the kernel has ended."""
    guest.files.write("/proc/sys/kernel/printk", 8)


def end_of(guest: Guest, mark: int, command: str) -> list[power.Event]:
    """End the machine; what its drives were told since the mark, until nobody could tell them anything."""
    power.stop_at_end(guest)
    say_all(guest)
    guest.start([BUSYBOX, command, "-f"])
    power.wait_end(guest)
    assert kmsg.forbidden_lines(guest.console()) == []
    events = power.controller_events(guest, mark)
    # What stands still cannot end by itself.
    guest.kill()
    return events


def check_orderly(events: list[power.Event], queues: int) -> None:
    """The I/O queues are deleted, then the controller is notified, and nothing is sent to it any more."""
    notified = next(place for place, event in enumerate(events) if event.is_shutdown)
    deleted = {event.value for event in events[:notified] if event.what == "delete"}
    assert deleted == set(range(1, queues + 1))
    assert not [event for event in events[notified:] if event.what == "doorbell"]


@pytest.mark.parametrize("command", ["reboot", "poweroff"])
def test_the_end_of_the_machine(fresh_guest: Launcher, command: str) -> None:
    """A drive that is bound, and open, is told that power may go before it does."""
    guest = fresh_guest(drives=ONE, parameters=PATIENCE, dies=True)
    disk = disk_of(guest, 0)
    queues = int(attribute(guest, disk, "queue_count")) + int(attribute(guest, disk, "poll_queue_count"))
    calls(guest, disk, f"write,0,{MIB}", "touch,/run/open", "await,/run/never")
    wait_file(guest, "/run/open")
    mark = power.watch_controller(guest)
    check_orderly(end_of(guest, mark, command), queues)


def test_the_end_under_load(fresh_guest: Launcher) -> None:
    """Calls that the drive does not answer do not keep it from being told, and nothing is sent behind that."""
    guest = fresh_guest(drives=STALLS, parameters=PATIENCE, dies=True)
    disk = disk_of(guest, 0)
    stalled_reads(guest, 0, disk, 600000)
    mark = power.watch_controller(guest)
    check_orderly(end_of(guest, mark, "reboot"), 0)


# Another kernel


LOAD = """
import ctypes, os, sys
KEXEC_FILE_LOAD, line = 320, sys.argv[3].encode()
kernel, initrd = (os.open(path, os.O_RDONLY) for path in sys.argv[1:3])
if ctypes.CDLL(None, use_errno=True).syscall(KEXEC_FILE_LOAD, kernel, initrd, len(line) + 1, line, 0):
    sys.exit(os.strerror(ctypes.get_errno()))
"""
START = "import ctypes; ctypes.CDLL(None).reboot(0x45584543)"


def hand_over(guest: Guest, kernel: Kernel) -> None:
    """Go on with the same kernel, started by the one that runs."""
    line = guest.files.value("/proc/cmdline")
    loaded = guest.run(["python3", "-c", LOAD, str(kernel.vmlinuz), str(guest.host.initrd), line], CALL_LIMIT_S)
    if "Function not implemented" in loaded.stderr:
        pytest.skip("this kernel is built without kexec_file_load")
    loaded.check()
    guest.qmp("query-status")
    say_all(guest)
    guest.start(["python3", "-c", START])
    power.wait_restart(guest)
    assert kmsg.forbidden_lines(guest.console()) == []


def block_device(guest: Guest) -> str:
    """The drive as Linux's driver has it."""
    guest.must("modprobe nvme")
    bind(guest, bdf(guest, 0), "nvme")
    return guest.must("until [ -b /dev/nvme0n1 ]; do sleep 0.1; done; echo /dev/nvme0n1")


def test_another_kernel_takes_over(fresh_guest: Launcher, kernel: Kernel, module: Path) -> None:
    """The drive works with chario and with Linux's driver in the kernel that kexec has started.

    It is handed over idle by chario, then in the middle of reads that it has not answered, then by Linux's driver.
    """
    guest = fresh_guest(drives=STALLS, parameters=PATIENCE)
    disk = disk_of(guest, 0)
    steps = (f"fill,9,0,{MIB}", f"write,0,{MIB}", "sync")
    assert results(calls(guest, disk, *steps).wait())[1:3] == [("write", MIB), ("sync", 0)]
    hash_of_it = guest.must(f"dd if={disk} bs=1M count=1 | sha256sum")
    for way in ("idle", "busy", "nvme"):
        if way == "busy":
            stalled_reads(guest, 0, disk, 600000)
        elif way == "nvme":
            assert guest.must(f"dd if={block_device(guest)} bs=1M count=1 iflag=direct | sha256sum") == hash_of_it
        mark = power.watch_controller(guest)
        hand_over(guest, kernel)
        faults.let_go(guest, 0)
        assert any(event.is_shutdown for event in power.controller_events(guest, mark))
        load_module(guest, module, PATIENCE)
        disk = disk_of(guest, 0)
        assert guest.must(f"dd if={disk} bs=1M count=1 | sha256sum") == hash_of_it
        assert attribute(guest, disk, "counters/errors") == "0"
        guest.check_log()
