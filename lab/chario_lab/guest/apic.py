# SPDX-License-Identifier: MIT
"""Interrupts that QEMU has lost.

QEMU 7.2 sometimes forgets to tell an emulated processor of an interrupt, most
often while a drive is reset under load.  The processor's local APIC has it, the
processor runs with interrupts on, and goes on without it: its timer does not
tick any more, whoever waits for a device waits for ever.  No guest can do that
to itself.
"""

import re
import time

from chario_lab.guest.session import LOST_TIMER, Guest
from chario_lab.kmsg import forbidden_lines

# A busy host may keep a processor from running, and so from taking an interrupt, for a while.
LOOKS, PAUSE_S = 20, 0.1
INTERRUPTS_ON = 1 << 9
CLASS = 0xF0

VECTORS = re.compile(r"^IRR\s+(.*)$", re.MULTILINE)
PRIORITY = re.compile(r"\bPPR 0x([0-9a-f]+)")
FLAGS = re.compile(r"\bRFL=([0-9a-f]+)")
# What a kernel says that waits for such a processor.
STALLS = re.compile(r"Call Trace:|blocked for more than|soft lockup|detected stalls? on|self-detected stall")
# It looks at the processor by an NMI, which makes QEMU deliver the rest too: there is nothing to be seen afterwards.
IDLE = re.compile(r"NMI backtrace for cpu (\d+) skipped: idling")


class InterruptLost(Exception):
    """A processor of the guest does not get an interrupt: a defect of QEMU."""


def untaken(lapic: str, flags: int) -> int | None:
    """The vector that a processor could take now, of `info lapic` and its flags (Intel's manual, 3A, 10.8.3)."""
    pending, priority = VECTORS.search(lapic), PRIORITY.search(lapic)
    vectors = [int(word) for word in pending[1].split() if word.isdecimal()] if pending else []
    if not vectors or not priority or not flags & INTERRUPTS_ON:
        return None
    vector = max(vectors)
    return vector if vector & CLASS > int(priority[1], 16) & CLASS else None


def look(guest: Guest) -> list[int | None]:
    """What each processor could take."""
    flags = [int(found, 16) for found in FLAGS.findall(guest.hmp("info registers -a"))]
    return [untaken(guest.hmp(f"info lapic {number}"), flags[number]) for number in range(guest.spec.cpus)]


def check_interrupts(guest: Guest) -> None:
    """Raise InterruptLost when a processor of a running guest does not take what it could.

    Not when the kernel has complained of something else: then it has failed by itself.
    """
    complaints = [line for line in forbidden_lines(guest.console()) if not STALLS.search(line)]
    if complaints or guest.process.poll() is not None or guest.qmp("query-status")["status"] != "running":
        return
    idle = IDLE.search(guest.console())
    if idle and LOST_TIMER in guest.console():
        raise InterruptLost(f"processor {idle[1]} of the guest has idled and not got its timer's: a defect of QEMU")
    stuck = look(guest)
    for _ in range(LOOKS):
        if not any(stuck):
            return
        time.sleep(PAUSE_S)
        stuck = [old if old == new else None for old, new in zip(stuck, look(guest), strict=True)]
    for number, vector in enumerate(stuck):
        if vector:
            raise InterruptLost(f"processor {number} of the guest does not get interrupt {vector}: a defect of QEMU")
