# SPDX-License-Identifier: MIT
"""What the drive is asked to do: under the same commands it is the same with the block disk and with Linux's driver."""

from collections import Counter

import pytest
from bind_lab import Machine, machine_keeper, plain_machine
from traces import Event, trace

from chario_lab.guest.spec import Namespace, Nvme

pytestmark = [
    pytest.mark.area("kernel/front/block/", "kernel/memory/bios", "kernel/queue/isolation"),
    pytest.mark.kernels("6.12"), pytest.mark.stock,
]  # fmt: skip

DRIVES = (Nvme("counted", (Namespace(256, 4096),)),)
# What commands are called in the kernel's trace of its driver, and in ours.
NAMES = {
    "(nvme_cmd_read": "read",
    "(nvme_cmd_write": "write",
    "(nvme_cmd_flush": "flush",
    "(nvme_cmd_dsm": "discard",
    "(nvme_cmd_write_zeroes": "write_zeroes",
}
KINDS = (*NAMES.values(), "durable write")
FORMAT = "mkfs.ext4 -qF -U 11111111-2222-4333-8444-555555555555 -E lazy_itable_init=0,lazy_journal_init=0 {}"
FILL = "dd if=/dev/zero of=/mnt/$i bs=1M count=4 conv=fsync status=none"
COMMANDS = {
    "discard": "blkdiscard -f {}",
    "discard of a range": "blkdiscard -f -o 1M -l 5M {}",
    "zeroes": "blkdiscard -fz -o 1M -l 9M {}",
    "punched": "fallocate -p -o 4M -l 3M {}",
    "zeroed range": "fallocate -z -o 4M -l 3M {}",
    "durable writes": "dd if=/dev/zero of={} bs=64k count=8 oflag=direct,dsync status=none",
    "one fsync": "dd if=/dev/zero of={} bs=64k count=8 oflag=direct conv=fsync status=none",
    "format": FORMAT,
    "fill": f"mount {{}} /mnt && for i in 1 2 3 4; do {FILL}; done",
    "trim": "rm /mnt/1 /mnt/3 && sync -f /mnt && fstrim /mnt && umount /mnt",
}
# Those that write by way of a file system.
BY_FILES = ("format", "fill", "trim")


keeper = machine_keeper(DRIVES)
machine = plain_machine()


def kind_of(event: Event) -> str:
    """What the drive is asked for by a command, whichever driver has sent it."""
    if event.name == "nvme_setup_cmd":
        durable = int(event.fields.get("ctrl", "0").rstrip(",)"), 16) & 0x4000
        name = NAMES[event.fields["cmd"].rstrip(",)")]
    else:
        durable, name = int(event.fields["fua"]), event.fields["op"]
    return f"durable {name}" if durable else name


def run_all(machine: Machine, block: str, event: str) -> dict[str, Counter[str]]:
    """The commands that each line has cost; udev does not look at the disk meanwhile."""
    costs = {}
    # A scheduler, which a disk with one queue has by default, decides what is merged.
    machine.must("for file in /sys/block/*/queue/scheduler; do echo none >$file; done")
    machine.must("udevadm control --stop-exec-queue && sync && echo 3 >/proc/sys/vm/drop_caches")
    for name, command in COMMANDS.items():
        lines = f"{command.format(block)} || exit 1\nsync\necho 3 >/proc/sys/vm/drop_caches\n"
        machine.guest.must("cat >/run/lines", stdin=lines)
        costs[name] = Counter(kind_of(one) for one in trace(machine.guest, "sh /run/lines", [event], everybody=True))
    machine.must("udevadm control --start-exec-queue")
    return costs


def test_the_drive_is_asked_for_the_same(machine: Machine) -> None:
    """Discards, zeroes, flushes and durable writes, on the device and by a file system."""
    block = machine.block(0)
    machine.must(f"blkdiscard -f {block}")
    stock = run_all(machine, block, "nvme/nvme_setup_cmd")
    machine.chario("bind", "--block", machine.address(0)).check()
    ours = run_all(machine, f"{machine.disks(0)[0]}b", "chario/post")
    print(stock, ours, sep="\n")
    for name in COMMANDS:
        # When a partition table is looked for decides about reads; of a file system, when its journal is written
        # decides about flushes, and where its memory lies about how writes are cut.
        left_out = ("read", "write", "flush", "durable write") if name in BY_FILES else ("read",)
        assert {kind: (ours[name][kind], stock[name][kind]) for kind in KINDS
                if kind not in left_out and ours[name][kind] != stock[name][kind]} == {}, name  # fmt: skip
    # The comparison is one that can fail: each of these asks for something.
    assert stock["discard"]["discard"] and stock["zeroes"]["write_zeroes"] and stock["trim"]["discard"]
    assert stock["one fsync"]["flush"] == 1 and stock["durable writes"]["durable write"] == 8
    assert stock["fill"]["flush"] and stock["fill"]["durable write"]
