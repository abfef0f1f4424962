# SPDX-License-Identifier: MIT
"""io_uring: asynchronous at depth without worker threads, and polled."""

import json

import pytest
from disks import MIB, Programs, counters, grown
from traces import trace

from chario_lab.guest.session import Guest
from chario_lab.kernel import Kernel

pytestmark = [
    pytest.mark.area("kernel/front/uring"), pytest.mark.kernels("6.12-rt", "debug", "kcsan"), pytest.mark.cpus(2),
]  # fmt: skip


def threads_after(guest: Guest, programs: Programs, arguments: str, calls: int, start: str = "") -> int:
    """Run src/uring.c, which compares what it reads; the threads it had in the end."""
    result = json.loads(guest.must(f"{start} {guest.push(programs('uring'))} {arguments}", timeout_s=900))
    assert result["calls"] == 2 * calls
    return int(result["threads"])


@pytest.mark.parametrize(
    "flags",
    ["", "skew", "fixed", "fixed skew", "poll", "poll fixed skew", "transfer", "pointer skew", "poll transfer skew",
     "poll pointer"],
)  # fmt: skip
def test_depth_32_needs_no_worker(
    guest: Guest, guest_program: Programs, kernel: Kernel, disk512: str, disk4096: str, flags: str
) -> None:
    """32 calls of 4 KiB in flight, reads and writes: none is handed to a kernel thread."""
    calls = 96 if kernel.debug else 400  # each takes a debugging kernel ten times as long
    for disk in (disk512, disk4096):
        before = counters(guest, disk)
        assert threads_after(guest, guest_program, f"{disk} 32 {calls} 4096 {flags}", calls) == 1
        change = grown(guest, disk, before)
        assert (change["read_commands"], change["write_commands"]) == (calls, calls)
        assert change["read_bytes"] == change["write_bytes"] == calls * 4096
        assert ("interrupts" in change) == ("poll" not in flags)


@pytest.mark.smoke
@pytest.mark.parametrize("flags", ["", "poll fixed", "transfer", "poll pointer"])
def test_a_batch_rings_one_doorbell(guest: Guest, guest_program: Programs, disk: str, flags: str) -> None:
    """32 calls that are submitted together are 32 commands, and the drive is told once.

    On one processor: who goes to another one in their midst goes to another queue, which is told for itself.
    """
    before = counters(guest, disk)
    threads_after(guest, guest_program, f"{disk} 32 32 4096 {flags}", 32, start="taskset -c 0")
    change = grown(guest, disk, before)
    assert (change["read_commands"], change["write_commands"], change["sq_doorbells"]) == (32, 32, 2)


@pytest.mark.parametrize("flags", ["", "skew", "fixed", "poll", "poll fixed", "transfer skew", "poll transfer"])
def test_calls_of_many_commands_need_no_worker(
    guest: Guest, guest_program: Programs, kernel: Kernel, disk512: str, disk4096: str, flags: str
) -> None:
    """8 calls of 1 MiB, 8 commands each, fit the slots of a queue."""
    if kernel.debug and flags == "skew":
        pytest.skip("DMA-API debugging takes two commands that share a cache line for overlapping mappings")
    calls = 9 if kernel.debug else 24
    for disk in (disk512, disk4096):
        before = counters(guest, disk)
        assert threads_after(guest, guest_program, f"{disk} 8 {calls} {MIB} {flags}", calls) == 1
        change = grown(guest, disk, before)
        assert (change["read_commands"], change["write_commands"]) == (calls * 8, calls * 8)


def test_a_call_that_does_not_fit_still_works(guest: Guest, guest_program: Programs, disk: str) -> None:
    """40 MiB are more commands than a queue has slots: a worker takes the call, the content is right."""
    assert threads_after(guest, guest_program, f"{disk} 2 3 {40 * MIB}", 3) > 1


def test_workers_are_seen_when_there_are_any(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """The check above is one that can fail: IOSQE_ASYNC makes workers, and they are counted."""
    assert threads_after(guest, guest_program, f"{disk512} 8 50 4096 async", 50) > 1


def test_nothing_is_queued_for_workers(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """io_uring's own tracepoint says the same: no work is queued, unless it is asked for."""
    program = guest.push(guest_program("uring"))
    event = ["io_uring/io_uring_queue_async_work"]
    assert trace(guest, f"{program} {disk512} 32 200 4096", event) == []
    assert len(trace(guest, f"{program} {disk512} 8 20 4096 async", event)) == 2 * 20


@pytest.mark.parametrize("size", [4096, 64 * 1024])
def test_memory_that_comes_late(guest: Guest, guest_program: Programs, disk: str, size: int) -> None:
    """Four calls together, and each sleeps for its memory before its command is posted: the drive is told of all."""
    guest.must(f"dd if=/dev/urandom of={disk} bs=64k count=4")
    before = counters(guest, disk)
    assert guest.must([guest.push(guest_program("late_pages")), disk, "4", str(size)], timeout_s=300) == str(4 * size)
    change = grown(guest, disk, before)
    assert "timeouts" not in change
