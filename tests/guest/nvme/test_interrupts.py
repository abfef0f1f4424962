# SPDX-License-Identifier: MIT
"""Each queue's interrupt has a processor of its own, also when that was away for a while."""

import json

import pytest
from rig import Rig
from shared_guest import Setup

from chario_lab.guest.spec import Namespace, Nvme

pytestmark = [
    pytest.mark.area("kernel/back/nvme/private", "kernel/back/nvme/irq"),
    pytest.mark.kernels("6.12", "6.12-rt", "debug"), pytest.mark.cpus(2),
]  # fmt: skip

SETUP = Setup(drives=(Nvme("one", (Namespace(16),)),), parameters="private_queues=1")
SWITCH = "/sys/devices/system/cpu/cpu1/online"

# Runs in the guest.  An interrupt is moved when it comes, perhaps not the first time: answer() tells of later ones.
SCRIPT = r"""
import fcntl, json, mmap, os, struct, sys
node, steps = sys.argv[1], sys.argv[2:]
shared, own = os.open(node, os.O_RDWR), os.open(node, os.O_RDWR)
fcntl.ioctl(own, 0xC430, bytearray(struct.pack("=IIIiIIII", 32, 0, 0, 1, 0, 0, 0, 0)))
def write(path, text):
    with open(path, "w") as file:
        file.write(text)
def read():
    page = mmap.mmap(-1, 4096)
    for cpu in os.sched_getaffinity(0) & online():
        os.sched_setaffinity(0, {cpu})
        for fd in (shared, own, shared, own):
            assert os.preadv(fd, [page], 0) == 4096
    os.sched_setaffinity(0, {0, 1})
def online():
    return {0, 1} if open("/sys/devices/system/cpu/cpu1/online").read() == "1\n" else {0}
def irqs():
    lines = [line.split() for line in open("/proc/interrupts") if line.endswith(" chario\n")]
    return {line[0][:-1]: [int(count) for count in line[1:3]] for line in lines}
def where():
    return sorted(open(f"/proc/irq/{irq}/effective_affinity_list").read().strip() for irq in irqs())
def counts():
    return [sum(line) for line in zip(*irqs().values())]
def answer():
    for _ in range(4):
        read()
    before = counts()
    read()
    after = counts()
    return where(), [b - a for a, b in zip(before, after)]
answers = [answer()]
for step in steps:
    if step in "01":
        write("/sys/devices/system/cpu/cpu1/online", step)
    elif step == "read":
        read()
    else:
        for irq in irqs():
            write(f"/proc/irq/{irq}/smp_affinity_list", "0")
answers.append(answer())
print(json.dumps(answers))
"""
# Where the interrupts of both processors' queues and of the file's own are, and where 8 reads have raised them.
USUAL = [["0", "1", "1"], [2, 6]]
ALL_ON_THE_FIRST = [["0", "0", "0"], [8, 0]]


@pytest.mark.parametrize(
    ("steps", "end"),
    [
        (("0", "1"), USUAL),
        (("0", "1", "0", "1"), USUAL),
        (("0", "read", "1", "read", "0", "read", "1"), USUAL),
        (("choose", "0", "1"), ALL_ON_THE_FIRST),
        (("0", "1", "choose", "0", "1"), ALL_ON_THE_FIRST),
    ],
    ids=["once", "twice", "in-use", "chosen", "chosen-later"],
)
def test_a_processor_goes_and_comes_back(rig: Rig, steps: tuple[str, ...], end: object) -> None:
    """Its queue's interrupt and that of a file's own come back, unless the administrator has put them elsewhere."""
    disk = rig.disk(0)
    assert json.loads(rig.guest.must(["python3", "-c", SCRIPT, disk, *steps])) == [USUAL, end]


def test_a_processor_that_comes_later(rig: Rig) -> None:
    """It was off when the drive was bound: the interrupt of its queue goes to it all the same."""
    rig.guest.files.write(SWITCH, 0)
    try:
        disk = rig.disk(0)
    finally:
        rig.guest.files.write(SWITCH, 1)
    assert json.loads(rig.guest.must(["python3", "-c", SCRIPT, disk]))[0] == USUAL
