# SPDX-License-Identifier: MIT
"""Files of checkouts and machines that tests make up."""

from pathlib import Path


def plant(path: Path, text: str) -> Path:
    """Write a file, with the folders above it; text that begins like a script becomes a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    if text.startswith("#!"):
        path.chmod(0o755)
    return path
