# SPDX-License-Identifier: MIT
"""Fetches checkpatch and kernel-doc, once, and prints the folder that has them.

The only package with checkpatch is that of the kernel's whole source; these
few files of it are kept.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from chario_lab.cache import CacheError, cache_dir, explain, keep
from chario_lab.packages import AptRoot, PackageError

SUITE = "bookworm"
SOURCE = "linux-source-6.12"
ARCHIVE = f"usr/src/{SOURCE}.tar.xz"
WANTED = {"checkpatch.pl", "kernel-doc", "spelling.txt", "const_structs.checkpatch"}


def fetch(folder: Path) -> Path:
    """The archive of the kernel's source, unpacked into a folder."""
    apt = AptRoot(SUITE)
    apt.refresh()
    apt.download([SOURCE], folder)
    package = next(folder.glob("*.deb"))
    subprocess.run(["dpkg-deb", "-x", str(package), str(folder)], check=True)
    return folder / ARCHIVE


def extract(archive: Path, folder: Path) -> None:
    """Copies the wanted files from the archive to a folder."""
    missing = {f"{SOURCE}/scripts/{name}" for name in WANTED}
    with tarfile.open(archive, "r|xz") as source:
        for member in source:
            if member.name not in missing:
                continue
            content = source.extractfile(member)
            assert content is not None
            target = folder / Path(member.name).name
            target.write_bytes(content.read())
            target.chmod(0o755)
            missing.remove(member.name)
            if not missing:
                return
    raise PackageError(f"{archive.name} of Debian {SUITE} has no {', '.join(sorted(missing))}")


def make(folder: Path) -> None:
    """Fills the folder of the cache, from an archive that the lab has already if it does."""
    archive = next((cache_dir() / "packages").glob(f"{SOURCE}*/{ARCHIVE}"), None)
    with tempfile.TemporaryDirectory(dir=folder.parent) as downloads:
        extract(archive or fetch(Path(downloads)), folder)


def main() -> None:
    """Prints the folder."""
    try:
        print(keep(cache_dir() / "kernel-scripts" / SOURCE, "checkpatch", make))
    except (PackageError, CacheError, OSError) as error:
        sys.exit(explain(error))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
