# SPDX-License-Identifier: MIT
"""An interrupt that QEMU has lost is told from one that comes late, and from one that is not wanted."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from chario_lab.guest import apic
from chario_lab.guest.session import Guest

ON, OFF = "RIP=ffffffff81a592eb RFL=00000282 [--S----] CPL=0", "RIP=ffffffff81a592eb RFL=00000082 [--S----] CPL=0"
DEAF: tuple[int, ...] = (39, 236)
IDLE: tuple[int, ...] = ()


def lapic(pending: tuple[int, ...], priority: int = 0x10) -> str:
    """What QEMU says of the local APIC of a processor."""
    irr = " ".join(map(str, pending)) or "(none)"
    return f"ISR\t (none)\r\nIRR\t {irr} \r\n\r\nAPR 0x01 TPR 0x10 DFR 0x0f LDR 0x02 PPR 0x{priority:02x}\r\n"


class Played:
    """A guest with two processors; the second one answers as a test says, the last answer for ever."""

    def __init__(self, answers: list[str], registers: str = ON, console: str = "", status: str = "running") -> None:
        self.spec = SimpleNamespace(cpus=2)
        self.process = SimpleNamespace(poll=lambda: None)
        self._answers, self._registers, self._console, self._status = answers, registers, console, status

    def console(self) -> str:
        """What the kernel has said."""
        return self._console

    def qmp(self, _: str) -> dict[str, Any]:
        """The answer to query-status."""
        return {"status": self._status}

    def hmp(self, line: str) -> str:
        """The human monitor."""
        if line == "info registers -a":
            return f"CPU#0\r\n{ON}\r\nCPU#1\r\n{self._registers}\r\n"
        if line == "info lapic 0":
            return lapic(IDLE)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Looks follow each other at once."""
    monkeypatch.setattr(apic, "PAUSE_S", 0)
    yield


@pytest.mark.parametrize("console", ["", "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\nCall Trace:\n"])
def test_an_interrupt_that_never_comes(console: str) -> None:
    """It is before the processor in each look."""
    with pytest.raises(apic.InterruptLost, match="processor 1 of the guest does not get interrupt 236"):
        apic.check_interrupts(cast(Guest, Played([lapic(DEAF)], console=console)))


STARVED = "rcu: rcu_preempt kthread timer wakeup didn't happen for 30003 jiffies! g4057 f0x0\n"
IDLING = "NMI backtrace for cpu 1 skipped: idling at native_safe_halt+0xb/0x10\n"


def test_a_timer_that_has_not_come_for_long() -> None:
    """The kernel has told of it, and all is well again."""
    with pytest.raises(apic.InterruptLost, match="processor 1 of the guest has idled"):
        apic.check_interrupts(cast(Guest, Played([lapic(IDLE)], console=IDLING + STARVED)))


@pytest.mark.parametrize(
    "guest",
    [
        Played([lapic(IDLE)]),
        Played([lapic(IDLE)], console=STARVED),
        Played([lapic(DEAF), lapic(DEAF), lapic(IDLE), lapic(DEAF)]),
        Played([lapic(DEAF), lapic((39,))]),
        Played([lapic(DEAF, priority=0xE0)]),
        Played([lapic(DEAF)], registers=OFF),
        Played([lapic(DEAF)], status="paused"),
        Played([lapic(DEAF)], console="WARNING: CPU: 0 PID: 1 at lib/x.c:1"),
    ],
    ids=["none", "a busy processor", "late", "the next", "one in service", "interrupts off", "paused", "a complaint"],
)
def test_all_is_well(guest: Played) -> None:
    """Or not to be blamed on QEMU."""
    apic.check_interrupts(cast(Guest, guest))
