# SPDX-License-Identifier: MIT
"""The udev rule, in the hands of a real udev: who may use a disk, and names that stay."""

from pathlib import Path

import pytest
from bind_lab import OK, Machine, machine_keeper, plain_machine, start_udev
from disks import attributes

from chario_lab.guest.spec import Namespace, Nvme
from chario_lab.waiting import until

pytestmark = [pytest.mark.area("packaging/udev/", "lib/src/machine/")]

PLAIN, PAIR, ODD = range(3)
DRIVES = (
    Nvme("plain", (Namespace(64),)),
    Nvme("pair", (Namespace(64), Namespace(32, 4096, nsid=7))),
    Nvme("o d/d %k $x", (Namespace(64),)),
)
LINKS, PLACES = "/dev/chardisk/by-id", "/dev/chardisk/by-path"
MODEL = "nvme-QEMU_NVMe_Ctrl"
STRANGER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
keeper = machine_keeper(DRIVES)
machine = plain_machine()


def bind(machine: Machine, *drives: int) -> None:
    """Bind drives, one after the other."""
    done = machine.chario("bind", *(machine.address(drive) for drive in drives))
    assert done.rc == OK, done.describe()


def links(machine: Machine) -> dict[str, str]:
    """All stable names and the nodes that they lead to."""
    lines = machine.must(f"cd {LINKS} 2>/dev/null && for n in *; do echo $(readlink -f $n) $n; done || true")
    return {name: node for node, name in (line.split(" ", 1) for line in lines.splitlines())}


def test_who_may_use_a_disk(machine: Machine) -> None:
    """Members of the group chardisk read and write; others may not even open."""
    bind(machine, PAIR)
    member = ["setpriv", "--reuid=65534", f"--regid={machine.must('getent group chardisk').split(':')[2]}",
              "--clear-groups"]  # fmt: skip
    for disk in machine.disks(PAIR):
        assert machine.must(f"stat -c '%U %G %a' {disk}") == "root chardisk 660"
        copy = ["dd", f"if={disk}", f"of={disk}", "bs=4096", "count=1", "conv=notrunc"]
        assert machine.guest.run([*member, *copy]).rc == 0
        refused = machine.guest.run([*STRANGER, *copy])
        assert refused.rc != 0 and "Permission denied" in refused.stderr


def test_a_name_for_each_namespace(machine: Machine) -> None:
    """Model, serial number and namespace; the link is there when chario bind returns."""
    bind(machine, PAIR)
    found = links(machine)
    assert set(found) == {f"{MODEL}_pair-ns1", f"{MODEL}_pair-ns7"}
    for nsid in ("1", "7"):
        assert attributes(machine.guest, found[f"{MODEL}_pair-ns{nsid}"])["nsid"] == nsid
    assert sorted(found.values()) == machine.disks(PAIR)


def test_a_name_for_each_place(machine: Machine) -> None:
    """The PCI address and the namespace, for drives that have two controllers."""
    bind(machine, PAIR)
    lines = machine.must(f"cd {PLACES} && for n in *; do echo $(readlink -f $n) $n; done").splitlines()
    names = [f"pci-{machine.address(PAIR)}-nvme-{nsid}" for nsid in (1, 7)]
    assert sorted(lines) == [f"{node} {name}" for node, name in zip(machine.disks(PAIR), names, strict=True)]


def test_a_unit_that_systemd_makes(machine: Machine) -> None:
    """udev gives a disk and a region the tag by which systemd has a unit of theirs, now, and hides neither."""
    bind(machine, PAIR)
    disk = machine.disks(PAIR)[0]
    machine.must(f"chario region create {disk} 1M --new-table && udevadm settle")
    for node in (disk, f"{disk}p1"):
        shown = dict(line.split("=", 1) for line in machine.must(f"udevadm info -q property {node}").splitlines())
        assert all("systemd" in shown[name].split(":") for name in ("TAGS", "CURRENT_TAGS")), shown
        assert shown.get("SYSTEMD_READY", "1") == "1" and shown["DEVNAME"] == node and shown["USEC_INITIALIZED"]
        machine.must(f"ls /run/udev/tags/systemd | grep -qx c{':'.join((shown['MAJOR'], shown['MINOR']))}")


def test_names_stay_when_numbers_change(machine: Machine) -> None:
    """In whatever order drives are found, a name leads to the same drive."""
    nodes = []
    for order in ((PLAIN, PAIR), (PAIR, PLAIN)):
        bind(machine, *order)
        found = links(machine)
        assert len(found) == 3
        for link, node in found.items():
            assert attributes(machine.guest, node)["serial"] == link.removeprefix(f"{MODEL}_").rpartition("-")[0]
        nodes.append(found[f"{MODEL}_plain-ns1"])
        assert machine.chario("unbind", *(machine.address(drive) for drive in order)).rc == OK
    assert nodes[0] != nodes[1], "the numbers did not change: this shows nothing"


def test_a_name_goes_with_its_disk(machine: Machine) -> None:
    """Unbinding removes the links of that drive, and no others."""
    bind(machine, PLAIN, PAIR)
    assert len(links(machine)) == 3
    assert machine.chario("unbind", machine.address(PAIR)).rc == OK
    machine.must("udevadm settle")
    assert list(links(machine)) == [f"{MODEL}_plain-ns1"]
    assert machine.chario("unbind", machine.address(PLAIN)).rc == OK
    machine.must("udevadm settle")
    machine.must(f"! ls {LINKS}/* 2>/dev/null")


def test_characters_that_a_name_must_not_have(machine: Machine) -> None:
    """Blanks, slashes and what means something to udev become underscores; the link leads to the disk."""
    bind(machine, ODD)
    found = links(machine)
    assert found == {f"{MODEL}_o_d_d__k__x-ns1": machine.disks(ODD)[0]}
    assert attributes(machine.guest, machine.disks(ODD)[0])["serial"] == "o d/d %k $x"


def test_only_names_of_our_own(machine: Machine) -> None:
    """No other rule of the machine takes a disk for a block device and names or probes it."""
    bind(machine, PLAIN)
    disk = machine.disks(PLAIN)[0]
    machine.must(
        f"! find /dev -type l ! -path '/dev/chardisk/*' ! -path '/dev/char/*' -lname '*{Path(disk).name}' | grep ."
    )
    shown = machine.must(f"udevadm info --query=property {disk}")
    assert "ID_SERIAL=QEMU_NVMe_Ctrl_plain" in shown.splitlines() and "ID_FS_" not in shown


def test_a_disk_in_memory_has_no_name(machine: Machine) -> None:
    """It has the group and mode of a disk, and no link: there is no serial number to trust."""
    machine.must("! grep -q ^chario /proc/modules || rmmod chario; modprobe chario loopback_mib=8 && udevadm settle")
    try:
        assert machine.must("stat -c '%G %a' /dev/chardisk0") == "chardisk 660"
        assert links(machine) == {}
    finally:
        machine.must("rmmod chario")


def test_the_rule_comes_back_after_udev_does(machine: Machine) -> None:
    """A disk that was there before udev gets group and link when udev catches up, as at boot."""
    machine.must("udevadm control --exit")
    until(lambda: machine.guest.run("pidof systemd-udevd").rc != 0, "udev does not end")
    bind(machine, PLAIN)
    disk = machine.disks(PLAIN)[0]
    assert machine.must(f"stat -c '%G %a' {disk}") == "root 600" and links(machine) == {}
    start_udev(machine.guest)
    machine.must("udevadm trigger --action=add --subsystem-match=chario && udevadm settle")
    assert machine.must(f"stat -c '%G %a' {disk}") == "chardisk 660"
    assert links(machine) == {f"{MODEL}_plain-ns1": disk}
