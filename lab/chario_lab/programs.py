# SPDX-License-Identifier: MIT
"""Programs of this checkout that the guest runs, built into the cache."""

import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from chario_lab.cache import cache_dir, locked

# What most guests are given is the program and its library.
OPTIONS = ("-Dgstreamer=disabled",)
PLUGIN_OPTIONS = ("-Dgstreamer=enabled",)
LAB = Path(__file__).resolve().parents[1]


class ProgramError(Exception):
    """A program cannot be built; the message says why, and what to do."""


def build_chario(top: Path) -> Path:
    """The program chario."""
    return build_part(top, OPTIONS, "the program chario", "cli/chario:executable") / "cli" / "chario"


def build_plugin(top: Path) -> Path:
    """The plugin of GStreamer."""
    return build_part(top, PLUGIN_OPTIONS, "the plugin of GStreamer", "gst/gstchario") / "gst" / "libgstchario.so"


def build_part(top: Path, options: Sequence[str], what: str, target: str) -> Path:
    """The folder of a build; ninja builds again what has changed in the checkout."""
    digest = hashlib.sha256(" ".join((str(top), *options)).encode()).hexdigest()[:16]
    folder = cache_dir() / "programs" / f"user-{digest}"
    with locked(folder, what):
        if not (folder / "build.ninja").exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a run that was killed
            build(what, ["meson", "setup", *options, str(folder), str(top)])
        build(what, ["meson", "compile", "-C", str(folder), target])
    return folder


def build_repeat() -> Path:
    """lab/guest/repeat.c, compiled once for this content."""
    sources = [LAB / "guest/repeat.c", LAB / "bench/marker.h"]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    target = cache_dir() / "programs" / digest / "repeat"
    with locked(target, "the program repeat"):
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            part = target.with_suffix(".part")
            warnings = ["-Wall", "-Wextra", "-Werror"]
            build("repeat.c", ["gcc", "-std=gnu11", "-O2", *warnings, str(sources[0]), "-o", str(part)])
            part.replace(target)
    return target


def build_probe() -> Path:
    """lab/probe, compiled once for this content: the kernel's half first, which the program has in it."""
    folder = LAB / "probe"
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.iterdir()))).hexdigest()[:16]
    target = cache_dir() / "programs" / digest / "chario-probe"
    with locked(target, "the program chario-probe"):
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            bpf, skeleton, part = (target.with_name(name) for name in ("probe.bpf.o", "probe.skel.h", "probe.part"))
            headers = f"-I/usr/include/{platform.machine()}-linux-gnu"
            options = ["-O2", "-Wall", "-Wextra", "-Werror", "-o"]
            build("probe.bpf.c", ["clang-19", "-g", "--target=bpf", headers, *options, str(bpf), "-c",
                                  str(folder / "probe.bpf.c")])  # fmt: skip
            build("probe.skel.h", ["sh", "-c", f"/usr/sbin/bpftool gen skeleton {bpf} name probe_bpf >{skeleton}"])
            build("probe.c", ["gcc", "-std=gnu11", f"-I{target.parent}", *options, str(part), str(folder / "probe.c"),
                              "-lbpf"])  # fmt: skip
            part.replace(target)
    return target


def build(what: str, command: Sequence[str]) -> None:
    """Run a tool that builds; its output is shown when it fails."""
    # meson takes ccache where it is there, which would begin a folder of its own.
    environment = {**os.environ, "CCACHE_DIR": str(cache_dir() / "ccache")}
    try:
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
    except FileNotFoundError:
        raise ProgramError(f"{command[0]} is missing, which builds {what}: run scripts/setup.sh") from None
    if done.returncode:
        raise ProgramError(f"{what} does not build:\n{done.stdout.rstrip()}")
