# SPDX-License-Identifier: MIT
"""fio writes, reads back and verifies, through each of its engines."""

import json

import pytest

from chario_lab.guest.session import Guest

pytestmark = [pytest.mark.area("kernel/front/char", "kernel/disk/")]

SIZE = 4 << 20
ENGINES = {
    "sync": "--ioengine=sync",
    "psync": "--ioengine=psync",
    "pvsync2 polled": "--ioengine=pvsync2 --hipri",
    "libaio": "--ioengine=libaio --iodepth=16",
    "io_uring": "--ioengine=io_uring --iodepth=16",
    "io_uring fixed": "--ioengine=io_uring --iodepth=16 --fixedbufs --registerfiles",
    "io_uring polled": "--ioengine=io_uring --iodepth=16 --hipri",
}


@pytest.mark.parametrize("engine", ENGINES)
def test_fio_verifies_what_it_wrote(guest: Guest, disk512: str, disk4096: str, engine: str) -> None:
    """Random blocks of 4 KiB to 256 KiB carry their checksum back, none is missing.

    One job for each format, at the same time.
    """
    output = guest.must(
        f"fio --direct=1 --size={SIZE} --rw=randwrite --bsrange=4k-256k --verify=crc32c --verify_fatal=1 "
        f"--output-format=json {ENGINES[engine]} --name=a --filename={disk512} --name=b --filename={disk4096}",
        timeout_s=900,
    )
    for job in json.loads(output)["jobs"]:
        assert (job["error"], job["write"]["io_bytes"], job["read"]["io_bytes"]) == (0, SIZE, SIZE)


def test_fio_sees_what_was_changed(guest: Guest, disk512: str) -> None:
    """The check above is one that can fail: one changed byte is found."""
    verify = f"fio --name=v --filename={disk512} --direct=1 --size=256k --bs=4k --verify=crc32c --ioengine=psync"
    guest.must(f"{verify} --rw=write --do_verify=0")
    guest.must(f"{verify} --rw=read")
    guest.must(f"printf x | dd of={disk512} bs=512 seek=100 count=1 conv=sync")
    assert guest.run(f"{verify} --rw=read").rc != 0
