# SPDX-License-Identifier: MIT
"""Programs of the guest tests, compiled on the host."""

import hashlib
import os
import re
import subprocess
from functools import cache
from pathlib import Path

from chario_lab.cache import cache_dir
from chario_lab.programs import WARNINGS

TOP = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("CHARIO_BUILD", TOP / "build"))
SOURCES = Path(__file__).resolve().parents[1] / "src"
CFLAGS = ("-std=gnu11", "-D_GNU_SOURCE=", "-O2", "-g", *WARNINGS, "-pthread", f"-I{TOP / 'kernel/uapi'}")
# Unused sections are dropped: they need libraries that Debian does not have for 32 bits.
CFLAGS_32 = ("-m32", "-static", "-D_FILE_OFFSET_BITS=64", "-ffunction-sections", "-Wl,--gc-sections")
LDLIBS = ("-luring", "-lisal", "-lmount")
LIMIT_S = 900


def run_here(*command: str | Path) -> str:
    """Run a program on the host, which has to succeed; what it said."""
    # Without root, /usr/sbin may not be searched.
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, f"{command[0]} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


@cache
def compiler() -> str:
    """The compiler's version."""
    return run_here("gcc", "--version")


def compile_program(name: str, bits: int = 64) -> Path:
    """The program, compiled once for this content; of 32 bits, it brings its libraries along."""
    source = SOURCES / f"{name}.c"
    kernel_files = [*(TOP / "kernel/uapi").rglob("*.h"), *(TOP / "kernel/types").glob("split.*")]
    headers = sorted([*SOURCES.rglob("*.h"), *kernel_files])
    flags, library = [*CFLAGS, *CFLAGS_32] if bits == 32 else [*CFLAGS], sorted((SOURCES / name).glob("*.c"))
    if re.search("#include <chario/(?!uapi)", source.read_text()):
        # xxHash comes along in its header: there is no library of 32 bits.
        flags += ['-DCHARIO_VERSION="tests"', "-DXXH_INLINE_ALL"]
        flags += [f"-I{TOP / folder}" for folder in ("lib/include", "lib/src", "kernel/types")]
        library += sorted((TOP / "lib/src").rglob("*.c"))
        headers += sorted((TOP / "lib").rglob("*.h"))
        library += [SOURCES / "library32.c"] if bits == 32 else []
    if bits == 32 and re.search(r'#include ["<](lib)?u?ring\.h[">]', source.read_text()):
        library.append(SOURCES / "liburing32.c")
    digest = hashlib.sha256(f"{flags} {compiler()}".encode())
    for path in [source, *headers, *library]:
        digest.update(path.read_bytes())
    target = cache_dir() / "programs" / digest.hexdigest()[:16] / name
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        # Tests that run side by side may both be here: the name appears when the file is whole.
        part = target.with_suffix(f".{os.getpid()}")
        run_here("gcc", *flags, source, *library, "-o", part, *(LDLIBS if bits == 64 else ()))
        part.replace(target)
    return target
