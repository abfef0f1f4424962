# SPDX-License-Identifier: MIT
"""checkpatch and kernel-doc, in a folder of the cache.

    python -m chario_lab.kernel_scripts    print the folder, fetch them unless they are there

The only package with checkpatch is that of the kernel's whole source; these
few files of it are kept.
"""

import sys
import tarfile
import tempfile
from pathlib import Path

from chario_lab.cache import cache_dir, guarded, keep
from chario_lab.kernel_build import SOURCE, SUITES
from chario_lab.packages import PackageError, fill

SUITE = SUITES[0]
ARCHIVE = f"usr/src/{SOURCE}.tar.xz"
WANTED = {"checkpatch.pl", "kernel-doc", "spelling.txt", "const_structs.checkpatch"}


def get_kernel_scripts() -> Path:
    """The folder with the scripts."""
    return keep(cache_dir() / "kernel-scripts" / SOURCE, "checkpatch", make)


def make(folder: Path) -> None:
    """Fill the folder of the cache, from an archive that the lab has already if it does."""
    archive = next((cache_dir() / "packages").glob(f"{SOURCE}*/{ARCHIVE}"), None)
    with tempfile.TemporaryDirectory(dir=folder.parent) as unpacked:
        if archive is None:
            fill(Path(unpacked), [SOURCE], SUITE)
        extract(archive or Path(unpacked) / ARCHIVE, folder)


def extract(archive: Path, folder: Path) -> None:
    """Copy the wanted files from the archive to a folder."""
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


def main() -> int:
    """Print the folder."""
    print(get_kernel_scripts())
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
