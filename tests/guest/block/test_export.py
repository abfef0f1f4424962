# SPDX-License-Identifier: MIT
"""Two machines: one records to a region and exports another, the other mounts, writes and verifies."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from bind_lab import COMMAND_LIMIT_S, FAILED, KILLED, OK, Machine, keep
from programs import compile_program

from chario_lab.guest import faults
from chario_lab.guest.devices import load_drivers
from chario_lab.guest.launch import launch
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import GuestSpec, Link, Namespace, Nvme
from chario_lab.kernel import Kernel
from chario_lab.waiting import until

pytestmark = [
    pytest.mark.area("cli/cmd-export", "cli/target", "kernel/front/block/"), pytest.mark.stock,
    pytest.mark.slow,
]  # fmt: skip

HERE, THERE = "10.9.0.1", "10.9.0.2"
HOST = "nqn.2014-08.org.nvmexpress:uuid:11111111-2222-4333-8444-555555555555"
OTHER = "nqn.2014-08.org.nvmexpress:uuid:99999999-2222-4333-8444-555555555555"
HOST_ID = "11111111-2222-4333-8444-555555555555"
LIMIT_S = 300


@dataclass
class Pair:
    """Who exports, and who connects."""

    server: Machine
    client: Guest
    disk: str


def set_address(guest: Guest, address: str) -> None:
    """Bring up the network card."""
    card = "$(ls /sys/class/net | grep -v lo)"
    guest.must(f"ip link set lo up; ip address add {address}/24 dev {card} && ip link set {card} up")


@pytest.fixture
def pair(kernel: Kernel, module: Path, cpus: int, request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Both machines; the disk of the first has two regions and a block disk."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chario-cable-")))
        cable = folder / "cable"
        drive = Nvme("exported", (Namespace(512),))
        keeper = stack.enter_context(keep(kernel, module, (drive,), cpus=cpus, link=Link(cable, listens=True)))
        server = keeper.get(request)
        spec = GuestSpec(kernel=kernel.name, cpus=cpus, link=Link(cable, listens=False, mac="52:54:00:00:00:02"))
        client = stack.enter_context(launch(spec))
        for guest, address in ((server.guest, HERE), (client, THERE)):
            load_drivers(guest, ["virtio_net"])
            set_address(guest, address)
        load_drivers(client, ["nvme_tcp"])
        server.chario("bind", "--block", server.address(0)).check()
        disk = server.disks(0)[0]
        server.chario("region", "create", disk, "128M", "--new-table", "--name", "exported").check()
        server.chario("region", "create", disk, "128M", "--name", "recorded").check()
        yield Pair(server, client, disk)


def connect(pair: Pair, nqn: str, host: str = HOST) -> str:
    """Connect; the block device that appears."""
    pair.client.must(
        f"nvme connect -t tcp -a {HERE} -s 4420 -n {nqn} -q {host} -I {HOST_ID} -k 120 --ctrl-loss-tmo=600 "
        "--reconnect-delay=2",
        LIMIT_S,
    )
    until(lambda: pair.client.run("ls /dev/nvme*n1").rc == 0, "no block device has appeared")
    return pair.client.must("ls /dev/nvme*n1")


def refuse(pair: Pair) -> None:
    """What is mounted here or is not there is not exported; an address of somebody else is not listened at."""
    server, disk = pair.server, pair.disk
    server.must(f"mkfs.ext4 -qF {disk}b1 && mount {disk}b1 /mnt")
    done = server.chario("export", f"{disk}p1", "--listen", HERE)
    assert done.rc == FAILED and "in use" in done.stderr
    server.must("umount /mnt")
    done = server.chario("export", f"{disk}p9", "--listen", HERE)
    assert done.rc == FAILED
    done = server.chario("export", "--stop", f"{disk}p1")
    assert done.rc == FAILED and "not exported" in done.stderr
    done = server.chario("export", f"{disk}p1", "--listen", "10.77.0.1")
    assert done.rc == FAILED and "cannot be listened at" in done.stderr
    assert server.chario("export").check().stdout == ""


def leave_ports(pair: Pair) -> None:
    """A port that another tool has made stays; one of chario's goes with its last export."""
    server, disk, ports = pair.server, pair.disk, "/sys/kernel/config/nvmet/ports"
    values = {"trtype": "tcp", "adrfam": "ipv4", "traddr": HERE, "trsvcid": "4420"}
    lines = " && ".join(f"echo {value} >addr_{name}" for name, value in values.items())
    server.must(f"mkdir {ports}/1 && cd {ports}/1 && {lines}")
    server.chario("export", f"{disk}p1", "--listen", HERE).check()
    server.must(f"ls {ports}/1/subsystems | grep nqn")
    server.chario("export", "--stop", f"{disk}p1").check()
    server.must(f"rmdir {ports}/1")
    for part in ("p1", "p2"):
        server.chario("export", f"{disk}{part}", "--listen", HERE).check()
    server.chario("export", "--stop", f"{disk}p1").check()
    server.must(f"ls {ports}/*/subsystems | grep nqn")
    server.chario("export", "--stop", f"{disk}p2").check()
    assert server.must(f"ls {ports}") == ""


def keep_exports(pair: Pair) -> None:
    """What is exported is not taken away; after it was by force, the export can be ended all the same."""
    server, disk, address = pair.server, pair.disk, pair.server.address(0)
    server.chario("export", f"{disk}p1", "--listen", HERE).check()
    (export,) = json.loads(server.chario("export", "--json").check().stdout)["exports"]
    removals = (["unbind", address], ["region", "create", "-tf", disk], ["region", "remove", "-f", f"{disk}p1"])
    for words in removals:
        done = server.chario(*words)
        assert done.rc == FAILED and export["nqn"] in done.stderr, done.describe()
        assert "chario export --stop" in done.stderr and export["device"][5:] in done.stderr
    server.chario("unbind", "--force", address).check()
    server.chario("export", "--stop", f"{disk}p1").check()
    assert server.chario("export").check().stdout == ""


def be_killed(pair: Pair) -> None:
    """A start or an end that is killed at any step can be repeated, and nothing is left after the end."""
    server, part = pair.server, f"{pair.disk}p1"
    kill_at = server.guest.push(compile_program("kill_at"))
    start, stop = ["export", part, "--listen", HERE, "--host", HOST], ["export", "--stop", part]
    none: list[str] = []
    commands = ((start, "exported already", [f"{pair.disk}b1"]), (stop, "not exported", none))
    step, was_killed = 0, True
    while was_killed:
        step, was_killed = step + 1, False
        for command, done_already, left in commands:
            killed = server.guest.run([kill_at, str(step), "chario", *command], COMMAND_LIMIT_S)
            was_killed |= killed.rc == KILLED
            again = server.chario(*command)
            assert again.rc == OK or done_already in again.stderr, f"step {step}: {again.describe()}"
            exports = json.loads(server.chario("export", "--json").check().stdout)["exports"]
            assert [export["device"] for export in exports if export["address"] == HERE] == left, step
        assert server.must("cd /sys/kernel/config/nvmet && echo ports/* subsystems/*") == "ports/* subsystems/*", step


def test_a_region_on_another_machine(pair: Pair) -> None:
    """Exported, mounted there, written and verified while this machine records; the cable is pulled meanwhile."""
    server, client, disk = pair.server, pair.client, pair.disk
    assert server.chario("export").check().stdout == ""
    # Nobody may connect who has not been named.
    shown = server.chario("export", f"{disk}p1", "--listen", HERE).check().stdout
    assert "nobody may connect" in shown
    server.chario("export", "--stop", f"{disk}p1").check()
    server.chario("export", f"{disk}p1", "--listen", HERE, "--host", HOST).check()
    (export,) = json.loads(server.chario("export", "--json").check().stdout)["exports"]
    assert export["device"] == f"{disk}b1" and export["address"] == HERE
    assert client.run(f"nvme connect -t tcp -a {HERE} -s 4420 -n {export['nqn']} -q {OTHER}", LIMIT_S).rc
    done = server.chario("region", "remove", "--force", f"{disk}p1")
    assert done.rc == FAILED and "is exported" in done.stderr
    # A second call changes nothing of the first.
    done = server.chario("export", f"{disk}p1", "--listen", "10.77.0.1", "--host", OTHER)
    assert done.rc == FAILED and "exported already" in done.stderr
    server.must(f"dd if={disk}b1 of=/dev/null bs=1M status=none")
    block = connect(pair, export["nqn"])
    client.must(f"mkfs.ext4 -q {block} && mkdir -p /run/mnt && mount {block} /run/mnt", LIMIT_S)

    server.must(f"chario format {disk}p2")
    source = "timeout 25 sh -c 'while :; do head -c 65536 /dev/zero; sleep 0.02; done'"
    record = f"{source} | chario record -q --late-ms 600000 --store {disk}p2 r --size 96M --ring"
    recording = server.guest.start(record, LIMIT_S)
    job = "fio --name=v --filename=/run/mnt/f --size=32M --rw=randwrite --bs=16k --direct=1 --ioengine=libaio "
    job += "--iodepth=8 --verify=crc32c --loops=2 --output=/dev/null"
    writing = client.start(job, LIMIT_S)
    client.must("sleep 2")
    faults.set_link(client, False)
    client.must("sleep 8")
    faults.set_link(client, True)
    writing.wait().check()
    recording.wait().check()
    client.must(f"umount /run/mnt && e2fsck -fn {block} && nvme disconnect -n {export['nqn']}", LIMIT_S)
    server.must(f"chario check -d {disk}p2")
    # What this machine has read before the other one wrote is read anew.
    server.chario("export", "--stop", f"{disk}p1").check()
    server.must(f"e2fsck -fn {disk}b1")
    assert server.chario("export").check().stdout == ""
    refuse(pair)
    leave_ports(pair)
    be_killed(pair)
    keep_exports(pair)
    server.must("modprobe -r nvmet-tcp nvmet")
