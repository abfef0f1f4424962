# SPDX-License-Identifier: MIT
"""A guest goes to sleep, wakes up, restarts, or hands over to another kernel.

    job = sleep(guest); wake(guest, job)    suspend to memory (S3): all devices lose their state
    rehearse_sleep(guest, 1).wait().check() drivers suspend and resume, the devices stay powered
    stop_at_end(guest); wait_end(guest)     the machine stops where it would restart or go off
    wait_restart(guest)                     another kernel has started, and its agent answers
    watch_controller(guest)                 what drivers tell the NVMe controller, as QEMU sees it

QEMU 10.0 puts a guest to sleep once: the second time it is awake again at once.

After any sleep a guest has lost its file systems: virtio-9p cannot sleep.  What
was started from memory, /run, goes on, and BUSYBOX, which is there, starts;
whatever touches another file never ends.
"""

import re
from dataclasses import dataclass

from chario_lab.guest.job import Job
from chario_lab.guest.plan import AGENT_PORT
from chario_lab.guest.session import Guest
from chario_lab.waiting import until

BUSYBOX = "/run/lab/busybox"
SLEEP_LIMIT_S = 120.0
RESTART_LIMIT_S = 600.0
REHEARSAL_LIMIT_S = 120.0

# The agent's line is closed for a moment after waking up.  The agent takes that for the
# end of the host, so it is not let on until the line is open again.
SLEEP = """
b=/run/lab/busybox agent=/sys/fs/cgroup/agent
[ -d $agent ] || $b mkdir $agent || exit 1
echo 1 >$agent/cgroup.procs && echo 1 >$agent/cgroup.freeze || exit 1
echo deep >/sys/power/mem_sleep && echo none >/sys/power/pm_test && echo mem >/sys/power/state
end=$?
until $b grep -q 'host_connected: 1' /sys/kernel/debug/virtio-ports/*; do :; done
echo 0 >$agent/cgroup.freeze
echo 1 >/sys/fs/cgroup/cgroup.procs
exit $end
"""

TRACED = ("pci_nvme_mmio_cfg", "pci_nvme_mmio_doorbell_sq", "pci_nvme_del_sq", "pci_nvme_mmio_start_success")
SHN_MASK, SHN_NORMAL, ENABLE = 0xC000, 0x4000, 0x1


@dataclass(frozen=True)
class Event:
    """One thing that a driver did to a controller.

    what       value
    config     what it wrote to CC
    doorbell   the submission queue that it rang
    delete     the submission queue that it deleted
    ready      0: the controller became ready
    """

    what: str
    value: int

    @property
    def is_shutdown(self) -> bool:
        """A normal shutdown notification, to an enabled controller."""
        return self.what == "config" and self.value & (SHN_MASK | ENABLE) == SHN_NORMAL | ENABLE


def busybox(guest: Guest, command: str) -> str:
    """A shell command that has to succeed, made of what busybox has: $b NAME."""
    return guest.must([BUSYBOX, "sh", "-c", command], env={"b": BUSYBOX})


def can_sleep(guest: Guest) -> bool:
    """Whether the guest's kernel can suspend to memory."""
    return guest.run("grep -q deep /sys/power/mem_sleep").rc == 0


def sleep(guest: Guest) -> Job:
    """Suspend to memory; returns when the machine sleeps."""
    guest.qmp("query-status")
    job = guest.start([BUSYBOX, "sh", "-c", SLEEP], SLEEP_LIMIT_S)
    guest.wait_event("SUSPEND", SLEEP_LIMIT_S)
    return job


def wake(guest: Guest, job: Job) -> None:
    """Wake the machine up; returns when processes run again."""
    guest.qmp("system_wakeup")
    job.wait().check()


def rehearse_sleep(guest: Guest, asleep_s: int) -> Job:
    """Suspend all drivers and resume them so many seconds later; the job ends then.

    The kernel counts loops instead of asking a clock: each second costs one of a processor, and may be longer or
    shorter as the host is busy.
    """
    guest.files.write("/sys/module/suspend/parameters/pm_test_delay", asleep_s)
    command = "echo devices >/sys/power/pm_test && echo mem >/sys/power/state"
    return guest.start([BUSYBOX, "sh", "-c", command], REHEARSAL_LIMIT_S)


def stop_at_end(guest: Guest) -> None:
    """From now on the machine stops, and can be looked at, where it would end."""
    guest.qmp("set-action", reboot="shutdown", shutdown="pause")


def wait_end(guest: Guest) -> None:
    """Return when the machine has come to its end and stands still."""
    guest.wait_event("STOP", SLEEP_LIMIT_S)


def wait_restart(guest: Guest) -> None:
    """Return when a new kernel has taken over; QMP must be in use already."""
    guest.wait_event("VSERPORT_CHANGE", RESTART_LIMIT_S, lambda data: data == {"id": AGENT_PORT, "open": False})
    guest.wait_event("VSERPORT_CHANGE", RESTART_LIMIT_S, lambda data: data == {"id": AGENT_PORT, "open": True})


def watch_controller(guest: Guest) -> int:
    """Begin to note what is told to the controllers; a mark for controller_events()."""
    for name in TRACED:
        guest.hmp(f"trace-event {name} on")
    return (guest.host.run_dir / "qemu.log").stat().st_size


def controller_events(guest: Guest, since: int) -> list[Event]:
    """What has been noted; of all controllers in one list."""
    with (guest.host.run_dir / "qemu.log").open() as log:
        log.seek(since)
        events = [parse_event(line) for line in log]
    return [event for event in events if event]


def wait_shutdowns(guest: Guest, since: int, count: int) -> None:
    """Return when this many controllers have been notified of a shutdown."""
    until(
        lambda: sum(event.is_shutdown for event in controller_events(guest, since)) >= count,
        f"not {count} controllers were told to shut down",
    )


def parse_event(line: str) -> Event | None:
    """One line of QEMU's log."""
    for what, pattern in (
        ("config", r"pci_nvme_mmio_cfg .*config=(0x[0-9a-f]+)"),
        ("doorbell", r"pci_nvme_mmio_doorbell_sq sqid (\d+)"),
        ("delete", r"pci_nvme_del_sq .*sqid=(\d+)"),
    ):
        if match := re.match(pattern, line):
            return Event(what, int(match[1], 0))
    return Event("ready", 0) if line.startswith("pci_nvme_mmio_start_success") else None
