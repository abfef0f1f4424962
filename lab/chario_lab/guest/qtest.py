# SPDX-License-Identifier: MIT
"""Reads and writes of guest-physical memory through QEMU's qtest protocol.

They reach device registers as a processor's accesses do, from outside the
guest and while it runs: a test can disable a controller behind its driver's
back.  Addresses are physical; Guest-side helpers know where a BAR is.
"""

import socket

ANSWER_LIMIT_S = 30.0


class QTestError(Exception):
    """QEMU refused the access, or did not answer."""


class QTest:
    """One qtest connection."""

    def __init__(self, line: socket.socket) -> None:
        line.settimeout(ANSWER_LIMIT_S)
        self._line = line
        self._stream = line.makefile("r", encoding="ascii")

    def command(self, text: str) -> str:
        """Send one command; what follows OK in the answer."""
        try:
            self._line.sendall(text.encode() + b"\n")
            answer = self._stream.readline().split(None, 1)
        except OSError as error:
            raise QTestError(f"{text}: {error}") from error
        if not answer or answer[0] != "OK":
            raise QTestError(f"{text}: {' '.join(answer) or 'connection closed'}")
        return answer[1].strip() if len(answer) > 1 else ""

    def readl(self, address: int) -> int:
        """Read 32 bits."""
        return int(self.command(f"readl {address:#x}"), 16)

    def readq(self, address: int) -> int:
        """Read 64 bits."""
        return int(self.command(f"readq {address:#x}"), 16)

    def writel(self, address: int, value: int) -> None:
        """Write 32 bits."""
        self.command(f"writel {address:#x} {value:#x}")

    def read(self, address: int, size_bytes: int) -> bytes:
        """Read memory."""
        return bytes.fromhex(self.command(f"read {address:#x} {size_bytes:#x}").removeprefix("0x"))

    def write(self, address: int, data: bytes) -> None:
        """Write memory, from its first byte to its last."""
        self.command(f"write {address:#x} {len(data):#x} 0x{data.hex()}")

    def fill(self, address: int, size_bytes: int, value: int) -> None:
        """Set a range of memory to one byte value."""
        self.command(f"memset {address:#x} {size_bytes:#x} {value:#x}")

    def close(self) -> None:
        """Cut the line."""
        self._stream.close()
        self._line.close()
