# SPDX-License-Identifier: MIT
"""What a call answers: every refusal of the contract, and the end of the disk."""

import pytest
from disks import MIB, Programs, calls, counters, grown

from chario_lab.guest.session import Guest

pytestmark = [pytest.mark.area("kernel/front/char", "kernel/disk/")]

KIB4 = 4096
SIZE = 256 * MIB
BUFFER = 16 * MIB  # of src/calls.c; behind it is no memory

Table = dict[str, str]


def judge(guest: Guest, programs: Programs, node: str, table: Table, *flags: str) -> None:
    """Each call of a table gives the answer beside it."""
    answers = calls(guest, programs, node, list(table), flags)
    assert dict(zip(table, answers, strict=True)) == table


@pytest.mark.parametrize("block", [512, 4096])
def test_what_is_not_whole_blocks_is_refused(
    guest: Guest, guest_program: Programs, request: pytest.FixtureRequest, block: int
) -> None:
    """Offsets and lengths, and the length of each vector element, are multiples of the block."""
    table: Table = {}
    for kind in ("read", "write"):
        for odd in (1, 4, block - 1, block + 1, block // 2):
            table[f"p{kind} {odd} {block}"] = "EINVAL"
            table[f"p{kind} 0 {odd}"] = "EINVAL"
            table[f"{kind} {odd}"] = "EINVAL"
            table[f"p{kind}v 0 0 {block}:0 {odd}:0"] = "EINVAL"
            table[f"p{kind}v 0 0 {odd}:0 {2 * block - odd}:0"] = "EINVAL"
        table[f"p{kind} {block} {block}"] = str(block)
        table[f"p{kind}v {block} 0 {block}:0 {3 * block}:0"] = str(4 * block)
    judge(guest, guest_program, request.getfixturevalue(f"disk{block}"), table)


def test_buffers_need_four_bytes_of_alignment(guest: Guest, guest_program: Programs, disk: str) -> None:
    """Any address that is a multiple of 4 will do, no other does, in vectors neither."""
    table: Table = {}
    for kind in ("read", "write"):
        for skew in (0, 4, 8, 12, 508, 512, 2044, 4092):
            table[f"p{kind} 0 {KIB4} {skew}"] = str(KIB4)
            table[f"p{kind}v 0 0 {KIB4}:{skew} {KIB4}:{4092 - skew}"] = str(2 * KIB4)
        for skew in (1, 2, 3, 5, 511, 4095):
            table[f"p{kind} 0 {KIB4} {skew}"] = "EINVAL"
            table[f"p{kind}v 0 0 {KIB4}:0 {KIB4}:{skew}"] = "EINVAL"
    judge(guest, guest_program, disk, table)


def test_nothing_is_nothing(guest: Guest, guest_program: Programs, disk: str) -> None:
    """0 bytes are 0, wherever, and cost the drive nothing."""
    before = counters(guest, disk)
    table = {f"p{kind} {where} 0": "0" for kind in ("read", "write") for where in (0, KIB4, SIZE, SIZE + KIB4)}
    judge(guest, guest_program, disk, table | {"read 0": "0", "write 0": "0", "preadv 0 0 0:0 0:0": "0"})
    assert grown(guest, disk, before) == {}


def test_the_end_of_the_disk(guest: Guest, guest_program: Programs, disk: str) -> None:
    """A call across the end is short; behind it a read is 0 and a write ENOSPC."""
    last = SIZE - KIB4
    table = {
        f"pread {last} {KIB4}": str(KIB4),
        f"pread {last} {MIB}": str(KIB4),
        f"pread {SIZE - MIB} {5 * MIB}": str(MIB),
        f"preadv {last} 0 {KIB4}:0 {KIB4}:0": str(KIB4),
        f"pread {SIZE} {KIB4}": "0",
        f"pread {1 << 60} {KIB4}": "0",
        f"pwrite {last} {KIB4}": str(KIB4),
        f"pwrite {last} {MIB}": str(KIB4),
        f"pwritev {last} 0 {KIB4}:0 {KIB4}:0": str(KIB4),
        f"pwrite {SIZE} {KIB4}": "ENOSPC",
        f"pwrite {1 << 60} {KIB4}": "ENOSPC",
        f"pread {(1 << 64) - KIB4} {KIB4}": "EINVAL",
    }
    judge(guest, guest_program, disk, table)


def test_memory_that_is_not_there(guest: Guest, guest_program: Programs, disk: str) -> None:
    """EFAULT, or the bytes of the commands in front of the hole."""
    chunk = 128 * 1024
    table = {
        f"bad-pread 0 {KIB4}": "EFAULT",
        f"bad-pwrite 0 {KIB4}": "EFAULT",
        f"pread 0 {2 * KIB4} {BUFFER - KIB4}": "EFAULT",
        f"pread 0 {2 * chunk} {BUFFER - chunk}": str(chunk),
        f"pwrite 0 {2 * chunk} {BUFFER - chunk}": str(chunk),
        f"pread 0 {9 * MIB} {BUFFER - 5 * MIB}": str(5 * MIB),
        f"pwrite 0 {9 * MIB} {BUFFER - 5 * MIB - KIB4}": str(5 * MIB),
        f"pread 0 {KIB4}": str(KIB4),
    }
    judge(guest, guest_program, disk, table)


@pytest.mark.parametrize("kind", ["read", "write"])
def test_nothing_is_sent_behind_a_hole(guest: Guest, guest_program: Programs, disk: str, kind: str) -> None:
    """The command that cannot have its memory is the last: a shorter one behind it does not take its memory instead."""
    chunk = 128 * 1024
    before = counters(guest, disk)
    table = {f"hole {2 * chunk - KIB4} {KIB4}": "0", f"p{kind} 0 {2 * chunk + KIB4}": str(chunk)}
    judge(guest, guest_program, disk, table)
    assert grown(guest, disk, before)[f"{kind}_commands"] == 1


def test_the_file_position(guest: Guest, guest_program: Programs, disk: str) -> None:
    """SEEK_SET, SEEK_CUR and SEEK_END; read and write move on by what they did, up to the end."""
    table = {
        "seek end 0": str(SIZE),
        f"read {KIB4}": "0",
        f"seek end -{KIB4}": str(SIZE - KIB4),
        f"read {MIB}": str(KIB4),
        "seek cur 0": str(SIZE),
        f"write {KIB4}": "ENOSPC",
        f"seek set {KIB4}": str(KIB4),
        f"write {2 * KIB4}": str(2 * KIB4),
        f"seek cur {KIB4}": str(4 * KIB4),
        f"seek cur -{5 * KIB4}": "EINVAL",
        "seek set -1": "EINVAL",
        f"seek set {SIZE + 1}": "EINVAL",
        "seek set 1": "1",
        f"read {2 * KIB4}": "EINVAL",
    }
    judge(guest, guest_program, disk, table)


def test_what_the_file_was_not_opened_for(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """EBADF, and the other way works."""
    judge(guest, guest_program, disk512, {"pread 0 512": "512", "pwrite 0 512": "EBADF", "fsync": "0"}, "rdonly")
    judge(guest, guest_program, disk512, {"pwrite 0 512": "512", "pread 0 512": "EBADF", "fsync": "0"}, "wronly")


@pytest.mark.parametrize("flag", ["direct", "dsync"])
def test_open_flags_change_nothing(guest: Guest, guest_program: Programs, disk: str, flag: str) -> None:
    """O_DIRECT is accepted and asks for no more alignment; O_DSYNC writes with FUA, not with a flush."""
    before = counters(guest, disk)
    table = {f"pwrite 0 {KIB4} 4": str(KIB4), f"pread 0 {KIB4} 8": str(KIB4), f"pread 0 {KIB4} 2": "EINVAL"}
    judge(guest, guest_program, disk, table, flag)
    change = grown(guest, disk, before)
    assert (change["write_commands"], change["read_commands"]) == (1, 1)
    assert "flush_commands" not in change
