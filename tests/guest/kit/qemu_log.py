# SPDX-License-Identifier: MIT
"""Trace events of QEMU's drives, and how often QEMU has seen their doorbells rung."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from chario_lab.guest.session import Guest

DOORBELLS = {"pci_nvme_mmio_doorbell_sq": "sq_doorbells", "pci_nvme_mmio_doorbell_cq": "cq_doorbells"}
# Queue 0 has the admin commands.
RUNG = re.compile(r"(?P<event>pci_nvme_mmio_doorbell_[sc]q) [sc]qid [1-9]")


class QemuLog:
    """The lines that QEMU writes about some trace events, of all drives of a guest, from now on."""

    def __init__(self, guest: Guest, events: Sequence[str]) -> None:
        self._guest = guest
        self._events = events
        self._log = guest.host.run_dir / "qemu.log"
        self._begin = self._read = self._log.stat().st_size
        self._switch("on")

    def all(self) -> str:
        """Whole lines that QEMU has written since the beginning."""
        return self._lines(self._begin).decode(errors="replace")

    def news(self) -> str:
        """Whole lines that QEMU has written since the last call."""
        lines = self._lines(self._read)
        self._read += len(lines)
        return lines.decode(errors="replace")

    def _lines(self, since: int) -> bytes:
        with self._log.open("rb") as log:
            log.seek(since)
            text = log.read()
        return text[: text.rfind(b"\n") + 1]

    def stop(self) -> None:
        """Have QEMU write no more such lines."""
        self._switch("off")

    def _switch(self, state: str) -> None:
        for name in self._events:
            self._guest.hmp(f"trace-event {name} {state}")


@contextmanager
def doorbells(guest: Guest) -> Iterator[Counter[str]]:
    """Count the writes to doorbells of I/O queues, of all drives of a guest together, while a block lasts.

    The numbers are there when the block has ended, under the names of the module's own counters.
    """
    log, rung = QemuLog(guest, tuple(DOORBELLS)), Counter[str]()
    try:
        yield rung
    finally:
        log.stop()
    rung.update(DOORBELLS[match["event"]] for match in RUNG.finditer(log.news()))
