# SPDX-License-Identifier: MIT
"""The search of the kernel log."""

import pytest

from chario_lab.kmsg import KernelComplaint, LogRecord, check, complaints, forbidden_lines, parse_record


def record(text: str, sequence: int = 0) -> LogRecord:
    """A record with this text."""
    return LogRecord(sequence, 4, 0, text)


@pytest.mark.parametrize("text", [
    "BUG: KASAN: slab-use-after-free in f+0x1/0x2 [chario]",
    "BUG: scheduling while atomic: dd/1/0x2",
    "BUG: KCSAN: data-race in chario_queue_post [chario] / chario_queue_poll [chario]",
    "BUG: KCSAN: data-race in __list_del_entry_valid / chario_queue_poll [chario]",
    "BUG: KCSAN: assert: race in chario_queue_post [chario]",
    "WARNING: CPU: 0 PID: 1 at lib/x.c:1 f+0x1/0x2",
    "WARNING: possible circular locking dependency detected",
    "WARNING: possible recursive locking detected",
    "UBSAN: shift-out-of-bounds in a.c:1:2",
    "DMA-API: chario 0000:01:00.0: device driver frees DMA memory with different size",
    "DMAR: DRHD: handling fault status reg 2",
    "DMAR: [DMA Write NO_PASID] Request device [01:00.0] fault addr 0x1000 [fault reason 0x05] PTE Write access",
    "unreferenced object 0xffff888 (size 64):",
    "kmemleak: 1 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
    "Oops: 0000 [#1] PREEMPT SMP",
    "general protection fault, probably for non-canonical address",
    "INFO: task dd:1 blocked for more than 120 seconds.",
    'irq 16: nobody cared (try booting with the "irqpoll" option)',
    "refcount_t: underflow; use-after-free.",
    "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
    "INFO: inconsistent lock state",
])  # fmt: skip
def test_a_complaint_is_found(text: str) -> None:
    """Every checker of the kernel has a pattern."""
    assert complaints([record("before"), record(text), record("after")]) == [record(text)]


@pytest.mark.parametrize("text", [
    "AMD-Vi: AMD IOMMUv2 functionality not available on this system - This is not a bug.",
    "kasan: KernelAddressSanitizer initialized",
    "BUG: KCSAN: data-race in tick_nohz_stop_tick / tick_sched_do_timer",
    "DMA-API: preallocated 65536 debug entries",
    "DMA-API: debugging enabled by kernel config",
    "DMAR: dmar0: Using Queued invalidation",
    "DMAR: No RMRR found",
    "nvme nvme0: I/O Error (sct 0x2 / sc 0x81)",
    "chario: loading out-of-tree module taints kernel.",
])  # fmt: skip
def test_ordinary_lines_are_not_complaints(text: str) -> None:
    """What a healthy guest says must not fail a test."""
    assert complaints([record(text)]) == []


def test_an_allowed_complaint_is_left_out() -> None:
    """A test that provokes a line can name it, and only it."""
    lines = [record("WARNING: expected"), record("WARNING: other")]
    assert complaints(lines, allowed=["WARNING: expected"]) == lines[1:]


def test_check_shows_the_line_and_its_surroundings() -> None:
    """A failed test has to tell what the kernel said around it."""
    with pytest.raises(KernelComplaint, match=r"(?s)1 forbidden line,.*WARNING: x.*a line before"):
        check([record("a line before"), record("WARNING: x"), record("a line after")])
    check([record("a line before")])


def test_records_are_read_as_the_kernel_writes_them() -> None:
    """Priority, facility, continuation lines and escapes."""
    raw = "30,42,1500000,-;tab\\x09here\n SUBSYSTEM=pci\n DEVICE=+pci:0000:01:00.0"
    assert parse_record(raw) == LogRecord(42, 6, 1500000, "tab\there")


def test_a_console_has_forbidden_lines_too() -> None:
    """As the console prints them, with a time in front."""
    said = "[    1.0] kasan: KernelAddressSanitizer initialized\n[    2.0] BUG: KASAN: use-after-free in chario_pull\n"
    assert forbidden_lines(said) == ["[    2.0] BUG: KASAN: use-after-free in chario_pull"]


@pytest.mark.parametrize(("since", "numbers"), [(3, [5, 6]), (3, [4, 6]), (-1, [7, 9])])
def test_lost_records_are_told(since: int, numbers: list[int]) -> None:
    """What has been overwritten may have been a complaint; a complaint that is there comes first."""
    with pytest.raises(KernelComplaint, match="1 records of the kernel log were lost"):
        check([record("nvme", number) for number in numbers], since=since)
    with pytest.raises(KernelComplaint, match="the first is"):
        check([record("Oops: 0", number) for number in numbers], since=since)
    check([record("nvme", number) for number in range(since + 1, since + 3)], since=since)
    check([], since=since)
