# SPDX-License-Identifier: MIT
"""Allocations fail, one after the other: nothing leaks, nothing crashes, and calls need none.

Only the debug kernel can make them fail (fault injection); elsewhere these
tests are skipped and say so.
"""

from __future__ import annotations

from collections.abc import Iterator
from errno import ENODEV, ENOMEM
from pathlib import Path

import pytest
from conftest import compile_program
from fault_lab import Keeper, Rig, keep

from chario_lab.guest.devices import PCI, bind, nodes
from chario_lab.guest.plan import Namespace, Nvme
from chario_lab.kernel import Kernel

SWEEP_LIMIT_S = 1800
# An allocation that is made to fail is reported like any other that failed.
PROVOKED = (r"page allocation failure", r"vmalloc error", r"Call Trace:", r"FAULT_INJECTION")


@pytest.fixture(scope="module")
def keeper(kernel: Kernel, module: Path) -> Iterator[Keeper]:
    """One guest for this file, with a small drive: every queue costs allocations."""
    drives = (Nvme("small", (Namespace(64),), max_ioqpairs=2),)
    # The checker of DMA mappings allocates for each mapping, which is no allocation of ours.
    with keep(kernel, module, "queue_depth=8", PROVOKED, drives=drives, append="dma_debug=off") as keeper:
        yield keeper


@pytest.fixture
def rig(keeper: Keeper, request: pytest.FixtureRequest) -> Rig:
    """The guest with fault injection set up; without it the test is skipped."""
    rig = keeper.get(request)
    if rig.guest.run("test -e /proc/thread-self/fail-nth").rc != 0:
        pytest.skip(f"kernel {rig.guest.spec.kernel} has no fault injection; use --kernel=debug")
    rig.guest.must(
        "cd /sys/kernel/debug; for d in failslab fail_page_alloc; do echo 0 >$d/verbose; echo N >$d/ignore-gfp-wait; "
        "done; echo 0 >fail_page_alloc/min-order"
    )
    return rig


def sweep(rig: Rig, *words: str) -> list[int]:
    """Results of a step with its first, second, ... allocation failing; the last one had none."""
    program = rig.guest.push(compile_program("fault_nth"))
    lines = rig.guest.must([program, *words], timeout_s=SWEEP_LIMIT_S).splitlines()
    assert lines[-1].split()[0] == "END", lines[-1]
    return [int(line.split()[-1]) for line in lines]


@pytest.mark.allow_log(*PROVOKED)
def test_opening_survives_every_failure(rig: Rig) -> None:
    """open() gives ENOMEM and nothing else, and works afterwards."""
    disk = rig.disk(0)
    found = sweep(rig, "open", disk)
    assert found[-1] == 0 and set(found[:-1]) <= {0, -ENOMEM} and -ENOMEM in found


@pytest.mark.parametrize("call", ["read", "write", "poll", "fsync"])
def test_calls_allocate_nothing(rig: Rig, call: str) -> None:
    """The first allocation of a call would fail; there is none, from the first call on."""
    assert sweep(rig, "call", rig.disk(0), call) == [0]


@pytest.mark.allow_log(*PROVOKED)
def test_probing_survives_every_failure(rig: Rig) -> None:
    """Whichever allocation of a probe fails, the drive is refused with ENOMEM or bound all the same."""
    address = rig.address(0)
    rig.disk(0)
    driver = f"{PCI}/drivers/chario"
    rig.guest.must(f"echo {address} >{driver}/unbind")
    # Enabled by hand, so that the firmware's own allocations do not come into it: they are many.
    rig.guest.must(f"echo 1 >{PCI}/devices/{address}/enable")
    found = sweep(rig, "write", f"{driver}/bind", address, f"{driver}/unbind")
    assert found[-1] == 0 and found.count(-ENOMEM) >= 20
    assert set(found) <= {0, -ENOMEM, -ENODEV}
    rig.guest.must(f"echo 0 >{PCI}/devices/{address}/enable")
    bind(rig.guest, address)
    assert rig.call(nodes(rig.guest, address)[0], "read,0,1048576") == 1048576
