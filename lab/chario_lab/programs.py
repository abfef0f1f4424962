# SPDX-License-Identifier: MIT
"""Programs of this checkout that the guest runs, built into the cache."""

import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from chario_lab.cache import cache_dir, keep, locked

# What most guests are given is the program and its library.
OPTIONS = ("-Dgstreamer=disabled",)
PLUGIN_OPTIONS = ("-Dgstreamer=enabled",)
# A callback need not look at all that it is given.
WARNINGS = ("-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror")
LAB = Path(__file__).resolve().parents[1]
TOP = LAB.parent


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


def build_once(name: str, inputs: Iterable[Path], *commands: Sequence[str]) -> Path:
    """A program that commands build in the folder {out}, once for themselves and for the content of what they read."""
    state = hashlib.sha256(repr(commands).encode())
    for path in inputs:
        state.update(path.read_bytes())

    def make(folder: Path) -> None:
        for command in commands:
            build(name, [word.replace("{out}", str(folder)) for word in command])

    return keep(cache_dir() / "programs" / f"{name}-{state.hexdigest()[:16]}", f"the program {name}", make) / name


def build_repeat() -> Path:
    """The program of lab/guest/repeat.c."""
    source = LAB / "guest/repeat.c"
    command = ["gcc", "-std=gnu11", "-O2", *WARNINGS, str(source), "-o", "{out}/repeat"]
    return build_once("repeat", [source, LAB / "bench/marker.h"], command)


def build_probe() -> Path:
    """The program of lab/probe: the kernel's half comes first, which the program has in it."""
    folder = LAB / "probe"
    headers = f"-I/usr/include/{platform.machine()}-linux-gnu"
    return build_once(
        "chario-probe",
        sorted(folder.iterdir()),
        ["clang-19", "-g", "--target=bpf", headers, "-O2", *WARNINGS, "-o", "{out}/probe.bpf.o", "-c",
         str(folder / "probe.bpf.c")],
        ["sh", "-c", "/usr/sbin/bpftool gen skeleton {out}/probe.bpf.o name probe_bpf >{out}/probe.skel.h"],
        ["gcc", "-std=gnu11", "-I{out}", "-O2", *WARNINGS, "-o", "{out}/chario-probe", str(folder / "probe.c"),
         "-lbpf"],
    )  # fmt: skip


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
        raise ProgramError(
            f"{what} does not build; if it lacks something, run scripts/setup.sh\n{done.stdout.rstrip()}"
        )
