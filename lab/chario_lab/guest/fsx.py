# SPDX-License-Identifier: MIT
"""fsx, the file system exerciser, compiled on the host.

get_fsx()    the program, fetched and compiled unless the cache has it
"""

from pathlib import Path

from chario_lab.crates import install

VERSION = "0.3.2"
# The oldest release of Rust that compiles it.
RUST = (1, 82)


def get_fsx() -> Path:
    """The program."""
    return install("fsx", VERSION, RUST) / "bin" / "fsx"
