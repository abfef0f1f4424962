# SPDX-License-Identifier: MIT
"""The counters of chario.ko, saved when a guest ends.

The kernel "gcov" counts which lines of a module run.  Where CHARIO_COVERAGE
names a folder, each guest of that kernel leaves its counters there:

    guests/GUEST/MODULE/queue/queue.gcda    GUEST as its folder in runs/ is called,
                                           MODULE as the folder where it was built
    lost                                   guests that left none, a line each

A guest that dies, or that a test kills, takes its counters with it.
"""

import os
import shutil
from pathlib import Path

from chario_lab.cache import say
from chario_lab.guest.job import CommandFailed
from chario_lab.guest.session import Guest, GuestDied, GuestSilent
from chario_lab.kernel import GCOV

VARIABLE = "CHARIO_COVERAGE"
COUNTERS = "/sys/kernel/debug/gcov"
COPY_LIMIT_S = 120


def collect(guest: Guest) -> None:
    """Save the counters of a guest that is about to end, if anybody wants them."""
    wanted = os.environ.get(VARIABLE)
    if not wanted or guest.spec.kernel != GCOV:
        return
    folder, name = Path(wanted), guest.host.run_dir.name
    copy = f"mkdir /share/gcov && cd {COUNTERS} && find . -name '*.gcda' -exec cp --parents -t /share/gcov '{{}}' +"
    try:
        guest.must(copy, timeout_s=COPY_LIMIT_S)
        save(guest.host.share / "gcov", folder / "guests" / name)
    except (GuestDied, GuestSilent, CommandFailed, OSError) as error:
        say(f"guest {name} leaves no counters: {str(error).splitlines()[0]}")
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lost").open("a") as lost:
            lost.write(f"{name} {os.environ.get('PYTEST_CURRENT_TEST', 'at the end of a session')}\n")


def save(share: Path, target: Path) -> None:
    """Copy what the guest wrote; the kernel names counters by the path of the object file."""
    for path in sorted(share.rglob("*.gcda")):
        parts = path.relative_to(share).parts
        # The cache itself may lie below a folder of that name.
        place = len(parts) - parts[::-1].index("modules")
        # The module was built in a scratch folder, whose name begins with a dot.
        copy = target / parts[place].lstrip(".") / Path(*parts[place + 1 :])
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
