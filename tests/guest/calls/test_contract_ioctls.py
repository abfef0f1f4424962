# SPDX-License-Identifier: MIT
"""The ioctls: what they tell, and every way to be refused by them."""

import pytest
from disks import MIB, Programs, attributes, calls

from chario_lab.guest.session import Guest

pytestmark = [pytest.mark.area("kernel/front/", "kernel/disk/", "kernel/memory/")]

INFO, STATS, GET_FILE, SET_FILE = (0xC400 + place for place in range(4))
SIZES = {INFO: 232, STATS: 152, GET_FILE: 24, SET_FILE: 24}
FIRST_SIZES = SIZES | {INFO: 208, STATS: 120}
# Places of 32-bit words in struct chario_file_options.
COMPLETION, DEADLINE, DEADLINE_HIGH, SPIN, FLAGS = 4, 8, 12, 16, 20
MS = 1_000_000
HOUR = 3600 * 1000 * MS


def words(answer: str) -> list[int]:
    """An ioctl's struct as 32-bit words; it has to have succeeded."""
    result, *values = answer.split()
    assert result == "0", answer
    return [int(value) for value in values]


def set_file(**fields: int) -> str:
    """The line that sets file options; fields are named by the constants above."""
    return f"ioctl {SET_FILE} 24 24 " + " ".join(f"{globals()[name]}={value}" for name, value in fields.items())


def errors(guest: Guest, programs: Programs, node: str, script: list[str]) -> list[str]:
    """What each call answers, without the struct."""
    return [answer.split()[0] for answer in calls(guest, programs, node, script)]


def test_block_ioctls(guest: Guest, guest_program: Programs, disk512: str, disk4096: str) -> None:
    """What tools ask a block device is answered as a block device answers."""
    names = ["BLKGETSIZE64", "BLKSSZGET", "BLKPBSZGET", "BLKIOMIN", "BLKIOOPT", "BLKROGET", "BLKGETSIZE", "BLKFLSBUF"]
    script = [f"block {name}" for name in names]
    expected = [256 * MIB, 512, 512, 512, 4 * MIB, 0, 256 * MIB // 512, 0]
    assert calls(guest, guest_program, disk512, script) == [f"0 {value}" for value in expected]
    expected = [256 * MIB, 4096, 4096, 4096, 4 * MIB, 0, 256 * MIB // 512, 0]
    assert calls(guest, guest_program, disk4096, script) == [f"0 {value}" for value in expected]


def test_info_says_what_sysfs_says(guest: Guest, guest_program: Programs, disk: str) -> None:
    """CHARIO_IOC_INFO and sysfs agree on every number they share."""
    info = words(calls(guest, guest_program, disk, [f"ioctl {INFO} 232 232"])[0])
    assert info[:2] == [232, 2]
    shown = attributes(guest, disk)
    assert info[4] + (info[5] << 32) == int(shown["size"])
    names = [
        "logical_block_size", "physical_block_size", "dma_alignment", "command_bytes", "max_command_bytes",
        "chunk_bytes", "boundary_bytes", "queue_count", "poll_queue_count", "queue_depth",
    ]  # fmt: skip
    assert info[6:16] == [int(shown[name]) for name in names]
    assert info[17] == int(shown["spin_us"]) * 1000
    assert info[18] + (info[19] << 32) == int(shown["deadline_ms"]) * MS
    assert info[22] == int(shown["nsid"])
    assert info[23] == int(disk.removeprefix("/dev/chardisk"))
    text = b"".join(value.to_bytes(4, "little") for value in info[24:50])
    fields = [text[:16], text[16:40], text[40:88], text[88:104]]
    names = ["backend", "serial", "model", "firmware"]
    assert [field.rstrip(b"\0").decode() for field in fields] == [shown[name] for name in names]
    assert (info[50], shown["command_limit"], info[51]) == (1, "drive", 0)
    block = int(shown["logical_block_size"])
    # QEMU's drives write any block, give up 4096 bytes at a time, and promise not to tear a block.
    assert info[52:54] == [block, 4096] and info[55:] == [block, 0, 0]


def test_a_shorter_info(guest: Guest, guest_program: Programs, disk: str) -> None:
    """Who knows the struct of the first version gets that much, and no byte more."""
    answer = words(calls(guest, guest_program, disk, [f"ioctl {INFO} 208 224 208=7 220=7"])[0])
    assert answer[0] == SIZES[INFO] and answer[52:] == [7, 0, 0, 7]


@pytest.mark.parametrize("command", [INFO, STATS, GET_FILE])
def test_sizes_of_what_is_given(guest: Guest, guest_program: Programs, disk512: str, command: int) -> None:
    """Below version 1: EINVAL.  A longer struct is filled up with zeros, and told the size."""
    size, first = SIZES[command], FIRST_SIZES[command]
    refused = [f"ioctl {command} {wrong} 4096" for wrong in (0, 1, 4, first - 4, first - 1, 4097, 0xFFFFFFFF)]
    assert errors(guest, guest_program, disk512, refused) == ["EINVAL"] * len(refused)
    longer = words(calls(guest, guest_program, disk512, [f"ioctl {command} {size + 64} {size + 72} {size}=7"])[0])
    assert longer[0] == size
    assert longer[size // 4 :] == [0] * 16 + [0, 0]
    beyond = words(calls(guest, guest_program, disk512, [f"ioctl {command} {size} {size + 8} {size}=7"])[0])
    assert beyond[size // 4 :] == [7, 0]


def test_sizes_of_what_is_taken(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """A longer struct is taken when what we do not know of it is zero, else E2BIG."""
    table = {
        f"ioctl {SET_FILE} 20 24": "EINVAL",
        f"ioctl {SET_FILE} 0 24": "EINVAL",
        f"ioctl {SET_FILE} 4097 8192": "EINVAL",
        f"ioctl {SET_FILE} 24 24": "0",
        f"ioctl {SET_FILE} 32 32": "0",
        f"ioctl {SET_FILE} 4096 4096": "0",
        f"ioctl {SET_FILE} 32 32 28=1": "E2BIG",
        f"ioctl {SET_FILE} 4096 4096 4092=1": "E2BIG",
        f"ioctl {SET_FILE} 24 32 28=1": "0",
    }
    assert dict(zip(table, errors(guest, guest_program, disk512, list(table)), strict=True)) == table


def test_values_out_of_range(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """Each limit of struct chario_file_options, from both sides."""
    table = {
        set_file(COMPLETION=3): "0",
        set_file(COMPLETION=4): "EINVAL",
        set_file(COMPLETION=0xFFFFFFFF): "EINVAL",
        set_file(FLAGS=4): "EINVAL",
        set_file(DEADLINE=MS): "0",
        set_file(DEADLINE=MS - 1): "EINVAL",
        set_file(DEADLINE=1): "EINVAL",
        set_file(DEADLINE=HOUR & 0xFFFFFFFF, DEADLINE_HIGH=HOUR >> 32): "0",
        set_file(DEADLINE=(HOUR & 0xFFFFFFFF) + 1, DEADLINE_HIGH=HOUR >> 32): "EINVAL",
        set_file(SPIN=1000 * MS): "0",
        set_file(SPIN=1000 * MS + 1): "EINVAL",
    }
    assert dict(zip(table, errors(guest, guest_program, disk512, list(table)), strict=True)) == table


def test_unknown_and_unreachable(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """ENOTTY for what we do not know, EFAULT for memory that is not there."""
    tcgets, blkdiscard = 0x5401, 0x1277
    script = [f"ioctl {unknown} 24 24" for unknown in (0xC404, 0xC4FF, 0xC300, 0, tcgets, blkdiscard)]
    assert errors(guest, guest_program, disk512, script) == ["ENOTTY"] * len(script)
    script = [f"bad-ioctl {known}" for known in (*SIZES, 0x80081272)]
    assert errors(guest, guest_program, disk512, script) == ["EFAULT"] * len(script)


def test_file_options_belong_to_the_file(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """What is set is got; a refused call changes nothing; another open file has the defaults."""
    get = f"ioctl {GET_FILE} 24 24"
    script = [get, set_file(COMPLETION=2, DEADLINE=5 * MS, SPIN=77), get, set_file(COMPLETION=1, FLAGS=4), get]
    answers = calls(guest, guest_program, disk512, script)
    assert words(answers[0]) == [24, 0, 0, 0, 0, 0]
    assert words(answers[2]) == words(answers[4]) == [24, 2, 5 * MS, 0, 77, 0]
    assert words(calls(guest, guest_program, disk512, [get])[0]) == [24, 0, 0, 0, 0, 0]
