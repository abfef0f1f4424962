# SPDX-License-Identifier: MIT
"""Memory that stays behind: pages that are still pinned, and what nobody can reach any more.

The latter is found where the kernel has kmemleak.  An object counts as leaked
when two scans have not found a pointer to it and it is older than five
seconds, so a search takes a while: do it once, at the end, after the module
has been unloaded.
"""

from chario_lab.guest.session import Guest
from chario_lab.kmsg import KernelComplaint

FILE = "/sys/kernel/debug/kmemleak"
MINIMUM_AGE_S = 6
SCAN_LIMIT_S = 600


def forget(guest: Guest) -> None:
    """Ignore all objects there are by now, such as what booting has lost.

    The kernel's own regular scans end as well: each takes an emulated processor
    half a minute, and we scan when we want to know.
    """
    guest.must(f"[ ! -e {FILE} ] || {{ echo scan=off >{FILE} && echo clear >{FILE}; }}", timeout_s=SCAN_LIMIT_S)


def check(guest: Guest) -> None:
    """Raise KernelComplaint when something has leaked since forget()."""
    report = guest.must(
        f"[ -e {FILE} ] || exit 0; sleep {MINIMUM_AGE_S}; echo scan >{FILE}; echo scan >{FILE}; cat {FILE}",
        timeout_s=SCAN_LIMIT_S,
    )
    if report:
        raise KernelComplaint(f"kmemleak reports\n{report}")


def pinned_pages(guest: Guest) -> int:
    """Pages that somebody has pinned for a device."""
    guest.files.write("/proc/sys/vm/stat_refresh", 1)
    counts = dict(line.split() for line in guest.files.read("/proc/vmstat").splitlines())
    return int(counts["nr_foll_pin_acquired"]) - int(counts["nr_foll_pin_released"])
