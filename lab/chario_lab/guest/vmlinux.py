# SPDX-License-Identifier: MIT
"""The kernel of a bzImage, unpacked on the host.

A kernel unpacks itself before it starts, which takes an emulated processor
four seconds.  QEMU can start the unpacked one through its PVH entry point
instead.  Where the kernel has no such entry, or is packed in a way that Python
does not know, the bzImage is as good, only slower.
"""

import hashlib
import lzma
import os
import re
import struct
import zlib
from pathlib import Path

from chario_lab.cache import cache_dir

# An ELF note of Xen's, type 18: the 32-bit entry point for PVH.
PVH_NOTE = re.compile(rb"\x04\0\0\0[\x04\x08]\0\0\0\x12\0\0\0Xen\0")
SETUP_SECTORS_AT = 0x1F1
PAYLOAD_AT = 0x248


def bootable(vmlinuz: Path) -> Path:
    """What to give to QEMU for this kernel: the unpacked one where possible."""
    image = vmlinuz.read_bytes()
    target = cache_dir() / "vmlinux" / hashlib.sha256(image).hexdigest()[:24]
    if target.exists():
        return target
    kernel = unpack(image)
    if kernel is None or not PVH_NOTE.search(kernel):
        return vmlinuz
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(f".{os.getpid()}")
    partial.write_bytes(kernel)
    os.replace(partial, target)
    return target


def unpack(image: bytes) -> bytes | None:
    """The ELF file in a bzImage, or None where its packing is not known.

    The setup header (Documentation/arch/x86/boot.rst) says where it is.
    """
    offset, length = struct.unpack_from("<II", image, PAYLOAD_AT)
    start = (image[SETUP_SECTORS_AT] + 1) * 512 + offset
    payload = image[start : start + length]
    if payload.startswith(b"\xfd7zXZ\0"):
        return lzma.LZMADecompressor().decompress(payload)
    if payload.startswith(b"\x1f\x8b"):
        return zlib.decompressobj(wbits=31).decompress(payload)
    return None
