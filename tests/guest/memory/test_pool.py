# SPDX-License-Identifier: MIT
"""Memory that the module allocates: transfers, mappings, and what it counts as."""

from collections.abc import Callable

import pytest
from disks import MIB, Programs, limited
from test_buffers import BLOCK, run

from chario_lab.guest.session import Guest

pytestmark = [pytest.mark.area("kernel/memory/pool")]

PAGE = 4096
POOL, SOURCE, STREAMING = 2, 1, 2
SIZES = [BLOCK, 2 * BLOCK, 3 * BLOCK, 32 * BLOCK, 33 * BLOCK, MIB, 5 * MIB]


def round_trip(sizes: list[int], slot: int = 0) -> tuple[list[str], list[str]]:
    """Each size written and read from places of a filled buffer, seen by ordinary calls too, whose memory is there."""
    script, expect = [f"heap 15 {8 * MIB}", "clear 15", f"fill {slot} 5"], ["0", "0", "0"]
    for place, size in enumerate(sizes):
        start = place * 3 * BLOCK
        script += [f"write {slot} {start} {size} {place * 8 * MIB}", f"pread 15 0 {size} {place * 8 * MIB}",
                   f"match 15 5 0 {size} {start}"]  # fmt: skip
        expect += [str(size), str(size), "1"]
    script.append(f"clear {slot}")
    expect.append("0")
    for place, size in enumerate(sizes):
        script += [f"read {slot} {BLOCK} {size} {place * 8 * MIB}",
                   f"match {slot} 5 {BLOCK} {size} {place * 3 * BLOCK}"]  # fmt: skip
        expect += [str(size), "1"]
    return script, expect


@pytest.mark.smoke
def test_what_the_pool_writes_is_what_it_reads(guest: Guest, guest_program: Programs, disk: str) -> None:
    """Fresh memory is zero; slices of many sizes, both ways."""
    script, expect = round_trip(SIZES)
    begin = [f"pool 0 {8 * MIB}", f"all 0 0 {8 * MIB} 0", "locked"]
    end = ["sync 0 0 4096 1", "free 0", "locked"]
    assert run(guest, guest_program, disk, begin + script + end) == ["0", "1", str(8 * 1024), *expect, "0", "0", "0"]


def test_a_mapping_outlives_its_buffer(guest: Guest, guest_program: Programs, disk: str) -> None:
    """The name goes, the memory stays mapped, and counts until the last of it has been unmapped."""
    half = MIB // 2
    script = [f"pool 0 {MIB}", "fill 0 7", "id 0", "destroy 1", f"raw 0 0 1 0 0 {BLOCK}", f"match 0 7 0 {MIB} 0",
              "locked", f"cut 0 0 {half}", "locked", f"match 0 7 {half} {half} {half}",
              f"cut 0 {half} {half}"]  # fmt: skip
    assert run(guest, guest_program, disk, script) == ["0", "0", "1", "0", "ENOENT", "1", "1024", "0", "1024", "1", "0"]


def test_mappings_in_parts_that_move(guest: Guest, guest_program: Programs, disk: str) -> None:
    """mremap may move and shorten but not lengthen; holes are holes; two mappings are the same memory."""
    script = [f"create {POOL} 0 0 {MIB}", f"map 0 {PAGE} {MIB}", f"map 1 {PAGE} {MIB // 2}", "fill 0 3",
              f"match 1 3 0 {MIB // 2} 0", f"move 0 {MIB}", f"match 0 3 0 {MIB} 0", f"move 0 {2 * MIB}",
              f"cut 0 {PAGE} {PAGE}", f"match 0 3 {2 * PAGE} {PAGE} {2 * PAGE}", f"move 1 {PAGE}",
              f"match 1 3 0 {PAGE} 0", "destroy 1", f"match 1 3 0 {PAGE} 0"]  # fmt: skip
    assert run(guest, guest_program, disk, script) == ["1", "0", "0", "0", "1", "0", "1", "EFAULT", "0", "1", "0", "1",
                                                       "0", "1"]  # fmt: skip


def test_a_child_shares_the_memory(guest: Guest, guest_program: Programs, disk: str) -> None:
    """What a child writes is what the parent's transfer writes: nothing is copied."""
    script = [f"pool 0 {MIB}", "fill 0 1", "fork", f"all 0 0 {MIB} {0xEE}", f"write 0 0 {MIB} 0", f"heap 1 {MIB}",
              f"pread 1 0 {MIB} 0", f"all 1 0 {MIB} {0xEE}"]  # fmt: skip
    assert run(guest, guest_program, disk, script) == ["0", "0", "0", "1", str(MIB), "0", str(MIB), "1"]


def test_mappings_that_are_refused(guest: Guest, guest_program: Programs, disk: str) -> None:
    """Too long, elsewhere, private, of a buffer that cannot be mapped; and rights as the file has them."""
    script = [f"create {POOL} 0 0 {MIB}", f"heap 1 {MIB}", "register 1"]
    refused = [f"map 2 {PAGE} {MIB + PAGE}", f"map 2 0 {MIB}", f"map 2 {2 * PAGE} {PAGE}", f"map 2 {3 * PAGE} {PAGE}",
               f"map 2 {PAGE} {MIB} private", f"map 2 {65536 * PAGE} {PAGE}", f"map 2 {2**62} {PAGE}"]  # fmt: skip
    assert run(guest, guest_program, disk, script + refused) == ["1", "0", "0"] + ["EINVAL"] * len(refused)
    some = [script[0], f"map 0 {PAGE} {MIB}", f"map 0 {PAGE} {MIB} readonly", f"all 0 0 {MIB} 0"]
    assert run(guest, guest_program, disk, some, ["rdonly"]) == ["1", "EACCES", "0", "1"]
    assert run(guest, guest_program, disk, some[:3], ["wronly"]) == ["1", "EACCES", "EACCES"]


def test_pools_that_are_refused(guest: Guest, guest_program: Programs, disk: str) -> None:
    """Wrong arguments; more than may be locked; more than there is, without anybody being killed."""
    refused = [f"create {POOL} 4 0 {MIB}", f"create {POOL} 0 4096 {MIB}", f"create {POOL} 0 0 0",
               f"create {POOL} 0 0 2", f"create {POOL} 0 0 {2**41}", f"create 0 0 0 {MIB}",
               f"create 99 0 0 {MIB}"]  # fmt: skip
    assert run(guest, guest_program, disk, refused) == ["EINVAL"] * len(refused)
    assert run(guest, guest_program, disk, [f"create {POOL} 0 0 {2**32}", "locked"]) == ["ENOMEM", "0"]
    program = guest.push(guest_program("buffers"))
    script = f"pool 0 {2 * MIB}\npool 0 {MIB // 2}\ndestroy 1\npool 1 {MIB}\nlocked\n"
    assert limited(guest, disk, f"{program} {disk}", script) == ["ENOMEM", "0", "0", "ENOMEM", "512"]


def test_syncs_that_are_refused(guest: Guest, guest_program: Programs, disk: str) -> None:
    """Outside the buffer, in no direction, of no buffer; anything else does nothing here."""
    script = [f"pool 0 {MIB} {STREAMING}", f"heap 1 {MIB}", f"register 1 {STREAMING}"]
    fine = [f"sync 0 0 {MIB} 1", f"sync 1 0 {MIB} 2", f"sync 0 {MIB} 0 1", f"sync 0 0 {MIB} 3"]
    refused = [f"sync 0 0 {MIB + 1} 1", f"sync 0 {MIB} 1 2", f"sync 0 {2**64 - 1} 2 1", "sync 0 0 1 0", "sync 0 0 1 4"]
    expect = ["0"] * 7 + ["EINVAL"] * len(refused)
    assert run(guest, guest_program, disk, script + fine + refused) == expect
    assert run(guest, guest_program, disk, [*script, "destroy 1", "sync 0 0 1 1"])[-2:] == ["0", "ENOENT"]


def test_a_source_is_not_read_into(guest: Guest, guest_program: Programs, disk: str) -> None:
    """The flag means the same for all kinds."""
    script = [f"pool 0 {MIB} {SOURCE}", f"write 0 0 {BLOCK} 0", f"read 0 0 {BLOCK} 0"]
    assert run(guest, guest_program, disk, script) == ["0", str(BLOCK), "EPERM"]


def test_the_pool_on_a_disk_in_memory(fresh_guest: Callable[..., Guest], guest_program: Programs) -> None:
    """Without DMA the bytes are copied: the same calls, the same results."""
    guest = fresh_guest(parameters="loopback_mib=64")
    script, expect = round_trip(SIZES)
    begin = [f"pool 0 {8 * MIB}", f"heap 1 {8 * MIB}", "register 1"]
    other, _ = round_trip(SIZES, 1)
    answers = run(guest, guest_program, "/dev/chardisk0", [*begin, *script, *other])
    assert answers == ["0", "0", "0", *expect, *expect]
    guest.must("rmmod chario")
