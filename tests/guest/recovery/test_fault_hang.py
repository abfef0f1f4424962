# SPDX-License-Identifier: MIT
"""A command does not come back: its caller does, and its memory stays put.

Stalls are made with a throttled medium: it answers a controller reset, as a
drive does, where a request that is held otherwise would stop the machine.
"""

from errno import ENODEV, ETIMEDOUT

import pytest
from disks import KIB, MIB
from python_calls import printed, start_script
from rig import CALL_LIMIT_S, Rig, results, uring_results
from shared_guest import Setup, throttled_rig

from chario_lab.guest import faults
from chario_lab.guest.job import Job
from chario_lab.guest.spec import Namespace, NullCo, Nvme, Throttle
from chario_lab.waiting import until

pytestmark = [
    pytest.mark.area("kernel/drive/",
                     "kernel/back/nvme/", "kernel/queue/"), pytest.mark.kernels("debug", "kcsan"), pytest.mark.cpus(2),
    pytest.mark.slow,
]  # fmt: skip

STALLS, SLOW, TWINS = 0, 1, 2
# Or the drive may have answered before a request is old enough.
AGE_MS = 0
FIRST_CPU = ("taskset", "-c", "0")
DRIVES = (
    Nvme("stalls", (Namespace(64, backing=Throttle()),)),
    Nvme("slow", (Namespace(64, backing=NullCo(latency_us=800_000)),)),
    Nvme("twins", (Namespace(64, backing=Throttle()), Namespace(64))),
)
SETUP = Setup(drives=DRIVES)
rig = throttled_rig(STALLS)


def test_a_deadline_of_the_file_gives_etimedout(rig: Rig) -> None:
    """The caller comes back with ETIMEDOUT, the drive is reset and serves the same file again."""
    disk = rig.stalled(STALLS, AGE_MS)
    mark = rig.guest.log_mark()
    job = rig.start(disk, "deadline,300", "read,0,65536", "touch,/run/late", "await,/run/again", "deadline,0",
                    "read,0,65536")  # fmt: skip
    rig.wait_file("/run/late")
    faults.let_go(rig.guest, STALLS)
    rig.wait_reset(disk)
    rig.touch("/run/again")
    assert [value for name, value in results(job.wait()) if name == "read"] == [-ETIMEDOUT, 65536]
    assert rig.counters(disk)["timeouts"] == 1
    for line in ("resetting the controller", "the controller is up again"):
        rig.wait_said(mark, line)


def test_a_deadline_of_the_disk_holds_for_all_its_files(rig: Rig) -> None:
    """deadline_ms counts where a file has none of its own."""
    disk = rig.stalled(STALLS, AGE_MS)
    rig.set(disk, "deadline_ms", 300)
    assert rig.call(disk, "read,0,65536") == -ETIMEDOUT
    faults.let_go(rig.guest, STALLS)
    until(lambda: rig.counters(disk)["resets"] == 1, "the drive was not reset")
    rig.set(disk, "deadline_ms", 200000)
    assert rig.call(disk, "read,0,65536") == 65536


def test_each_call_that_gives_up_is_counted(rig: Rig) -> None:
    """The drive has the first request of a file, behind which the calls that follow wait for room."""
    disk = rig.stalled(STALLS, AGE_MS)
    orphans = "/sys/module/chario/parameters/max_orphans"
    usual = rig.guest.files.value(orphans)
    rig.guest.files.write(orphans, 1)
    rig.set(disk, "recovery_age_ms", 200000)
    calls = rig.calls(disk, f"fill,1,0,{64 * KIB}", "deadline,100", *["read,0,65536"] * 5, "settle,0,65536,100")
    rig.guest.files.write(orphans, usual)
    gave_up = [value for name, value in calls if name in ("read", "settle")].count(-ETIMEDOUT)
    assert (gave_up, rig.counters(disk)["timeouts"]) == (6, 6)
    faults.let_go(rig.guest, STALLS)


@pytest.mark.parametrize("step", ["hipri,0,65536", "write,0,65536", "read,0,16777216"])
def test_every_kind_of_call_ends_at_its_deadline(rig: Rig, step: str) -> None:
    """Polled, writing, and larger than what can be in flight at once; its memory is there, or that would be late."""
    disk = rig.stalled(STALLS, AGE_MS)
    assert rig.calls(disk, f"fill,1,0,{16 * MIB}", "deadline,300", step)[2][1] == -ETIMEDOUT
    faults.let_go(rig.guest, STALLS)
    until(lambda: rig.counters(disk)["resets"] >= 1, "the drive was not reset")
    rig.wait_unpinned()
    assert rig.call(disk, "read,0,65536") == 65536


@pytest.mark.parametrize("options", [(), ("fixed",), ("iopoll",), ("iopoll", "fixed")], ids="-".join)
def test_asynchronous_requests_end_with_etimedout(rig: Rig, options: tuple[str, ...]) -> None:
    """Each of io_uring's hanging requests completes with ETIMEDOUT, whoever holds its memory."""
    disk = rig.stalled(STALLS, AGE_MS)
    assert rig.uring(disk, 4, 64 * KIB, "deadline=300", *options) == {-ETIMEDOUT: 4}
    faults.let_go(rig.guest, STALLS)
    until(lambda: rig.counters(disk)["resets"] >= 1, "the drive was not reset")
    rig.wait_unpinned()
    assert rig.counters(disk)["timeouts"] == 4
    assert rig.uring(disk, 4, 64 * KIB, *options) == {64 * KIB: 4}


def test_late_data_does_not_reach_memory_that_was_given_back(rig: Rig) -> None:
    """The buffer is quarantined: what the drive writes to it late harms nobody.

    The reset makes the drive finish its read.  By then the caller has unmapped
    the buffer and filled as much new memory as it could get.
    """
    disk = rig.disk(STALLS)
    rig.calls(disk, f"fill,1,0,{MIB}", f"write,0,{MIB}")
    rig.stall(STALLS, disk)
    job = rig.start(disk, "deadline,300", f"read,0,{MIB}", "unmap", "map", f"fill,9,0,{48 * MIB}", "touch,/run/late",
                    "await,/run/again", f"match,9,0,{48 * MIB}")  # fmt: skip
    rig.wait_file("/run/late")
    until(lambda: rig.counters(disk)["resets"] >= 1, "the drive was not reset")
    rig.wait_unpinned()
    rig.touch("/run/again")
    calls = dict(results(job.wait()))
    assert (calls["read"], calls["match"]) == (-ETIMEDOUT, 1)


def test_a_buffer_is_busy_until_the_drive_is_done(rig: Rig) -> None:
    """After ETIMEDOUT the drive may still reach the memory: who asks is told, and when it no longer can."""
    disk = rig.stalled(STALLS, AGE_MS)
    idle = "sync 0 0 0 3"
    script = ("heap 0 65536", "register 0", idle, "read 0 0 65536 0 0 300000000", idle, "wait /run/again", idle,
              "read 0 0 65536 0", "sync 0 1 65536 3", "sync 0 0 0 4")  # fmt: skip
    job = rig.start_buffers(disk, *script)
    until(lambda: rig.counters(disk)["resets"] == 1, "the drive was not reset")
    faults.let_go(rig.guest, STALLS)
    rig.wait_state(disk, "live")
    rig.touch("/run/again")
    answers = job.wait().check().stdout.split()
    assert answers == ["0", "0", "0", "ETIMEDOUT", "EBUSY", "0", "0", "65536", "EINVAL", "EINVAL"]


def test_commands_of_others_do_not_make_a_buffer_busy(rig: Rig) -> None:
    """What was entered in a command counts while it is the first of its request, and no longer.

    The namespaces share the queue of a processor.  While a command of the first hangs, the buffer is read to in the
    next one; which is the second of a large read after that.
    """
    hangs, works = rig.disks(TWINS)

    def hang(kib: int, deadline_ns: int) -> Job:
        rig.stall(TWINS, hangs)
        before = rig.counters(hangs)["read_commands"]
        script = (f"heap 0 {kib * KIB}", "register 0", f"read 0 0 {kib * KIB} 0 0 {deadline_ns}")
        job = rig.start_buffers(hangs, *script, user=FIRST_CPU)
        until(lambda: rig.counters(hangs)["read_commands"] > before, "nothing was read")
        return job

    script = ("heap 0 4096", "register 0", "wait /run/read", "read 0 0 4096 0", "wait /run/ask",
              "sync 0 0 0 3", "read 0 0 4096 0", "wait /run/gone", "sync 0 0 0 3", "sync 0 0 0 2")  # fmt: skip
    asks = rig.start_buffers(works, *script, user=FIRST_CPU)
    first = hang(64, 4_000_000_000)
    rig.touch("/run/read")
    assert first.wait().check().stdout.split()[-1] == "ETIMEDOUT"
    until(lambda: rig.counters(hangs)["resets"] == 1, "the drive was not reset")
    faults.let_go(rig.guest, TWINS)
    rig.wait_state(hangs, "live")
    second = hang(1024, 0)
    rig.touch("/run/ask")
    until(lambda: rig.counters(works)["read_commands"] == 2, "nobody has asked")
    rig.unbind(TWINS)
    rig.touch("/run/gone")
    assert asks.wait().check().stdout.split() == ["0", "0", "0", "4096", "0", "0", "4096", "0", "0", "ENODEV"]
    # ENODEV, or what the drive has given of it meanwhile.
    second.wait().check()
    faults.let_go(rig.guest, TWINS)


def test_a_file_of_any_size_goes_on_with_other_memory(rig: Rig) -> None:
    """A part of a block that was read or written too late: the next calls are right, to the last byte around it."""
    disk = rig.disk(STALLS)
    rig.set(disk, "any_size", 1)
    rig.calls(disk, f"fill,5,0,{64 * KIB}", f"write,0,{64 * KIB}")
    rig.stall(STALLS, disk)
    part = "104,304"
    job = rig.start(disk, "deadline,300", f"read,{part}", f"fill,5,{part}", f"write,{part}", "sync", "touch,/run/late",
                    "await,/run/again", "deadline,0", f"fill,5,{part}", f"write,{part}", "sync", f"read,0,{64 * KIB}",
                    f"match,5,0,{64 * KIB}", f"read,{part}", f"match,5,{part}")  # fmt: skip
    rig.wait_file("/run/late")
    faults.let_go(rig.guest, STALLS)
    rig.wait_reset(disk)
    rig.touch("/run/again")
    calls = results(job.wait())
    assert [value for name, value in calls if name == "read"] == [-ETIMEDOUT, 64 * KIB, 304]
    assert [value for name, value in calls if name == "sync"] == [-ETIMEDOUT, 0]
    assert [value for name, value in calls if name == "match"] == [1, 1]
    rig.wait_unpinned()


def test_a_command_that_comes_back_after_the_abort_spares_the_reset(rig: Rig) -> None:
    """The first step of recovery is an abort; a drive that answers it in time is not reset."""
    for _ in range(8):  # on a busy host the command can come back too early or too late
        disk = rig.disk(SLOW)
        rig.set(disk, "recovery_age_ms", 0)
        result = rig.calls(disk, "deadline,300", "read,0,4096")[1][1]
        rig.wait_unpinned()
        counters = rig.counters(disk)
        if (result, counters["resets"], counters["aborts"]) == (-ETIMEDOUT, 0, 1):
            break
    assert (result, counters["resets"], counters["timeouts"], counters["aborts"]) == (-ETIMEDOUT, 0, 1, 1)
    rig.wait_said(rig.began, "expired commands have been aborted")
    assert rig.call(disk, "read,0,4096") == 4096


def test_others_in_flight_during_a_reset_do_not_notice(rig: Rig) -> None:
    """Their commands are repeated on the new queues, and their data is right."""
    disk = rig.stalled(STALLS, AGE_MS)
    writer = rig.start(disk, "deadline,200000", f"fill,5,{MIB},{MIB}", f"write,{MIB},{MIB}", "unmap", "map",
                       f"read,{MIB},{MIB}", f"match,5,{MIB},{MIB}")  # fmt: skip
    reader = rig.start_uring(disk, 4, 64 * KIB, "deadline=200000")
    until(lambda: rig.pinned_pages() >= 256, "nothing is in flight")
    assert rig.calls(disk, "deadline,300", "read,0,4096")[1][1] == -ETIMEDOUT
    faults.let_go(rig.guest, STALLS)
    assert results(writer.wait())[2:] == [("write", MIB), ("unmap", 0), ("map", 0), ("read", MIB), ("match", 1),
                                          ("close", 0)]  # fmt: skip
    assert uring_results(reader.wait()) == {64 * KIB: 4}
    rig.wait_reset(disk)
    counters = rig.counters(disk)  # the expired command may come back during the reset, with an error, or never
    assert (counters["resets"], counters["timeouts"], counters["errors"] <= 1) == (1, 1, True)


def test_two_callers_time_out_at_once(rig: Rig) -> None:
    """Each gets its own ETIMEDOUT; one reset is enough for both."""
    disk = rig.stalled(STALLS, AGE_MS)
    jobs = [rig.start(disk, "deadline,500", "read,0,65536") for _ in range(2)]
    assert [results(job.wait())[1][1] for job in jobs] == [-ETIMEDOUT] * 2
    faults.let_go(rig.guest, STALLS)
    rig.wait_unpinned()
    rig.wait_reset(disk)
    assert rig.counters(disk)["timeouts"] == 2
    assert rig.call(disk, "read,0,65536") == 65536


def commands(rig: Rig, disk: str) -> int:
    """Reads and writes that the drive of a disk has been sent."""
    counters = rig.counters(disk)
    return counters["read_commands"] + counters["write_commands"]


def test_killed_processes_go_at_once_and_their_memory_follows(rig: Rig) -> None:
    """SIGKILL ends calls that hang; at their deadline the drive is made to let go of their pages."""
    disk = rig.stalled(STALLS, AGE_MS)
    for step in ("read,0,1048576", "hipri,0,1048576", "write,0,16777216"):
        before = commands(rig, disk)
        job = rig.start(disk, "deadline,5000", step)
        until(lambda before=before: commands(rig, disk) > before, "nothing was sent")  # type: ignore[misc]
        assert job.kill()
        end = job.wait()
        assert (end.rc, end.stuck, end.timed_out) == (-9, None, False)
    assert rig.counters(disk)["interrupted"] >= 3
    faults.let_go(rig.guest, STALLS)
    until(lambda: rig.counters(disk)["resets"] >= 1, "nobody makes the drive let go of the memory")
    rig.wait_unpinned()
    assert rig.call(disk, "read,0,65536") == 65536


def test_killed_processes_leave_nothing_behind(rig: Rig) -> None:
    """Killed in mid-transfer at full speed, synchronous, polled and asynchronous."""
    disk = rig.disk(STALLS)
    for options in (None, "poll", "iopoll"):
        if options == "iopoll":
            jobs = [rig.start_uring(disk, 8, 64 * KIB, "until", "deadline=200000", "touch=/run/busy", "iopoll")]
        else:
            modes = ["deadline,200000"] + (["completion,2"] if options else [])
            jobs = [rig.start(disk, *modes, "touch,/run/busy", f"until,{n * MIB},{MIB}") for n in range(3)]
        rig.wait_file("/run/busy")
        assert all(job.kill() for job in jobs)
        assert [job.wait().rc for job in jobs] == [-9] * len(jobs)
        rig.remove("/run/busy")
    rig.wait_unpinned()
    rig.unbind(STALLS)


PART = """
fd = disk()
print(json.dumps(outcome(os.pwritev, fd, [b"part"], 3, os.RWF_DSYNC)))
"""


def test_unbinding_while_a_part_of_a_block_waits_for_another_queue(rig: Rig) -> None:
    """Its writer has commands of one queue, and waits for a write on the other: neither waits for its deadline."""
    disk = rig.stalled(STALLS, AGE_MS)
    rig.set(disk, "deadline_ms", CALL_LIMIT_S * 1000)
    write = rig.guest.start(["taskset", "-c", "1", rig.fault_io, disk, "write,0,65536"], timeout_s=CALL_LIMIT_S)
    until(lambda: rig.counters(disk)["write_commands"] == 1, "no write is posted")
    part = start_script(rig.guest, disk, PART, before=FIRST_CPU)
    where = "cat $(printf '/proc/%s/stack ' $(pidof python3))"
    until(lambda: "chario_edge_lock" in rig.guest.run(where).stdout, "nobody waits for the write")
    rig.unbind(STALLS)
    assert results(write.wait())[0] == ("write", -ENODEV)
    assert printed(part) == "ENODEV"
