# SPDX-License-Identifier: MIT
"""Files of any size when writers are killed: what write() has taken is written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_lab import CALL_LIMIT_S, Keeper, Rig, keep
from test_any_size import PRELUDE

from chario_lab.guest import faults
from chario_lab.guest.spec import Blkdebug, Namespace, Nvme
from chario_lab.kernel import Kernel

HOLDS = 0
DRIVES = (Nvme("holds", (Namespace(64, 4096, backing=Blkdebug()),)),)


@pytest.fixture(scope="module")
def keeper(kernel: Kernel, module: Path) -> Iterator[Keeper]:
    """One guest for this file."""
    with keep(kernel, module, drives=DRIVES) as keeper:
        yield keeper


@pytest.fixture
def rig(keeper: Keeper, request: pytest.FixtureRequest) -> Rig:
    """The guest, for one test."""
    return keeper.get(request)


KILLED = """
import signal, time
fd, strict = disk(), disk(False)
os.pwrite(strict, bytes(1 << 16), 0)
ready, told = os.pipe()
open("/run/started", "w").close()
while not os.path.exists("/run/go"):
    time.sleep(0.01)
pid = fork()
if pid == 0:
    os.pwrite(fd, b"k" * {size}, 7)
    os.write(told, b"1")
    {call}
    os._exit(0)
os.read(ready, 1)
# It is inside the call when the drive has its command.
while "chario" not in open(f"/proc/{{pid}}/stack").read():
    time.sleep(0.01)
os.kill(pid, signal.SIGKILL)
open("/run/killed", "w").close()
os.waitpid(pid, 0)
os.fsync(fd)
print(json.dumps(os.pread(strict, 1 << 16, 0).count(b"k")))
"""


@pytest.mark.parametrize("size", [100, 20000])
@pytest.mark.parametrize("call", ["os.close(fd)", "os.fsync(fd)", "os.pread(fd, 9, 7)", "os.pwrite(fd, b'z', 40000)"])
def test_a_kill_loses_nothing(rig: Rig, call: str, size: int) -> None:
    """The writer is killed while what it wrote before is on its way to a drive that takes its time."""
    disk = rig.disk(HOLDS)
    rig.guest.must("rm -f /run/started /run/go /run/killed")
    script = PRELUDE + KILLED.format(size=size, call=call)
    job = rig.guest.start(["python3", "-c", script, disk], timeout_s=CALL_LIMIT_S)
    rig.wait_file("/run/started")
    faults.hold(rig.guest, HOLDS)
    rig.guest.must("touch /run/go")
    rig.wait_file("/run/killed")
    # Time enough for a call that ends at once.
    rig.guest.must("sleep 0.3")
    faults.resume(rig.guest, HOLDS)
    assert json.loads(job.wait().check().stdout) == size
