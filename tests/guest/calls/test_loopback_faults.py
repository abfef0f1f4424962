# SPDX-License-Identifier: MIT
"""The disk in memory fails as drives do: deadlines, orphans, recovery and removal, without a drive."""

from collections.abc import Callable, Iterator, Sequence
from errno import EIO, ENODEV, ETIMEDOUT
from pathlib import Path

import pytest
from disks import MIB, NODE
from rig import Rig, results, uring_results
from shared_guest import FileGuest, Setup

from chario_lab.guest.devices import load_module
from chario_lab.waiting import until

pytestmark = [
    pytest.mark.area("kernel/back/loopback/", "kernel/front/", "kernel/queue/"),
    pytest.mark.kernels("6.12-rt", "debug"), pytest.mark.cpus(2), pytest.mark.slow,
]  # fmt: skip

SETUP = Setup(drives=(), parameters=None)
PARAMETERS = "/sys/module/chario/parameters"
BLOCK = 512
LATE, PATIENT = "deadline,50", "deadline,200000"
FAILED, STUCK, GONE = 1, 2, 3
# All commands of such callers go to one queue.
ONE_QUEUE = ("taskset", "-c", "0")


@pytest.fixture(params=["posts", "submits"])
def rig(keeper: FileGuest, module: Path, request: pytest.FixtureRequest) -> Iterator[Rig]:
    """A guest with a new disk in memory that is recovered at once, and takes commands in either way."""
    rig = keeper.get(request)
    submits = "Y" if request.param == "submits" else "N"
    load_module(rig.guest, module, f"loopback_mib=16 recovery_age_ms=0 loopback_submits={submits}")
    yield rig
    # The last orphan of a file lets its memory go before it closes the file.
    until(lambda: rig.guest.run("rmmod chario").rc == 0, "the module stays in use")


def ask(rig: Rig, **wishes: object) -> None:
    """Have the disk behave so from now on."""
    for name, value in wishes.items():
        rig.guest.files.write(f"{PARAMETERS}/loopback_{name}", value)


def left(rig: Rig, fault: str) -> int:
    """How many faults of a kind are still due."""
    return int(rig.guest.files.value(f"{PARAMETERS}/loopback_{fault}"))


def give_up(rig: Rig, call: str, is_sent: Callable[[], bool], user: Sequence[str] = ()) -> int:
    """Leave a command that the disk does not end; how many calls that took: the first may be late before it is sent."""
    count = 0
    while not is_sent():
        assert rig.calls(NODE, LATE, call, user=user)[1] == (call.split(",", 1)[0], -ETIMEDOUT)
        count += 1
    return count


def test_a_command_fails(rig: Rig) -> None:
    """Its call gives EIO, or the bytes in front of it; the next one is well."""
    ask(rig, fail=1)
    assert rig.call(NODE, "read,0,4096") == -EIO
    assert rig.call(NODE, "read,0,4096") == 4096
    counted = rig.counters(NODE)
    assert (counted["errors"], counted["timeouts"], counted["resets"]) == (1, 0, 0)


def test_a_lost_command_is_aborted(rig: Rig) -> None:
    """The caller is told at its deadline; the abort brings the command back, and nothing is reset."""
    mark = rig.guest.log_mark()
    ask(rig, lose=1)
    calls = give_up(rig, "read,0,65536", lambda: left(rig, "lose") == 0)
    rig.wait_said(mark, "expired commands have been aborted")
    rig.wait_unpinned()
    counted = rig.counters(NODE)
    assert (counted["timeouts"], counted["aborts"], counted["resets"]) == (calls, 1, 0)
    assert rig.call(NODE, "read,0,65536") == 65536


def test_a_disk_that_does_not_abort_is_reset(rig: Rig) -> None:
    """Patient callers get their bytes by the replay; the one who has gone does not come back."""
    mark = rig.guest.log_mark()
    ask(rig, lose=2, aborts="N")
    patient = rig.start(NODE, PATIENT, "fill,3,0,4096", "write,0,4096")
    until(lambda: left(rig, "lose") == 1, "the write was not lost")
    give_up(rig, "read,8192,4096", lambda: left(rig, "lose") == 0)
    assert results(patient.wait())[2] == ("write", 4096)
    rig.wait_reset(NODE)
    rig.wait_said(mark, "the controller is up again")
    assert rig.calls(NODE, "read,0,4096", "match,3,0,4096")[1] == ("match", 1)
    assert rig.counters(NODE)["aborts"] == 0


def test_a_failure_is_noticed_and_mended(rig: Rig) -> None:
    """What the disk has not begun is done after the reset: calls of all kinds, none of them late."""
    ask(rig, trouble=FAILED)
    reads = rig.start_uring(NODE, 8, 4096, "deadline=200000")
    assert rig.calls(NODE, PATIENT, f"read,0,{MIB}")[1] == ("read", MIB)
    assert uring_results(reads.wait()) == {4096: 8}
    rig.wait_reset(NODE)
    assert rig.counters(NODE)["timeouts"] == 0


@pytest.mark.parametrize(("trouble", "error", "words"), [
    (STUCK, EIO, "does not come up again; it is kept off memory, calls give EIO"),
    (GONE, ENODEV, "the drive has gone; calls give ENODEV"),
])  # fmt: skip
def test_a_disk_that_is_given_up(rig: Rig, trouble: int, error: int, words: str) -> None:
    """Waiting calls and later ones end with one error, and nothing stays pinned."""
    mark = rig.guest.log_mark()
    ask(rig, trouble=trouble)
    reads = rig.start_uring(NODE, 8, 4096, "deadline=200000")
    assert rig.calls(NODE, PATIENT, f"read,0,{MIB}")[1] == ("read", -error)
    assert uring_results(reads.wait()) == {-error: 8}
    rig.wait_said(mark, words)
    assert rig.show(NODE, "state") == "dead"
    assert rig.call(NODE, "write,0,4096") == -error
    assert rig.counters(NODE)["resets"] == 0


@pytest.mark.parametrize("aborts", ["Y", "N"])
def test_a_late_change_of_a_part_of_a_block(rig: Rig, aborts: str) -> None:
    """Its caller is told when recovery has taken the write back, by an abort or a reset, and not at the deadline.

    Another caller, who began later and is more patient, is told at his.
    """
    rig.set(NODE, "recovery_age_ms", 3_600_000)
    ask(rig, delay_us=1_000_000, aborts=aborts)
    change = rig.start(NODE, "any-size", "deadline,2000", "fill,1,0,100", "write,0,100", "sync")
    until(lambda: rig.counters(NODE)["read_commands"] == 1, "the block was not read")
    ask(rig, lose=2)
    until(lambda: left(rig, "lose") == 1, "the write of the block was not lost")
    assert rig.calls(NODE, "deadline,4000", "write,65536,512")[1] == ("write", -ETIMEDOUT)
    assert change.poll() is None
    rig.set(NODE, "recovery_age_ms", 0)
    assert results(change.wait())[3:] == [("write", 100), ("sync", -ETIMEDOUT), ("close", 0)]
    assert rig.counters(NODE)["timeouts"] == 2
    ask(rig, delay_us=0)
    assert rig.call(NODE, "read,0,512") == 512


def test_commands_end_in_another_order(rig: Rig) -> None:
    """Each call gets its own bytes."""
    ask(rig, newest_first="Y", delay_us=2000)
    steps = [step for at in range(4) for step in (f"fill,{at},0,{MIB}", f"write,{at * MIB},{MIB}")]
    assert {end for name, end in rig.calls(NODE, PATIENT, *steps) if name == "write"} == {MIB}
    for at in range(4):
        assert rig.calls(NODE, PATIENT, f"read,{at * MIB},{MIB}", f"match,{at},0,{MIB}")[2] == ("match", 1)


def test_a_replay_keeps_the_order_of_submission(rig: Rig) -> None:
    """Of two writes of a block the later one is on the disk, although its command has the lower tag.

    A read has the first tag while the earlier write is submitted, and has ended when the later one is.
    """
    ask(rig, delay_us=1_000_000)
    first = rig.start(NODE, PATIENT, "read,65536,512", user=ONE_QUEUE)
    until(lambda: rig.counters(NODE)["read_commands"] == 1, "the read did not begin")
    ask(rig, lose=1)
    earlier = rig.start(NODE, PATIENT, "fill,1,0,512", "write,0,512", user=ONE_QUEUE)
    until(lambda: left(rig, "lose") == 0, "the write was not lost")
    assert results(first.wait())[1] == ("read", 512)
    ask(rig, trouble=FAILED)
    later = rig.start(NODE, PATIENT, "fill,2,0,512", "write,0,512", user=ONE_QUEUE)
    assert [results(job.wait())[2] for job in (earlier, later)] == [("write", 512)] * 2
    ask(rig, delay_us=0)
    assert rig.calls(NODE, "read,0,512", "match,2,0,512")[1] == ("match", 1)


def test_a_reset_does_not_wait_for_a_slow_command(rig: Rig) -> None:
    """The command is given up, and its memory is let go, long before the disk would have been done with it."""
    ask(rig, delay_us=10_000_000)
    give_up(rig, "write,0,4096", lambda: rig.counters(NODE)["write_commands"] == 1)
    rig.wait_reset(NODE)
    rig.wait_unpinned()
    ask(rig, delay_us=0)
    assert rig.call(NODE, "read,0,4096") == 4096


@pytest.mark.parametrize("rig", ["submits"], indirect=True)
def test_a_command_that_is_late_before_the_device_has_it(rig: Rig) -> None:
    """The disk loses it afterwards; recovery, which had looked for it in vain, is asked once more."""
    ask(rig, delay_us=1_500_000)
    first = rig.start(NODE, PATIENT, "read,65536,512", user=ONE_QUEUE)
    until(lambda: rig.counters(NODE)["read_commands"] == 1, "the read did not begin")
    ask(rig, delay_us=0, lose=1)
    give_up(rig, "read,0,4096", lambda: left(rig, "lose") == 0, user=ONE_QUEUE)
    assert results(first.wait())[1] == ("read", 512)
    until(lambda: rig.counters(NODE)["aborts"] == 1, "the lost command was not aborted")
