# SPDX-License-Identifier: MIT
"""Makes, resizes and removes a partition of a block device in the kernel alone, without a table on the disk.

    partition.py add DEVICE NUMBER START SECTORS
    partition.py resize DEVICE NUMBER START SECTORS
    partition.py delete DEVICE NUMBER

It runs in a guest.  addpart and delpart of util-linux did this; Debian 13 has them no more.
"""

import ctypes
import fcntl
import struct
import sys

# <linux/blkpg.h>
BLKPG = 0x1269
OPERATIONS = {"add": 1, "delete": 2, "resize": 3}
SECTOR_BYTES = 512


def main(operation: str, device: str, number: str, start: str = "0", sectors: str = "0") -> None:
    """One call of BLKPG."""
    place = (int(start) * SECTOR_BYTES, int(sectors) * SECTOR_BYTES)
    partition = ctypes.create_string_buffer(struct.pack("qqi64s64s4x", *place, int(number), b"", b""))
    argument = struct.pack("iiiP", OPERATIONS[operation], 0, len(partition), ctypes.addressof(partition))
    with open(device, "rb") as file:
        fcntl.ioctl(file, BLKPG, argument)


main(*sys.argv[1:])
