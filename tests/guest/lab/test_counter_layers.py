# SPDX-License-Identifier: MIT
"""Linux's ways to a file, function by function: the plugin's table knows what each function is for."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from shared_guest import watch
from test_counter import BLOCK_NODE, counting_guest

from chario_lab.counting import layers
from chario_lab.counting.series import Operation, Reader
from chario_lab.counting.stats import UNASSIGNED_LIMIT, instructions
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Namespace, Nvme
from chario_lab.kernel import Kernel
from chario_lab.programs import build_repeat

pytestmark = [pytest.mark.area("lab/"), pytest.mark.kernels("6.12"), pytest.mark.stock]

DRIVE = Nvme("counted", (Namespace(size_mib=1024, lba_bytes=4096),))
MAKE = {"ext4": "mkfs.ext4 -q -F -E nodiscard", "xfs": "mkfs.xfs -q -f", "f2fs": "mkfs.f2fs -q -f"}
# Bytes of a call, and calls of a series.
SIZES = ((4096, 64), (131072, 16))
TRIES = 3
LIMIT_S = 300


@dataclass
class Counted:
    """A guest with the plugin and a drive of Linux's driver."""

    guest: Guest
    program: str
    map_path: Path
    reader: Reader

    def learn(self) -> None:
        """Tell the plugin the functions as they are now."""
        symbols = layers.parse_kallsyms(self.guest.must("cat /proc/kallsyms", LIMIT_S))
        self.map_path.write_text(layers.render_map(symbols))
        self.guest.must([self.program, "reload"])

    def repeat(self, *words: object) -> Operation:
        """A series of calls, from before the first to after the last."""
        self.guest.must("sync; echo 3 >/proc/sys/vm/drop_caches", LIMIT_S)
        self.guest.must([self.program, *map(str, words)], LIMIT_S)
        ((series,),) = self.reader.new_segments()
        return series


@pytest.fixture(scope="module")
def booted(kernel: Kernel, cpus: int) -> Iterator[Counted]:
    """One guest for all tests of this file."""
    with counting_guest(kernel, cpus, DRIVE) as (guest, map_path, reader):
        yield Counted(guest, guest.push(build_repeat()), map_path, reader)


@pytest.fixture
def counted(booted: Counted, request: pytest.FixtureRequest) -> Counted:
    """The guest, whose log is searched when a test ends."""
    watch(request.node, booted.guest, booted.guest.log_mark())
    return booted


@pytest.mark.parametrize("place", ["raw", *MAKE])
def test_nearly_all_functions_have_a_layer(counted: Counted, place: str) -> None:
    """Of no series more than a fiftieth is spent in functions that the table does not know."""
    path = BLOCK_NODE
    if place in MAKE:
        counted.guest.must(f"{MAKE[place]} {BLOCK_NODE} && mount -t {place} {BLOCK_NODE} /mnt", LIMIT_S)
        path = "/mnt/file"
    counted.learn()
    shares = {}
    for mode in ("direct", "buffered"):
        for direction in ("write", "read"):
            for bytes_, calls in SIZES:
                # What happens to fall into one series, such as a worker of the kernel, is not in the next.
                for _ in range(TRIES):
                    series = counted.repeat(path, direction, mode, bytes_, calls)
                    share = series.layers[layers.LAYERS.index(layers.OTHER)] / instructions(series)
                    shares[mode, direction, bytes_] = share
                    if share <= UNASSIGNED_LIMIT:
                        break
    if place in MAKE:
        counted.guest.must("umount /mnt", LIMIT_S)
    assert max(shares.values()) <= UNASSIGNED_LIMIT, shares
