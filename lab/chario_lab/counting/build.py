# SPDX-License-Identifier: MIT
"""Compiles the counting plugin and the guest's program, cached by content."""

import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chario_lab.cache import cache_dir

LAB = Path(__file__).resolve().parents[2]
# Where headers are found by their names, besides beside the sources.
INCLUDES = tuple(LAB.parent / folder for folder in ("lib/include", "lib/src", "kernel/uapi", "kernel/types"))
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-Wconversion")
# Seconds of a host that is busy with other guests.
COMPILE_LIMIT_S = 1200


class BuildError(Exception):
    """A part could not be compiled; the message says what to do."""


@dataclass(frozen=True)
class Tools:
    """What was compiled: the plugin for QEMU and the program for the guest."""

    plugin: Path
    program: Path


def build_tools() -> Tools:
    """Both parts, compiled anew only when a source has changed."""
    plugin = ("-std=gnu11", "-O2", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden")
    includes = [f"-I{folder}" for folder in INCLUDES]
    # The library brings a file format along, which wants ISA-L: Debian has no static one, and nobody here uses it.
    unused = ("-ffunction-sections", "-Wl,--gc-sections")
    program = ("-std=gnu11", "-O2", "-static", *unused, "-D_GNU_SOURCE=", '-DCHARIO_VERSION="bench"', *includes)
    library = sorted(LAB.parent.glob("lib/src/**/*.c"))
    return Tools(
        plugin=_compile("counter.so", sorted(LAB.glob("plugin/*.c")), plugin, ()),
        program=_compile("chario-bench", [*sorted(LAB.glob("bench/*.c")), *library], program, ("-luring",)),
    )


def _compile(name: str, sources: Sequence[Path], flags: Sequence[str], libraries: Sequence[str]) -> Path:
    folder = cache_dir() / "bench" / _digest(sources, (*flags, *libraries))
    target = folder / name
    if target.exists():
        return target
    compiler = shutil.which("cc")
    if compiler is None:
        raise BuildError("no C compiler: run scripts/setup.sh, or apt-get install gcc")
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{name}.part"
    command = [compiler, *flags, *WARNINGS, "-o", str(part), *map(str, sources), *libraries]
    done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_LIMIT_S, check=False)
    if done.returncode:
        hint = "\nliburing is missing: run scripts/setup.sh, or apt-get install liburing-dev"
        raise BuildError(f"cannot compile {name}:\n{done.stderr}{hint * ('uring' in done.stderr)}")
    part.replace(target)
    return target


def _digest(sources: Sequence[Path], words: Sequence[str]) -> str:
    """Hash of the sources, of every header that they may include, and of the flags."""
    folders = (LAB / "plugin", LAB / "bench", *INCLUDES)
    headers = [header for folder in folders for header in sorted(folder.rglob("*.h"))]
    state = hashlib.sha256(" ".join(words).encode())
    for path in (*sources, *headers):
        state.update(path.read_bytes())
    return state.hexdigest()[:24]
