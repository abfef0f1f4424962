# SPDX-License-Identifier: MIT
"""Files of any size: every byte is where it belongs, whoever writes beside it, and none is lost at the end."""

from collections.abc import Iterator

import pytest
from conftest import Launcher
from disks import MIB, counters, grown, setting
from python_calls import run_script

from chario_lab.guest.devices import bdf, bind
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Namespace, Nvme

pytestmark = [
    pytest.mark.area("kernel/front/", "kernel/queue/edge"),
    pytest.mark.kernels("6.12-rt", "kcsan"), pytest.mark.cpus(2),
]  # fmt: skip


def run(guest: Guest, node: str, script: str) -> object:
    """What a script that runs in the guest prints, see run_script()."""
    return run_script(guest, node, script, limit_s=900)


def test_random_calls_against_a_model(guest: Guest, disk: str) -> None:
    """Writes and reads of 1 byte to 300 KiB anywhere in 2 MiB; two files see the same."""
    script = """
import random
rng = random.Random(7)
size = 2 << 20
fds = [disk(), disk()]
model = bytearray(rng.randbytes(size))
os.pwrite(fds[0], model, 0)
os.fsync(fds[0])
at = 0
for step in range(400):
    fd = fds[step % 2]
    length = min(1 + int(rng.expovariate(1) * rng.choice((10, 3000, 60000))), 300000)
    at = at if rng.random() < 0.4 else rng.randrange(size)
    length = min(length, size - at)
    if rng.random() < 0.6:
        data = rng.randbytes(length)
        assert os.pwrite(fd, data, at) == length
        model[at : at + length] = data
        os.fsync(fd)
    else:
        assert read(fd, length, at) == model[at : at + length], (step, at, length)
    at = (at + length) % size
assert read(disk(False), size, 0) == model
"""
    run(guest, disk, script)


@pytest.mark.smoke
def test_small_writes_are_gathered(guest: Guest, disk: str) -> None:
    """1,000 writes of 1,000 bytes cost as few commands as the same bytes in one."""
    # 7 whole commands of 128 KiB, the whole blocks behind them, and the last block, written back.
    expected = 7 + 1 + 1
    for _ in range(5):  # on a busy host the writer can stand still for so long that a part is written before
        before = counters(guest, disk)
        script = """
fd = disk()
for i in range(1000):
    assert os.write(fd, bytes([i % 251]) * 1000) == 1000
os.fsync(fd)
assert os.pread(fd, 3000, 998500) == b"\\xf5" * 500 + b"\\xf6" * 1000 + os.pread(fd, 1500, 1000000)
print(1)
"""
        run(guest, disk, script)
        writes = grown(guest, disk, before)["write_commands"]
        assert writes >= expected
        if writes == expected:
            break
    assert writes == expected


def test_what_was_gathered_comes_before_what_is_not(guest: Guest, disk: str) -> None:
    """A large write, and a read, of a block of which a part has been gathered: bytes are those of the last write."""
    script = """
fd = disk()
large = mmap.mmap(-1, 256 << 10)
large.write(b"l" * len(large))
os.pwrite(fd, large, 0)
os.pwrite(fd, b"small", 70000)
with mmap.mmap(-1, 65536) as memory:
    seen = memory[: os.preadv(fd, [memory], 65536)][70000 - 65536 :][:6]
os.pwrite(fd, large, 0)
os.fsync(fd)
print(json.dumps([seen.decode(), set(read(disk(False), 256 << 10, 0)) == {ord("l")}]))
"""
    assert run(guest, disk, script) == ["smalll", True]


def test_neighbours_in_one_block(guest: Guest, disk: str) -> None:
    """Eight processes write a part each of the same blocks, others whole blocks beside them: nothing is lost."""
    script = """
block = 4096
children = []
os.pwrite(disk(False), bytes(64 * block), 0)
for n in range(8):
    pid = fork()
    if pid == 0:
        fd = disk()
        for turn in range(1, 21):
            for index in range(4):
                part = block // 8
                place = index * block + n * part
                os.pwrite(fd, bytes([n * 20 + turn]) * (part - 3), place + 1)
                os.fsync(fd)
                assert os.pread(fd, part - 3, place + 1) == bytes([n * 20 + turn]) * (part - 3)
        os._exit(0)
    children.append(pid)
strict = disk(False)
for turn in range(100):
    os.pwrite(strict, bytes([turn]) * block * 8, 4 * block)
for pid in children:
    assert os.waitpid(pid, 0)[1] == 0
data = os.pread(strict, 4 * block, 0)
for index in range(4):
    for n in range(8):
        place = index * block + n * (block // 8)
        assert data[place + 1 : place + block // 8 - 2] == bytes([n * 20 + 20]) * (block // 8 - 3)
        assert data[place] == 0 and data[place + block // 8 - 2 : place + block // 8] == bytes(2)
"""
    run(guest, disk, script)


def test_whole_writers_of_the_same_block(guest: Guest, disk: str) -> None:
    """A strict writer of whole blocks and one of 100 bytes inside: the 100 bytes are never older than their write.

    The strict writer stands still while the block is looked at: the emulated drive may tear a read beside a write.
    """
    script = """
import signal
block = 4096
os.pwrite(disk(False), bytes(block), 0)
pid = fork()
if pid == 0:
    strict = disk(False)
    turn = 0
    while True:
        turn += 1
        os.pwrite(strict, bytes([turn & 0x7f]) * block, 0)
fd = disk()
other = disk(False)
for turn in range(200):
    value = bytes([0x80 | turn & 0x7f])
    os.pwrite(fd, value * 100, 50)
    os.fsync(fd)
    os.kill(pid, signal.SIGSTOP)
    os.waitpid(pid, os.WUNTRACED)
    data = os.pread(other, block, 0)
    os.kill(pid, signal.SIGCONT)
    rest = set(data[:50] + data[150:])
    # All but the 100 bytes is one whole write; these are ours, or of a whole write that came after.
    assert len(rest) == 1, rest
    assert set(data[50:150]) in ({value[0]}, rest), (turn, set(data[50:150]), rest)
os.kill(pid, 9)
os.waitpid(pid, 0)
"""
    run(guest, disk, script)


@pytest.fixture(name="any_disk")
def make_any_disk(guest: Guest, disk: str) -> Iterator[str]:
    """A disk whose files are all of any size, for programs that know nothing of it."""
    with setting(guest, disk, "any_size", 1):
        yield disk


def test_ordinary_tools(guest: Guest, any_disk: str) -> None:
    """dd with odd blocks, a shell's redirection, tail: the tail is there after the last close."""
    guest.must(f"head -c 1234567 /dev/urandom >/run/odd && dd if=/run/odd of={any_disk} bs=777 2>&1")
    guest.must(f"head -c 1234567 {any_disk} | cmp - /run/odd")
    guest.must(f"printf hello >{any_disk} && test $(head -c 5 {any_disk}) = hello")
    guest.must(f"head -c 1234567 {any_disk} | cmp -i 5 - /run/odd")
    guest.must(f"dd if=/run/odd of={any_disk} bs=13 seek=1 count=1000 oflag=direct 2>&1 && "
               f"dd if={any_disk} bs=13 skip=1 count=1000 status=none | cmp -n 13000 - /run/odd")  # fmt: skip
    guest.must("rm /run/odd")


def test_a_killed_writer_loses_nothing_it_wrote(guest: Guest, disk: str) -> None:
    """What write() has taken is on the disk when the process has gone; and a second later without a close."""
    script = """
import signal, time
ready, told = os.pipe()
pid = fork()
if pid == 0:
    fd = disk()
    os.pwrite(fd, b"x" * 5001, 7)
    os.write(told, b"1")
    signal.pause()
os.read(ready, 1)
os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)
assert os.pread(disk(), 5001, 7) == b"x" * 5001
fd, other = disk(), disk()
os.pwrite(fd, b"y" * 5001, 7)
for _ in range(600):
    if os.pread(other, 5001, 7) == b"y" * 5001:
        break
    time.sleep(0.1)
else:
    raise AssertionError("never written")
"""
    run(guest, disk, script)


def test_end_of_the_disk(guest: Guest, disk: str) -> None:
    """Bytes up to the last one, none behind it."""
    script = """
fd = disk()
end = os.lseek(fd, 0, os.SEEK_END)
answers = [os.pwrite(fd, b"z" * 100, end - 10), os.pread(fd, 100, end - 10).decode()]
answers.append(outcome(os.pwrite, fd, b"z", end))
for flags in (4, 0):
    answers.append(outcome(set_size, fd, flags))
answers.append(len(os.pread(fd, 5, end)))
print(json.dumps(answers))
"""
    assert run(guest, disk, script) == [10, "z" * 10, "ENOSPC", "EINVAL", "EBUSY", 0]


def test_nothing_is_appended(guest: Guest, disk: str) -> None:
    """Behind the end there is no room: ENOSPC by each way in, and the start of the disk stays what it was."""
    script = """
page = mmap.mmap(-1, 4096)
os.pwrite(disk(False), page, 0)
page.write(b"z" * 4096)
answers = []
for any_size in (False, True):
    fd, plain = disk(any_size, os.O_RDWR | os.O_APPEND), disk(any_size)
    answers.append(outcome(os.write, fd, page))
    answers.append(outcome(os.writev, fd, [page]))
    answers.append(outcome(os.pwritev, plain, [page], 0, os.RWF_APPEND))
    answers.append(len(os.read(fd, 4096)))
    os.close(fd)
    os.close(plain)
os.preadv(disk(False), [page], 0)
print(json.dumps([answers, page[:] == bytes(4096)]))
"""
    assert run(guest, disk, script) == [["ENOSPC", "ENOSPC", "ENOSPC", 4096] * 2, True]


def test_the_strict_mode_stays_strict(guest: Guest, disk: str) -> None:
    """A file that has not asked gets EINVAL, also while another one has."""
    script = """
other, fd = disk(), disk(False)
print(json.dumps([outcome(os.pwrite, fd, b"z" * 100, 0), outcome(os.pread, fd, 4096, 100)]))
"""
    assert run(guest, disk, script) == ["EINVAL", "EINVAL"]


def test_durable_writes(guest: Guest, disk: str) -> None:
    """O_DSYNC: nothing is gathered, each write is on the disk when it returns."""
    script = f"""
fd, strict = disk(flags=os.O_RDWR | os.O_DSYNC), disk(False)
for i in range(20):
    os.pwrite(fd, bytes([i]) * 777, i * 777)
    at = i * 777 & ~4095
    assert os.pread(strict, 8192, at)[i * 777 - at :][:777] == bytes([i]) * 777
os.pwrite(fd, bytes({MIB}), 3)
assert read(strict, {2 * MIB}, 0)[3 : {MIB} + 3] == bytes({MIB})
"""
    run(guest, disk, script)


def test_a_flush_transfer_flushes(guest: Guest, disk: str) -> None:
    """CHARIO_TRANSFER_FLUSH on a file of any size: what has been gathered is on the disk, as after fsync."""
    script = """
fd, strict = disk(), disk(False)
os.pwrite(strict, bytes(4096), 0)
os.pwrite(fd, b"f" * 100, 5)
fcntl.ioctl(fd, 0xC420, struct.pack("=IIII6Q", 64, 2, 0, 0, *[0] * 6))
print(json.dumps(os.pread(strict, 4096, 0).count(b"f")))
"""
    assert run(guest, disk, script) == 100


def test_any_size_or_buffers(guest: Guest, disk: str) -> None:
    """A transfer would not see what has been gathered: a file has one or the other."""
    script = """
fd = disk(False)
buffer = make_pool(fd)
answers = [outcome(set_size, fd)]
destroy(fd, buffer)
print(json.dumps(answers + [outcome(set_size, fd), outcome(make_pool, fd)]))
"""
    assert run(guest, disk, script) == ["EBUSY", None, "EBUSY"]


def test_queues_of_one_command(fresh_guest: Launcher) -> None:
    """A part of a block cannot be changed with them: it is refused at once, not when bytes are to be written."""
    guest = fresh_guest(cpus=1, parameters="queue_depth=2", drives=(Nvme("shallow", (Namespace(64),)),))
    bind(guest, bdf(guest, 0))
    script = """
attribute = os.open("/sys/class/chario/chardisk0/any_size", os.O_WRONLY)
print(json.dumps([outcome(disk), outcome(os.write, attribute, b"1")]))
"""
    assert run(guest, "/dev/chardisk0", script) == ["ENOTSUP"] * 2


def test_memory_that_never_comes_holds_up_its_own_file_only(guest: Guest, disk: str) -> None:
    """300 writers wait for a page with bytes in hand: others' buffers are given back all the same."""
    script = """
import ctypes, threading, time
libc = ctypes.CDLL(None)
libc.pwrite.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64]
late = mmap.mmap(-1, 4096)
address = ctypes.addressof(ctypes.c_char.from_buffer(late))
faults = libc.syscall(323, os.O_CLOEXEC)
fcntl.ioctl(faults, 0xC018AA3F, struct.pack("=3Q", 0xAA, 0, 0))
fcntl.ioctl(faults, 0xC020AA00, struct.pack("=4Q", address, 4096, 1, 0))
ready, told = os.pipe()
pid = fork()
if pid == 0:
    os.close(faults)
    fd = disk(False)
    buffer = make_pool(fd)
    os.read(ready, 1)
    # The bytes in hand have been left lying long enough.
    time.sleep(3)
    destroy(fd, buffer)
    os._exit(0)
def write(fd):
    libc.pwrite(fd, address, 100, 100)
for _ in range(300):
    fd = disk()
    os.pwrite(fd, b"x" * 100, 0)
    threading.Thread(target=write, args=(fd,), daemon=True).start()
os.write(told, b"1")
for _ in range(600):
    if os.waitpid(pid, os.WNOHANG)[0]:
        break
    time.sleep(0.1)
else:
    raise AssertionError("never given back")
os._exit(0)
"""
    run(guest, disk, script)


def test_their_memory_counts_as_locked(guest: Guest, disk: str) -> None:
    """A user who may lock 1 MiB has four of them, or eight that he only reads; one that is closed makes room."""
    script = """
def have(flags):
    files, error = [], 0
    while not error:
        files.append(os.open(NODE, flags))
        try:
            set_size(files[-1])
        except OSError as told:
            error = told.errno
    set_size(files[-1], 0)
    os.close(files[0])
    again = disk(flags=flags)
    for fd in (*files[1:], again):
        os.close(fd)
    return [len(files) - 1, errno.errorcode[error]]
os.setgroups([])
os.setuid(65534)
import resource
resource.setrlimit(resource.RLIMIT_MEMLOCK, (1 << 20, 1 << 20))
print(json.dumps([have(os.O_RDWR), have(os.O_RDONLY), have(os.O_RDWR)]))
"""
    guest.must(f"chmod 666 {disk}")
    assert run(guest, disk, script) == [[4, "ENOMEM"], [8, "ENOMEM"], [4, "ENOMEM"]]
    guest.must(f"chmod 600 {disk}")


def test_a_write_from_memory_that_is_not_there(guest: Guest, disk: str) -> None:
    """EFAULT, however many whole blocks the call has, and not 0, with which a program would try for ever."""
    script = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def write(length):
    done = libc.pwrite(fd, ctypes.c_void_p(4096), ctypes.c_size_t(length), ctypes.c_long(0))
    return errno.errorcode[ctypes.get_errno()] if done < 0 else done
fd = disk()
print(json.dumps([write(length) for length in (100, 4096, 128 * 1024, 128 * 1024 + 100, (1 << 20) + 1)]))
"""
    assert run(guest, disk, script) == ["EFAULT"] * 5
