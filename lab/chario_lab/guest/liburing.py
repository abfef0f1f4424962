# SPDX-License-Identifier: MIT
"""The tests of liburing that take a file or a device, from Debian's source package, compiled on the host.

get_liburing_tests()    the folder that has them, fetched and compiled unless the cache has it
"""

import hashlib
import subprocess
import tempfile
from pathlib import Path

from chario_lab.cache import cache_dir, keep
from chario_lab.packages import AptRoot, PackageError

# The one that is of the time of Linux 6.1, on whatever Debian the host has.
SUITE = "bookworm"
SOURCE = "liburing"
# Others make files of their own, or ask for what only a file system has: a page cache, an end that moves.
# d4ae271dfaae waits for ever where the kernel's polling thread has not begun after 4 ms.
PROGRAMS = (
    "defer-taskrun",
    "file-verify",
    "iopoll",
    "iopoll-leak",
    "read-write",
    "ringbuf-read",
    "sq-poll-dup",
    "sq-poll-share",
    "submit-reuse",
    "thread-exit",
)
BUILD_LIMIT_S = 600


def get_liburing_tests() -> Path:
    """The folder with the programs."""
    digest = hashlib.sha256("\n".join((SUITE, *PROGRAMS)).encode()).hexdigest()[:12]
    return keep(cache_dir() / "packages" / f"{SOURCE}-tests-{digest}", "the tests of liburing", make)


def make(folder: Path) -> None:
    """Fill the folder of the cache."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        top = fetch(Path(name))
        build(top)
        for program in PROGRAMS:
            (top / "test" / f"{program}.t").rename(folder / program)


def fetch(folder: Path) -> Path:
    """The source as liburing's makers have released it, unpacked into a folder."""
    apt = AptRoot(SUITE, "deb-src")
    apt.refresh()
    apt.download_source(SOURCE, folder)
    archive = next(folder.glob(f"{SOURCE}_*.orig.tar.*z"))
    subprocess.run(["tar", "-xf", str(archive), "-C", str(folder)], check=True)
    return next(path for path in folder.iterdir() if path.is_dir())


def build(top: Path) -> None:
    """The library, and the programs, which have it inside."""
    targets = [f"{program}.t" for program in PROGRAMS]
    for command in (["./configure"], ["make", "-s", "-C", "src"], ["make", "-s", "-C", "test", *targets]):
        done = subprocess.run(command, cwd=top, capture_output=True, text=True, timeout=BUILD_LIMIT_S, check=False)
        if done.returncode:
            detail = "\n".join(done.stderr.strip().splitlines()[-8:])
            raise PackageError(f"the tests of liburing cannot be built, {' '.join(command)} says:\n{detail}")
