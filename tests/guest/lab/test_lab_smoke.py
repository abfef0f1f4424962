# SPDX-License-Identifier: MIT
"""The lab itself, held against Linux's own nvme driver.

What these tests show is what every other guest test relies on: results are
true, nothing hangs, faults are the faults they claim to be.
"""

import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest
from rig import Rig
from shared_guest import Setup

from chario_lab import kmsg
from chario_lab.guest import faults, spec
from chario_lab.guest.channel import Channel
from chario_lab.guest.devices import PCI, bdf, bind, block_device, driver_of, unbind, use_intx
from chario_lab.guest.job import CommandFailed
from chario_lab.guest.session import Guest, GuestDied, QemuCrashed
from chario_lab.waiting import until

pytestmark = [pytest.mark.area("lab/"), pytest.mark.cpus(2), pytest.mark.stock]

DRIVES = (
    spec.Nvme("plain", (spec.Namespace(64),)),
    spec.RegisterFile(),
    spec.Nvme("pulled", (spec.Namespace(64),)),
    spec.Nvme("whole", (spec.Namespace(64, 4096, backing=spec.RawFile(whole_blocks=True)),)),
    spec.Nvme("torn", (spec.Namespace(64, 4096, backing=spec.Blkdebug()),)),
)
PLAIN, REGISTERS, PULLED, WHOLE, TORN = range(5)
PLANTED = "planted by a test"
LINE_LIMIT_S = 60

SETUP = Setup(drives=DRIVES, parameters=None, allowed=(PLANTED,), qtest=True)


@pytest.fixture
def stock(rig: Rig) -> Guest:
    """The guest of this file, where Linux's driver has the drives."""
    if not rig.guest.files.exists(f"{PCI}/drivers/nvme"):
        rig.guest.must("modprobe nvme")
    return rig.guest


@contextmanager
def line(path: Path) -> Iterator[Channel]:
    """A line of a test's own to an agent, by the socket of a port."""
    near = socket.socket(socket.AF_UNIX)
    near.connect(str(path))
    channel = Channel(near)
    with closing(channel):
        yield channel


def read_command(device: str, block: int = 0) -> str:
    """A read of 4 KiB past the page cache."""
    return f"dd if={device} of=/dev/null bs=4k count=1 skip={block} iflag=direct"


@pytest.mark.smoke
def test_exit_code_and_both_outputs(stock: Guest) -> None:
    """A command's end comes back as it was."""
    result = stock.run("echo out; echo err >&2; exit 7")
    assert (result.rc, result.stdout, result.stderr) == (7, "out\n", "err\n")
    assert stock.run(["/no/such/program"]).rc == 127
    assert stock.run("kill -TERM $$").rc == -signal.SIGTERM
    with pytest.raises(CommandFailed, match="ended with 1"):
        stock.must("false")


def test_input_environment_and_folder(stock: Guest) -> None:
    """A command gets what it is given."""
    assert stock.must("pwd; echo $X; cat", cwd="/dev", env={"X": "y"}, stdin="text") == "/dev\ny\ntext"


def test_files_without_a_process(stock: Guest) -> None:
    """The agent reads, writes, lists, resolves, makes and removes; errors are those of the guest."""
    files = stock.files
    last = files.value("/proc/sys/kernel/ns_last_pid")
    assert files.read("/proc/version") == stock.must("cat /proc/version") + "\n"
    assert files.value("/proc/sys/kernel/ns_last_pid") != last, "this number shows no processes"
    last = files.value("/proc/sys/kernel/ns_last_pid")
    files.write("/proc/sys/vm/swappiness", 37)
    assert files.value("/proc/sys/vm/swappiness") == files.values("/proc/sys/vm")["swappiness"] == "37"
    assert {"version", "self", "sys"} <= set(files.list("/proc"))
    files.touch("/run/touched")
    assert (files.exists("/run/touched"), files.read("/run/touched")) == (True, "")
    files.remove("/run/touched")
    assert not files.exists("/run/touched")
    assert files.resolve("/proc/1/exe") == "/run/lab/agent"
    with pytest.raises(FileNotFoundError, match="in the guest"):
        files.write("/proc/sys/vm/none", 1)
    with pytest.raises(OSError, match="Invalid argument"):
        files.write("/proc/sys/vm/swappiness", "many")
    assert files.value("/proc/sys/kernel/ns_last_pid") == last


def test_output_is_not_limited_to_text(stock: Guest) -> None:
    """Bytes arrive unchanged, a megabyte of them too."""
    assert stock.run(r"printf '\000\377x'").stdout_bytes == b"\0\xffx"
    assert len(stock.run("head -c 1000000 /dev/zero | tr '\\0' a").stdout) == 1000000


def test_a_command_is_killed_at_its_limit_with_its_children(stock: Guest) -> None:
    """Nothing of a command is left when its time is up."""
    result = stock.run("sleep 4321 & sleep 4321", timeout_s=1)
    assert result.timed_out and result.rc == -signal.SIGKILL
    assert stock.must("ps -eo args | grep -c '^[s]leep 4321' || true") == "0"


def test_commands_run_side_by_side(stock: Guest) -> None:
    """A job in the background holds up nothing and can be signalled."""
    job = stock.start("trap 'echo caught; exit 3' USR1; touch /run/trapped; while :; do sleep 0.1; done")
    assert stock.must("echo free") == "free"
    until(lambda: stock.files.exists("/run/trapped"), "the shell has not come to its trap")
    assert job.poll() is None
    assert job.kill(signal.SIGUSR1)
    assert (job.wait().rc, job.wait().stdout) == (3, "caught\n")
    assert not job.kill()


def test_a_daemon_does_not_hold_up_its_starter(stock: Guest) -> None:
    """A process that keeps the output open is not waited for."""
    assert stock.run("sleep 30 & echo started", timeout_s=20).stdout == "started\n"


def test_a_line_that_is_closed_for_a_moment(stock: Guest, tmp_path: Path) -> None:
    """An agent waits for the host to open its port again: after a sleep it looks closed until the host has answered."""
    path = tmp_path / "line"
    where = {"type": "unix", "data": {"path": str(path)}}
    stock.qmp("chardev-add", id="late", backend={"type": "socket", "data": {"addr": where, "wait": False}})
    stock.qmp("device_add", driver="virtserialport", id="late", chardev="late", name="chario.late")
    agent = stock.start(["/run/lab/agent", "chario.late"], timeout_s=3 * LINE_LIMIT_S)
    with line(path) as channel:
        assert channel.ready.result(LINE_LIMIT_S)["release"]
    closed = "grep -l 'name: chario.late' /sys/kernel/debug/virtio-ports/* | xargs grep -q 'host_connected: 0'"
    until(lambda: stock.run(closed).rc == 0, "the guest does not see that the line is closed")
    with line(path) as channel:
        assert channel.request("list", path="/proc/self")[1].result(LINE_LIMIT_S)["value"]
    assert agent.kill(signal.SIGKILL)
    agent.wait()
    stock.qmp("device_del", id="late")
    stock.wait_event("DEVICE_DELETED", match=lambda data: data.get("device") == "late")
    stock.qmp("chardev-remove", id="late")


def test_files_go_in_and_come_out(stock: Guest, tmp_path: Path) -> None:
    """The shared folder carries files both ways."""
    (tmp_path / "in").write_bytes(bytes(range(256)))
    path = stock.push(tmp_path / "in")
    stock.must(f"cp {path} /root/copy")
    assert stock.pull("/root/copy", tmp_path / "out").read_bytes() == bytes(range(256))


def test_the_host_is_out_of_reach(stock: Guest, tmp_path: Path) -> None:
    """Writes to the host's files stay in the guest."""
    file = tmp_path / "file"
    file.write_text("host")
    stock.must(f"echo guest >{file}")
    assert file.read_text() == "host"


def test_a_program_compiled_on_the_host_runs(stock: Guest, guest_program: Callable[[str], Path]) -> None:
    """Programs of tests/guest/src reach the guest."""
    result = stock.run([stock.push(guest_program("echo")), "a", "b c"])
    assert (result.rc, result.stdout) == (2, "a\nb c\n")


def test_the_kernel_finds_its_modules(stock: Guest) -> None:
    """modprobe works by hand and when the kernel calls it."""
    stock.must("modprobe loop && lsmod | grep -q ^loop")
    assert "unknown filesystem type" not in stock.run("mount -t ext4 /dev/null /mnt").stderr


@pytest.mark.allow_log(PLANTED)
def test_the_log_search_sees_what_user_space_writes(stock: Guest) -> None:
    """A forbidden line fails; one from before the mark or a permitted one does not."""
    mark = stock.log_mark()
    stock.must(f"echo '<4>WARNING: {PLANTED}' >/dev/kmsg")
    with pytest.raises(kmsg.KernelComplaint, match=f"WARNING: {PLANTED}"):
        stock.check_log(mark)
    stock.check_log(mark, allowed=[PLANTED])
    stock.check_log(stock.log_mark())


@pytest.mark.allow_log("planted for the hook")
def test_an_allowed_line_passes(fresh_guest: Callable[..., Guest]) -> None:
    """The mark reaches the search after the test."""
    fresh_guest(module=False).must("echo '<4>WARNING: planted for the hook' >/dev/kmsg")


@pytest.mark.parametrize("drive", [WHOLE, TORN], ids=["whole", "torn"])
def test_a_read_waits_for_the_write_of_its_block(stock: Guest, drive: int) -> None:
    """Where blocks are whole, and not elsewhere; the write has begun and is held, and a read of another block passes.

    All come by the queue of one processor, and so the drive has the write before the reads.
    """
    device = block_device(stock, drive)
    faults.hold(stock, drive, event="pwritev")
    write = stock.start(f"taskset -c 0 dd if=/dev/zero of={device} bs=4096 seek=5 count=1 oflag=direct")
    # What is under way; the path below a device of several paths counts it.
    pending = f"cat /sys/block/{device[5:-2]}*n1/stat | awk '{{sum += $9}} END {{print sum}}'"
    until(lambda: stock.must(pending) == "1", "there is no write")
    read = stock.start(f"taskset -c 0 {read_command(device, 5)}")
    if drive == TORN:
        read.wait().check()
    stock.must(f"taskset -c 0 {read_command(device, 8)}")
    time.sleep(1)
    assert write.poll() is None and (read.poll() is None) == (drive == WHOLE)
    faults.resume(stock, drive)
    for job in (write, read):
        job.wait().check()


def test_interrupts_can_be_pinned_to_a_wire(stock: Guest) -> None:
    """One device can be kept from MSI-X."""
    address = bdf(stock, PLAIN)
    unbind(stock, address)
    assert driver_of(stock, address) == ""
    use_intx(stock, address)
    bind(stock, address, "nvme")
    block_device(stock, PLAIN)
    (controller,) = stock.files.list(f"{PCI}/devices/{address}/nvme")
    assert "MSI" not in stock.must(f"grep {controller}q0 /proc/interrupts")


def test_unplug_and_plug(stock: Guest) -> None:
    """An orderly removal takes the device away; it comes back with its content."""
    device = block_device(stock, PLAIN)
    stock.must(f"echo kept | dd of={device} conv=sync bs=4k oflag=direct")
    faults.unplug(stock, PLAIN)
    stock.must(f"! test -e {device}")
    faults.plug(stock, PLAIN)
    assert stock.must(f"head -c 4 {block_device(stock, PLAIN)}") == "kept"


def test_registers_can_be_anything(stock: Guest) -> None:
    """A register file shows a driver what a test wants, and the stock one gives up."""
    address = faults.load_registers(stock, REGISTERS, faults.ALL_ONES)
    assert faults.read_register(stock, REGISTERS, faults.CSTS) == 0xFFFFFFFF
    with suppress(CommandFailed):  # a driver that probes in the background is refused later
        bind(stock, address, "nvme")
    until(lambda: driver_of(stock, address) == "", "the stock driver kept a drive that answers with ones")
    unbind(stock, address)


def test_a_controller_can_fail(stock: Guest) -> None:
    """CSTS.CFS appears while the driver believes all is well."""
    faults.fail_controller(stock, PULLED)
    assert faults.read_register(stock, PULLED, faults.CSTS) & 2


def test_a_pulled_drive_reads_all_ones(stock: Guest, rig: Rig) -> None:
    """Surprise removal: the device is still listed and answers nothing."""
    address = bdf(stock, PULLED)
    rig.pull(PULLED)
    assert stock.must(f"setpci -s {address} VENDOR_ID") == "ffff"


def test_every_option_of_a_guest_boots(fresh_guest: Callable[..., Guest]) -> None:
    """Rare options reach QEMU and do what they say."""
    namespaces = (
        spec.Namespace(8, 512, backing=spec.WriteLog()),
        spec.Namespace(8, 4096, nsid=9, backing=spec.NullCo(latency_us=100)),
        spec.Namespace(8, 512, 8, write_cache=False),
    )
    drive = spec.Nvme(
        "odd", namespaces, msix_vectors=2, max_ioqpairs=1, mqes=31, mdts=3, cmb_mib=2, shadow_doorbells=True
    )
    guest = fresh_guest(
        module=False,
        drives=(drive,),
        cpus=1,
        memory_mib=768,
        append="maxcpus=1",
        native_hotplug=True,
        interrupts="intx",
    )
    device = block_device(guest, 0)
    assert "MSI" not in guest.must("grep nvme0q0 /proc/interrupts")
    guest.must(f"dd if=/dev/zero of={device} bs=4k count=1 oflag=direct conv=fsync")
    log = (guest.host.run_dir / "nv0n1.writes").read_bytes()
    entries = int.from_bytes(log[16:24], "little")
    assert entries == 2, "the log holds the write and the flush"
    assert guest.must("cat $(dirname $(grep -lx 9 /sys/block/nvme0n*/nsid))/queue/logical_block_size") == "4096"


def test_a_dead_guest_is_reported_at_once(fresh_guest: Callable[..., Guest]) -> None:
    """A panic ends what waits, and the message shows the console."""
    guest = fresh_guest(module=False, dies=True)
    waiting = guest.start("sleep 1000", timeout_s=1000)
    with pytest.raises(GuestDied, match="Kernel panic"):
        guest.run("echo c >/proc/sysrq-trigger")
    with pytest.raises(GuestDied):
        waiting.wait()


def test_a_crash_of_qemu_is_told_from_a_panic(fresh_guest: Callable[..., Guest]) -> None:
    """Whoever waits learns that it was QEMU, on both lines, and the guest can still be closed."""
    guest = fresh_guest(module=False, dies=True)
    waiting = guest.start("sleep 1000", timeout_s=1000)
    guest.qmp("query-status")
    guest.process.send_signal(signal.SIGSEGV)
    with pytest.raises(QemuCrashed, match=f"QEMU ended with -{signal.SIGSEGV.value}"):
        waiting.wait()
    with pytest.raises(QemuCrashed):
        guest.qmp("query-status")


def test_a_crash_behind_a_complaint_is_a_death(fresh_guest: Callable[..., Guest]) -> None:
    """The kernel had warned before QEMU was gone: such a test is not run again."""
    guest = fresh_guest(module=False, dies=True)
    guest.must("echo '<4>WARNING: planted before a crash' >/dev/kmsg")
    guest.process.send_signal(signal.SIGSEGV)
    with pytest.raises(GuestDied, match=f"QEMU ended with -{signal.SIGSEGV.value}") as caught:
        guest.must("true")
    assert not isinstance(caught.value, QemuCrashed)
