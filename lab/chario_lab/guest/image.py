# SPDX-License-Identifier: MIT
"""The initramfs of a guest: busybox, six modules, init and the agent.

It is about 4 MB and only finds the real root: see lab/guest/init.  An image
is named by the hash of all that is in it, so it is built once per kernel and
is never stale.  The agent is compiled once for its content.
"""

import gzip
import hashlib
import lzma
import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from chario_lab.cache import cache_dir
from chario_lab.programs import WARNINGS, build_once

AGENT_FLAGS = ("-std=gnu11", "-O2", "-s", "-static", *WARNINGS, "-Wconversion")
GUEST_DIR = Path(__file__).resolve().parents[2] / "guest"
MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay", "virtio_console", "configfs")


class ImageError(Exception):
    """The initramfs cannot be built; the message says what is missing."""


def build_image(modules: Path) -> Path:
    """The initramfs for the kernel with this modules folder."""
    members = {
        "init": (GUEST_DIR / "init").read_bytes(),
        "agent": build_agent().read_bytes(),
        "bin/busybox": find_busybox().read_bytes(),
    }
    members |= module_members(modules)
    image = cache_dir() / "initramfs" / f"{digest(members)}.cpio"
    if not image.exists():
        image.parent.mkdir(parents=True, exist_ok=True)
        write_image(members, image)
    return image


def module_members(modules: Path) -> dict[str, bytes]:
    """The modules, a table of what each needs, and the name of the last, whose loading loads them all."""
    folder = f"lib/modules/{modules.name}"
    paths = load_order(modules, MODULES)
    names = [module_name(str(path)) + ".ko" for path in paths]
    members = {f"{folder}/{name}": read_module(path) for name, path in zip(names, paths, strict=True)}
    # Each is said to need all that come before it, as modprobe reads it: the nearest first.
    table = [f"{name}: {' '.join(reversed(names[:place]))}\n" for place, name in enumerate(names)]
    members[f"{folder}/modules.dep"] = "".join(table).encode()
    members[f"{folder}/last"] = f"{names[-1] if names else ''}\n".encode()
    return members


def build_agent() -> Path:
    """The agent of lab/guest/agent, a program that needs no library of the guest."""
    sources = sorted((GUEST_DIR / "agent").glob("*.[ch]"))
    command = ["gcc", *AGENT_FLAGS, *(str(path) for path in sources if path.suffix == ".c"), "-ljson-c"]
    return build_once("agent", sources, [*command, "-o", "{out}/agent"])


def find_busybox() -> Path:
    """A statically linked busybox of the host."""
    for path in (Path("/usr/bin/busybox"), Path("/bin/busybox")):
        if path.exists():
            return path
    raise ImageError("busybox is missing: apt-get install busybox-static")


def load_order(modules: Path, wanted: Iterable[str]) -> list[Path]:
    """Files of the wanted modules and of what they need, needed ones first."""
    try:
        table = (modules / "modules.dep").read_text()
        builtin = (modules / "modules.builtin").read_text()
    except OSError as error:
        raise ImageError(f"no module list in {modules} ({error.strerror}): run depmod for it") from error
    needs = {name: rest.split() for name, _, rest in (line.partition(":") for line in table.splitlines())}
    by_name = {module_name(path): path for path in needs}
    builtin_names = {module_name(path) for path in builtin.splitlines()}
    order: list[Path] = []
    for name in wanted:
        if name in builtin_names:
            continue
        if name not in by_name:
            raise ImageError(f"the kernel of {modules} has no module {name}")
        for path in [*reversed(needs[by_name[name]]), by_name[name]]:
            if modules / path not in order:
                order.append(modules / path)
    return order


def module_name(path: str) -> str:
    """Name under which a module file is known."""
    return Path(path).name.split(".ko")[0].replace("-", "_")


def read_module(path: Path) -> bytes:
    """A module's content, unpacked: busybox loads plain files only."""
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix == ".gz":
        return gzip.decompress(data)
    if path.suffix != ".ko":
        raise ImageError(f"{path}: compression not known")
    return data


def digest(members: dict[str, bytes]) -> str:
    """Hash of the names and contents."""
    state = hashlib.sha256()
    for name, data in sorted(members.items()):
        state.update(f"{name} {len(data)}\n".encode())
        state.update(data)
    return state.hexdigest()[:24]


def write_image(members: dict[str, bytes], image: Path) -> None:
    """Pack the members; the image appears whole or not at all."""
    with tempfile.TemporaryDirectory(dir=image.parent) as folder:
        root = Path(folder) / "root"
        for name, data in members.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        for name in ("init", "agent", "bin/busybox"):
            (root / name).chmod(0o755)
        names = sorted(str(path.relative_to(root)) for path in root.rglob("*"))
        packed = Path(folder) / "packed"
        with packed.open("wb") as output:
            subprocess.run(
                [str(find_busybox()), "cpio", "-o", "-H", "newc"],
                cwd=root,
                input="".join(f"{name}\n" for name in names).encode(),
                stdout=output,
                stderr=subprocess.DEVNULL,
                check=True,
            )
        os.replace(packed, image)
