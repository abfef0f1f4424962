# SPDX-License-Identifier: MIT
"""Everything that can go wrong with a drive, one function a fault.

    the medium fails         Namespace(backing=Blkdebug((ErrorRule("read", sector=16),)))
    all requests take long   stall(), let_go()          backing=Throttle(), or Throttle(latency_ms=...) from the start
    one request hangs        hold(), resume()           backing=Blkdebug()
    the drive is pulled      pull()
    it is unplugged politely unplug(), plug()
    it stops answering       deafen(), undeafen()
    its link fails           fail_link()
    it reports a failure     fail_controller()          GuestSpec(qtest=True)
    it never becomes ready   load_registers(..., NEVER_READY)
    its registers are gone   load_registers(..., ALL_ONES), or pull() before bind()
    it is broken from start  load_registers(..., FATAL)

The last rows need a RegisterFile() in the place of a drive and qtest.

Not possible with QEMU's controller: a subsystem reset (CAP.NSSRS is 0), a
drive with MSI but without MSI-X, savevm with an NVMe drive.
"""

from collections.abc import Mapping

from chario_lab.guest.devices import PCI, bar_address, bdf
from chario_lab.guest.plan import nvme_device
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Nvme, device_name, drive_id, node_name, root_port_bdf

# Controller registers (NVM Express Base Specification 2.0, section 3.1.3).
CAP, VS, CC, CSTS = 0x00, 0x08, 0x14, 0x1C
REGISTERS_BYTES = 0x4000

# 2,048 entries, contiguous queues, half a second to become ready, 4 KiB pages.
PLAIN_CAP = 0x0040_0820_0101_07FF
PLAIN_VS = 0x0001_0400
PLAIN: Mapping[int, int] = {CAP: PLAIN_CAP & 0xFFFF_FFFF, CAP + 4: PLAIN_CAP >> 32, VS: PLAIN_VS}

NEVER_READY: Mapping[int, int] = PLAIN
FATAL: Mapping[int, int] = {**PLAIN, CSTS: 0x2}
ALL_ONES: Mapping[int, int] = dict.fromkeys(range(0, 0x1000, 4), 0xFFFF_FFFF)

# Enable with a page size of 128 MiB, which the controller does not have: it
# answers with CSTS.CFS, as after a failure of its own.
CC_OFF, CC_IMPOSSIBLE = 0x0046_0000, 0x0046_0781

UNPLUG_LIMIT_S = 60


def pull(guest: Guest, drive: int) -> None:
    """Surprise removal: registers read all ones, no event reaches the guest."""
    guest.qmp("qom-set", path=f"/machine/peripheral/{drive_id(guest.place(drive))}", property="realized", value=False)


def set_link(guest: Guest, up: bool) -> None:
    """Pull the network cable of a guest, or put it back."""
    guest.qmp("set_link", name="link", up=up)


def unplug(guest: Guest, drive: int) -> None:
    """Orderly removal: returns when the guest has let go of the drive."""
    name = drive_id(guest.place(drive))
    guest.qmp("device_del", id=name)
    guest.wait_event("DEVICE_DELETED", UNPLUG_LIMIT_S, lambda data: data.get("device") == name)


def plug(guest: Guest, drive: int, twin_of: int | None = None) -> None:
    """Put an unplugged drive back, with its old content: returns when the guest has it.

    Or, in its place, a second controller of another drive.
    """
    shown = drive if twin_of is None else twin_of
    spec = guest.spec.drives[guest.place(shown)]
    assert isinstance(spec, Nvme), "only an NVMe drive can be plugged"
    subsystem = f"{drive_id(guest.place(shown))}-subsys"
    guest.qmp("device_add", **{**nvme_device(guest.place(drive), spec), "subsys": subsystem})
    bdf(guest, drive)
    # A device has its folder before it can be bound: whoever adds it holds a lock meanwhile, which a rescan takes.
    guest.files.write(f"{PCI}/devices/{root_port_bdf(guest.place(drive))}/rescan", 1)


def stall(guest: Guest, drive: int, nsid: int = 1, bytes_per_s: int = 1024) -> None:
    """Slow the medium down to next to nothing; the first request still passes.

    A controller reset makes QEMU finish what it holds back, as a drive does.
    """
    set_limits(guest, drive, nsid, {"bps-total": bytes_per_s})


def let_go(guest: Guest, drive: int, nsid: int = 1) -> None:
    """Full speed again, for requests that come from now on."""
    set_limits(guest, drive, nsid, {"bps-total": 0})


def set_limits(guest: Guest, drive: int, nsid: int, limits: dict[str, int]) -> None:
    """Set the throttle group of a namespace."""
    path = f"/objects/{node_name(guest.place(drive), nsid)}-limits"
    guest.qmp("qom-set", path=path, property="limits", value=limits)


def hold(guest: Guest, drive: int, nsid: int = 1, event: str = "read_aio") -> None:
    """Hold the next request of a kind: read_aio, write_aio, flush_to_disk.

    Let it go with resume() before the controller is reset: QEMU waits for a held
    request for ever, and its monitor with it.
    """
    qemu_io(guest, drive, nsid, f"break {event} held")


def resume(guest: Guest, drive: int, nsid: int = 1) -> None:
    """Hold nothing any more and let go of what is held."""
    qemu_io(guest, drive, nsid, "remove_break held")
    qemu_io(guest, drive, nsid, "resume held")


def qemu_io(guest: Guest, drive: int, nsid: int, command: str) -> str:
    """One command of qemu-io on the device of a namespace.

    Named by its block node instead, QEMU would wait for all its requests.
    """
    place = guest.place(drive)
    return guest.hmp(f'qemu-io -d {device_name(guest.spec.drives[place], place, nsid)} "{command}"')


def deafen(guest: Guest, address: str) -> None:
    """Switch off memory decoding and bus mastering behind the driver's back:
    registers read all ones, nothing moves; undeafen() undoes it."""
    guest.must(["setpci", "-s", address, "COMMAND=0"])


def undeafen(guest: Guest, address: str) -> None:
    """Let the device be reached again."""
    guest.must(["setpci", "-s", address, "COMMAND=6"])


def fail_link(guest: Guest, drive: int, error: str = "DLP") -> None:
    """The root port above a drive reports an error (AER); the PCI core can reset the link with native hotplug only."""
    assert guest.hmp(f"pcie_aer_inject_error rp{guest.place(drive)} {error}").startswith("OK")


def fail_controller(guest: Guest, drive: int, stopped: bool = False) -> None:
    """Make a running controller report CSTS.CFS and forget its queues.

    QEMU may crash when it has requests and processors ring doorbells just then: `stopped` stops them for that moment,
    and has the requests end.
    """
    registers = bar_address(guest, bdf(guest, drive))
    if stopped:
        guest.qmp("stop")
    guest.qtest.writel(registers + CC, CC_OFF)
    guest.qtest.writel(registers + CC, CC_IMPOSSIBLE)
    if stopped:
        guest.qmp("cont")


def disable_controller(guest: Guest, drive: int) -> None:
    """Clear CC.EN behind the driver's back: commands are taken, never answered."""
    guest.qtest.writel(bar_address(guest, bdf(guest, drive)) + CC, CC_OFF)


def load_registers(guest: Guest, drive: int, values: Mapping[int, int]) -> str:
    """Set what a RegisterFile holds and return its PCI address, for bind()."""
    address = bdf(guest, drive)
    guest.must(["setpci", "-s", address, "COMMAND=2"])
    registers = bar_address(guest, address)
    guest.qtest.fill(registers, REGISTERS_BYTES, 0)
    for offset, value in values.items():
        guest.qtest.writel(registers + offset, value)
    return address


def read_register(guest: Guest, drive: int, offset: int) -> int:
    """One register, read from outside the guest."""
    return guest.qtest.readl(bar_address(guest, bdf(guest, drive)) + offset)
