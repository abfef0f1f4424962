# SPDX-License-Identifier: MIT
"""The tests of liburing that take a device, strict and with any size."""

import pytest
from disks import setting

from chario_lab.guest.liburing import PROGRAMS, get_liburing_tests
from chario_lab.guest.session import Guest

pytestmark = [pytest.mark.area("kernel/front/", "kernel/queue/edge"), pytest.mark.cpus(2)]

# Its transfers begin and end anywhere, which is what any size is for.
NEEDS_ANY_SIZE = "read-write"
LIMIT_S = 300
# Where the machine is busy they find something else than they expect, and the disk has no part in it: read-write lets
# two workers of io_uring read one pipe and expects them to be served in order; defer-taskrun expects that the end of
# a thread leaves no completion behind that another could see.
RACES, TRIES = ("test_buf_select_pipe failed", "test_thread_shutdown failed"), 10


@pytest.fixture
def network(guest: Guest) -> None:
    """defer-taskrun connects to itself."""
    guest.must("ip link set lo up")


@pytest.mark.usefixtures("network")
@pytest.mark.parametrize("any_size", [0, 1], ids=["strict", "any-size"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_program(guest: Guest, disk512: str, program: str, any_size: int) -> None:
    """It passes, and skips nothing as a whole: that would be 77."""
    with setting(guest, disk512, "any_size", any_size):
        for _ in range(TRIES):
            done = guest.run(f"cd /run && {get_liburing_tests() / program} {disk512}", timeout_s=LIMIT_S)
            if not any(race in done.stderr for race in RACES):
                break
    if program == NEEDS_ANY_SIZE and not any_size:
        assert done.rc and "cqe res -22" in done.stderr
    else:
        done.check()
