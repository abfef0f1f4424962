# SPDX-License-Identifier: MIT
"""From call to result, nothing is allocated, and no CPU touches the queue, and so the lock, of another."""

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from disks import MIB, Programs, setting
from traces import trace

from chario_lab.guest.session import Guest
from chario_lab.kernel import Kernel

pytestmark = [pytest.mark.area("kernel/"), pytest.mark.kernels("6.12-rt", "debug"), pytest.mark.cpus(2)]

CALLS = 1000
BATCH = 32
TRIES = 3
ALLOCATIONS = re.compile(r"(kmalloc|kmem_cache_alloc)(_node)?|mm_page_alloc")
KINDS = ["read", "write", "read-polled", "write-polled", "uring-read", "uring-write"]
REGISTERED = ["transfer-read", "transfer-write", "transfer-read-polled", "transfer-write-polled", "command-read",
              "command-write", "command-read-polled", "batch-read-polled", "batch-write-polled"]  # fmt: skip
# The filter first and the probability last: in between, the shell that writes them must not fail.
FAULTS = {
    "task-filter": "Y",
    "interval": "1",
    "times": "-1",
    "space": "0",
    "verbose": "0",
    "ignore-gfp-wait": "N",
    "probability": "100",
}


@pytest.fixture
def events(guest: Guest, kernel: Kernel) -> list[str]:
    """The kernel's tracepoints of allocation; their number depends on its version."""
    if kernel.debug:
        pytest.skip("the checkers of the debug kernel allocate by themselves: the stock kernels show it")
    return allocations(guest)


def allocations(guest: Guest) -> list[str]:
    """Every way to ask for memory that the kernel can trace."""
    names = guest.must("ls /sys/kernel/tracing/events/kmem").split()
    return [f"kmem/{name}" for name in names if ALLOCATIONS.fullmatch(name)]


def nr_calls(kind: str) -> int:
    """So many that a thousand commands come of them."""
    return CALLS // BATCH if kind.startswith("batch") else CALLS


def nr_tries(kind: str) -> int:
    """How often a run may be tried until no call of it allocates.

    A completion of a polled command of io_uring that the watchdog finds before its caller is like one that another ring
    finds: newer kernels allocate for the next command.  On a busy host that happens to one call in thousands.
    """
    return TRIES if kind.startswith(("command", "batch")) and kind.endswith("polled") else 1


@pytest.mark.parametrize("kind", [*KINDS, *REGISTERED])
def test_a_thousand_calls_allocate_nothing(
    guest: Guest, guest_program: Programs, disk512: str, events: list[str], kind: str
) -> None:
    """No object, no page: the kernel's allocators are not even asked.

    Where the watchdog may be first to find a completion, of three runs one is without.
    """
    command = f"{guest.push(guest_program('hotpath'))} {disk512} {kind} 4096 {nr_calls(kind)}"
    runs = (trace(guest, command, events, by_itself=True) for _ in range(nr_tries(kind)))
    assert [] in runs


@pytest.mark.parametrize("kind", ["read", "write-polled"])
def test_large_calls_allocate_nothing(
    guest: Guest, guest_program: Programs, disk4096: str, events: list[str], kind: str
) -> None:
    """Neither do calls of many commands."""
    program = guest.push(guest_program("hotpath"))
    assert trace(guest, f"{program} {disk4096} {kind} {5 * MIB} 20", events, by_itself=True) == []


def test_a_command_that_another_ring_finds(
    guest: Guest, guest_program: Programs, disk512: str, kernel: Kernel, events: list[str]
) -> None:
    """Its ring is not locked, so that io_uring must not keep its memory: newer kernels have to allocate again."""
    program = guest.push(guest_program("hotpath"))
    seen = trace(guest, f"taskset -c 0 {program} {disk512} seen-read-polled 4096 {CALLS // 10}", events, by_itself=True)
    assert bool(seen) == (kernel.name != "6.1")


def test_allocations_are_seen_when_there_are_any(
    guest: Guest, guest_program: Programs, disk512: str, events: list[str]
) -> None:
    """The check above is one that can fail: pipes allocate."""
    program = guest.push(guest_program("hotpath"))
    seen = trace(guest, f"{program} {disk512} control 4096 10", events, by_itself=True)
    assert len(seen) >= 10
    assert {event.name for event in seen} <= {event.removeprefix("kmem/") for event in events}


@pytest.fixture
def starved(guest: Guest) -> Iterator[Guest]:
    """A guest whose allocators fail for processes that ask for it; a kernel without fault injection cannot."""
    if guest.run("test -e /proc/self/make-it-fail && test -d /sys/kernel/debug/failslab").rc != 0:
        pytest.skip("this kernel has no fault injection; use --kernel=debug")
    guest.must("cd /sys/kernel/debug/fail_page_alloc && echo 0 >min-order && echo N >ignore-gfp-highmem")
    for attr in ("failslab", "fail_page_alloc"):
        writes = [f"echo {value} >{name}" for name, value in FAULTS.items()]
        guest.must(f"cd /sys/kernel/debug/{attr} && " + " && ".join(writes))
    yield guest
    guest.must("cd /sys/kernel/debug && echo 0 | tee failslab/probability >fail_page_alloc/probability")


@pytest.mark.parametrize("kind", [kind for kind in [*KINDS, *REGISTERED] if "write" in kind])
def test_calls_succeed_when_every_allocation_fails(
    starved: Guest, guest_program: Programs, disk512: str, kind: str
) -> None:
    """With failslab and fail_page_alloc at 100 % for the caller, 1,000 commands do all they should.

    Where the watchdog may be first to find a completion, in one run of three.
    Writes only: for reads the kernel's own DMA debugging allocates, and switches itself off when that fails.
    """
    program = starved.push(guest_program("hotpath"))
    calls = nr_calls(kind)
    command = f"{program} {disk512} {kind} 4096 {calls} fail"
    runs = (starved.must(command, timeout_s=900) for _ in range(nr_tries(kind)))
    assert str(calls) in runs
    assert starved.must(f"{program} {disk512} control 4096 10 fail") == "0"


@pytest.mark.parametrize("mode", ["irq", "poll"])
def test_each_cpu_has_a_queue_of_its_own(guest: Guest, disk512: str, mode: str) -> None:
    """Callers on all CPUs at once: a queue rings its doorbell and takes its interrupts on one CPU only."""
    cpus = range(guest.spec.cpus)
    copy = f"dd if={disk512} of=/dev/null bs=4096 count={CALLS} iflag=direct"
    callers = " ".join(f"taskset -c {cpu} {copy} &" for cpu in cpus)
    guest.must(f"echo '{callers} wait' >/run/callers")
    with setting(guest, disk512, "completion", mode):
        events = trace(guest, "sh /run/callers", ["chario/doorbell", "chario/irq"], everybody=True)
    users = {(event.fields["queue"], event.cpu) for event in events}
    assert len(users) == len({queue for queue, _ in users}) == len(cpus)
    doorbells = Counter(event.cpu for event in events if event.name == "doorbell")
    assert doorbells == dict.fromkeys(cpus, CALLS)
    assert ("irq" in {event.name for event in events}) == (mode == "irq")
