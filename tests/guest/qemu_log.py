# SPDX-License-Identifier: MIT
"""What QEMU tells of its drives: its own trace events."""

from __future__ import annotations

from collections.abc import Sequence

from chario_lab.guest.session import Guest


class QemuLog:
    """The lines that QEMU writes about some trace events, of all drives of a guest, from now on."""

    def __init__(self, guest: Guest, events: Sequence[str]) -> None:
        self._log = guest.host.run_dir / "qemu.log"
        self._read = self._log.stat().st_size
        for name in events:
            guest.hmp(f"trace-event {name} on")

    def news(self) -> str:
        """Whole lines that QEMU has written since the last call."""
        with self._log.open("rb") as log:
            log.seek(self._read)
            text = log.read()
        text = text[: text.rfind(b"\n") + 1]
        self._read += len(text)
        return text.decode(errors="replace")
