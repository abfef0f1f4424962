# SPDX-License-Identifier: MIT
"""Health: the drive's own numbers, what they come to, and who is told when they change.

A drive of QEMU has a temperature of 50 C that does not change, too hot from 70 C, and
no spare blocks to tell of.  Its critical warnings are set from outside; that
raises an asynchronous event.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from bind_lab import FAILED, OK, Machine, MachineKeeper, machine_keeper
from qemu_log import QemuLog

from chario_lab.guest import faults
from chario_lab.guest.job import Job
from chario_lab.guest.spec import Namespace, Nvme, drive_id
from chario_lab.waiting import until

pytestmark = [
    pytest.mark.area("kernel/disk/health", "kernel/back/nvme/health", "lib/src/device/health", "cli/cmd-health"),
]  # fmt: skip

DRIVE = 0
DRIVES = (Nvme("health", (Namespace(64), Namespace(32))),)
SPARE, RELIABILITY, READ_ONLY = 1, 4, 8
WARNING, CRITICAL = 3, 4
ZERO_C = 273
TEMPERATURE_K, HOT_K = 323, 343
LOG_PAGES = re.compile(r"pci_nvme_get_log .*lid 0x2 ")


keeper = machine_keeper(DRIVES, qtest=True)


@pytest.fixture
def machine(keeper: MachineKeeper, request: pytest.FixtureRequest) -> Machine:
    """The machine, for one test; its drive is well, and Linux's driver has it."""
    machine = keeper.get(request)
    warn(machine, 0)
    return machine


def warn(machine: Machine, bits: int) -> None:
    """Set the critical warnings of the drive."""
    path = f"/machine/peripheral/{drive_id(DRIVE)}"
    machine.guest.qmp("qom-set", path=path, property="smart_critical_warning", value=bits)


def bound(machine: Machine) -> str:
    """Bind the drive; its first disk."""
    done = machine.chario("bind", machine.address(DRIVE))
    assert done.rc == OK, done.describe()
    return machine.disks(DRIVE)[0]


def controller(machine: Machine) -> str:
    """The drive as Linux's driver names it."""
    machine.block(DRIVE)
    return "/dev/" + machine.must(f"ls /sys/bus/pci/devices/{machine.address(DRIVE)}/nvme")


def smart_log(machine: Machine) -> dict[str, Any]:
    """The log page, read through Linux's driver."""
    log: dict[str, Any] = json.loads(machine.must(f"nvme smart-log {controller(machine)} -o json"))
    return log


def health(machine: Machine, disk: str) -> dict[str, Any]:
    """What chario health says."""
    done = machine.chario("health", "--json", disk)
    answer: dict[str, Any] = json.loads(done.stdout)
    assert done.rc == {"ok": OK, "warning": WARNING, "critical": CRITICAL}[answer["status"]], done.describe()
    return answer


def shown(machine: Machine, disk: str) -> dict[str, str]:
    """What sysfs says."""
    return machine.guest.files.values(f"/sys/class/chario/{Path(disk).name}/health")


def start_watch(machine: Machine, disk: str, lines: int) -> Job:
    """chario health --watch, which has printed its first line when this returns."""
    job = machine.guest.start(
        f"chario health --watch --json --interval 1000 --count {lines} {disk} >/run/watched", timeout_s=600
    )
    until(lambda: machine.guest.run("test -s /run/watched").rc == 0, "nothing was watched")
    return job


def watched(machine: Machine, job: Job, rc: int) -> list[dict[str, Any]]:
    """What a watch has printed at its end."""
    assert job.wait().rc == rc
    return [json.loads(line) for line in machine.must("cat /run/watched && rm /run/watched").splitlines()]


def test_the_numbers_are_the_drive_s(machine: Machine) -> None:
    """chario health, sysfs, and the log page as Linux's driver reads it agree; counters go on."""
    machine.must(f"dd if={machine.block(DRIVE)} of=/dev/null bs=1M count=16 iflag=direct")
    log = smart_log(machine)
    disk = bound(machine)
    machine.must(f"dd if={disk} of=/dev/null bs=128k count=32")
    machine.must("sleep 1.1")
    now = health(machine, disk)
    assert now["status"] == "ok" and now["reasons"] == {} and now["path"] == disk
    assert now["temperature_c"] == log["temperature"] - ZERO_C == TEMPERATURE_K - ZERO_C
    assert now["warning_temperature_c"] == HOT_K - ZERO_C
    same = {"spare_percent": "avail_spare", "spare_threshold_percent": "spare_thresh", "used_percent": "percent_used",
            "power_cycles": "power_cycles", "power_on_hours": "power_on_hours", "media_errors": "media_errors",
            "unsafe_shutdowns": "unsafe_shutdowns", "error_log_entries": "num_err_log_entries"}  # fmt: skip
    assert {name: now[name] for name in same} == {name: int(log[theirs]) for name, theirs in same.items()}
    # Linux's driver may have looked at the disk once more after the log was read.
    assert now["read_commands"] >= int(log["host_read_commands"]) + 32
    assert now["data_units_read"] >= int(log["data_units_read"]) + (32 * 128 * 1024) // 512_000
    files = shown(machine, disk)
    assert files["status"] == "ok" and not files["reasons"] and files["temperature_k"] == str(TEMPERATURE_K)
    numbers = {name: value for name, value in files.items() if name in now and name not in ("status", "reasons")}
    assert numbers.pop("critical_warning") == "0x00" and len(numbers) > 15
    assert {name: int(value) for name, value in numbers.items()} == {name: now[name] for name in numbers}


def test_an_event_is_told_to_all(machine: Machine) -> None:
    """A critical warning comes as a uevent of each disk, ends a wait, and is said with what to do."""
    disk = bound(machine)
    monitor = machine.guest.start("udevadm monitor --kernel --property >/run/uevents", timeout_s=600)
    until(lambda: machine.guest.run("grep -q KERNEL /run/uevents").rc == 0, "udevadm does not listen")
    job = start_watch(machine, disk, 2)
    warn(machine, READ_ONLY)
    lines = watched(machine, job, CRITICAL)
    assert [line["status"] for line in lines] == ["ok", "critical"]
    assert [line["events"] for line in lines] == [0, 1]
    assert "record elsewhere" in lines[1]["reasons"]["read-only"]
    for name in machine.disks(DRIVE):
        event = f"DEVNAME={name}"
        until(lambda event=event: machine.guest.run(["grep", "-q", event, "/run/uevents"]).rc == 0, event)  # type: ignore[misc]
    monitor.stop()
    told = machine.must("cat /run/uevents && rm /run/uevents").split("\n\n")
    told = [event for event in told if "ACTION=change" in event]
    assert len(told) == 2
    for event in told:
        assert "CHARIO_HEALTH=critical\n" in event + "\n" and "CHARIO_REASONS=read-only\n" in event + "\n"
    text = machine.chario("health", disk)
    assert text.rc == CRITICAL and "read-only: the drive takes no writes any more" in text.stdout


def test_events_go_on(machine: Machine) -> None:
    """Each new warning is told: the log page that it names is read, and the request is made again."""
    disk = bound(machine)
    for count, bits in enumerate((SPARE, SPARE | RELIABILITY, 0, RELIABILITY, 0, SPARE), start=1):
        warn(machine, bits)
        if not bits:
            continue
        told = count - (count > 3) - (count > 5)
        until(lambda told=told: shown(machine, disk)["events"] == str(told), f"event {told} was not told")  # type: ignore[misc]
    assert shown(machine, disk)["reasons"] == "spare"


def test_events_outlast_a_reset(machine: Machine) -> None:
    """After a reset the drive is asked for events again."""
    disk = bound(machine)
    folder = f"/sys/class/chario/{Path(disk).name}"
    faults.fail_link(machine.guest, 0)
    until(lambda: machine.guest.files.value(f"{folder}/counters/resets") == "1", "the drive was not reset")
    until(lambda: machine.guest.files.value(f"{folder}/state") == "live", "the drive did not come up again")
    job = start_watch(machine, disk, 2)
    warn(machine, RELIABILITY)
    lines = watched(machine, job, CRITICAL)
    assert [line["events"] for line in lines] == [0, 1]
    assert list(lines[1]["reasons"]) == ["reliability"]


def test_a_drive_that_does_not_answer(machine: Machine) -> None:
    """Nobody waits for ever; its page is left alone until the controller has been reset; then all is well again."""
    disk = bound(machine)
    machine.must("sleep 1.1; echo 300 >/sys/module/chario/parameters/admin_timeout_ms")
    faults.disable_controller(machine.guest, DRIVE)
    first = machine.chario("health", disk)
    assert first.rc == FAILED and "ETIMEDOUT" in first.stderr
    until(lambda: "EBUSY" in machine.chario("health", disk).stderr, "the page was used again")
    machine.must("echo 5000 >/sys/module/chario/parameters/admin_timeout_ms")
    machine.must(f"dd if={disk} of=/dev/null bs=4096 count=1")
    until(lambda: machine.chario("health", disk).rc == OK, "the drive is not asked again")


def test_the_drive_is_not_flooded(machine: Machine) -> None:
    """Many readers within a second cost one log page."""
    disk = bound(machine)
    file = f"/sys/class/chario/{Path(disk).name}/health/temperature_k"
    machine.must("sleep 1.1")
    log = QemuLog(machine.guest, ["pci_nvme_get_log"])
    # Clocks of the guest itself: how many full seconds this took is how often the drive may be asked.
    took = machine.must(
        f"read -r a _ </proc/uptime; for i in $(seq 300); do read -r t <{file}; done; "
        'read -r b _ </proc/uptime; echo "$a $b"'
    )
    begun, ended = (float(word) for word in took.split())
    assert 1 <= len(LOG_PAGES.findall(log.all())) <= int(ended - begun) + 2


def test_too_hot_is_a_warning(machine: Machine) -> None:
    """A temperature above the drive's threshold: exit code 3, and what to do."""
    drive = controller(machine)
    machine.must(f"nvme set-feature {drive} -f 4 --value=300")
    try:
        disk = bound(machine)
        now = health(machine, disk)
        assert now["status"] == "warning" and "more air" in now["reasons"]["temperature"]
        assert now["critical_warning"] == 2
        assert machine.chario("health", disk).rc == WARNING
    finally:
        assert machine.chario("unbind", machine.address(DRIVE)).rc == OK
        machine.must(f"nvme set-feature {controller(machine)} -f 4 --value={HOT_K}")


def test_a_program_runs_pinned(machine: Machine) -> None:
    """chario pin holds the pins while its program runs, and says what came of them."""
    disk = bound(machine)
    done = machine.chario("pin", disk, "--", "sh", "-c", "od -An -td4 -N4 /dev/cpu_dma_latency; exit 5")
    assert done.rc == 5
    assert "retry        in force\n" in done.stderr and "apst         absent\n" in done.stderr
    assert "vectors      refused: NVMe status 0x10e\n" in done.stderr
    if machine.guest.run("test -d /sys/devices/system/cpu/cpuidle").rc == 0:
        assert int(done.stdout) == 0
    assert int(machine.must("od -An -td4 -N4 /dev/cpu_dma_latency")) == 2_000_000_000
