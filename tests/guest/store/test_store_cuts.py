# SPDX-License-Identifier: MIT
"""A store whose machine dies at a random moment is the old or the new one, with all that was durable.

src/store_cuts.c changes a store on /dev/chardisk0 for ever; the same program,
on the host, judges the drive's image.  In a machine that goes on, a copy of it
is judged while QEMU is stopped by a signal: what a kill would leave at that
moment.  And machines are killed: KILLS=N says how many, 2 unless said.
"""

import contextlib
import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Launcher
from disks import Programs
from programs import run_here

from chario_lab.guest.devices import bdf, bind, nodes
from chario_lab.guest.job import Job
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Namespace, Nvme, RawFile
from chario_lab.waiting import until

pytestmark = [pytest.mark.area("lib/src/", "cli/"), pytest.mark.slow]

DISK_MIB = 32
SNAPSHOTS = 100
KILLS = int(os.environ.get("KILLS", "2"))
LIMIT_S = 900


def run_on(guest: Guest, programs: Programs, seed: int) -> Job:
    """Start to change the store of the guest's only drive; returns when it is under way."""
    bind(guest, bdf(guest, 0))
    disk = nodes(guest, bdf(guest, 0))[0]
    program = guest.push(programs("store_cuts"))
    job = guest.start(f"{program} run {disk} {seed} >/run/words 2>&1", LIMIT_S)

    def is_ready() -> bool:
        assert job.poll() is None, guest.must("cat /run/words")
        return guest.files.exists("/run/words") and "ready" in guest.files.read("/run/words")

    until(is_ready, "the store is not ready")
    return job


def judge(programs: Programs, image: Path, seed: int) -> None:
    """The store is right; what the program says of it is shown with a failure."""
    run_here(programs("store_cuts"), "judge", image, str(seed))


def is_stopped(pid: int) -> bool:
    """Whether all threads of a process stand still."""
    states = [Path(task, "stat").read_text().rpartition(") ")[2][0] for task in Path(f"/proc/{pid}/task").iterdir()]
    return set(states) == {"T"}


@contextlib.contextmanager
def stopped(guest: Guest) -> Iterator[None]:
    """A machine that stands still during a block; it would only heat the processor while it is judged."""
    pid = guest.process.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        while not is_stopped(pid):
            time.sleep(0.001)
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def drive(image: Path, lba_bytes: int) -> tuple[Nvme, ...]:
    """A drive on a new file that outlives the machine."""
    image.touch()
    os.truncate(image, DISK_MIB << 20)
    return (Nvme("cuts", (Namespace(DISK_MIB, lba_bytes, backing=RawFile(image)),)),)


@pytest.mark.parametrize("lba_bytes", [512, 4096])
def test_any_moment(fresh_guest: Launcher, guest_program: Programs, tmp_path: Path, lba_bytes: int) -> None:
    """Half of a hundred moments of a machine for each format, and its end."""
    seed = random.randrange(1 << 32)
    image, copy = tmp_path / "disk.img", tmp_path / "copy.img"
    guest = fresh_guest(drives=drive(image, lba_bytes), dies=True)
    run_on(guest, guest_program, seed)
    for _ in range(SNAPSHOTS // 2):
        time.sleep(random.uniform(0.0, 0.3))
        with stopped(guest):
            shutil.copyfile(image, copy)
            judge(guest_program, copy, seed)
    guest.kill()
    judge(guest_program, image, seed)


def test_killed_machines(fresh_guest: Launcher, guest_program: Programs, tmp_path: Path) -> None:
    """Each machine is killed some moments after its store has been made."""
    for number in range(KILLS):
        seed = random.randrange(1 << 32)
        image = tmp_path / f"{number}.img"
        guest = fresh_guest(drives=drive(image, 4096 if number % 2 else 512), dies=True)
        run_on(guest, guest_program, seed)
        time.sleep(random.uniform(0.0, 3.0))
        guest.kill()
        judge(guest_program, image, seed)
        image.unlink()
