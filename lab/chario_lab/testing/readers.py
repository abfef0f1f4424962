# SPDX-License-Identifier: MIT
"""Which guest tests read which files of tests/guest: modules that they import, and programs that they run.

A test names a program by the name of its source: a text that is such a name
counts, so that no call of a helper is missed.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

GUEST = PurePosixPath("tests/guest")
PROGRAMS = GUEST / "src"


@dataclass(frozen=True)
class Module:
    """What a module of tests/guest names: other modules, and texts."""

    imports: frozenset[str]
    texts: frozenset[str]


def read_module(path: Path) -> Module:
    """The names in a module, also those in its functions."""
    imports, texts = set(), set()
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imports.add(node.module)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
    return Module(frozenset(imports), frozenset(texts))


class Readers:
    """The tests of a checkout that read a file."""

    def __init__(self, top: Path) -> None:
        self._top = top

    @cached_property
    def _modules(self) -> Mapping[str, Module]:
        return {path.stem: read_module(path) for path in sorted((self._top / GUEST).glob("**/*.py"))}

    def of(self, path: str) -> list[str]:
        """The test files that read this file of tests/guest, by themselves or by what they import."""
        file = PurePosixPath(path)
        if file.is_relative_to(PROGRAMS):
            program = PurePosixPath(file.relative_to(PROGRAMS).parts[0]).stem
            named = {name for name, module in self._modules.items() if program in module.texts}
        elif file.parent == GUEST:
            named = {file.stem}
        else:
            return []
        reading: set[str] = set()
        while named:
            reading |= named
            named = {name for name, module in self._modules.items() if module.imports & reading} - reading
        return sorted(str(GUEST / f"{name}.py") for name in reading if name.startswith("test_"))
