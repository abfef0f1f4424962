# SPDX-License-Identifier: MIT
"""`chario timeline` on a disk: what it prints, its tags, how it stops; and a drive that goes while it is recorded."""

import json
from errno import ENODEV, ETIMEDOUT
from pathlib import Path
from typing import Any

import pytest
from disks import KIB, MIB, Programs
from programs import TOP
from rig import PATIENCE, Rig, results
from shared_guest import Setup
from test_contract_trace import OF_A_LARGE_READ, STAGES

from chario_lab.guest import faults
from chario_lab.guest.devices import load_module
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Namespace, Nvme, Throttle
from chario_lab.programs import build_chario
from chario_lab.waiting import SETTLE_LIMIT_S, until

pytestmark = [pytest.mark.area("kernel/timeline/", "kernel/front/timeline", "lib/src/timeline/", "cli/timeline")]

DRIVES = (
    Nvme("kept", (Namespace(64),)),
    Nvme("pulled", (Namespace(64),)),
    Nvme("stalls", (Namespace(64, backing=Throttle()),)),
)
KEPT, PULLED, STALLS = range(3)
NO_REQUEST = 0xFFFFFFFF
LIMIT_S = 600
# Each queue has a ring of its own.
MANY_QUEUES = "private_queues=16"
SETUP = Setup(drives=DRIVES, parameters=MANY_QUEUES)


@pytest.fixture(scope="module")
def chario() -> Path:
    """The program, as it was built on the host."""
    return build_chario(TOP)


def record(guest: Guest, chario: Path, *words: str) -> dict[str, Any]:
    """What `chario timeline --json` prints."""
    document = json.loads(guest.must([str(chario), "timeline", "--json", *words], timeout_s=LIMIT_S))
    assert isinstance(document, dict)
    return document


def test_a_run_of_dd(guest: Guest, chario: Path, disk512: str) -> None:
    """100 reads: each stage of each is there, nothing is lost, the points of Figure 3 rise.

    dd's memory is not there at first: the first read is split once more when it has come.
    """
    dd = ["dd", f"if={disk512}", "of=/dev/null", "bs=4k", "count=100", "iflag=direct"]
    found = record(guest, chario, disk512, "--", *dd)
    stages = {stage["stage"]: stage for stage in found["stages"]}
    assert {name: stage["requests"] for name, stage in stages.items()} == dict.fromkeys([*STAGES[1:], "whole"], 100)
    assert (found["records"], found["lost_records"]) == (1001, 0)
    assert found["record_cost_ns"] > 0
    for stage in stages.values():
        spread = [stage[key] for key in ("min_ns", "median_ns", "p99_ns", "p999_ns", "max_ns")]
        assert spread == sorted(spread)
    points = {point["point"]: point for point in found["figure3"]}
    assert points["polled"]["requests"] == 0
    means = [points[name]["mean_ns"] for name in ("submitted", "handled", "resumed")]
    assert 0 < means[0] < means[1] < means[2]


def test_tags_of_a_script(guest: Guest, chario: Path, disk512: str) -> None:
    """A program that is recorded puts its tags around its reads."""
    read = f"dd if={disk512} of=/dev/null bs=1M count=1 iflag=direct"
    script = f"{chario} timeline --tag 1 && {read} && {chario} timeline --tag 2"
    found = record(guest, chario, "--all", disk512, "--", "sh", "-c", script)
    names = [event["stage"] for event in found["events"]]
    assert (names[0], names[-1]) == ("tag", "tag")
    assert [event["value"] for event in found["events"] if event["stage"] == "tag"] == [1, 2]
    counts = {stage: names.count(stage) for stage in STAGES if stage != "irq"}
    assert counts == {stage: OF_A_LARGE_READ.get(stage, 1) for stage in counts}


def test_it_stops_by_itself(guest: Guest, chario: Path, disk512: str) -> None:
    """Every call takes longer than the limit: the first one is the last that is recorded."""
    reads = f"dd if={disk512} of=/dev/null bs=1M count=20 iflag=direct"
    background = f"(sleep 1; while [ ! -e /run/stopped ]; do {reads}; done) >/dev/null 2>&1 &"
    guest.must(f"rm -f /run/stopped; {background} {chario} timeline --json --stop-above-us 1 {disk512} >/run/found; "
               "touch /run/stopped; wait", timeout_s=LIMIT_S)  # fmt: skip
    found = json.loads(guest.must("cat /run/found"))
    assert found["stopped_by"]["result"] == MIB
    assert found["stopped_by"]["duration_ns"] == found["stopped_by"]["finish_ns"] - found["stopped_by"]["enter_ns"]
    assert {stage["stage"]: stage["requests"] for stage in found["stages"]}["whole"] == 1


def test_an_interrupt_ends_the_recording(guest: Guest, chario: Path, disk512: str) -> None:
    """Control-C prints what there is."""
    guest.must(
        f"{chario} timeline {disk512} >/run/found & sleep 2; "
        f"dd if={disk512} of=/dev/null bs=4k count=10 iflag=direct; kill -INT $!; wait $!",
        timeout_s=LIMIT_S,
    )
    assert "101 records, 0 lost" in guest.must("cat /run/found")


def record_meanwhile(rig: Rig, programs: Programs, disk: str) -> str:
    """A recorder that has its memory mapped until /run/close; the file with its answers."""
    rig.guest.must("rm -f /run/open /run/close /run/answers")
    program = rig.guest.push(programs("timeline"))
    script = "open 64 64\\npread 4096 0\\ntouch /run/open\\nawait /run/close\\ntag 7\\ncontrol 1\\ntotals\\nrecords\\n"
    rig.guest.must(f"printf '{script}' | {program} {disk} >/run/answers 2>&1 & exit 0")
    rig.wait_file("/run/open")
    return "/run/answers"


def answers_of(rig: Rig, path: str) -> list[str]:
    """Let the recorder end; its answers."""
    rig.guest.must("touch /run/close")
    until(lambda: rig.guest.run(f"grep -q ^end {path}").rc == 0, "the recorder does not end")
    return rig.guest.must(f"cat {path}").splitlines()


def test_a_caller_who_gives_up(rig: Rig, guest_program: Programs) -> None:
    """Its finish is there, of no request: the slot is the drive's still."""
    disk = rig.disk(STALLS)
    path = record_meanwhile(rig, guest_program, disk)
    faults.stall(rig.guest, STALLS)
    calls = rig.calls(disk, f"read,0,{64 * KIB}", "deadline,300", f"read,0,{64 * KIB}")
    faults.let_go(rig.guest, STALLS)
    assert [value for name, value in calls if name == "read"] == [64 * KIB, -ETIMEDOUT]
    finishes = [line for line in answers_of(rig, path) if line.startswith("finish")]
    assert f"request={NO_REQUEST} " in finishes[-1] and f"result={-ETIMEDOUT}" in finishes[-1]
    rig.wait_reset(disk)
    rig.release(rig.address(STALLS))


def test_a_timeline_outlives_the_driver(rig: Rig, guest_program: Programs, module: Path) -> None:
    """Unbound while it is mapped: it can be read still, and a new one be opened; the module stays as long."""
    disk = rig.disk(KEPT)
    path = record_meanwhile(rig, guest_program, disk)
    rig.unbind(KEPT)
    assert "is in use" in rig.guest.run("rmmod chario").stderr
    answers = answers_of(rig, path)
    assert answers[0] == "0" and answers[4:7] == ["0", "0", "10 0 1 0"]
    until(lambda: rig.guest.run("rmmod chario").rc == 0, "the module does not go")
    load_module(rig.guest, module, f"{PATIENCE} {MANY_QUEUES}")
    program = rig.guest.push(guest_program("timeline"))
    assert rig.guest.must([program, rig.disk(KEPT)], stdin="open 64 0\n", timeout_s=SETTLE_LIMIT_S) == "0"


def test_a_drive_is_pulled_while_it_is_recorded(rig: Rig, guest_program: Programs) -> None:
    """Calls end with ENODEV, and their records are there."""
    # What is left behind is looked for among what all drives have.
    rig.release(rig.address(KEPT))
    disk = rig.disk(PULLED)
    path = record_meanwhile(rig, guest_program, disk)
    # One alone may be between two calls, and the next is refused before it is a request.
    steps = ("deadline,200000", f"read,0,{MIB}", "touch,/run/begun", f"until,0,{MIB}")
    jobs = [rig.start(disk, *steps) for _ in range(4)]
    rig.wait_file("/run/begun")
    rig.pull(PULLED)
    assert [dict(results(job.wait()))["until"] for job in jobs] == [-ENODEV] * 4
    assert rig.release(rig.address(PULLED)) == ""
    answers = answers_of(rig, path)
    assert any("result=-19" in line for line in answers if line.startswith("finish"))
    rig.wait_unpinned()


def test_rings_that_are_too_large(rig: Rig, guest_program: Programs) -> None:
    """Each has a size that is allowed, and all together are more than can be mapped."""
    disk = rig.disk(KEPT)
    script = f"open {1 << 20} 0\nopen 64 0\n"
    assert rig.guest.must([rig.guest.push(guest_program("timeline")), disk], stdin=script).split() == ["EINVAL", "0"]
