# SPDX-License-Identifier: MIT
"""Probing: what is driven, what is refused and why, and what is left behind then."""

from pathlib import Path

import pytest
from disks import KIB, MIB
from rig import PATIENCE, Rig
from shared_guest import Setup

from chario_lab.guest import faults
from chario_lab.guest.devices import PCI, bar_address, bind, driver_of, use_intx
from chario_lab.guest.job import CommandFailed
from chario_lab.guest.spec import Namespace, Nvme, RegisterFile
from chario_lab.waiting import SETTLE_LIMIT_S, until

pytestmark = [pytest.mark.area("kernel/drive/", "kernel/back/nvme/"), pytest.mark.kernels("debug"), pytest.mark.cpus(2)]


PLAIN, METADATA, MIXED, REGISTERS, ONE_PAIR, SHORT_QUEUE, SMALL_COMMANDS, ONE_VECTOR, BARE = range(9)
DRIVES = (
    Nvme("plain", (Namespace(64),)),
    Nvme("metadata", (Namespace(64, metadata_bytes=8),)),
    Nvme("mixed", (Namespace(64, metadata_bytes=16), Namespace(64, 4096, nsid=7))),
    RegisterFile(),
    Nvme("one-pair", (Namespace(64),), max_ioqpairs=1),
    Nvme("short-queue", (Namespace(64),), mqes=2),
    Nvme("small-commands", (Namespace(64, 4096),), mdts=1),
    Nvme("one-vector", (Namespace(64),), msix_vectors=1),
    Nvme("bare", ()),
)
SETUP = Setup(drives=DRIVES, qtest=True)


def refuse(rig: Rig, address: str, reason: str) -> None:
    """Binding fails with a reason in the log; twice, as the first try must not spoil the second."""
    for _ in range(2):
        with pytest.raises(CommandFailed, match=reason):
            rig.take(address)
        assert rig.release(address) == ""


@pytest.fixture
def nothing_bound(rig: Rig) -> None:
    """Every drive is free and belongs to nobody, so that leftovers show."""
    rig.guest.must(
        f"cd {PCI}/drivers/chario && for d in 0000:*; do [ ! -e $d ] || echo $d >unbind; done; "
        f"grep -l '^chario' {PCI}/devices/*/driver_override | while read -r f; do echo >$f; done"
    )


@pytest.mark.usefixtures("nothing_bound")
@pytest.mark.parametrize(
    ("registers", "reason"),
    [
        (faults.ALL_ONES, "refused: registers read all ones"),
        (faults.NEVER_READY, r"does not become ready \(CSTS.RDY\)"),
        (faults.FATAL, r"has failed \(CSTS.CFS\)"),
        ({**faults.PLAIN, faults.CAP + 4: 0}, r"refused: no NVM command set \(CAP.CSS\)"),
        ({**faults.PLAIN, faults.CAP + 4: 0x0081_0020}, r"refused: memory pages of at least 8192 bytes"),
        ({**faults.PLAIN, faults.CAP: 0x0101_0000}, r"refused: queues of a single entry \(CAP.MQES\)"),
    ],
    ids=["all-ones", "never-ready", "failed", "no-command-set", "large-pages", "single-entry"],
)
def test_a_controller_that_cannot_be_driven(rig: Rig, registers: dict[int, int], reason: str) -> None:
    """Each is refused with its reason, and nothing of the try is left."""
    refuse(rig, faults.load_registers(rig.guest, REGISTERS, registers), reason)


@pytest.mark.usefixtures("nothing_bound")
def test_a_controller_that_is_busy_for_ever(rig: Rig) -> None:
    """One that stays ready when it is told to stop cannot be disabled: refused."""
    registers = {**faults.PLAIN, faults.CC: 0x0046_0001, faults.CSTS: 1}
    refuse(rig, faults.load_registers(rig.guest, REGISTERS, registers), "cannot be disabled")


@pytest.mark.usefixtures("nothing_bound")
def test_a_controller_that_answers_no_admin_command(rig: Rig) -> None:
    """It becomes ready and is silent then: refused after admin_timeout_ms."""
    rig.set_admin_timeout(500)
    patient = {**faults.PLAIN, faults.CAP: 0x4001_07FF}  # half a minute to become ready
    address = faults.load_registers(rig.guest, REGISTERS, patient)
    mark = rig.guest.log_mark()
    job = rig.guest.start(f"echo chario >{PCI}/devices/{address}/driver_override; echo {address} >{PCI}/drivers_probe")
    registers = bar_address(rig.guest, address)
    until(lambda: rig.guest.qtest.readl(registers + faults.CC) & 1 == 1, "it is not enabled")
    rig.guest.qtest.writel(registers + faults.CSTS, 1)
    until(lambda: "admin command 0x06: no answer in time" in rig.said(mark), "nothing was said")
    rig.guest.qtest.writel(registers + faults.CSTS, 0)
    job.wait()
    assert "not bound: error -110" in rig.said(mark)
    assert rig.release(address) == ""
    rig.set_admin_timeout()


@pytest.mark.usefixtures("nothing_bound")
def test_metadata_is_refused(rig: Rig) -> None:
    """A namespace with metadata is refused with the reason, and with it a drive that has no other."""
    refuse(rig, rig.address(METADATA), "namespace 1 refused: its format has metadata")
    refuse(rig, rig.address(METADATA), "refused: no namespace that can be driven")


def test_a_refused_namespace_does_not_hold_up_the_others(rig: Rig) -> None:
    """Of a drive with several, those that can be driven are."""
    mark = rig.guest.log_mark()
    disks = rig.disks(MIXED)
    assert [rig.show(disk, "nsid") for disk in disks] == ["7"]
    assert "namespace 1 refused: its format has metadata" in rig.said(mark)
    assert rig.call(disks[0], f"read,0,{MIB}") == MIB


@pytest.mark.usefixtures("nothing_bound")
def test_a_drive_without_namespaces_is_refused(rig: Rig) -> None:
    """There is nothing to make a disk of."""
    refuse(rig, rig.address(BARE), "refused: no namespace that can be driven")


def write_and_read_back(rig: Rig, disk: str) -> None:
    """All ways of completion, in calls larger than a queue of the drive may be."""
    script = (f"fill,3,0,{MIB}", f"write,0,{MIB}", "unmap", "map", f"read,0,{MIB}", f"match,3,0,{MIB}",
              f"hipri,0,{MIB}", f"match,3,0,{MIB}", "sync")  # fmt: skip
    assert rig.calls(disk, *script)[1:-1] == [
        ("write", MIB), ("unmap", 0), ("map", 0), ("read", MIB), ("match", 1),
        ("hipri", MIB), ("match", 1), ("sync", 0),
    ]  # fmt: skip
    for options in ((), ("iopoll",), ("fixed",)):
        assert rig.uring(disk, 8, 64 * KIB, *options) == {64 * KIB: 8}
    rig.wait_unpinned()


def test_an_interrupt_pin_is_enough(rig: Rig) -> None:
    """Without MSI and MSI-X the drive works, and the pin is not left raised."""
    rig.unbind(PLAIN)
    use_intx(rig.guest, rig.address(PLAIN))
    write_and_read_back(rig, rig.disk(PLAIN))
    assert "MSI" not in rig.guest.must("grep chario /proc/interrupts")
    rig.unbind(PLAIN)
    rig.guest.must(f"echo 1 >{PCI}/devices/{rig.address(PLAIN)}/msi_bus")


def interrupts(rig: Rig) -> int:
    """All that the drive's vectors, or its pin, have raised."""
    lines = rig.guest.must("grep chario /proc/interrupts").splitlines()
    return sum(int(word) for line in lines for word in line.split() if word.isdigit())


def test_an_interrupt_pin_falls_silent(rig: Rig) -> None:
    """However often the drive is bound, none of its interrupts is left pending, to be raised for ever."""
    rig.unbind(PLAIN)
    address = rig.address(PLAIN)
    use_intx(rig.guest, address)
    bind(rig.guest, address)
    before, binds = interrupts(rig), 30
    rig.guest.must(
        f"cd {PCI}/drivers/chario\n"
        f"for i in $(seq {binds}); do echo {address} >unbind && echo {address} >bind || exit 1; done",
        timeout_s=5 * SETTLE_LIMIT_S,
    )
    assert 0 < interrupts(rig) - before < 50 * binds
    rig.unbind(PLAIN)
    rig.guest.must(f"echo 1 >{PCI}/devices/{address}/msi_bus")


def test_one_vector_for_everything(rig: Rig) -> None:
    """Admin queue and I/O queues share the drive's only vector."""
    disk = rig.disk(ONE_VECTOR)
    write_and_read_back(rig, disk)
    assert rig.counters(disk)["late_reaps"] == 0


def test_one_queue_pair_for_all_processors(rig: Rig) -> None:
    """A drive with a single pair: none is left to poll, RWF_HIPRI and IOPOLL work all the same."""
    disk = rig.disk(ONE_PAIR)
    assert (rig.show(disk, "queue_count"), rig.show(disk, "poll_queue_count")) == ("1", "0")
    for cpu in range(2):
        assert rig.guest.must(["taskset", "-c", str(cpu), rig.fault_io, disk, "read,0,65536"]).startswith("read 65536")
    write_and_read_back(rig, disk)


def test_a_queue_of_three_entries(rig: Rig) -> None:
    """CAP.MQES of 2: calls of 8 commands pass through two slots."""
    disk = rig.disk(SHORT_QUEUE)
    assert rig.show(disk, "queue_depth") == "2"
    write_and_read_back(rig, disk)


def test_a_drive_that_takes_two_pages_a_command(rig: Rig) -> None:
    """MDTS of 1 bounds commands, and the bound is shown."""
    disk = rig.disk(SMALL_COMMANDS)
    assert (rig.show(disk, "max_command_bytes"), rig.show(disk, "command_bytes")) == ("8192", "8192")
    assert rig.show(disk, "command_limit") == "drive"
    before = rig.counters(disk)["read_commands"]
    assert rig.call(disk, f"read,0,{MIB}") == MIB
    assert rig.counters(disk)["read_commands"] - before == 128
    write_and_read_back(rig, disk)


def test_only_a_named_device_is_bound(rig: Rig) -> None:
    """Without driver_override the driver does not take a drive, even when told to."""
    rig.unbind(PLAIN)
    address = rig.address(PLAIN)
    assert rig.guest.run(f"echo {address} >{PCI}/drivers/chario/bind").rc != 0
    assert rig.guest.run(f"echo {address} >{PCI}/drivers_probe").rc in (0, 1)
    assert driver_of(rig.guest, address) == ""


def test_new_id_does_not_claim_drives(rig: Rig) -> None:
    """An identifier given to the driver is no name of a device."""
    rig.unbind(PLAIN)
    address = rig.address(PLAIN)
    rig.guest.must(f"cd {PCI}/devices/{address} && cat vendor device >/run/id")
    rig.guest.run(f"cat /run/id | tr '\\n' ' ' >{PCI}/drivers/chario/new_id")
    assert driver_of(rig.guest, address) == ""
    rig.guest.run(f"cat /run/id | tr '\\n' ' ' >{PCI}/drivers/chario/remove_id")
    bind(rig.guest, address)


RANGES = {
    "queue_depth": (2, 1024),
    "max_command_kib": (4, 2048),
    "chunk_kib": (1, 1 << 20),
    "deadline_ms": (1, 3600 * 1000),
    "poll_queues": (-1, 65535),
    "private_queues": (0, 64),
    "recovery_age_ms": (0, 3600 * 1000),
    "max_orphans": (1, (1 << 16) - 1),
    "admin_timeout_ms": (100, 600 * 1000),
    "loopback_mib": (0, 1 << 24),
    "loopback_boundary_kib": (0, 1 << 20),
    "loopback_segment_pages": (0, 1 << 12),
    "loopback_segments": (0, 1 << 16),
    "loopback_grain": (1, 512),
    "loopback_delay_us": (0, 10_000_000),
    "loopback_fail": (0, (1 << 31) - 1),
    "loopback_lose": (0, (1 << 31) - 1),
    "loopback_trouble": (0, 3),
}


def refused(rig: Rig, file: str, parameter: str) -> str:
    """The last line that the module has in the log when it is not loaded with a parameter."""
    mark = rig.guest.log_mark()
    assert rig.guest.run(f"insmod {file} {parameter}", timeout_s=SETTLE_LIMIT_S).rc != 0
    assert rig.guest.run("grep -q ^chario /proc/modules").rc != 0
    lines = [line.partition("] chario: ")[2] for line in rig.guest.kernel_log(mark)]
    return [line for line in lines if line and "invalid for parameter" not in line][-1]


@pytest.mark.usefixtures("nothing_bound")
def test_parameters_out_of_range_are_refused(rig: Rig, module: Path) -> None:
    """The module is not loaded with them, nor with what is no number, and the log names the range."""
    file = rig.guest.push(module)
    rig.guest.must("rmmod chario", timeout_s=SETTLE_LIMIT_S)
    mark = rig.guest.log_mark()
    for name, (least, most) in RANGES.items():
        values = (least - 1, most + 1, 1 << 32, "many", "")
        rig.guest.must("; ".join(f"! insmod {file} {name}={value} || exit 1" for value in values), SETTLE_LIMIT_S)
    lines = [line.partition("] chario: ")[2] for line in rig.guest.kernel_log(mark)]
    wanted = [f"parameter {name} takes a number from {least} to {most}" for name, (least, most) in RANGES.items()]
    assert [line for line in lines if " takes a number " in line] == [line for line in wanted for _ in range(5)]
    rig.guest.must(f"insmod {file} {PATIENCE}", timeout_s=SETTLE_LIMIT_S)


EXTREMES = {
    "smallest": {name: least for name, (least, _) in RANGES.items()},
    "largest": {name: most for name, (_, most) in RANGES.items()} | {"loopback_mib": 1, "loopback_trouble": 0},
}


@pytest.mark.usefixtures("nothing_bound")
@pytest.mark.parametrize("values", EXTREMES.values(), ids=EXTREMES.keys())
def test_the_ends_of_the_ranges(rig: Rig, module: Path, values: dict[str, int]) -> None:
    """The module loads with them, shows what it was given, and works with a deadline that a drive can keep."""
    file = rig.guest.push(module)
    parameters = " ".join(f"{name}={value}" for name, value in values.items())
    rig.guest.must(f"rmmod chario; insmod {file} {parameters}", timeout_s=SETTLE_LIMIT_S)
    for name, value in values.items():
        assert rig.guest.files.value(f"/sys/module/chario/parameters/{name}") == str(value)
    disk = rig.disk(PLAIN)
    assert 1 <= int(rig.show(disk, "queue_depth")) < 1024
    assert 512 <= int(rig.show(disk, "chunk_bytes")) <= 1 << 30
    rig.set(disk, "deadline_ms", 200000)
    write_and_read_back(rig, disk)
    rig.guest.must(f"rmmod chario; insmod {file} {PATIENCE}", timeout_s=SETTLE_LIMIT_S)


def test_a_parameter_that_can_be_written_keeps_its_value(rig: Rig) -> None:
    """What is out of its range is refused."""
    path = "/sys/module/chario/parameters/admin_timeout_ms"
    before = rig.guest.files.value(path)
    for value in ("99", "600001", "many"):
        assert rig.guest.run(f"echo {value} >{path}").rc != 0
    assert rig.guest.files.value(path) == before
    rig.guest.must(f"echo 600000 >{path}; echo {before} >{path}")


@pytest.mark.usefixtures("nothing_bound")
def test_what_else_is_refused_is_told(rig: Rig, module: Path) -> None:
    """Windows that are none, and a disk in memory that is larger than the memory: one line each, and no trace."""
    file = rig.guest.push(module)
    rig.guest.must("rmmod chario", timeout_s=SETTLE_LIMIT_S)
    assert refused(rig, file, "windows=junk") == 'window "junk" refused: it is not ADDR+BYTES'
    assert refused(rig, file, "windows=0x1+1") == "window 0x1+0x1 refused: not whole pages"
    mark = rig.guest.log_mark()
    for mib in (1 << 24, 4096):
        assert refused(rig, file, f"loopback_mib={mib}") == f"loopback_mib={mib}: there is not so much memory"
    assert "Call Trace" not in "\n".join(rig.guest.kernel_log(mark))
    rig.guest.must(f"insmod {file} {PATIENCE}", timeout_s=SETTLE_LIMIT_S)
