# SPDX-License-Identifier: MIT
"""Allocations fail, one after the other: nothing leaks, nothing crashes, and calls need none.

Only the kernels debug and gcov can make them fail (fault injection); elsewhere
these tests are skipped and say so.  A sweep repeats one step with its first, second,
third, ... allocation failing, until the step has none left.  The checkers of
the kernel allocate as well; theirs are spared, because a checker that has
run out of memory switches itself off.

The long sweeps of probing, loading and block disks are sampled: each seventh failure, from a
random one on.  FAIL_NTH_STRIDE=1 has them whole.
"""

import os
import random
from collections import Counter
from collections.abc import Iterator
from errno import EBUSY, EINVAL, ENOMEM
from pathlib import Path

import pytest
from block_side import disable, enable, holds, noise, write
from disks import HIDDEN, folder
from programs import compile_program
from rig import PATIENCE, Rig
from shared_guest import FileGuest, Setup

from chario_lab.guest.devices import PCI, load_module
from chario_lab.guest.spec import Namespace, Nvme
from chario_lab.waiting import SETTLE_LIMIT_S, until

pytestmark = [pytest.mark.area("kernel/drive/", "kernel/back/nvme/"), pytest.mark.kernels("debug"), pytest.mark.cpus(2)]

SWEEP_LIMIT_S = 1500
STRIDE = int(os.environ.get("FAIL_NTH_STRIDE", "7"))
PARAMETERS = "queue_depth=8 peer_to_peer=1"
# An allocation that is made to fail is reported like any other that failed.
PROVOKED = (
    r"page allocation failure",
    r"vmalloc error",
    r"Call Trace:",
    r"FAULT_INJECTION",
    # The kernel removes files of /proc/irq that it has ignored not to have made.
    r"WARNING: .* remove_proc_entry",
)
# On x86-64 modules live above the kernel's own code.
MODULES = (0xFFFF_FFFF_A000_0000, 0xFFFF_FFFF_FF00_0000)
EVERYTHING = (0, (1 << 64) - 1)
DEBUGFS = "/sys/kernel/debug"
# Small drives: every queue costs allocations.
SETUP = Setup(
    drives=(
        Nvme("small", (Namespace(64), Namespace(64)), max_ioqpairs=2),
        Nvme("inside", (Namespace(64), Namespace(64)), max_ioqpairs=2, cmb_mib=16),
        # It has queues for the block side alone.
        Nvme("many", (Namespace(64),)),
    ),
    parameters=PARAMETERS,
    allowed=PROVOKED,
    append=f"memmap=16M${HIDDEN:#x}",
)


@pytest.fixture
def rig(keeper: FileGuest, request: pytest.FixtureRequest) -> Iterator[Rig]:
    """The guest with fault injection set up, for whatever asks for it next too; without it the test is skipped."""
    rig = keeper.get(request)
    if rig.guest.run("test -e /proc/thread-self/fail-nth").rc != 0:
        pytest.skip(f"kernel {rig.guest.spec.kernel} has no fault injection; use --kernel=debug")
    if rig.guest.must(["cat", f"{DEBUGFS}/failslab/cache-filter"]) == "N":
        spare_checkers(rig)
    aim(rig, EVERYTHING)
    yield rig
    aim(rig, EVERYTHING)


def spare_checkers(rig: Rig) -> None:
    """Let allocations of every kind fail but those of kmemleak, and of the checker of DMA mappings."""
    rig.guest.must(
        f"cd {DEBUGFS}; for d in failslab fail_page_alloc; do echo 0 >$d/verbose; echo N >$d/ignore-gfp-wait; "
        "done; echo 0 >fail_page_alloc/min-order; leak=/sys/kernel/slab/kmemleak_object/failslab; "
        "[ -e $leak ] || exit 0; for c in /sys/kernel/slab/*/failslab; do echo 1 >$c || exit 1; done; "
        "echo 0 >$leak; echo Y >failslab/cache-filter"
    )
    # kallsyms is sorted: a function ends where the next begins.
    found = rig.guest.run("grep -A1 ' add_dma_entry$' /proc/kallsyms", timeout_s=SETTLE_LIMIT_S).stdout.splitlines()
    if found:
        begin, end = (int(line.split()[0], 16) for line in found)
        set_filters(rig, {"reject-start": begin, "reject-end": end})


def aim(rig: Rig, code: tuple[int, int]) -> None:
    """Let only those allocations fail that are made under code of a range."""
    set_filters(rig, {"stacktrace-depth": 32, "require-start": code[0], "require-end": code[1]})


def set_filters(rig: Rig, values: dict[str, int]) -> None:
    """Set attributes of both kinds of failure."""
    lines = "".join(f"echo {value} >$d/{name}; " for name, value in values.items())
    rig.guest.must(f"cd {DEBUGFS}; for d in failslab fail_page_alloc; do {lines}done")


def unload(rig: Rig) -> None:
    """Take all drives from the module and unload it: a drive that is named would be probed with the module's start."""
    for drive in range(len(SETUP.drives)):
        rig.release(rig.address(drive))
    rig.guest.must("rmmod chario", timeout_s=SETTLE_LIMIT_S)


def reload(rig: Rig, module: Path, parameters: str = "") -> None:
    """Load the module anew, with more parameters."""
    unload(rig)
    load_module(rig.guest, module, f"{PATIENCE} {PARAMETERS} {parameters}")


def sweep(rig: Rig, *words: str) -> list[int]:
    """Results of a step with its first, second, ... allocation failing; the last one had none."""
    program = rig.guest.push(compile_program("fault_nth"))
    lines = rig.guest.must([program, *words], timeout_s=SWEEP_LIMIT_S).splitlines()
    assert lines[-1].split()[0] == "END", lines[-1]
    found = [int(line.split()[-1]) for line in lines]
    print(f"{len(found)} points, results {dict(Counter(found))}")
    return found


def sample(rig: Rig, *words: str) -> list[int]:
    """The results of each STRIDE-th failure of a long sweep."""
    first = random.randint(1, STRIDE)
    print(f"each {STRIDE}. failure from the {first}. on")
    return sweep(rig, *words, str(first), str(STRIDE))


@pytest.mark.allow_log(*PROVOKED)
@pytest.mark.parametrize("any_size", [0, 1])
def test_opening_survives_every_failure(rig: Rig, any_size: int) -> None:
    """open() gives ENOMEM and nothing else, and works afterwards; also where files take calls of any size."""
    disk = rig.disk(0)
    rig.set(disk, "any_size", any_size)
    found = sweep(rig, "open", disk)
    assert found[-1] == 0 and set(found[:-1]) <= {0, -ENOMEM} and -ENOMEM in found


@pytest.mark.parametrize("call", ["read", "write", "poll", "fsync"])
def test_calls_allocate_nothing(rig: Rig, call: str) -> None:
    """The first allocation of a call would fail; there is none, from the first call on."""
    assert sweep(rig, "call", rig.disk(0), call) == [0]


@pytest.mark.allow_log(*PROVOKED)
@pytest.mark.parametrize(
    "kind", ["registered", "pool", "window", "dmabuf", "peer", "export", "timeline", "any-size", "pin"]
)
def test_preparing_survives_every_failure(rig: Rig, kind: str) -> None:
    """Each call that prepares transfers gives ENOMEM and nothing else, leaves nothing behind, and works afterwards."""
    disk, inside = rig.disk(0), rig.disk(1)
    pinned = rig.pinned_pages()
    more = {"window": [f"{HIDDEN:#x}+0x10000"], "peer": [inside]}.get(kind, [])
    found = sweep(rig, "setup", inside if kind == "export" else disk, kind, *more)
    # The kernel takes a window that it has no memory to note down for one that is busy.
    allowed = {0, -ENOMEM, -EBUSY} if kind == "window" else {0, -ENOMEM}
    assert found[-1] == 0 and set(found) <= allowed and -ENOMEM in found
    until(lambda: rig.pinned_pages() == pinned, "pages stay pinned")


@pytest.fixture
def unpolled(rig: Rig, module: Path) -> Iterator[Rig]:
    """The guest with a module that makes no queues for polling."""
    reload(rig, module, "poll_queues=0")
    yield rig
    reload(rig, module)


@pytest.mark.allow_log(*PROVOKED)
@pytest.mark.parametrize("drive", [0, 2], ids=["shared-queues", "own-queues"])
def test_a_block_disk_survives_every_failure(unpolled: Rig, drive: int) -> None:
    """It is made or refused, and taken away: nothing of it stays, and both sides work afterwards.

    Two things that the kernel leaks where it has no memory are left out.  Another block disk has made the caches that
    all of them share, whose names would stay; and there are no queues for polling, because the folder of a processor
    in sysfs would be added to two queues, and its hold on the first be forgotten.
    """
    guest, disk, other = unpolled.guest, unpolled.disk(drive), unpolled.disk(1)
    enable(guest, other)
    aim(unpolled, MODULES)
    # A worker publishes the disk.
    sweeps = [sample(unpolled, who, f"{folder(disk)}/block") for who in ("switch", "work")]
    found = [result for each in sweeps for result in each]
    assert all(each[-1] == 0 for each in sweeps) and found.count(-ENOMEM) >= 100 // STRIDE
    # The block layer does not look whether there was memory for the disk's name, and the driver core says EINVAL then.
    assert set(found) <= {0, -ENOMEM, -EINVAL} and found.count(-EINVAL) <= 1
    path, block = noise(guest, 1024), enable(guest, disk)
    write(guest, block, path)
    assert holds(guest, disk, path) and holds(guest, block, path)
    assert disable(guest, disk) == disable(guest, other) == 0 and not guest.files.exists(block)
    assert unpolled.call(disk, "read,0,1048576") == 1048576


@pytest.mark.allow_log(*PROVOKED)
def test_probing_survives_every_failure(rig: Rig) -> None:
    """Whichever allocation of a probe fails, the drive is refused with ENOMEM or bound all the same."""
    address = rig.address(1)
    rig.disk(1)
    driver = f"{PCI}/drivers/chario"
    rig.guest.must(f"echo {address} >{driver}/unbind")
    # Enabled by hand: the firmware's interpreter makes five times as many allocations as the rest.
    rig.guest.must(f"echo 1 >{PCI}/devices/{address}/enable")
    aim(rig, MODULES)
    found = sample(rig, "write", f"{driver}/bind", address, f"{driver}/unbind")
    rig.guest.must(f"echo 0 >{PCI}/devices/{address}/enable")
    assert found[-1] == 0 and found.count(-ENOMEM) >= 100 // STRIDE
    # The PCI core takes a region that it has no memory to note down for one that is busy.
    assert set(found) <= {0, -ENOMEM, -EBUSY} and (STRIDE > 1 or -EBUSY in found)
    assert rig.call(rig.disk(1), "read,0,1048576") == 1048576


@pytest.mark.allow_log(*PROVOKED)
def test_loading_survives_every_failure(rig: Rig, module: Path) -> None:
    """Whichever allocation of the module's own start fails, with a disk in memory, nothing of it is left."""
    # Probing has a sweep of its own.
    unload(rig)
    aim(rig, MODULES)
    found = sample(rig, "load", rig.guest.push(module), "chario", "loopback_mib=1")
    assert found[-1] == 0 and found.count(-ENOMEM) >= 30 // STRIDE
    # The driver core says EINVAL where there is no memory for the folder of a module's drivers.
    assert set(found) <= {0, -ENOMEM, -EINVAL}
    load_module(rig.guest, module, f"{PATIENCE} {PARAMETERS}")
    assert rig.call(rig.disk(0), "read,0,1048576") == 1048576
