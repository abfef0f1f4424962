# SPDX-License-Identifier: MIT
"""Which layer each function of chario.ko belongs to."""

import subprocess
from collections.abc import Iterator
from pathlib import Path


def chario_layers(module: Path) -> dict[str, str]:
    """Layer of each of the module's functions, by the folder of the object that holds it: front, back, else core.

    A name that two layers have is left to the layer of the whole module.
    """
    found: dict[str, str] = {}
    for path in sorted(module.parent.glob("*/**/*.o")):
        folder = path.relative_to(module.parent).parts[0]
        layer = f"chario/{folder if folder in ('front', 'back') else 'core'}"
        for name in _functions_of(path):
            found[name] = layer if found.get(name, layer) == layer else "chario"
    return found


def _functions_of(path: Path) -> Iterator[str]:
    listing = subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        *_, kind, name = line.split()
        if kind in "tT":
            yield name
