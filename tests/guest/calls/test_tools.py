# SPDX-License-Identifier: MIT
"""Everyday programs take the disk for a disk."""

import hashlib

import pytest
from disks import MIB

from chario_lab.guest.session import Guest

pytestmark = [pytest.mark.area("kernel/front/char", "kernel/disk/")]


@pytest.fixture
def file(guest: Guest) -> str:
    """8 MiB of random bytes."""
    guest.must("test -e /dev/shm/random || dd if=/dev/urandom of=/dev/shm/random bs=1M count=8")
    return "/dev/shm/random"


@pytest.mark.parametrize("flags", ["", "oflag=direct iflag=fullblock", "oflag=dsync"])
def test_dd_and_cmp(guest: Guest, disk: str, file: str, flags: str) -> None:
    """What dd writes is what cmp finds, whatever the block size and flags."""
    for size in (4096, 65536, MIB, 3 * MIB):
        guest.must(
            f"dd if={file} of={disk} bs={size} seek=1 conv=fsync {flags} && "
            f"cmp -n {8 * MIB} -i 0:{size} {file} {disk} && "
            f"dd if=/dev/zero of={disk} bs=1M seek=1 count=8"
        )


def test_dd_reads_direct(guest: Guest, disk: str, file: str) -> None:
    """O_DIRECT is accepted by open and by fcntl, and changes nothing."""
    guest.must(f"dd if={file} of={disk} bs=1M oflag=direct")
    read = f"dd if={disk} bs=256k count=32 iflag=direct status=none"
    assert guest.must(f"{read} | sha256sum") == guest.must(f"sha256sum <{file}")


def test_dd_stops_at_the_end(guest: Guest, disk_second: str) -> None:
    """Reading all of a disk ends by itself; writing more than fits says that it does not."""
    assert guest.must(f"dd if={disk_second} bs=5M status=none | wc -c") == str(64 * MIB)
    result = guest.run(f"dd if=/dev/zero of={disk_second} bs=5M")
    assert result.rc == 1
    assert "No space left on device" in result.stderr
    assert f"{64 * MIB} bytes" in result.stderr


def test_cat_and_cp(guest: Guest, disk_second: str, file: str) -> None:
    """A whole disk through cat and cp, both ways."""
    guest.must(f"cp {file} {disk_second} && cat {disk_second} | cmp -n {8 * MIB} - {file}")
    guest.must(f"cat {file} {file} >{disk_second} && cp {disk_second} /dev/shm/copy")
    guest.must(f"[ $(stat -c %s /dev/shm/copy) = {64 * MIB} ] && cat {file} {file} | cmp -n {16 * MIB} - /dev/shm/copy")
    guest.must("rm /dev/shm/copy")


def test_hexdump(guest: Guest, disk: str) -> None:
    """hexdump shows what is there; -s in steps of the 4096 bytes in which it reads."""
    letters = "A" * 4096 + "B" * 4096
    guest.must(f"dd of={disk} bs=8k iflag=fullblock", stdin=letters)
    shown = guest.must(f"hexdump -C -n 8192 {disk}").splitlines()
    assert shown[0].endswith("|AAAAAAAAAAAAAAAA|") and shown[2].endswith("|BBBBBBBBBBBBBBBB|")
    shown = guest.must(f"hexdump -C -s 4096 -n 20 {disk}").splitlines()
    assert shown[0].startswith("00001000") and shown[0].endswith("|BBBBBBBBBBBBBBBB|")


def test_python(guest: Guest, disk: str) -> None:
    """os.pread, os.pwrite and a file object without buffer, with plain bytes objects."""
    script = (
        "import os, hashlib; fd = os.open(PATH, os.O_RDWR); data = bytes(range(256)) * 64; "
        "assert os.pwrite(fd, data, 8192) == 16384; assert os.pread(fd, 16384, 8192) == data; os.fsync(fd); "
        "f = open(PATH, 'rb', buffering=0); assert f.seek(0, 2) == os.lseek(fd, 0, os.SEEK_END); f.seek(8192); "
        "print(hashlib.sha256(f.read(16384)).hexdigest())"
    )
    shown = guest.must(["/usr/bin/python3", "-S", "-E", "-c", script.replace("PATH", repr(disk))])
    assert shown == hashlib.sha256(bytes(range(256)) * 64).hexdigest()


def test_blockdev(guest: Guest, disk4096: str) -> None:
    """blockdev asks its questions and gets a disk's answers."""
    options = "--getsize64 --getss --getpbsz --getiomin --getioopt --getro"
    shown = guest.must(f"blockdev {options} {disk4096}").split()
    assert shown == [str(256 * MIB), "4096", "4096", "4096", str(4 * MIB), "0"]
