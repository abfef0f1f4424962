# SPDX-License-Identifier: MIT
"""The disk in memory: a back end without a device."""

import json
from collections.abc import Callable, Iterator

import pytest
from disks import MIB, NODE, Programs, attributes, calls, counters, grown
from test_any_size import run

from chario_lab.guest.leaks import pinned_pages
from chario_lab.guest.session import Guest
from chario_lab.waiting import until

pytestmark = [
    pytest.mark.area("kernel/back/loopback/", "kernel/queue/", "kernel/types/"),
    pytest.mark.kernels("6.12-rt", "debug"), pytest.mark.cpus(2),
]  # fmt: skip

SIZE_MIB = 48
SET_FILE, COMPLETION_POLL = 0xC403, 2
RACES = 4000


@pytest.fixture(params=[pytest.param("N", id="posts", marks=pytest.mark.smoke), pytest.param("Y", id="submits")])
def loopback(fresh_guest: Callable[..., Guest], request: pytest.FixtureRequest) -> Iterator[Guest]:
    """A guest with such a disk and no drive; the module goes when the test has ended."""
    guest = fresh_guest(parameters=f"loopback_mib={SIZE_MIB} loopback_submits={request.param}")
    yield guest
    guest.must("rmmod chario")
    guest.must(f"! test -e {NODE}")


def test_a_disk_in_memory(loopback: Guest, guest_program: Programs) -> None:
    """It describes itself, keeps what is written, and costs what its counters say.

    One test, because each needs a guest: the shared one has the module loaded without it.
    """
    describes_itself(loopback, guest_program)
    keeps_what_is_written(loopback, guest_program)
    counts(loopback, guest_program)
    loses_no_write(loopback)
    may_be_late(loopback)


def describes_itself(guest: Guest, programs: Programs) -> None:
    """No queue to poll, no write cache, no controller; polling a file is EOPNOTSUPP."""
    shown = attributes(guest, NODE)
    assert (shown["backend"], shown["serial"], shown["nsid"]) == ("loopback", "memory", "0")
    assert (shown["size"], shown["logical_block_size"]) == (str(SIZE_MIB * MIB), "512")
    assert (shown["poll_queue_count"], shown["recovery_bound_ms"], shown["state"]) == ("0", "3000", "live")
    answers = calls(guest, programs, NODE, [f"ioctl {SET_FILE} 24 24 4={COMPLETION_POLL}", "fsync"])
    assert answers == ["EOPNOTSUPP", "0"]
    refused = guest.run("echo poll | dd of=/sys/class/chario/chardisk0/completion")
    assert "not supported" in refused.stderr


def keeps_what_is_written(guest: Guest, programs: Programs) -> None:
    """The random calls of the drives' tests, in threads, and io_uring with io_uring's own polling."""
    guest.must("echo 12 >/proc/sys/vm/nr_hugepages")
    result = json.loads(guest.must(f"{guest.push(programs('exercise'))} {NODE} 1 60 0 {SIZE_MIB * MIB} 2"))
    assert result["reads"] + result["writes"] == 120
    for flags in ("", "fixed skew", "poll"):
        guest.must(f"{guest.push(programs('uring'))} {NODE} 32 200 4096 {flags}")


# One changes a part of a block all the time, another writes the whole of it and reads what it has written.
RACE = """
fd = disk()
patcher = fork()
while patcher == 0:
    os.pwritev(fd, [b"p" * 100], 8, os.RWF_DSYNC)
whole = os.open(NODE, os.O_RDWR)
lost = 0
for turn in range({turns}):
    block = bytes([turn % 100 + 1]) * 512
    os.pwrite(whole, block, 0)
    found = os.pread(whole, 512, 0)
    lost += found[:8] != block[:8] or found[108:] != block[108:]
os.kill(patcher, 9)
os.wait()
print(json.dumps(lost))
"""


def loses_no_write(guest: Guest) -> None:
    """A write that races a change of a part of its block is there when it has ended, whatever comes of the part."""
    assert run(guest, NODE, RACE.format(turns=RACES)) == 0


LATE = """
DELAY = "/sys/module/chario/parameters/loopback_delay_us"
def set_delay(us):
    with open(DELAY, "w") as file:
        file.write(str(us))
fd = disk(False)
fcntl.ioctl(fd, 0xC403, struct.pack("=IIQII", 24, 0, 20_000_000, 0, 0))
told = []
set_delay(400_000)
for call in (lambda: read(fd, 4096, 0), lambda: os.pwrite(fd, bytes(4096), 4096)):
    try:
        call()
    except OSError as error:
        told.append(errno.errorcode[error.errno])
set_delay(0)
fcntl.ioctl(fd, 0xC403, struct.pack("=IIQII", 24, 0, 200_000_000_000, 0, 0))
told.append(len(read(fd, 4096, 0)))
print(json.dumps(told))
"""


def may_be_late(guest: Guest) -> None:
    """Its callers are told at their deadlines; it lets go of their memory when it is done with it."""
    assert run(guest, NODE, LATE) == ["ETIMEDOUT", "ETIMEDOUT", 4096]
    until(lambda: pinned_pages(guest) == 0, "pages stay pinned")


def counts(guest: Guest, programs: Programs) -> None:
    """Commands are counted as on a drive; there are no doorbells and no interrupts."""
    before = counters(guest, NODE)
    answers = calls(guest, programs, NODE, [f"pread 0 {MIB} 4", f"pwrite {MIB} 4096", f"pwrite {SIZE_MIB * MIB} 512"])
    assert answers == [str(MIB), "4096", "ENOSPC"]
    assert grown(guest, NODE, before) == {
        "read_commands": 8, "write_commands": 1, "read_bytes": MIB, "write_bytes": 4096,
    }  # fmt: skip
