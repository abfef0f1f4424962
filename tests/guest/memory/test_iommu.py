# SPDX-License-Identifier: MIT
"""Behind an IOMMU: all memory works as without; what is mapped, how often, and that it is unmapped.

The IOMMU is strict: a drive that touched what is not mapped, or no longer, would be reported, and the test fail.
"""

from collections import Counter

import pytest
import test_any_size
import test_private_queue
from disks import HIDDEN, HIDDEN_BYTES, MIB, Programs
from rig import Rig
from shared_guest import FileGuest, Setup
from test_buffers import BLOCK, run
from test_dmabuf import CMB_MIB
from test_hotpath import allocations
from test_pool import PAGE, STREAMING, round_trip
from test_window import PHYSICAL, READ, WRITE
from traces import TRACING, Event, trace

from chario_lab.guest.devices import PCI, bar_address
from chario_lab.guest.spec import Namespace, Nvme
from chario_lab.kernel import Kernel

pytestmark = [
    pytest.mark.area("kernel/memory/dmabuf", "kernel/memory/cmb", "kernel/back/nvme/cmb"), pytest.mark.kernels("6.12"),
    pytest.mark.cpus(2),
]  # fmt: skip

PLAIN, INSIDE, STRAY = range(3)
DRIVES = (
    Nvme("plain", (Namespace(128),)),
    Nvme("inside", (Namespace(64, 4096),), cmb_mib=CMB_MIB),
    Nvme("stray", (Namespace(1),)),
)
MAPPINGS = ["iommu/map", "iommu/unmap"]
CALLS = 20
STRAY_FAULT = r"DMAR: .*fault"
COMMAND = 128 << 10
SIZES = [BLOCK, 3 * BLOCK, COMMAND + BLOCK, MIB]
SETUP = Setup(
    drives=DRIVES,
    parameters=f"peer_to_peer=1 windows={HIDDEN:#x}+{HIDDEN_BYTES}",
    allowed=(STRAY_FAULT,),
    append=f"memmap=16M${HIDDEN:#x}",
    iommu=True,
)


@pytest.fixture
def rig(keeper: FileGuest, request: pytest.FixtureRequest) -> Rig:
    """The guest, for one test."""
    rig = keeper.get(request)
    rig.guest.must("echo 4 >/proc/sys/vm/nr_hugepages")
    return rig


@pytest.fixture
def stock(kernel: Kernel, cpus: int) -> None:
    """For what the debug kernel's checkers, which allocate by themselves, see in the other tests as well."""
    if kernel.debug:
        pytest.skip("counts, and mappings of kinds that other tests make: the stock kernels show it")


def test_the_drives_are_behind_it(rig: Rig) -> None:
    """Each has an address space of its own, and what is unmapped is gone at once."""
    for drive in range(len(DRIVES)):
        assert rig.guest.must(f"cat {PCI}/devices/{rig.address(drive)}/iommu_group/type") == "DMA"


STRAY_ACCESS = """
import mmap, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR)
words = memoryview(mmap.mmap(fd, 0x2000)).cast("I")
def write(offset, value):
    words[offset // 4] = value
write(0x24, 0x00010001)                     # AQA: two entries each
for offset, value in ((0x28, 0x100000), (0x30, 0x200000)):
    write(offset, value)                    # ASQ, ACQ: nobody has mapped these
    write(offset + 4, 0)
write(0x14, 0x00460001)                     # CC: entries of 64 and 16 bytes, enabled
for _ in range(200):
    if words[0x1c // 4] & 1:
        break
    time.sleep(0.05)
write(0x1000, 1)                            # the doorbell: fetch a command
"""


@pytest.mark.allow_log(STRAY_FAULT)
def test_a_stray_access_is_seen(rig: Rig) -> None:
    """What the other tests rely on can fail: a drive that is made to read what is not mapped is in the log."""
    mark, address = rig.guest.log_mark(), rig.address(STRAY)
    rig.guest.must(f"echo 1 >{PCI}/devices/{address}/enable && setpci -s {address} COMMAND=6")
    rig.guest.must(["python3", "-c", STRAY_ACCESS, f"{PCI}/devices/{address}/resource0"])
    rig.wait_said(mark, "DMAR: [DMA Read")
    rig.guest.must(f"setpci -s {address} COMMAND=0")


def expect_balance(events: list[Event]) -> None:
    """Each page that was mapped has been unmapped, as often."""
    pages: Counter[int] = Counter()
    for event in events:
        start, size = int(event.fields["iova"], 16), int(event.fields["size"])
        for page in range(start, start + size, PAGE):
            pages[page] += 1 if event.name == "map" else -1
    assert pages
    assert set(pages.values()) == {0}


def traced(rig: Rig, drives: tuple[int, ...], script: list[str], beside: str = ":") -> tuple[list[str], list[Event]]:
    """What a script for src/buffers.c answered, and all mappings, from binding the drives to letting them go.

    The disks are chardisk0, chardisk1 in the order of the drives.  A command of the shell runs `beside` the script.
    """
    for drive in range(len(DRIVES)):
        rig.release(rig.address(drive))
    addresses = [rig.address(drive) for drive in drives]
    rig.guest.must("cat >/run/script", stdin="\n".join(script) + "\n")
    take = [f"echo chario >{PCI}/devices/{a}/driver_override && echo {a} >{PCI}/drivers_probe" for a in addresses]
    leave = [f"echo {a} >{PCI}/drivers/chario/unbind" for a in addresses]
    job = [*take, f"{rig.buffers} /dev/chardisk0 </run/script >/run/answers &", beside, "wait $!", *leave]
    rig.guest.must("cat >/run/job", stdin="\n".join(job) + "\n")
    events = trace(rig.guest, "sh -e /run/job", MAPPINGS, everybody=True)
    return rig.guest.must("cat /run/answers").split(), events


def targets(events: list[Event], start: int, size: int) -> list[Event]:
    """Mappings of a range of physical memory."""
    return [event for event in events if start <= int(event.fields.get("paddr", "0"), 16) < start + size]


@pytest.mark.parametrize("skew", [0, 4092])
def test_ordinary_calls(rig: Rig, skew: int) -> None:
    """One block to 1 MiB, from and to memory that is aligned or not; nothing stays mapped."""
    script, expect = [f"heap 0 {MIB} {skew}", f"heap 1 {MIB} {skew}", "fill 0 5"], ["0", "0", "0"]
    for size in (512, BLOCK, COMMAND, COMMAND + 512, MIB):
        script += [f"pwrite 0 0 {size} {MIB}", "clear 1", f"pread 1 0 {size} {MIB}", f"match 1 5 0 {size} 0"]
        expect += [str(size), "0", str(size), "1"]
    answers, events = traced(rig, (PLAIN,), script)
    assert answers == expect
    expect_balance(events)


@pytest.mark.parametrize(
    "make", [[f"heap 0 {2 * MIB}", "register 0"], [f"heap 0 {2 * MIB} 512", "register 0"], [f"pool 0 {2 * MIB}"],
             [f"pool 0 {2 * MIB} {STREAMING}"], [f"window 0 {HIDDEN} {2 * MIB}"]],
    ids=["registered", "misaligned", "pool", "streaming", "window"],
)  # fmt: skip
def test_buffers(rig: Rig, make: list[str]) -> None:
    """Slices of many sizes, both ways; who gives a buffer back, or ends, leaves nothing mapped."""
    script, expect = round_trip(SIZES)
    more = ["heap 1 8192", "register 1"]
    answers, events = traced(rig, (PLAIN,), [*make, *script, "free 0", *more])
    assert answers == [*["0"] * len(make), *expect, "0", "0", "0"]
    expect_balance(events)


@pytest.mark.usefixtures("stock")
def test_what_is_given_back_is_unmapped(rig: Rig) -> None:
    """Not only when its program ends, and in one piece when it is one piece."""
    size = 2 * MIB
    script = [f"huge 0 {size}", "register 0", "free 0", "wait /run/gone"]
    seen = f"grep -q ' unmap: .* size={size} ' {TRACING}/trace"
    look = f"for i in $(seq 100); do {seen} && touch /run/seen && break || sleep 0.1; done; touch /run/gone"
    answers, events = traced(rig, (PLAIN,), script, look)
    assert answers == ["0"] * 4
    rig.guest.must("test -e /run/seen")
    assert [event.name for event in events if event.fields["size"] == str(size)] == ["map", "unmap"]


@pytest.mark.usefixtures("stock")
def test_a_transfer_that_names_a_physical_address(rig: Rig) -> None:
    """Its caller gives the address that the CPU knows, the drive the one that the IOMMU does."""
    script = [f"window 0 {HIDDEN} {MIB}", "fill 0 7", f"raw {WRITE} {PHYSICAL} 0 {HIDDEN + PAGE} 0 {MIB // 2}",
              "clear 0", f"raw {READ} {PHYSICAL} 0 {HIDDEN} 0 {MIB // 2}",
              f"match 0 7 0 {MIB // 2} {PAGE}"]  # fmt: skip
    answers, events = traced(rig, (PLAIN,), script)
    assert answers == ["0", "0", str(MIB // 2), "0", str(MIB // 2), "1"]
    expect_balance(events)
    (mapping,) = targets(events, HIDDEN, HIDDEN_BYTES)
    assert int(mapping.fields["size"]) == MIB
    assert int(mapping.fields["paddr"], 16) == HIDDEN != int(mapping.fields["iova"], 16)


@pytest.mark.usefixtures("stock")
def test_inside_a_drive(rig: Rig) -> None:
    """A drive reaches its own memory with no IOMMU in between."""
    script = [f"inside 1 {MIB}", f"read 1 0 {MIB} 0", f"write 1 0 {MIB} {8 * MIB}"]
    answers, events = traced(rig, (INSIDE,), script)
    assert answers == ["0", str(MIB), str(MIB)]
    assert targets(events, bar_address(rig.guest, rig.address(INSIDE), 2), CMB_MIB * MIB) == []
    expect_balance(events)


def test_its_own_memory_as_a_dma_buf(rig: Rig) -> None:
    """A drive that imports its own memory reaches it as it does without: the IOMMU knows nothing of it."""
    script = [f"heap 0 {MIB}", "fill 0 5", f"pwrite 0 0 {MIB} 0", f"inside 1 {MIB}", "export 1", f"import 2 1 {MIB}",
              f"read 2 0 {MIB} 0", f"write 2 0 {MIB} {8 * MIB}", "clear 0", f"pread 0 0 {MIB} {8 * MIB}",
              f"match 0 5 0 {MIB} 0", "free 2"]  # fmt: skip
    answers, events = traced(rig, (INSIDE,), script)
    assert answers == ["0", "0", str(MIB), "0", "0", "0", str(MIB), str(MIB), "0", str(MIB), "1", "0"]
    assert targets(events, bar_address(rig.guest, rig.address(INSIDE), 2), CMB_MIB * MIB) == []
    expect_balance(events)


def test_from_drive_to_drive(rig: Rig, guest_program: Programs) -> None:
    """Another drive's memory is a resource in this drive's address space, and leaves it with the buffer."""
    script = [f"heap 0 {MIB}", "fill 0 9", f"pwrite 0 0 {MIB} 0", f"inside 1 {MIB}", f"read 1 0 {MIB} 0", "export 1",
              "other /dev/chardisk1", f"import 2 1 {MIB}", f"write 2 0 {MIB} 0", f"read 2 0 {MIB} 0",
              "free 2"]  # fmt: skip
    answers, events = traced(rig, (INSIDE, PLAIN), script)
    assert answers == ["0", "0", str(MIB), "0", str(MIB), "0", "0", "0", str(MIB), str(MIB), "0"]
    expect_balance(events)
    (mapping,) = targets(events, bar_address(rig.guest, rig.address(INSIDE), 2), CMB_MIB * MIB)
    assert int(mapping.fields["size"]) == MIB
    check = [f"heap 0 {MIB}", f"pread 0 0 {MIB} 0", f"match 0 9 0 {MIB} 0"]
    assert run(rig.guest, guest_program, rig.disk(PLAIN), check) == ["0", str(MIB), "1"]


@pytest.mark.usefixtures("stock")
def test_files_of_any_size(rig: Rig) -> None:
    """Blocks that are read, changed and written back go through memory of the module's own."""
    test_any_size.test_random_calls_against_a_model(rig.guest, rig.disk(PLAIN))


@pytest.mark.usefixtures("stock")
def test_a_queue_of_ones_own(rig: Rig) -> None:
    """The memory of a queue that comes and goes."""
    test_private_queue.test_any_depth_moves_all_data(rig.guest, rig.disk(PLAIN), 3)


def count(rig: Rig, programs: Programs, kinds: list[str], *more: str) -> list[Event]:
    """All that happens during CALLS calls of each kind and size: mappings by whomever, the rest in the callers."""
    program, disk = rig.guest.push(programs("hotpath")), rig.disk(PLAIN)
    runs = "\n".join(f"{program} {disk} {kind}" for kind in kinds)
    rig.guest.must("cat >/run/calls", stdin=runs + "\n")
    events = [*MAPPINGS, "chario/doorbell", *more]
    seen = trace(rig.guest, "sh -e /run/calls", events, everybody=True, by_itself=True)
    doorbells = Counter(event.pid for event in seen if event.name == "doorbell")
    assert sorted(doorbells.values()) == [CALLS] * len(kinds)
    return [event for event in seen if event.name in ("map", "unmap") or event.pid in doorbells]


@pytest.mark.usefixtures("stock")
@pytest.mark.parametrize("way", ["transfer", "command", "batch"])
@pytest.mark.parametrize("direction", ["read", "write"])
def test_registered_memory_costs_one_doorbell(rig: Rig, guest_program: Programs, way: str, direction: str) -> None:
    """No allocation, no mapping, one doorbell a call: 4 KiB, 128 KiB, 1 MiB.

    32 commands of io_uring that are submitted together, which are smaller, cost what one does.
    """
    sizes = (PAGE, COMMAND) if way == "batch" else (PAGE, COMMAND, MIB)
    kinds = [f"{way}-{direction} {size} {CALLS}" for size in sizes]
    events = count(rig, guest_program, kinds, *allocations(rig.guest))
    assert {event.name for event in events} == {"doorbell"}


@pytest.mark.usefixtures("stock")
@pytest.mark.parametrize("kind", ["read", "write-polled", "uring-read"])
def test_other_memory_costs_a_mapping_a_command(rig: Rig, guest_program: Programs, kind: str) -> None:
    """Memory in one piece is mapped and unmapped once for each command; one doorbell a call all the same."""
    kinds = [f"{kind} {size} {CALLS} huge" for size in (PAGE, COMMAND, MIB)]
    counts = Counter((event.name, event.fields.get("size")) for event in count(rig, guest_program, kinds))
    large = (1 + MIB // COMMAND) * CALLS
    assert counts == {
        ("doorbell", None): 3 * CALLS,
        ("map", str(PAGE)): CALLS,
        ("unmap", str(PAGE)): CALLS,
        ("map", str(COMMAND)): large,
        ("unmap", str(COMMAND)): large,
    }


@pytest.mark.usefixtures("stock")
@pytest.mark.parametrize("kind", ["read", "write-polled", "uring-read"])
def test_scattered_memory_costs_an_address_range_a_command(rig: Rig, guest_program: Programs, kind: str) -> None:
    """Pages that are not neighbours are behind each other for the drive, and unmapped together."""
    events = count(rig, guest_program, [f"{kind} {MIB} {CALLS}"])
    assert sum(int(event.fields["size"]) for event in events if event.name == "map") == MIB * CALLS
    unmapped = Counter(int(event.fields["size"]) for event in events if event.name == "unmap")
    assert unmapped == {COMMAND: MIB // COMMAND * CALLS}
    expect_balance([event for event in events if event.name != "doorbell"])
