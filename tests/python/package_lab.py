# SPDX-License-Identifier: MIT
"""Where the package and the library that was built are; importing this makes the one find the other."""

import os
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CHARIO_BUILD", TOP / "build"))
SOURCE = TOP / "python" / "src"
LIBRARY = BUILD / "lib" / "libchario.so.0"
MIB = 1 << 20

if not LIBRARY.exists():
    raise RuntimeError(f"{LIBRARY} is missing: run make user, or set CHARIO_BUILD to the folder of the build")

os.environ["CHARIO_LIBRARY"] = str(LIBRARY)
sys.path.insert(0, str(SOURCE))
