# SPDX-License-Identifier: MIT
"""What reaches the medium, and how much of it at once: drives made for one question each."""

from collections.abc import Callable
from pathlib import Path

import pytest
from disks import NODE, calls
from entries import FLUSH, READ, WRITE, Submissions
from power_cuts import LOG_FLUSH, SECTOR, read_log
from traces import trace

from chario_lab.guest.devices import bdf, bind
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Namespace, NullCo, Nvme, WriteLog, node_name, write_log_path

pytestmark = [pytest.mark.area("kernel/front/char", "kernel/disk/")]

DEPTH = 32


def test_what_fsync_promises_reaches_the_medium(
    fresh_guest: Callable[..., Guest], guest_program: Callable[[str], Path]
) -> None:
    """Each write is one write of the same place and length, each fsync one flush behind it, in this order."""
    guest = fresh_guest(drives=(Nvme("log", (Namespace(64, backing=WriteLog()),)),))
    bind(guest, bdf(guest, 0))
    script = ["pwrite 4096 8192", "fsync", "pwrite 1048576 262144", "fdatasync"]
    calls(guest, guest_program, NODE, script)
    log = read_log(write_log_path(node_name(0, 1), guest.host.run_dir))
    entries = [(entry.first // SECTOR, entry.length // SECTOR, entry.flags & LOG_FLUSH) for entry in log]
    # The two commands of the second write are in flight together: the drive may end either first.
    entries[2:4] = sorted(entries[2:4])
    assert entries == [(8, 16, 0), (0, 0, LOG_FLUSH), (2048, 256, 0), (2304, 256, 0), (0, 0, LOG_FLUSH)]


def test_pinned_retries_are_asked_for_in_each_command(
    fresh_guest: Callable[..., Guest], guest_program: Callable[[str], Path]
) -> None:
    """While a file pins the retries, reads and writes of all say so (dword 12, bit 31); a flush has no such bit."""
    guest = fresh_guest(drives=(Nvme("retries", (Namespace(64),)),), cpus=1)
    submissions = Submissions(guest)
    bind(guest, bdf(guest, 0))
    program = guest.push(guest_program("fault_io"))
    guest.must([program, NODE, "pin,16", "write,0,4096", "read,0,4096", "sync", "pin,0", "read,0,4096"])
    commands = [(entry.opcode, entry.limited_retry) for entry in submissions.fetched()]
    assert commands == [(WRITE, True), (READ, True), (FLUSH, False), (READ, False)]


def test_io_uring_fills_the_drive(fresh_guest: Callable[..., Guest]) -> None:
    """On a drive that takes a second for each command, 32 are posted before the first is back."""
    guest = fresh_guest(drives=(Nvme("slow", (Namespace(64, backing=NullCo(latency_us=1_000_000)),)),))
    bind(guest, bdf(guest, 0))
    command = (
        f"fio --name=r --filename={NODE} --size=1m --bs=4k --rw=randread --direct=1 --number_ios={2 * DEPTH} "
        f"--ioengine=io_uring --iodepth={DEPTH} --iodepth_batch={DEPTH}"
    )
    names = [event.name for event in trace(guest, command, ["chario/post", "chario/reap"], everybody=True)]
    assert names[: DEPTH + 1] == ["post"] * DEPTH + ["reap"]
    assert names.count("post") == names.count("reap") == 2 * DEPTH
