# SPDX-License-Identifier: MIT
"""Queues of one's own: what is granted, who uses them, and that they come back."""

import json
from collections.abc import Callable

import pytest
from disks import counters, grown

from chario_lab.guest.devices import bdf, bind, nodes
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Namespace, Nvme

pytestmark = [
    pytest.mark.area("kernel/back/nvme/private", "kernel/back/nvme/irq"),
    pytest.mark.kernels("6.12-rt", "debug", "kcsan"), pytest.mark.cpus(2),
]  # fmt: skip

# Runs in the guest.  take() gives the struct's answer or the name of the error.
PRELUDE = r"""
import errno, fcntl, json, mmap, os, struct, sys
NODE = sys.argv[1]
FORMAT = "=IIIiIIII"
def take(fd, flags=0, depth=0, cpu=-1, granted=0, ident=0, reserved=0, size=32):
    argument = bytearray(struct.pack(FORMAT, size, flags, depth, cpu, granted, ident, reserved, 0))
    try:
        fcntl.ioctl(fd, 0xC430, argument)
    except OSError as error:
        return errno.errorcode[error.errno]
    names = ("size", "flags", "depth", "cpu", "granted", "id")
    return dict(zip(names, struct.unpack(FORMAT, argument)))
def disk(flags=os.O_RDWR):
    return os.open(NODE, flags)
def check(fd, offset, size):
    memory = mmap.mmap(-1, size)
    memory.write(os.urandom(size))
    assert os.pwritev(fd, [memory], offset) == size
    again = mmap.mmap(-1, size)
    assert os.preadv(fd, [again], offset) == size
    assert memory[:] == again[:]
"""


def run(guest: Guest, node: str, script: str) -> object:
    """What a script that runs in the guest prints, as JSON; None where it prints nothing.  Raises when it fails."""
    return json.loads(guest.must(["python3", "-c", PRELUDE + script, node], timeout_s=300) or "null")


def interrupts(guest: Guest, path: str) -> dict[str, list[int]]:
    """How often each vector of the module had come, on each CPU, when /proc/interrupts was copied."""
    lines = [line.split() for line in guest.must(f"grep chario {path}").splitlines()]
    return {words[0]: [int(count) for count in words[1:3]] for words in lines}


@pytest.mark.smoke
def test_calls_use_it(guest: Guest, disk: str) -> None:
    """Its interrupt comes on the CPU that was asked for; its depth is that which was asked for."""
    script = """
fds = [disk() for _ in range(2)]
answers = [take(fds[0], depth=2, cpu=1), take(fds[1], depth=100000, cpu=0)]
os.system("cat /proc/interrupts >/run/start")
for i in range(20):
    check(fds[0], i << 20, 1 << 20)
os.sched_setaffinity(0, {1})
check(fds[1], 0, 4096)
os.system("cat /proc/interrupts >/run/end")
print(json.dumps(answers))
"""
    answers = run(guest, disk, script)
    assert isinstance(answers, list)
    assert (answers[0]["depth"], answers[0]["cpu"], answers[0]["granted"]) == (2, 1, 0)
    assert (answers[1]["depth"], answers[1]["cpu"]) == (255, 0)
    assert answers[0]["id"] != answers[1]["id"]
    start, end = interrupts(guest, "/run/start"), interrupts(guest, "/run/end")
    grew = [[b - a for a, b in zip(start[name], end[name], strict=True)] for name in end if end[name] != start[name]]
    # The two files' vectors, and no other: 40 calls of several commands on CPU 1, two of one command on CPU 0.
    assert sorted(grew) == [[0, max(counts[1] for counts in grew)], [2, 0]]
    assert max(counts[1] for counts in grew) >= 40


@pytest.mark.parametrize("depth", [1, 3, 33])
def test_any_depth_moves_all_data(guest: Guest, disk: str, depth: int) -> None:
    """Calls of more commands than the queue holds."""
    script = f"""
fd = disk()
answer = take(fd, depth={depth})
for size in (4096, 1 << 17, 1 << 20, 5 << 20):
    check(fd, 3 << 20, size)
print(json.dumps(answer["depth"]))
"""
    assert run(guest, disk, script) == depth


def test_without_interrupts(guest: Guest, disk: str) -> None:
    """A queue to poll makes the file poll; a file that wants to sleep does so on the CPU's queue."""
    before = counters(guest, disk)
    script = """
fd = disk()
answer = take(fd, flags=1)
check(fd, 0, 1 << 20)
print(json.dumps(answer))
"""
    answer = run(guest, disk, script)
    assert isinstance(answer, dict)
    assert (answer["cpu"], answer["granted"]) == (-1, 1)
    assert "interrupts" not in grown(guest, disk, before)
    script = """
fd = disk()
take(fd, flags=1)
fcntl.ioctl(fd, 0xC403, struct.pack("=IIQII", 24, 1, 0, 0, 0))
check(fd, 0, 4096)
print(1)
"""
    run(guest, disk, script)
    assert grown(guest, disk, before)["interrupts"] == 2


def test_urgent_is_told_when_it_is_not_granted(guest: Guest, disk: str) -> None:
    """QEMU's drives have no urgent class (CAP.AMS): the queue is an ordinary one, and says so."""
    answer = run(guest, disk, "print(json.dumps(take(disk(), flags=2)))")
    assert isinstance(answer, dict)
    assert (answer["flags"], answer["granted"]) == (2, 0)


def test_there_are_four_and_they_come_back(guest: Guest, disk: str) -> None:
    """A fifth file gets none; who closes gives back, who is killed too."""
    script = """
import time
def until(fd):
    for _ in range(200):
        answer = take(fd)
        if answer != "ENOSPC":
            return answer
        time.sleep(0.05)
fds = [disk() for _ in range(5)]
answers = [type(until(fd)).__name__ for fd in fds[:4]] + [take(fds[4]), take(fds[0])]
for _ in range(3):
    os.close(fds.pop(0))
    fds.append(disk())
    answers.append(type(until(fds[3])).__name__)
    check(fds[3], 0, 1 << 20)
print(json.dumps(answers))
"""
    answers = run(guest, disk, script)
    assert answers == ["dict"] * 4 + ["ENOSPC", "EBUSY"] + ["dict"] * 3
    script = """
import signal, time
for _ in range(6):
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        fd = disk()
        while take(fd) == "ENOSPC":
            time.sleep(0.05)
        os.write(told, b"1")
        while True:
            check(fd, 0, 4 << 20)
    os.read(ready, 1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""
    run(guest, disk, script)


# Runs in the guest, with a node that everybody may open.
STRANGER = r"""
def stranger(cpus, **wish):
    ready, told = os.pipe()
    if os.fork() == 0:
        os.setuid(65534)
        os.sched_setaffinity(0, cpus)
        for _ in range(400):
            answer = take(disk(), **wish)
            if answer != "ENOSPC":
                break
            time.sleep(0.05)
        os.write(told, json.dumps(answer["cpu"] if isinstance(answer, dict) else answer).encode())
        os._exit(0)
    os.wait()
    return json.loads(os.read(ready, 100))
import atexit, time
atexit.register(os.chmod, NODE, os.stat(NODE).st_mode)
os.chmod(NODE, 0o666)
"""


def test_strangers_interrupt_only_where_they_run(guest: Guest, disk: str) -> None:
    """A CPU outside of the caller's is refused without CAP_SYS_NICE; a queue to poll has no interrupt."""
    script = "[stranger({0, 1}, cpu=1), stranger({0}, cpu=1), stranger({1}), stranger({0}, cpu=1, flags=1)]"
    answers = run(guest, disk, f"{STRANGER}print(json.dumps({script}))")
    assert answers == [1, "EPERM", 1, -1]
    assert run(guest, disk, "os.sched_setaffinity(0, {0})\nprint(json.dumps(take(disk(), cpu=1)['cpu']))") == 1


def test_strangers_leave_isolated_processors_alone(fresh_guest: Callable[..., Guest]) -> None:
    """They are refused there also when they run there; what they get without a wish is another one's."""
    guest = fresh_guest(drives=(Nvme("one", (Namespace(16),)),), append="isolcpus=1")
    bind(guest, bdf(guest, 0))
    (node,) = nodes(guest, bdf(guest, 0))
    script = "[stranger({1}, cpu=1), stranger({1}), stranger({0}, cpu=0), take(disk(), cpu=1)['cpu']]"
    assert run(guest, node, f"{STRANGER}print(json.dumps({script}))") == ["EPERM", 0, 0, 1]


def test_what_is_refused(guest: Guest, disk: str) -> None:
    """CPUs that are not there, flags and members that are not known."""
    script = """
fd = disk()
bad = [{"cpu": 2}, {"cpu": -2}, {"cpu": 2**31 - 1}, {"flags": 4}, {"granted": 1}, {"ident": 1}, {"reserved": 1},
       {"size": 31}, {"size": 0}, {"size": 5000}]
print(json.dumps([take(fd, **one) for one in bad]))
"""
    assert run(guest, disk, script) == ["EINVAL"] * 10
