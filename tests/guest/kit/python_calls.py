# SPDX-License-Identifier: MIT
"""Scripts of Python that a guest runs on a disk, with what they begin with."""

import json
from collections.abc import Sequence

from rig import CALL_LIMIT_S

from chario_lab.guest.job import Job
from chario_lab.guest.session import Guest

# Runs in the guest.  read() has its memory begin in the middle of a page: DMA-API debugging takes two commands
# of one call for overlapping mappings when they meet in the first cache line of a page.  Each import costs an
# emulated processor a tenth of a second: what few need is imported where it is needed.
PYTHON = ("python3", "-I", "-S", "-c")
PRELUDE = r"""
import errno, fcntl, json, mmap, os, struct, sys
PR_SET_PDEATHSIG = 1
NODE = sys.argv[1]
def disk(any_size=True, flags=os.O_RDWR):
    fd = os.open(NODE, flags)
    if any_size:
        set_size(fd)
    return fd
def set_size(fd, flags=1):
    fcntl.ioctl(fd, 0xC403, struct.pack("=IIQII", 24, 0, 0, 0, flags))
def create(fd, kind, address, size):
    argument = bytearray(struct.pack("=4I3QIi2I", 56, kind, 0, 0, address, size, 0, 0, 0, 0, 0))
    fcntl.ioctl(fd, 0xC410, argument)
    _, _, _, buffer, _, _, mmap_offset, *_ = struct.unpack("=4I3QIi2I", argument)
    return buffer, mmap_offset
def make_pool(fd, size=4096):
    return create(fd, 2, 0, size)[0]
def destroy(fd, buffer):
    fcntl.ioctl(fd, 0xC411, struct.pack("=II", 8, buffer))
def read(fd, length, at):
    with mmap.mmap(-1, length + 1024) as pages, memoryview(pages)[1024:] as memory:
        return bytes(memory[: os.preadv(fd, [memory], at)])
def outcome(call, *values):
    try:
        return call(*values)
    except OSError as error:
        return errno.errorcode[error.errno]
def fork():
    import ctypes
    pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, 9)
    return pid
"""


def start_script(guest: Guest, disk: str, script: str, before: Sequence[str] = ()) -> Job:
    """Begin a script; `before` is a command that starts Python in its way, as NOBODY is."""
    return guest.start([*before, *PYTHON, PRELUDE + script, disk], timeout_s=CALL_LIMIT_S)


def run_script(guest: Guest, disk: str, script: str, limit_s: int = CALL_LIMIT_S) -> object:
    """What a script prints, as JSON; None where it prints nothing.  Raises when it fails."""
    return json.loads(guest.must([*PYTHON, PRELUDE + script, disk], timeout_s=limit_s) or "null")


def printed(job: Job) -> object:
    """The same of a script that has been begun."""
    return json.loads(job.wait().check().stdout)
