# SPDX-License-Identifier: MIT
"""Registered memory: transfers by CHARIO_IOC_TRANSFER, contents, commands, and what is refused."""

from collections.abc import Sequence

import pytest
from disks import MIB, Programs, counters, grown, limited

from chario_lab.guest import leaks
from chario_lab.guest.session import Guest
from chario_lab.waiting import until

pytestmark = [pytest.mark.area("kernel/"), pytest.mark.kernels("6.12", "debug", "kcsan")]

BLOCK = 4096


def run(guest: Guest, programs: Programs, node: str, script: Sequence[str], flags: Sequence[str] = ()) -> list[str]:
    """What each line of a script for src/buffers.c answered."""
    command = [guest.push(programs("buffers")), node, *flags]
    return guest.must(command, stdin="\n".join(script) + "\n", timeout_s=600).splitlines()


@pytest.mark.parametrize("memory", ["heap", "shared", "huge"])
@pytest.mark.parametrize("poll", [0, 1])
def test_what_a_buffer_writes_is_what_it_reads(
    guest: Guest, guest_program: Programs, disk: str, memory: str, poll: int
) -> None:
    """Slices of many sizes, each compared with what the ordinary calls see."""
    guest.must("echo 8 >/proc/sys/vm/nr_hugepages")
    sizes = [BLOCK, 2 * BLOCK, 3 * BLOCK, 32 * BLOCK, 33 * BLOCK, MIB, 4 * MIB]
    script = [f"{memory} 0 {8 * MIB}", f"heap 1 {8 * MIB}", "fill 0 5", "register 0"]
    expect = ["0"] * 4
    for place, size in enumerate(sizes):
        start = place * 3 * BLOCK
        script += [f"write 0 {start} {size} {place * 8 * MIB} {poll}", "clear 1", f"pread 1 0 {size} {place * 8 * MIB}",
                   f"match 1 5 0 {size} {start}"]  # fmt: skip
        expect += [str(size), "0", str(size), "1"]
    script.append("clear 0")
    expect.append("0")
    for place, size in enumerate(sizes):
        start = place * 3 * BLOCK
        script += [f"read 0 {BLOCK} {size} {place * 8 * MIB} {poll}", f"match 0 5 {BLOCK} {size} {start}"]
        expect += [str(size), "1"]
    script += ["free 0", "locked"]
    expect += ["0", "0"]
    assert run(guest, guest_program, disk, script) == expect


@pytest.mark.parametrize("skew", [4, 512, 4092])
def test_memory_and_slices_anywhere(guest: Guest, guest_program: Programs, disk: str, skew: int) -> None:
    """A buffer, and a slice of it, begins at any multiple of the DMA alignment."""
    script = [f"heap 0 {2 * MIB + 4096} {skew}", f"heap 1 {2 * MIB}", "fill 0 9", "register 0"]
    expect = ["0"] * 4
    for offset in (0, 4, 100, 4092, 4096):
        for size in (BLOCK, 2 * BLOCK, 31 * BLOCK, 33 * BLOCK, MIB):
            script += [f"write 0 {offset} {size} 0", f"pread 1 0 {size} 0", f"match 1 9 0 {size} {offset}"]
            expect += [str(size), str(size), "1"]
    assert run(guest, guest_program, disk, script) == expect


def test_every_place_in_a_prp_list(guest: Guest, guest_program: Programs, disk4096: str) -> None:
    """Commands of one to 32 pages from every page of 3 MiB: wherever a list begins or ends."""
    pages = 3 * MIB // BLOCK
    script = [f"heap 0 {3 * MIB + 32 * BLOCK}", f"heap 1 {MIB}", "fill 0 3", "register 0"]
    expect = ["0"] * 4
    for page in range(0, pages, 5):
        count = 1 + page % 32
        script += [f"write 0 {page * BLOCK} {count * BLOCK} 0", f"pread 1 0 {count * BLOCK} 0",
                   f"match 1 3 0 {count * BLOCK} {page * BLOCK}"]  # fmt: skip
        expect += [str(count * BLOCK), str(count * BLOCK), "1"]
    assert run(guest, guest_program, disk4096, script) == expect


def test_commands_and_doorbells(guest: Guest, guest_program: Programs, disk: str) -> None:
    """As many commands as chario plan says; one doorbell for submission and one for completion."""
    setup = [f"heap 0 {4 * MIB}", "register 0"]
    run(guest, guest_program, disk, setup)
    for size, commands in ((BLOCK, 1), (32 * BLOCK, 1), (MIB, 8), (4 * MIB, 32)):
        before = counters(guest, disk)
        answers = run(guest, guest_program, disk, [*setup, f"read 0 0 {size} 0 1", f"write 0 0 {size} 0 1"])
        assert answers[-2:] == [str(size)] * 2
        change = grown(guest, disk, before)
        assert (change["read_commands"], change["write_commands"]) == (commands, commands)
        assert (change["sq_doorbells"], change["cq_doorbells"]) == (2, 2)
        assert "interrupts" not in change


@pytest.mark.smoke
def test_end_of_the_disk(guest: Guest, guest_program: Programs, disk: str) -> None:
    """A short read and write at the end, nothing behind it, and nothing is nothing."""
    size = int(guest.must(f"blockdev --getsize64 {disk}"))
    script = [f"heap 0 {MIB}", "register 0", f"read 0 0 {MIB} {size - BLOCK}", f"read 0 0 {MIB} {size}",
              f"write 0 0 {MIB} {size - BLOCK}", f"write 0 0 {MIB} {size}", "read 0 0 0 0", "write 0 0 0 0",
              "flush"]  # fmt: skip
    expect = ["0", "0", str(BLOCK), "0", str(BLOCK), "ENOSPC", "0", "0", "0"]
    assert run(guest, guest_program, disk, script) == expect


def test_what_is_refused(guest: Guest, guest_program: Programs, disk: str) -> None:
    """Slices outside the buffer, what is not aligned, names that are not there."""
    most = 2**64
    script = [f"heap 0 {MIB}", "register 0"]
    refused = [
        f"read 0 0 {MIB + BLOCK} 0",
        f"read 0 {MIB} {BLOCK} 0",
        f"read 0 {most - BLOCK} {2 * BLOCK} 0",
        f"read 0 0 {most - BLOCK} 0",
        f"read 0 2 {BLOCK} 0",
        "read 0 0 100 0",
        f"read 0 0 {BLOCK} 100",
        f"read 0 0 {BLOCK} 0 8",
        f"read 0 0 {BLOCK} 0 {2**31}",
        f"read 0 0 {BLOCK} 0 0 1",
        f"read 0 0 {BLOCK} 0 0 {3601 * 10**9}",
        f"raw 3 0 1 0 0 {BLOCK}",
        "raw 2 0 1 0 0 0",
        f"raw 2 0 0 0 0 {BLOCK}",
        "register 0 4",
    ]
    answers = run(guest, guest_program, disk, script + refused)
    assert answers == ["0", "0", *["EINVAL"] * len(refused)]
    assert run(guest, guest_program, disk, ["raw 0 0 99 4 0 0", "raw 1 0 99 4 0 0"]) == ["0", "0"]
    absent = [f"raw 0 0 {name} 0 0 {BLOCK}" for name in (0, 2, 65535, 65536, 2**32 - 1)]
    assert run(guest, guest_program, disk, script + absent) == ["0", "0", *["ENOENT"] * len(absent)]


def test_rights(guest: Guest, guest_program: Programs, disk: str) -> None:
    """A file that is open for one direction; a buffer that is a source only."""
    setup = [f"heap 0 {MIB}", "register 0", f"read 0 0 {BLOCK} 0", f"write 0 0 {BLOCK} 0"]
    assert run(guest, guest_program, disk, setup, ["rdonly"]) == ["0", "0", str(BLOCK), "EBADF"]
    assert run(guest, guest_program, disk, setup, ["wronly"]) == ["0", "0", "EBADF", str(BLOCK)]
    setup[1] = "register 0 1"
    assert run(guest, guest_program, disk, setup) == ["0", "0", "EPERM", str(BLOCK)]


def test_memory_of_which_a_part_is_missing(guest: Guest, guest_program: Programs, disk: str) -> None:
    """EFAULT, and what was pinned before the gap is not any more."""
    script = [f"heap 0 {MIB}", f"cut 0 {MIB // 2} {MIB // 2}", "register 0", "locked"]
    assert run(guest, guest_program, disk, script)[2:] == ["EFAULT", "0"]
    assert leaks.pinned_pages(guest) == 0


def test_memory_that_cannot_be_pinned(guest: Guest, guest_program: Programs, disk: str) -> None:
    """No memory, none behind the end, none left to lock."""
    assert run(guest, guest_program, disk, [f"heap 0 {MIB}", "unmap 0", "register 0", "locked"])[2:] == ["EFAULT", "0"]
    program = guest.push(guest_program("buffers"))
    script = f"heap 0 {2 * MIB}\nregister 0\nlocked\nheap 1 {MIB // 2}\nregister 1\nlocked\nfree 1\nlocked\n"
    assert limited(guest, disk, f"{program} {disk}", script) == ["0", "ENOMEM", "0", "0", "0", "512", "0", "0"]


def test_the_memory_outlives_its_mapping(guest: Guest, guest_program: Programs, disk: str) -> None:
    """What has been unmapped is still pinned: the drive writes to it, to nobody's harm."""
    script = [f"heap 0 {MIB}", "fill 0 1", "register 0", "unmap 0", f"write 0 0 {MIB} 0", f"read 0 0 {MIB} 0", "free 0",
              f"heap 1 {MIB}", f"pread 1 0 {MIB} 0", f"match 1 1 0 {MIB} 0", "locked"]  # fmt: skip
    assert run(guest, guest_program, disk, script) == ["0", "0", "0", "0", str(MIB), str(MIB), "0", "0", str(MIB), "1",
                                                       "0"]  # fmt: skip


def test_a_child_does_not_take_the_pages(guest: Guest, guest_program: Programs, disk: str) -> None:
    """After fork, the parent's buffer is still the parent's memory."""
    script = [f"heap 0 {MIB}", "fill 0 1", "register 0", f"write 0 0 {MIB} 0", "clear 0", "fork", f"read 0 0 {MIB} 0",
              f"match 0 1 0 {MIB} 0"]  # fmt: skip
    assert run(guest, guest_program, disk, script)[-3:] == ["0", str(MIB), "1"]


def test_many_buffers_go_with_their_file(guest: Guest, guest_program: Programs, disk: str) -> None:
    """A program that ends gives back what it has not freed."""
    script = [line for i in range(16) for line in (f"heap {i} {MIB}", f"register {i}")]
    assert run(guest, guest_program, disk, [*script, "locked"])[-1] == str(16 * 1024)
    until(lambda: leaks.pinned_pages(guest) == 0, "pages stay pinned")


def test_a_source_that_is_filled_afterwards(guest: Guest, guest_program: Programs, disk: str) -> None:
    """Its memory has not been touched when it is registered: what is written to it then goes to the disk."""
    script = ["heap 0 65536", "register 0 1", "fill 0 5", "write 0 0 65536 0",
              "heap 1 65536", "fill 1 9", "pread 1 0 65536 0", "match 1 5 0 65536 0"]  # fmt: skip
    assert run(guest, guest_program, disk, script)[-1] == "1"


@pytest.mark.parametrize("memory", ["heap", "pool"])
def test_locked_memory_is_given_back(guest: Guest, guest_program: Programs, disk: str, memory: str) -> None:
    """More often than the limit of a user allows at a time: with each buffer freed, and with each process ended.

    The shell lives on as that user, or the kernel would begin to count at nothing.
    """
    program = guest.push(guest_program("buffers"))
    make = [f"heap 0 {MIB // 2}", "register 0"] if memory == "heap" else [f"pool 0 {MIB // 2}"]
    times = 8
    left = " ".join(f"echo {line};" for line in make)
    loop = f"for i in $(seq {times}); do {{ {left} }} | {program} {disk} || exit 1; done"
    lines = "\n".join([*make, "free 0"] * times) + "\n"
    answers = limited(guest, disk, f"sh -c '{program} {disk} && {loop}'", lines, timeout_s=300)
    assert answers == ["0"] * times * (2 * len(make) + 1)
