# SPDX-License-Identifier: MIT
"""The block side of drives that lose commands, stall, fail and go: nothing is lost, nothing hangs, nothing is reused.

The block layer gives memory away when it is told of the end of a request, so it is told when the drive has let go.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from block_side import disable, enable, holds, noise, write
from disks import NODE
from rig import CALL_LIMIT_S, Rig
from shared_guest import FileGuest, Setup
from test_loopback_faults import FAILED, GONE, STUCK, ask, left

from chario_lab.guest import faults
from chario_lab.guest.devices import load_module
from chario_lab.guest.job import Job
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Namespace, Nvme, Throttle
from chario_lab.waiting import until

pytestmark = [
    pytest.mark.area("kernel/front/block/", "kernel/memory/bios", "kernel/queue/isolation"),
    pytest.mark.kernels("6.12", "debug"), pytest.mark.cpus(2), pytest.mark.slow,
]  # fmt: skip

STALLS, GOES = range(2)
DRIVES = (Nvme("stalls", (Namespace(64, backing=Throttle()),)), Nvme("goes", (Namespace(64),)))
SETUP = Setup(drives=DRIVES)
BLOCK = f"{NODE}b"


@pytest.fixture(params=["posts", "submits"])
def memory(keeper: FileGuest, module: Path, request: pytest.FixtureRequest) -> Iterator[Rig]:
    """A guest with a new disk in memory, with its block disk; it is recovered as soon as a command is late.

    Only what is lost is late: a command that is well does not take seconds, however slow the guest.
    """
    rig = keeper.get(request)
    rig.guest.must("rmmod chario")
    submits = "Y" if request.param == "submits" else "N"
    load_module(rig.guest, module, f"loopback_mib=16 recovery_age_ms=0 deadline_ms=3000 loopback_submits={submits}")
    enable(rig.guest, NODE)
    yield rig
    rig.guest.must("rmmod chario")
    load_module(rig.guest, module)


def start_write(guest: Guest, block: str, path: str) -> Job:
    """Begin to write a file to a block disk, past the page cache."""
    return guest.start(f"dd if={path} of={block} oflag=direct bs=64k conv=notrunc status=none", CALL_LIMIT_S)


def test_a_lost_command_is_taken_back_and_sent_again(memory: Rig) -> None:
    """Whoever writes does not notice."""
    path = noise(memory.guest, 64)
    ask(memory, lose=2)
    write(memory.guest, BLOCK, path)
    assert left(memory, "lose") == 0
    counted = memory.counters(NODE)
    assert (counted["timeouts"], counted["aborts"], counted["resets"]) == (2, 2, 0)
    assert holds(memory.guest, NODE, path)


def test_a_claim_waits_for_what_is_sent_again(memory: Rig) -> None:
    """A write that was under way when the character disk was opened for writing ends well, and before that open."""
    guest, path = memory.guest, noise(memory.guest, 64)
    ask(memory, lose=2)
    job = start_write(guest, BLOCK, path)
    until(lambda: memory.counters(NODE)["write_commands"] == 1, "the write is not with the drive")
    for _ in range(2):
        guest.must(f"exec 5<>{NODE} && cmp -n 65536 {path} {NODE}", CALL_LIMIT_S)
    job.wait().check()
    assert memory.counters(NODE)["timeouts"] == 2


def test_a_command_that_is_lost_again_and_again_fails(memory: Rig) -> None:
    """After it has been begun four times; the next one is well."""
    guest, path = memory.guest, noise(memory.guest, 64)
    ask(memory, lose=4)
    job = start_write(guest, BLOCK, path)
    assert job.wait().rc == 1
    assert memory.counters(NODE)["aborts"] == 4
    write(guest, BLOCK, path)
    assert holds(guest, NODE, path)


def test_a_reset_loses_nothing(memory: Rig) -> None:
    """What cannot be aborted is posted again after the reset."""
    path = noise(memory.guest, 64)
    ask(memory, lose=1, aborts="N")
    write(memory.guest, BLOCK, path)
    memory.wait_reset(NODE)
    assert holds(memory.guest, NODE, path)


def test_an_error_is_told(memory: Rig) -> None:
    """Once: the request is not repeated."""
    guest, path = memory.guest, noise(memory.guest, 64)
    ask(memory, fail=1)
    assert start_write(guest, BLOCK, path).wait().rc == 1
    write(guest, BLOCK, path)
    assert memory.counters(NODE)["errors"] == 1


@pytest.mark.parametrize("trouble", [STUCK, GONE])
def test_a_drive_that_is_given_up_takes_its_file_system_with_it(memory: Rig, trouble: int) -> None:
    """Calls end with an error, and the module goes as soon as nobody has it mounted."""
    guest = memory.guest
    guest.must(f"mkfs.ext4 -q {BLOCK} && mkdir -p /run/mnt && mount {BLOCK} /run/mnt && cp /etc/passwd /run/mnt")
    ask(memory, trouble=trouble)
    assert guest.run("sync -f /run/mnt/passwd", CALL_LIMIT_S).rc != 0 or guest.run("sync /run/mnt/passwd").rc != 0
    until(lambda: memory.show(NODE, "state") == "dead", "the drive was not given up")
    guest.run("umount /run/mnt")
    assert disable(guest, NODE) == 0
    ask(memory, trouble=0)


def test_a_failure_is_mended_under_a_file_system(memory: Rig) -> None:
    """Its writer waits for the reset."""
    guest = memory.guest
    guest.must(f"mkfs.ext4 -q {BLOCK} && mkdir -p /run/mnt && mount {BLOCK} /run/mnt")
    ask(memory, trouble=FAILED)
    guest.must("cp /etc/passwd /run/mnt && sync -f /run/mnt/passwd", CALL_LIMIT_S)
    memory.wait_reset(NODE)
    guest.must(f"umount /run/mnt && e2fsck -fn {BLOCK}")


def test_no_memory_is_given_away_while_the_drive_has_it(rig: Rig) -> None:
    """A read of a stalled drive ends when the drive has let go, however late that is; then it is right."""
    guest, path = rig.guest, noise(rig.guest, 64)
    disk = rig.disk(STALLS)
    block = enable(guest, disk)
    write(guest, block, path)
    rig.set(disk, "recovery_age_ms", 0)
    rig.set(disk, "deadline_ms", 300)
    rig.stall(STALLS, disk)
    job = guest.start(f"dd if={block} of=/run/read iflag=direct bs=64k count=1 status=none", CALL_LIMIT_S)
    until(lambda: rig.counters(disk)["resets"] >= 1, "the drive was not reset")
    faults.let_go(guest, STALLS)
    rig.set(disk, "deadline_ms", 200000)
    job.wait().check()
    guest.must(f"cmp /run/read {path}")
    rig.unbind(STALLS)


def test_a_drive_is_pulled_under_a_mounted_file_system(rig: Rig) -> None:
    """The writer is told, and nothing hangs: neither the unbinding nor the file system."""
    guest = rig.guest
    disk = rig.disk(GOES)
    block = enable(guest, disk)
    guest.must(f"mkfs.ext4 -q {block} && mkdir -p /run/mnt && mount {block} /run/mnt")
    job = guest.start("while dd if=/dev/zero of=/run/mnt/file bs=64k count=16 conv=fsync status=none; do :; done", 300)
    until(lambda: rig.counters(disk)["flush_commands"] > 4, "nobody writes")
    rig.pull(GOES)
    assert job.wait().rc is not None
    rig.wait_state(disk, "dead")
    rig.unbind(GOES)
    assert not guest.files.exists(disk) and not guest.files.exists(block)
    guest.must("umount /run/mnt")
