# SPDX-License-Identifier: MIT
"""Programs from crates.io, the registry of Rust's packages, compiled on the host into the cache.

    install("fsx", "0.3.2", rust=(1, 82)) -> folder with bin/fsx

Debian's cargo is taken where it is new enough, otherwise the one on the user's
path.  cargo checks what it downloads, and takes proxies and mirrors from the
user's own configuration as it always does.
"""

import re
import shutil
import subprocess
from pathlib import Path

from chario_lab.cache import keep, say
from chario_lab.guest.tools import host_suite
from chario_lab.packages import PackageError, folder_of, run

SYSTEM_CARGO = "/usr/bin/cargo"
ADVICE = "install cargo-web on Debian 12, cargo on Debian 13, which scripts/setup.sh does where there is none"


def install(name: str, version: str, rust: tuple[int, int]) -> Path:
    """The folder of a program, fetched and compiled unless the cache has it; `rust` is the oldest release that can.

    The program needs the C library of the host's Debian, so each Debian has a folder of its own.
    """

    def make(folder: Path) -> None:
        cargo = find_cargo(rust)
        say(f"downloading and compiling {name} {version} with {cargo}, which takes a minute")
        # By default cargo runs the first rustc on the path, which may belong to another cargo.
        compiler = f"RUSTC={Path(cargo).with_name('rustc')}"
        options = ["--quiet", "--locked", "--root", str(folder), "--version", version]
        run(["env", compiler, cargo, "install", *options, name], f"{name} {version} cannot be built", cwd=folder)

    return keep(folder_of([name, version], host_suite()), f"{name} {version}", make)


def find_cargo(rust: tuple[int, int]) -> str:
    """The path of the first cargo that is new enough."""
    seen = []
    for cargo in (SYSTEM_CARGO, shutil.which("cargo")):
        version = version_of(cargo) if cargo else None
        if cargo and version:
            if version >= rust:
                return cargo
            seen.append(f"{cargo} is {version[0]}.{version[1]}")
    wanted = f"cargo {rust[0]}.{rust[1]} or newer is needed"
    raise PackageError(f"{wanted}, and {' and '.join(seen) or 'there is none'}: {ADVICE}")


def version_of(cargo: str) -> tuple[int, int] | None:
    """Major and minor number of a cargo; None where it is missing, or is rustup's and has no toolchain."""
    try:
        done = subprocess.run([cargo, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    found = re.match(r"cargo (\d+)\.(\d+)", done.stdout)
    return (int(found[1]), int(found[2])) if found else None
