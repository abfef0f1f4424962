# SPDX-License-Identifier: MIT
"""What a call costs at the drive: commands, doorbells and interrupts, to the last one."""

import pytest
from disks import MIB, Programs, calls, counters, grown, setting
from qemu_log import doorbells

from chario_lab.guest.session import Guest

pytestmark = [pytest.mark.area("kernel/front/char", "kernel/disk/", "kernel/back/nvme/"), pytest.mark.cpus(2)]

KIB4 = 4096
TIMES = 200
HIPRI, DSYNC = 1, 2


def interrupts_taken(guest: Guest) -> int:
    """Interrupts that the processors have taken from the module's drives, as /proc/interrupts shows them."""
    lines = [line for line in guest.files.read("/proc/interrupts").splitlines() if "chario" in line]
    assert lines, "/proc/interrupts has no line of the module"
    return sum(int(number) for line in lines for number in line.split()[1 : 1 + guest.spec.cpus])


def cost(guest: Guest, programs: Programs, node: str, line: str, times: int = TIMES) -> dict[str, int]:
    """The counters that a repeated call changes, and by how much.

    The module counts its interrupts itself: /proc/interrupts has to show as many.
    """
    before, taken = counters(guest, node), interrupts_taken(guest)
    answers = calls(guest, programs, node, [line] * times)
    assert len(set(answers)) == 1 and answers[0].isdigit(), answers
    change = grown(guest, node, before)
    assert interrupts_taken(guest) - taken == change.get("interrupts", 0)
    return change


def drives_part(kind: str, commands: int, size_bytes: int, times: int) -> dict[str, int]:
    """What calls of these commands and bytes cost that ring once, and find all completions at once."""
    return {
        f"{kind}_commands": commands * times,
        f"{kind}_bytes": size_bytes * times,
        "sq_doorbells": times,
        "cq_doorbells": times,
    }


# A call, its commands and bytes, how often it is made, and how many interrupts it takes.
CALLS = {
    "4 KiB that sleep": (f" 8192 {KIB4}", 1, KIB4, TIMES, 1),
    "4 KiB that poll": (f"v 8192 {HIPRI} {KIB4}:0", 1, KIB4, TIMES, 0),
    "1 MiB": (f"v 0 {HIPRI} {MIB}:0", 8, MIB, 20, 0),
}


@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize(("call", "commands", "size_bytes", "times", "interrupts"), CALLS.values(), ids=CALLS)
def test_a_call_rings_once(
    guest: Guest, guest_program: Programs, disk: str, kind: str, call: str, commands: int, size_bytes: int, times: int,
    interrupts: int,
) -> None:  # fmt: skip
    """One doorbell down and one back, however many commands; an interrupt where it sleeps, and nothing else."""
    expected = drives_part(kind, commands, size_bytes, times) | ({"interrupts": times} if interrupts else {})
    assert cost(guest, guest_program, disk, f"p{kind}{call}", times) == expected


def test_each_chunk_rings_once(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """9 MiB are three chunks: 32 + 32 + 8 commands and three doorbells down.

    Two chunks are in flight together, so one doorbell back may serve both.
    """
    result = cost(guest, guest_program, disk512, f"preadv 0 {HIPRI} {9 * MIB}:0", 5)
    assert result["read_commands"] == 5 * 72
    assert result["sq_doorbells"] == 5 * 3
    assert 5 * 2 <= result["cq_doorbells"] <= 5 * 3


def test_a_durable_write_is_one_command(guest: Guest, guest_program: Programs, disk: str) -> None:
    """RWF_DSYNC is a write with FUA on this drive: no flush beside it."""
    result = cost(guest, guest_program, disk, f"pwritev 0 {HIPRI | DSYNC} {KIB4}:0")
    assert result == drives_part("write", 1, KIB4, TIMES)


@pytest.mark.parametrize("call", ["fsync", "fdatasync"])
def test_fsync_is_one_flush(guest: Guest, guest_program: Programs, disk: str, call: str) -> None:
    """One flush command a call, however little there is to flush."""
    assert cost(guest, guest_program, disk, call, 10) == {
        "flush_commands": 10,
        "sq_doorbells": 10,
        "cq_doorbells": 10,
        "interrupts": 10,
    }


def test_a_refused_call_costs_nothing(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """What is wrong is found before the drive is asked."""
    before = counters(guest, disk512)
    size = 256 * MIB
    script = ["pread 1 512", "pread 0 513", "pread 0 512 2", f"pwrite {size} 512", f"pread {size} 512", "pread 0 0"]
    assert calls(guest, guest_program, disk512, script) == ["EINVAL", "EINVAL", "EINVAL", "ENOSPC", "0", "0"]
    assert grown(guest, disk512, before) == {}


@pytest.mark.parametrize(("mode", "interrupts"), [("irq", TIMES), ("poll", 0)])
def test_the_disks_completion_mode_holds(
    guest: Guest, guest_program: Programs, disk512: str, mode: str, interrupts: int
) -> None:
    """sysfs `completion` decides for calls that do not ask for anything."""
    with setting(guest, disk512, "completion", mode):
        result = cost(guest, guest_program, disk512, f"pread 0 {KIB4}")
    assert result.get("interrupts", 0) == interrupts


@pytest.mark.parametrize(
    ("line", "times"),
    [(f"pread 8192 {KIB4}", TIMES), (f"pwritev 8192 {HIPRI} {KIB4}:0", TIMES), (f"preadv 0 {HIPRI} {MIB}:0", 20)],
    ids=CALLS,
)
def test_doorbells_as_the_drive_sees_them(
    guest: Guest, guest_program: Programs, disk: str, line: str, times: int
) -> None:
    """QEMU sees one write to each of the two doorbells a call, and so many does the module count."""
    with doorbells(guest) as rung:
        result = cost(guest, guest_program, disk, line, times)
    assert rung == {"sq_doorbells": times, "cq_doorbells": times}
    assert rung == {name: result[name] for name in rung}


@pytest.mark.parametrize("flags", ["", "poll fixed", "transfer"])
def test_doorbells_of_a_batch_as_the_drive_sees_them(
    guest: Guest, guest_program: Programs, disk: str, flags: str
) -> None:
    """32 writes submitted together, then 32 reads: QEMU sees two submission doorbells.

    How many completions are found at a time varies, and with it the number of completion doorbells: QEMU sees
    as many as the module counts.
    """
    program = guest.push(guest_program("uring"))
    before = counters(guest, disk)
    with doorbells(guest) as rung:
        guest.must(f"taskset -c 0 {program} {disk} 32 32 {KIB4} {flags}")
    result = grown(guest, disk, before)
    assert rung == {"sq_doorbells": 2, "cq_doorbells": result["cq_doorbells"]}
    assert result["sq_doorbells"] == 2
