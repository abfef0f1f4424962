# SPDX-License-Identifier: MIT
"""What is written is what is read: random calls against a copy in memory."""

import json

import pytest
from disks import MIB, Programs, counters, grown, setting

from chario_lab.guest.session import Guest
from chario_lab.kernel import Kernel

pytestmark = [pytest.mark.area("kernel/"), pytest.mark.kernels("6.12"), pytest.mark.cpus(2)]

HUGE_PAGES = 48  # 10 MiB for each of 8 threads, and a few to spare


@pytest.fixture
def exercise(guest: Guest, guest_program: Programs, kernel: Kernel) -> str:
    """The program in the guest, with the huge pages that it needs.

    Two commands of a call share a cache line where its buffer is not aligned to one.  That is right,
    each writes bytes of its own; but DMA-API debugging takes two mappings of one line for a mistake,
    so on the debug kernel buffers begin with a cache line.
    """
    guest.must(f"cd /proc/sys/vm && [ $(cat nr_hugepages) -ge {HUGE_PAGES} ] || echo {HUGE_PAGES} >nr_hugepages")
    step = 64 if kernel.debug else 4
    return f"env EXERCISE_STEP={step} {guest.push(guest_program('exercise'))}"


def exercised(output: str) -> dict[str, int]:
    """Its last line."""
    result: dict[str, int] = json.loads(output)
    return result


@pytest.mark.parametrize("seed", [1, 2])
def test_random_calls_of_any_size_and_alignment(guest: Guest, disk: str, exercise: str, seed: int) -> None:
    """1 block to 9 MiB, every kind of call, buffers at any 4-byte offset, small pages and huge."""
    result = exercised(guest.must(f"{exercise} {disk} {seed} 120 {8 * MIB} {24 * MIB} 1", timeout_s=900))
    assert result["reads"] + result["writes"] == 120
    assert result["reads"] > 30 and result["writes"] > 30


@pytest.mark.parametrize("mode", ["poll", "spin"])
def test_random_calls_however_they_complete(guest: Guest, disk512: str, exercise: str, mode: str) -> None:
    """The content does not depend on how the caller learns that the drive is done."""
    before = counters(guest, disk512)
    with setting(guest, disk512, "completion", mode):
        result = exercised(guest.must(f"{exercise} {disk512} 3 60 0 {16 * MIB} 2", timeout_s=900))
    assert result["reads"] + result["writes"] == 2 * 60
    assert mode == "spin" or "interrupts" not in grown(guest, disk512, before)


def test_random_calls_in_odd_commands(guest: Guest, disk512: str, exercise: str) -> None:
    """Commands that are no multiple of a page, chunks that are no multiple of a command."""
    with setting(guest, disk512, "command_bytes", 512 * 29), setting(guest, disk512, "chunk_bytes", 512 * 1001):
        result = exercised(guest.must(f"{exercise} {disk512} 4 30 0 {12 * MIB} 1", timeout_s=900))
    assert result["reads"] + result["writes"] == 30


def test_many_threads_on_one_disk(guest: Guest, disk: str, exercise: str) -> None:
    """8 threads on all CPUs, each with a region of its own, do not meet."""
    result = exercised(guest.must(f"{exercise} {disk} 5 40 0 {32 * MIB} 8", timeout_s=900))
    assert result["reads"] + result["writes"] == 8 * 40


def test_several_processes_on_one_disk(guest: Guest, disk: str, exercise: str) -> None:
    """Neither do processes."""
    jobs = [
        guest.start(f"{exercise} {disk} {10 + place} 40 {place * 16 * MIB} {16 * MIB} 2", timeout_s=900)
        for place in range(3)
    ]
    results = [exercised(job.wait().check().stdout) for job in jobs]
    assert [result["reads"] + result["writes"] for result in results] == [2 * 40] * 3


def test_disks_do_not_meet(guest: Guest, disk512: str, disk4096: str, disk_second: str, exercise: str) -> None:
    """Two controllers and two namespaces of one, at once, at the same offsets."""
    disks = (disk512, disk4096, disk_second)
    jobs = [guest.start(f"{exercise} {disk} {20 + i} 40 0 {24 * MIB} 2", timeout_s=900) for i, disk in enumerate(disks)]
    results = [exercised(job.wait().check().stdout) for job in jobs]
    assert [result["reads"] + result["writes"] for result in results] == [2 * 40] * 3
