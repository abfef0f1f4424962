# SPDX-License-Identifier: MIT
"""Programs that a guest has and the host need not have.

    install(guest, Tools.STORAGE)

Some packages do things to a machine that they are installed on: they start
daemons and rebuild its initramfs.  They are unpacked into the cache instead,
with the libraries they need, and linked into the guest's root, which takes
writes in memory only.  What the host has stays as it is: its own files, the
guest's too, are never covered.

Every set of packages is in Tools, so that `make prefetch` knows them all.
"""

import platform
import shutil
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path

from chario_lab.cache import keep
from chario_lab.guest.session import Guest
from chario_lab.packages import AptRoot, fill, folder_of

LINK_LIMIT_S = 300
# Every system has these, and a second C library must not come near the first.
PRESENT = frozenset({"libc6", "libgcc-s1", "libcrypt1"})
UNREAD = ("bug", "doc", "lintian", "locale", "man")


class Tools(Enum):
    """Sets of Debian packages that guests are given."""

    STORAGE = ("dmsetup", "lvm2", "mdadm", "udev")


def install(guest: Guest, tools: Tools) -> None:
    """Make Debian packages usable in a guest, as far as files alone can do it."""
    folder = get_tools(tools)
    # Folders are walked one by one: /lib and /sbin are links into /usr.
    link = f"mkdir -p /$top && cp -rsn {folder}/$top/. /$top/"
    guest.must(f"cd {folder} && for top in *; do {link} || exit 1; done", LINK_LIMIT_S)


def host_suite() -> str:
    """The Debian release whose programs and libraries the guest has: the host's."""
    return platform.freedesktop_os_release()["VERSION_CODENAME"]


def get_tools(tools: Tools) -> Path:
    """A set of packages, fetched unless the cache has it."""
    return fetch(tools.value, host_suite())


def fetch(names: Sequence[str], suite: str) -> Path:
    """A folder with these packages and the libraries that they need."""
    wanted = sorted(names)

    def make(folder: Path) -> None:
        apt = AptRoot(suite)
        apt.refresh()
        fill(folder, with_libraries(wanted, apt.depends), suite)
        for name in UNREAD:
            shutil.rmtree(folder / "usr/share" / name, ignore_errors=True)

    return keep(folder_of(["tools", *wanted], suite), f"{', '.join(wanted)} of Debian {suite}", make)


def with_libraries(names: Sequence[str], depends: Callable[[str], list[str]]) -> list[str]:
    """The packages and, over and over, the libraries among what they depend on."""
    found = list(names)
    for name in found:  # which grows meanwhile
        found += [need for need in depends(name) if need.startswith("lib") and need not in {*found, *PRESENT}]
    return found
