# SPDX-License-Identifier: MIT
"""What files take: the sums, the table, and processors' seconds of processes that have ended."""

import subprocess
import sys

from chario_lab.testing.costs import Cost, processor_s, table

BUSY_S = 0.5
TICKS_S = 0.05  # the kernel rounds each number down to a tick of 10 ms
BURN = f"import time\nwhile time.process_time() < {BUSY_S}: pass"


def test_the_table_has_a_total_and_says_what_waits() -> None:
    """The file that is idle for more than a third of its time is marked."""
    lines = table([Cost("test_recovery.py", 98, 65), Cost("test_buffers.py", 18, 12.5)])
    assert [line.split() for line in lines[1:]] == [
        ["test_recovery.py", "98.0", "65.0", "33.0", "waits"],
        ["test_buffers.py", "18.0", "12.5", "5.5"],
        ["all", "116.0", "77.5", "38.5"],
    ]
    assert table([]) == []


def test_two_processors_are_never_idle_below_nothing() -> None:
    """A guest with two processors can use more seconds than the wall has."""
    assert Cost("test_queue.py", 10, 19).idle_s == 0


def test_processes_that_live_and_that_have_ended_count() -> None:
    """A child's processor seconds are counted while it lives, and stay when it has ended."""
    before_s = processor_s()
    ended = [sys.executable, "-c", BURN]
    subprocess.run(ended, check=True)
    assert processor_s() - before_s >= BUSY_S - TICKS_S
    before_s = processor_s()
    lives = [sys.executable, "-c", f"{BURN}\nprint(flush=True)\ninput()"]
    with subprocess.Popen(lives, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert processor_s() - before_s >= BUSY_S - TICKS_S
        process.communicate(b"\n")
