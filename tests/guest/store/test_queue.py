# SPDX-License-Identifier: MIT
"""Queues of the library: disks, a file, a block device; by io_uring and by threads; when their process is killed."""

import json

import pytest
from disks import MIB, Programs, counters, grown

from chario_lab.guest.session import Guest

pytestmark = [pytest.mark.area("kernel/front/uring", "lib/src/queue/", "lib/src/device/"), pytest.mark.cpus(2)]

DEPTH = 32
LIMIT_S = 900


def run(guest: Guest, programs: Programs, arguments: str) -> dict[str, str | int]:
    """Run src/queue.c, which compares what it reads; what it says in the end."""
    answer: dict[str, str | int] = json.loads(guest.must(f"{guest.push(programs('queue'))} {arguments}", LIMIT_S))
    return answer


@pytest.mark.parametrize("flags", ["", "fua", "poll", "poll fua"])
@pytest.mark.parametrize("size", [4096, MIB])
def test_disks_by_io_uring(guest: Guest, guest_program: Programs, disk: str, size: int, flags: str) -> None:
    """Transfers of one and of several commands, 32 at a time; a flush at the end."""
    answer = run(guest, guest_program, f"{disk} {DEPTH if size == 4096 else 8} 64 {size} {flags}")
    assert answer["backend"] == "nvme"


@pytest.mark.parametrize("flags", ["threads", "threads poll fua"])
def test_disks_by_threads(guest: Guest, guest_program: Programs, disk: str, flags: str) -> None:
    """Where io_uring is forbidden, a queue is up to 32 threads beside the first."""
    assert run(guest, guest_program, f"{disk} 64 128 4096 {flags}") == {"backend": "nvme", "threads": 33}


@pytest.mark.parametrize("flags", ["", "poll"])
def test_a_batch_rings_one_doorbell(guest: Guest, guest_program: Programs, disk: str, flags: str) -> None:
    """32 writes are submitted together, then 32 reads: each batch tells the drive once; the flush is one more."""
    before = counters(guest, disk)
    run(guest, guest_program, f"{disk} {DEPTH} {DEPTH} 4096 {flags}")
    change = grown(guest, disk, before)
    assert change["write_commands"] == DEPTH
    assert change["read_commands"] == 2 * DEPTH  # half of them by pread(2), one by one
    assert change["sq_doorbells"] == 1 + change.get("flush_commands", 0) + 1 + DEPTH


@pytest.mark.smoke
@pytest.mark.parametrize("flags", ["", "fua", "threads"])
@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])
def test_a_plain_file(guest: Guest, guest_program: Programs, folder: str, flags: str) -> None:
    """The same by system calls, on a stacked file system and on one in memory."""
    guest.must(f"truncate -s {8 * MIB} {folder}/queue.img")
    assert run(guest, guest_program, f"{folder}/queue.img {DEPTH} 128 65536 {flags}")["backend"] == "file"
    guest.must(f"rm {folder}/queue.img")


@pytest.mark.parametrize("flags", ["", "fua", "threads"])
def test_a_block_device(guest: Guest, guest_program: Programs, flags: str) -> None:
    """A loop device on a file in memory."""
    guest.must(f"truncate -s {8 * MIB} /dev/shm/disk.img && modprobe loop && losetup /dev/loop5 /dev/shm/disk.img")
    try:
        assert run(guest, guest_program, f"/dev/loop5 {DEPTH} 128 65536 {flags}")["backend"] == "block"
    finally:
        guest.must("losetup -d /dev/loop5; rm /dev/shm/disk.img")


@pytest.mark.parametrize("flags", ["", "threads poll", "poll"])
def test_a_killed_process(guest: Guest, guest_program: Programs, disk: str, flags: str) -> None:
    """32 transfers are in flight at any time when it is killed; the disk is free at once, and works."""
    program = guest.push(guest_program("queue"))
    written = f"/sys/class/chario/{disk.removeprefix('/dev/')}/counters/write_commands"
    for _ in range(3):
        enough = counters(guest, disk)["write_commands"] + 64
        guest.must(
            f"{program} {disk} {DEPTH} 64 65536 forever {flags} & until [ $(cat {written}) -gt {enough} ]; "
            "do sleep 0.05; done; kill -9 $!; wait $!; [ $? = 137 ]",
            LIMIT_S,
        )
        run(guest, guest_program, f"{disk} {DEPTH} 64 4096 {flags}")
