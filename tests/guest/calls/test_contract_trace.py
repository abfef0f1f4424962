# SPDX-License-Identifier: MIT
"""The tracepoints tell the story of a call, in the order of enum chario_stage."""

import re
from collections import Counter
from pathlib import Path

import pytest
from disks import Programs
from traces import Event, trace

from chario_lab.guest.session import Guest

pytestmark = [pytest.mark.area("kernel/front/char", "kernel/disk/")]

UAPI = Path(__file__).resolve().parents[3] / "kernel/uapi/chario/uapi.h"
STAGES = [name.lower() for name in re.findall(r"^\tCHARIO_STAGE_(\w+),$", UAPI.read_text(), re.MULTILINE)]
OF_A_COMMAND = ["split", "map", "queue", "post", "reap", "unmap"]
# 1 MiB is 8 commands.  dd's memory is not there at first: the first command is split once more when it has come.
OF_A_LARGE_READ = {**dict.fromkeys(OF_A_COMMAND, 8), "split": 9}


def first_places(events: list[Event]) -> list[int]:
    """Where each stage appears first."""
    names = [event.name for event in events]
    return [names.index(stage) for stage in STAGES]


def test_there_is_a_tracepoint_for_each_stage(guest: Guest) -> None:
    """Ten stages, ten tracepoints, the same names; and one for a buffer that is made."""
    assert len(STAGES) == 10
    names = guest.must("cd /sys/kernel/tracing/events/chario && ls -d */").replace("/", "").split()
    assert sorted(names) == sorted([*STAGES, "buffer"])


def test_the_stages_of_a_large_read_stand_in_order(guest: Guest, disk: str) -> None:
    """1 MiB: one call, 8 commands, one doorbell; each command passes its stages in order."""
    command = f"dd if={disk} of=/dev/null bs=1M count=1"
    events = trace(guest, command, ["chario"], everybody=True)
    assert first_places(events) == sorted(first_places(events))
    counts = Counter(event.name for event in events)
    assert 1 <= counts.pop("irq") <= 8
    assert counts == {stage: OF_A_LARGE_READ.get(stage, 1) for stage in STAGES if stage != "irq"}
    for start in range(0, 1 << 20, 128 << 10):
        mine = [event for event in events if event.name in OF_A_COMMAND and event.fields["offset"] == str(start)]
        assert [event.name for event in mine] == (OF_A_COMMAND if start else ["split", *OF_A_COMMAND])
        assert {event.fields["bytes"] for event in mine} == {str(128 << 10)}
    assert events[0].fields["bytes"] == events[-1].fields["bytes"] == str(1 << 20)


def test_a_polled_call_has_no_irq(guest: Guest, guest_program: Programs, disk512: str) -> None:
    """All stages but one."""
    program = guest.push(guest_program("hotpath"))
    events = trace(guest, f"{program} {disk512} read-polled 4096 1", ["chario"], everybody=True, by_itself=True)
    assert [event.name for event in events] == [stage for stage in STAGES if stage != "irq"]


def test_a_durable_write_carries_fua(guest: Guest, disk512: str) -> None:
    """O_DSYNC: the command says so; without it, it does not."""
    for flags, fua in (("", "0"), ("oflag=dsync", "1")):
        events = trace(guest, f"dd if=/dev/zero of={disk512} bs=4k count=1 {flags}", ["chario/post"], everybody=True)
        assert [(event.fields["op"], event.fields["fua"]) for event in events] == [("write", fua)]
