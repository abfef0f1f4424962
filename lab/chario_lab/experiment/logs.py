# SPDX-License-Identifier: MIT
"""What a machine that failed has said, kept beside the records: the folder of its run is removed some day."""

import contextlib
import shutil
from pathlib import Path

from chario_lab.guest.session import GuestFailed

NAMES = ("console.log", "qemu.log", "command")


def keep_logs(failure: Exception, book: Path) -> str:
    """Copy the logs of the guest that the failure is about; the folder, empty where there is none."""
    if not isinstance(failure, GuestFailed) or failure.run_dir is None:
        return ""
    folder = book.parent / "logs" / f"{book.stem}-{failure.run_dir.name}"
    # A full disk must not hide why the machine failed.
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        for name in NAMES:
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(failure.run_dir / name, folder / name)
    return str(folder) if folder.is_dir() else ""
