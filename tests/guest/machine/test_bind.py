# SPDX-License-Identifier: MIT
"""chario bind and chario unbind, as a user runs them: the way there and back, and every mistake."""

import json
from pathlib import Path

import pytest
from bind_lab import FAILED, OK, PARTITION, USAGE, Machine, machine_keeper, plain_machine

from chario_lab.guest.devices import MODPROBE, offer_module
from chario_lab.guest.spec import Namespace, Nvme, root_port_bdf

pytestmark = [pytest.mark.area("lib/src/machine/", "cli/cmd-bind", "cli/keep", "packaging/"), pytest.mark.stock]

PLAIN, PAIR, METADATA = range(3)
DRIVES = (
    Nvme("plain", (Namespace(64),)),
    Nvme("pair", (Namespace(64), Namespace(32))),
    Nvme("metadata", (Namespace(64, metadata_bytes=8),)),
)


keeper = machine_keeper(DRIVES)
machine = plain_machine()


# The way there and back


@pytest.mark.smoke
def test_there_and_back(machine: Machine) -> None:
    """A drive goes from nvme to chario and back, with its data; each message says what was done and how to undo it."""
    address = machine.address(PLAIN)
    machine.must(f"dd if=/dev/urandom of=/run/data bs=1M count=4 && dd if=/run/data of={machine.block(PLAIN)} bs=1M")
    for _ in range(2):
        done = machine.chario("bind", address)
        assert (done.rc, done.stderr) == (OK, "")
        said = done.stdout.splitlines()
        disk = said[1].split()[0]
        assert said[0] == f"{address}: from nvme to chario" and said[2:] == [f"  undo: chario unbind {address}"]
        assert said[1].split() == [disk, "64.0", "MiB", "QEMU", "NVMe", "Ctrl", "plain"]
        assert machine.driver(PLAIN) == machine.override(PLAIN) == "chario" and machine.disks(PLAIN) == [disk]
        machine.must(f"cmp -n {4 << 20} /run/data {disk}")
        machine.must(f"dd if=/dev/urandom of=/run/data bs=1M count=4 && dd if=/run/data of={disk} bs=1M conv=fsync")

        done = machine.chario("unbind", address)
        assert (done.rc, done.stdout, done.stderr) == (OK, f"{address}: from chario to nvme\n", "")
        assert machine.driver(PLAIN) == "nvme" and machine.override(PLAIN) == ""
        machine.must(f"! test -e {disk} && ! test -e /run/chario/{address}")
        machine.must(f"cmp -n {4 << 20} /run/data {machine.block(PLAIN)}")


def test_a_file_that_dd_has_left_in_its_place(machine: Machine) -> None:
    """It is in memory, and no disk: no program writes a recording to it, and a bind that finds it undoes itself."""
    address = machine.address(PLAIN)
    machine.chario("bind", address)
    (disk,) = machine.disks(PLAIN)
    machine.chario("unbind", address)
    machine.must(f"dd if=/dev/zero of={disk} bs=1M count=4")
    for words in (["format", disk], ["ls", "--store", disk], ["info", disk]):
        done = machine.chario(*words)
        assert done.rc == FAILED and "not its node" in done.stderr and "chario bind" in done.stderr
    done = machine.chario("bind", address)
    assert done.rc == FAILED and "not its node" in done.stderr
    assert machine.driver(PLAIN) == "nvme"
    machine.must(f"mv {disk} /run/left")
    assert machine.chario("bind", address).rc == OK
    machine.must(f"dd if={disk} of=/dev/null bs=1M count=4")
    assert machine.chario("unbind", address).rc == OK


def test_what_the_drive_prefers(machine: Machine) -> None:
    """`chario info` says what nvme-cli reads of the drive: wishes for writes, and what a power cut does not tear."""
    block = machine.block(PLAIN)
    space = json.loads(machine.must(f"nvme id-ns -o json {block}"))
    controller = json.loads(machine.must(f"nvme id-ctrl -o json {block}"))
    lba_bytes = 1 << space["lbafs"][space["flbas"] & 15]["ds"]
    assert space["nsfeat"] >> 4 & 1, "QEMU's namespaces have wishes"
    assert machine.chario("bind", machine.address(PLAIN)).rc == OK
    info = json.loads(machine.chario("info", "--json", machine.disks(PLAIN)[0]).stdout)
    wishes = {
        "physical_block_bytes": "npwg",
        "write_alignment_bytes": "npwa",
        "deallocate_alignment_bytes": "npda",
        "optimal_write_bytes": "nows",
    }
    assert {name: info[name] for name in wishes} == {
        name: (space[field] + 1) * lba_bytes for name, field in wishes.items()
    }
    assert not space["nsfeat"] >> 1 & 1, "the namespace has a number of its own, and this test does not know it"
    assert info["atomic_write_bytes"] == (controller["awupf"] + 1) * lba_bytes


def test_a_drive_that_is_there_already(machine: Machine) -> None:
    """Binding twice is success and changes nothing; unbinding twice is told from doing it."""
    address = machine.address(PLAIN)
    assert machine.chario("bind", address).rc == OK
    again = machine.chario("bind", address)
    assert again.rc == OK
    assert again.stdout.startswith(f"{address}: is with chario already\n  /dev/chardisk")
    assert again.stdout.endswith(f"  undo: chario unbind {address}\n")
    assert machine.chario("unbind", address).stdout == f"{address}: from chario to nvme\n"
    again = machine.chario("unbind", address)
    assert (again.rc, again.stderr) == (FAILED, f"chario unbind: {address} is not with chario but with nvme\n")


def test_a_drive_that_nobody_had(machine: Machine) -> None:
    """It is bound, and unbound to whom the kernel chooses."""
    address = machine.address(PLAIN)
    machine.must(f"echo {address} >/sys/bus/pci/drivers/nvme/unbind")
    assert machine.chario("bind", address).stdout.startswith(f"{address}: to chario\n")
    assert machine.chario("unbind", address).stdout == f"{address}: from chario to nvme\n"


def test_an_override_is_put_back(machine: Machine) -> None:
    """What an administrator has written to driver_override is there again after the way back."""
    address = machine.address(PLAIN)
    override = f"/sys/bus/pci/devices/{address}/driver_override"
    machine.must(f"echo nvme >{override}")
    assert machine.chario("bind", address).rc == OK and machine.override(PLAIN) == "chario"
    assert machine.chario("unbind", address).rc == OK and machine.override(PLAIN) == "nvme"
    machine.must(f"echo >{override}")


def test_every_name_of_a_drive(machine: Machine) -> None:
    """Address, block device, partition, controller and links name a drive of nvme; disks name one of chario."""
    address = machine.address(PAIR)
    block = machine.block(PAIR)
    machine.must(f"{PARTITION} add {block} 1 2048 8192 && ln -sf {block}p1 /run/link && udevadm settle")
    controller = machine.must(f"ls /sys/bus/pci/devices/{address}/nvme")
    names = [address, address.removeprefix("0000:"), block, f"{block}p1", "/run/link", controller]
    for name in names:
        machine.must(f"test -e {block}p1 || {PARTITION} add {block} 1 2048 8192; udevadm settle")
        assert machine.chario("bind", name).stdout.startswith(f"{address}: from nvme to chario\n"), name
        disks = machine.disks(PAIR)
        for disk in (disks[0], disks[1].removeprefix("/dev/")):
            assert machine.chario("bind", disk).stdout.startswith(f"{address}: is with chario already\n")
        assert machine.chario("unbind", disks[1]).stdout == f"{address}: from chario to nvme\n"
        assert machine.block(PAIR) == block, "the next names would be those of another drive"


def test_several_drives_at_once(machine: Machine) -> None:
    """One that fails does not keep the others, and the exit code tells of it."""
    plain, pair, metadata = (machine.address(drive) for drive in (PLAIN, PAIR, METADATA))
    done = machine.chario("bind", plain, "0000:77:00.0", metadata, pair)
    assert done.rc == FAILED
    assert [machine.driver(drive) for drive in (PLAIN, PAIR, METADATA)] == ["chario", "chario", "nvme"]
    assert 'there is no drive "0000:77:00.0"' in done.stderr and metadata in done.stderr
    assert machine.chario("unbind", plain, pair).rc == OK


def test_json(machine: Machine) -> None:
    """--json prints one document and nothing else to standard output, whatever happens."""
    address = machine.address(PAIR)
    bound = json.loads(machine.chario("bind", "--json", address).stdout)
    assert bound == [{"address": address, "error": "", "earlier_driver": "nvme", "driver": "chario",
                      "restored": False, "disks": machine.disks(PAIR), "uses": []}]  # fmt: skip
    assert json.loads(machine.chario("unbind", "--json", address).stdout)[0]["driver"] == "nvme"
    with machine.held_open(machine.block(PAIR, 2)):
        refused = json.loads(machine.chario("bind", "--json", address).stdout)[0]
    assert (refused["error"], refused["driver"], refused["uses"][0]["kind"]) == ("EBUSY", "nvme", "process")


# Mistakes


def test_wrong_usage(machine: Machine) -> None:
    """Nothing is done, the exit code is 2, and the message says how to get help."""
    address = machine.address(PLAIN)
    for words, complaint in (
        (["bind"], "something is missing: chario bind"),
        (["unbind"], "something is missing: chario unbind"),
        (["bind", "--hurry", address], '"--hurry" is not an option here'),
        (["unbind", "-x", address], '"-x" is not an option here'),
    ):
        said = machine.chario(*words)
        assert (said.rc, said.stdout) == (USAGE, "")
        assert complaint in said.stderr and f"see chario help {words[0]}" in said.stderr
    assert machine.driver(PLAIN) == "nvme"


NO_DRIVES = {
    "0000:77:00.0": "there is no drive",
    "0000:77:00.9": "there is no drive",
    "/dev/nvme9n1": "there is no drive",
    "chardisk77": "there is no drive",
    "../../etc": "there is no drive",
    root_port_bdf(PLAIN): "is not an NVMe drive",
    "/dev/ram0": "is not an NVMe drive",
}


@pytest.mark.parametrize("verb", ["bind", "unbind"])
def test_what_is_no_drive(machine: Machine, verb: str) -> None:
    """The message repeats the name and says where the right ones are shown."""
    machine.must("modprobe brd rd_nr=1 rd_size=1024")
    said = machine.chario(verb, *NO_DRIVES, "")
    assert (said.rc, said.stdout) == (FAILED, "")
    lines = said.stderr.splitlines()
    for name, complaint in NO_DRIVES.items():
        line = next(line for line in lines if f'"{name}"' in line)
        assert complaint in line and "chario list --all" in line
    assert any("the name of the drive is empty" in line for line in lines)


def test_only_root_may(machine: Machine) -> None:
    """Anybody else is told so, before anything is done."""
    address = machine.address(PLAIN)
    for verb, driver in (("bind", "nvme"), ("unbind", "chario")):
        said = machine.guest.run(["setpriv", "--reuid=65534", "--clear-groups", "chario", verb, address])
        assert (said.rc, said.stdout) == (FAILED, "")
        assert f"{address}: only root may give a drive to another driver; use sudo" in said.stderr
        assert machine.driver(PLAIN) == driver
        assert machine.chario("bind", address).rc == OK


def test_no_module(machine: Machine, module: Path) -> None:
    """Where it is not installed the drive stays, and the message says how to install it."""
    address = machine.address(PLAIN)
    machine.must(f"mv {MODPROBE} /run/ && {{ ! grep -q ^chario /proc/modules || rmmod chario; }}")
    try:
        said = machine.chario("bind", address)
    finally:
        offer_module(machine.guest, module)
    assert (said.rc, said.stdout) == (FAILED, "")
    assert "the module chario cannot be loaded" in said.stderr and "sudo make install" in said.stderr
    assert machine.driver(PLAIN) == "nvme" and machine.override(PLAIN) == ""
    machine.must(f"! test -e /run/chario/{address} && dd if={machine.block(PLAIN)} of=/dev/null count=1 iflag=direct")
    assert machine.chario("bind", address).rc == OK


def test_a_drive_that_the_module_refuses(machine: Machine) -> None:
    """It goes back to the driver that it had, and the message says so and where the reason is."""
    address = machine.address(METADATA)
    mark = machine.guest.log_mark()
    said = machine.chario("bind", address)
    assert (said.rc, said.stdout) == (FAILED, "")
    assert "the other driver refuses it; the kernel log says why" in said.stderr
    assert f"{address}: it is back with nvme" in said.stderr
    assert machine.driver(METADATA) == "nvme" and machine.override(METADATA) == ""
    assert "its format has metadata" in "\n".join(machine.guest.kernel_log(mark))
    machine.must(f"! test -e /run/chario/{address}")


# Two users


def test_two_users_bind_one_drive(machine: Machine) -> None:
    """Both come to an end, the drive is with chario for both, and the way back still leads to nvme."""
    address = machine.address(PLAIN)
    for _ in range(5):
        jobs = [machine.start_chario("bind", address) for _ in range(2)]
        ends = [job.wait() for job in jobs]
        assert [end.rc for end in ends] == [OK, OK], [end.describe() for end in ends]
        assert sorted(end.stdout.splitlines()[0] for end in ends) == [
            f"{address}: from nvme to chario", f"{address}: is with chario already",
        ]  # fmt: skip
        assert machine.driver(PLAIN) == "chario" and len(machine.disks(PLAIN)) == 1
        done = machine.chario("unbind", address)
        assert done.stdout == f"{address}: from chario to nvme\n", done.describe()


def test_two_users_bind_two_drives(machine: Machine) -> None:
    """Neither disturbs the other."""
    jobs = [machine.start_chario("bind", machine.address(drive)) for drive in (PLAIN, PAIR)]
    assert [job.wait().rc for job in jobs] == [OK, OK]
    assert (len(machine.disks(PLAIN)), len(machine.disks(PAIR))) == (1, 2)
    jobs = [machine.start_chario("unbind", machine.address(drive)) for drive in (PLAIN, PAIR)]
    assert [job.wait().rc for job in jobs] == [OK, OK]
    assert machine.driver(PLAIN) == machine.driver(PAIR) == "nvme"


def test_one_binds_while_another_unbinds(machine: Machine) -> None:
    """One after the other, in either order; the drive ends with one of the drivers and can be moved as before."""
    address = machine.address(PLAIN)
    for _ in range(5):
        assert machine.chario("bind", address).rc == OK
        jobs = [machine.start_chario(verb, address) for verb in ("unbind", "bind")]
        ends = [job.wait() for job in jobs]
        assert [end.rc for end in ends] == [OK, OK], [end.describe() for end in ends]
        assert machine.driver(PLAIN) in ("chario", "nvme")
        assert machine.chario("bind", address).rc == OK
        assert machine.chario("unbind", address).stdout == f"{address}: from chario to nvme\n"
