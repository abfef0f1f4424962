# SPDX-License-Identifier: MIT
"""The QEMU of the lab, and whether KVM can speed it up.

The machine's own QEMU serves if it is new enough; otherwise one from
bookworm-backports runs out of the cache, not installed.  `find_qemu().argv()`
begins every command line.
"""

import getpass
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from chario_lab.cache import say
from chario_lab.packages import unpack

# The plugin API with per-processor inline counters is complete since 9.1.
OLDEST = (9, 1)
PROGRAM = "qemu-system-x86_64"
BACKPORTS = "bookworm-backports"
# seabios is older than QEMU's package wants, and does for a guest without a screen.
PACKAGES = ("qemu-system-x86", "qemu-system-common", "qemu-system-data")
FIRMWARE = ("seabios",)
HINT = "run scripts/setup.sh, or as root: apt-get install --reinstall qemu-system-x86"
KVM = Path("/dev/kvm")
PROBE_LIMIT_S = 3.0
# isa-debug-exit ends QEMU with (value << 1) | 1.
PROBE_VALUE = 0x10
# What lies at the reset vector jumps to the start of the ROM, where a loop runs
# long enough to be interrupted by the host: broken nested KVM survives less.
PROBE_SPINS = 100_000_000
PROBE_CODE = (
    b"\x66\xb9" + PROBE_SPINS.to_bytes(4, "little")  # mov ecx, SPINS
    + b"\x66\x49\x75\xfc"  # dec ecx; jnz back
    + bytes((0xB0, PROBE_VALUE, 0xE6, 0xF4, 0xF4))  # mov al, VALUE; out 0xf4, al; hlt
)  # fmt: skip
PROBE_RESET = b"\xe9\x0d\x00".ljust(16, b"\xf4")  # jmp, round the end of the segment, to 0


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


@cache
def kvm_works() -> bool:
    """Whether a guest runs under KVM here, found out by running one.

    /dev/kvm may be there and fail, or hang, inside another virtual machine.
    The guest is a loop of a few bytes, which then ends QEMU with a code.
    """
    if not KVM.exists():
        return False
    if not os.access(KVM, os.R_OK | os.W_OK):
        say(f"you may not use {KVM}, so guests are emulated, which is slower; as root: adduser {username()} kvm")
        return False
    return runs_probe(find_qemu(), "kvm")


def username() -> str:
    """Who runs this, for a line to copy."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "USER"


def runs_probe(qemu: Qemu, accelerator: str) -> bool:
    """Whether the smallest guest ends as it should with this accelerator."""
    with tempfile.NamedTemporaryFile(suffix=".rom") as rom:
        rom.write(PROBE_CODE.ljust(0x10000 - len(PROBE_RESET), b"\xf4") + PROBE_RESET)
        rom.flush()
        processor = "host" if accelerator == "kvm" else "max"
        command = [
            *qemu.argv(), "-accel", accelerator, "-cpu", processor, "-machine", "pc",
            "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-bios", rom.name, "-device", "isa-debug-exit,iobase=0xf4,iosize=1",
        ]  # fmt: skip
        # subprocess kills a process that outlives its limit.
        try:
            done = subprocess.run(command, capture_output=True, check=False, timeout=PROBE_LIMIT_S)
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == PROBE_VALUE << 1 | 1
