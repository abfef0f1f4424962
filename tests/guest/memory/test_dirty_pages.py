# SPDX-License-Identifier: MIT
"""Memory that a read was made into may be pages of a file: they have to reach the file.

The kernel writes such pages back whenever it likes, also while the drive is at work on them; they
are clean then.  What the drive writes to them afterwards is lost when the kernel needs their memory,
unless they are marked dirty at the end of the read.
"""

from collections.abc import Iterator

import pytest
from programs import compile_program
from rig import CALL_LIMIT_S, Rig
from shared_guest import FileGuest, Setup

from chario_lab.guest import faults
from chario_lab.guest.spec import Namespace, Nvme, Throttle
from chario_lab.waiting import until

pytestmark = [pytest.mark.area("kernel/front/char", "kernel/disk/", "kernel/queue/complete", "kernel/request/")]

# One command, of some pages.
BYTES = 16 << 10
IMAGE, FOLDER = "/dev/shm/files.img", "/run/files"
MOUNT = f"mount -t ext4 /dev/loop6 {FOLDER}"
SETUP = Setup(drives=(Nvme("stalls", (Namespace(64, backing=Throttle()),)),))


@pytest.fixture
def rig(keeper: FileGuest, request: pytest.FixtureRequest) -> Iterator[Rig]:
    """The guest, for one test, with a drive at full speed, and a file system on a loop device."""
    rig = keeper.get(request)
    faults.let_go(rig.guest, 0)
    if not rig.guest.files.exists(f"{FOLDER}/lost+found"):
        rig.guest.must(
            f"truncate -s 32M {IMAGE} && modprobe loop && modprobe ext4 && losetup /dev/loop6 {IMAGE} && "
            f"mkfs.ext4 -q -b 4096 /dev/loop6 && mkdir -p {FOLDER} && {MOUNT}"
        )
    yield rig
    faults.let_go(rig.guest, 0)


@pytest.mark.parametrize("way", ["pread", "ring", "ring-poll"])
def test_a_read_into_a_mapped_file_reaches_the_file(rig: Rig, way: str) -> None:
    """The file is written back while the read is with the drive; the data are there when its pages are reclaimed."""
    disk = rig.disk(0)
    rig.calls(disk, f"fill,5,0,{BYTES}", f"write,0,{BYTES}", "sync")
    rig.guest.must(
        f"dd if={disk} of=/run/should bs={BYTES} count=1 && dd if=/dev/zero of={FOLDER}/file bs={BYTES} count=1"
    )
    faults.stall(rig.guest, 0)
    # The first of all still passes, and holds up the next for a minute.
    rig.guest.must(f"dd if={disk} of=/dev/null bs=64k count=1")
    before = rig.counters(disk)["read_commands"]
    program = rig.guest.push(compile_program("dirty_pages"))
    job = rig.guest.start([program, disk, f"{FOLDER}/file", str(BYTES), way, "/run/sent"], CALL_LIMIT_S)
    rig.wait_file("/run/sent")
    until(lambda: rig.counters(disk)["read_commands"] > before, "nothing was read")
    rig.guest.must(f"sync {FOLDER}/file")
    assert job.poll() is None, "the drive was too fast"
    faults.let_go(rig.guest, 0)
    # QEMU lets go of what it has held up already when it stops, which waits for all media.
    rig.guest.qmp("stop")
    rig.guest.qmp("cont")
    assert job.wait().check().stdout.split() == [str(BYTES)]
    rig.wait_unpinned()
    # No page of the file outlasts that; to reclaim all memory would cost the programs of the guest too.
    rig.guest.must(f"umount {FOLDER} && {MOUNT} && cmp {FOLDER}/file /run/should")
