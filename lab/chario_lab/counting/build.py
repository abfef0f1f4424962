# SPDX-License-Identifier: MIT
"""Compiles the counting plugin and the guest's program, cached by content."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chario_lab.programs import LAB, WARNINGS, build_once

# Where headers are found by their names, besides beside the sources.
INCLUDES = tuple(LAB.parent / folder for folder in ("lib/include", "lib/src", "kernel/uapi", "kernel/types"))


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
        plugin=compile_part("counter.so", sorted(LAB.glob("plugin/*.c")), plugin),
        program=compile_part("chario-bench", [*sorted(LAB.glob("bench/*.c")), *library], program, ("-luring",)),
    )


def compile_part(name: str, sources: Sequence[Path], options: Sequence[str], libraries: Sequence[str] = ()) -> Path:
    """A part, compiled once for its sources, every header that they may include, and its options."""
    folders = (LAB / "plugin", LAB / "bench", *INCLUDES)
    headers = [header for folder in folders for header in sorted(folder.rglob("*.h"))]
    command = ["cc", *options, *WARNINGS, "-Wconversion", "-o", f"{{out}}/{name}", *map(str, sources), *libraries]
    return build_once(name, [*sources, *headers], command)
