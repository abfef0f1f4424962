# SPDX-License-Identifier: MIT
"""A store as a user has it: made on a character disk, used there, opened on the block device and as a file."""

import json

import pytest
from bind_lab import FAILED, OK, Machine, machine_keeper, plain_machine

from chario_lab.guest.spec import Namespace, Nvme

pytestmark = [pytest.mark.area("kernel/queue/origin", "lib/src/", "cli/")]

DRIVES = (Nvme("store-512", (Namespace(64),)), Nvme("store-4096", (Namespace(64, 4096),)))
SOURCE = "/run/source"
# A frame of a network interface that is longer than a segment, between two that are not; nothing else comes there.
FRAMES = """
import fcntl, os, socket, struct, subprocess
tap = os.open("/dev/net/tun", os.O_RDWR)
TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454CA, 0x0002, 0x1000
fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", b"tap9", IFF_TAP | IFF_NO_PI))
subprocess.run("echo 1 >/proc/sys/net/ipv6/conf/tap9/disable_ipv6 && ip link set tap9 mtu 9000 up && "
               "ip addr add 192.0.2.1/24 dev tap9 && ip neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev tap9",
               shell=True, check=True)
for length in LENGTHS:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(bytes(length), ("192.0.2.2", 9))
raise SystemExit(subprocess.run(COMMAND.split(), stdin=tap).returncode)
"""
keeper = machine_keeper(DRIVES, f"dd if=/dev/urandom of={SOURCE} bs=1000 count=5000")
machine = plain_machine()


@pytest.mark.smoke
@pytest.mark.parametrize("drive", [0, 1], ids=["512", "4096"])
def test_every_medium(machine: Machine, drive: int) -> None:
    """What is put on the disk comes back from the disk, from the block device, and from a copy of it in a file."""
    assert machine.chario("bind", machine.address(drive)).rc == OK
    disk = machine.disks(drive)[0]
    machine.must(f"chario format {disk} && chario put --store {disk} {SOURCE} flight")
    machine.must(f"chario record --store {disk} camera --size 8M --late-ms 600000 <{SOURCE}")
    check(machine, disk)
    # While a process writes to an area, another one cannot; it reads.
    machine.must(
        f"mkfifo /run/pipe && {{ chario record --store {disk} busy --size 8M --late-ms 600000 </run/pipe & }} && "
        "exec 3>/run/pipe && "
        f"until chario ls --store {disk} | grep -q busy; do sleep 0.1; done && chario cat --store {disk} flight | "
        f"cmp - {SOURCE} && ! chario rm --store {disk} busy && exec 3>&- && wait; rm /run/pipe"
    )
    machine.must(f"chario rm --store {disk} busy && chario defrag --store {disk} && chario check {disk}")
    assert machine.chario("unbind", machine.address(drive)).rc == OK
    block = machine.block(drive)
    check(machine, block)
    refused = machine.chario("format", block)
    assert refused.rc == FAILED and "store" in refused.stderr
    machine.must(f"cp {block} /run/copy")
    check(machine, "/run/copy")
    machine.must("rm /run/copy")


def check(machine: Machine, store: str) -> None:
    """All that was put into a store is there."""
    listed = json.loads(machine.must(f"chario ls --json --store {store}"))
    assert {"flight", "camera"} <= {area["name"] for area in listed["areas"]}
    machine.must(f"chario check {store} && chario cat --store {store} flight | cmp - {SOURCE}")
    machine.must(f"chario get --force --store {store} flight /run/back && cmp {SOURCE} /run/back && rm /run/back")
    machine.must(f"chario replay --store {store} camera | cmp - {SOURCE}")


def test_little_locked_memory(machine: Machine) -> None:
    """A user with Debian's limit, 8 MiB, records, replays and traces; buffers that he asks for leave no area behind."""
    assert machine.chario("bind", machine.address(0)).rc == OK
    disk = machine.disks(0)[0]
    machine.must(f"chario format --force {disk} && chmod 666 {disk}")
    asked = f"chario record --late-ms 600000 --store {disk}"
    script = (
        f"{asked} --size 32M camera <{SOURCE} && chario replay --store {disk} camera | cmp - {SOURCE} && "
        f"{asked} --append camera <{SOURCE} && "
        f"(ulimit -l 1024; chario timeline --seconds 0.1 {disk} >/dev/null); "
        f"{asked} --size 16M --segment 4M --buffers 4 refused <{SOURCE}"
    )
    done = machine.guest.run(f"ulimit -l 8192; setpriv --reuid=65534 --clear-groups sh -c '{script}'")
    assert (done.rc, done.stderr.count("limit of locked memory")) == (FAILED, 3), done
    listed = json.loads(machine.must(f"chario ls --json --store {disk}"))
    assert [area["name"] for area in listed["areas"]] == ["camera"]
    machine.must(f"chmod 600 {disk}")
    assert machine.chario("unbind", machine.address(0)).rc == OK


def test_frames_of_a_network_interface(machine: Machine) -> None:
    """A frame that is longer than a segment counts as lost, although the device would give a part of it."""
    lengths, headers = [1000, 8200, 2000], 14 + 20 + 8
    record = f"chario record --store /run/frames --size 1M --segment 8k --record 4000 --bytes {sum(lengths)} --json tap"
    machine.must("modprobe tun && chario format --size 4M /run/frames")
    script = f"LENGTHS, COMMAND = {lengths}, '{record}'\n{FRAMES}"
    done = machine.guest.run(["python3", "-c", script])
    assert done.rc == 3, done.describe()
    said = json.loads(done.stdout)
    assert (said["records"], said["lost_records"]) == (2, 1), done.describe()
    assert said["bytes"] == sum(lengths) - 8200 + 2 * headers
    machine.must("rm /run/frames")
