# SPDX-License-Identifier: MIT
"""The QEMU of the lab.

The machine's own QEMU serves if it is new enough; otherwise one from
bookworm-backports runs out of the cache, not installed.  `find_qemu().argv()`
begins every command line.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from chario_lab.packages import unpack

# The plugin API with per-processor inline counters is complete since 9.1.
OLDEST = (9, 1)
PROGRAM = "qemu-system-x86_64"
BACKPORTS = "bookworm-backports"
# seabios is older than QEMU's package wants, and does for a guest without a screen.
PACKAGES = ("qemu-system-x86", "qemu-system-common", "qemu-system-data")
FIRMWARE = ("seabios",)
HINT = "run scripts/setup.sh, or as root: apt-get install --reinstall qemu-system-x86"


class QemuError(Exception):
    """No usable QEMU; the message says what is missing."""


@dataclass(frozen=True)
class Qemu:
    """A QEMU that can run: its program, version, and where its firmware lies."""

    binary: Path
    version: tuple[int, ...]
    data_dirs: tuple[Path, ...]

    def argv(self) -> list[str]:
        """How each command line begins."""
        return [str(self.binary), *(word for folder in self.data_dirs for word in ("-L", str(folder)))]


@cache
def find_qemu() -> Qemu:
    """The machine's QEMU, or the one of bookworm-backports."""
    installed = shutil.which(PROGRAM)
    if installed:
        own = Qemu(Path(installed), read_version(Path(installed)), ())
        if own.version >= OLDEST and not missing_features(own):
            return own
    programs = unpack(PACKAGES, BACKPORTS)
    firmware = unpack(FIRMWARE, "bookworm")
    binary = programs / "usr/bin" / PROGRAM
    folders = (programs / "usr/share/qemu", firmware / "usr/share/seabios")
    qemu = Qemu(binary, read_version(binary), folders)
    missing = missing_features(qemu)
    if missing:
        raise QemuError(f"{binary} has no {' and no '.join(missing)}: remove {programs} to fetch it again")
    return qemu


def read_version(binary: Path) -> tuple[int, ...]:
    """What the program says of itself."""
    return parse_version(ask(binary, "--version"), binary)


def parse_version(text: str, binary: Path) -> tuple[int, ...]:
    """The version in the output of --version."""
    match = re.search(r"version (\d+(?:\.\d+)+)", text)
    if not match:
        raise QemuError(f"{binary} --version says no version but: {text.strip()[:200]}")
    return tuple(int(part) for part in match[1].split("."))


def missing_features(qemu: Qemu) -> list[str]:
    """What the lab needs and this QEMU lacks."""
    missing = []
    if "dbcs=" not in ask(qemu.binary, "-device", "nvme,help"):
        missing.append("-device nvme,dbcs=off")
    if not re.search(r"^-plugin ", ask(qemu.binary, "-help"), re.MULTILINE):
        missing.append("-plugin")
    return missing


def ask(binary: Path, *words: str) -> str:
    """Output of a question to QEMU."""
    try:
        done = subprocess.run([str(binary), *words], capture_output=True, text=True, check=False, timeout=60)
    except OSError as error:
        raise QemuError(f"cannot run {binary} ({error.strerror}): {HINT}") from error
    if done.returncode:
        # What the loader misses are the libraries that the package of the machine's own QEMU brings.
        raise QemuError(f"{binary} does not run: {done.stderr.strip()}\nTo mend it, {HINT}")
    return done.stdout
