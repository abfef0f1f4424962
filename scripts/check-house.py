#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files and functions stay short, nothing is left for later, and no open() takes a terminal.

A file over 450 lines is listed, one over 600 is an error, as is a function
over 80 lines.  Marks of unfinished work and paths of one machine are errors,
and so is an open() in C of a path that is no constant without O_NOCTTY.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from check_common import Finding, Tree, line_of, main

LONG_FILE, LONGEST_FILE, LONGEST_FUNCTION = 450, 600, 80

CODE = {".c", ".h", ".py", ".sh"}
BUILD_FILES = {"Makefile", "Kbuild", "Kconfig", "meson.build"}

# Written so that this file passes its own check.
UNFINISHED = re.compile(r"\b(TO(?:DO)|FIX(?:ME))\b")
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(?:work/|root/\.|home/\w+/)[\w.]+")

# The kernel would make a terminal that a session leader opens its controlling terminal.
OPENS_PATHS = ("cli", "gst", "lab/bench", "lab/guest/repeat.c", "lib")
OPEN = re.compile(r'(?<![\w.>])open(?:at)?\((?!["\d])[^;]*;')

# The body of a C function stands between braces in the first column.
C_BODY = re.compile(r"^\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)


def check_length(path: PurePosixPath, text: str) -> Iterator[Finding]:
    """Judges the number of lines of a file."""
    lines = len(text.splitlines())
    if lines > LONGEST_FILE:
        yield Finding(path, lines, f"{lines} lines, at most {LONGEST_FILE}: cut it by nouns")
    elif lines > LONG_FILE:
        print(f"note: {path} has {lines} lines, aim for {LONG_FILE}")


def function_spans(path: PurePosixPath, text: str) -> Iterator[tuple[int, int]]:
    """First line and number of lines of each function."""
    if path.suffix == ".c":
        for match in C_BODY.finditer(text):
            yield line_of(text, match.start()), match.group().count("\n") + 1
    elif path.suffix == ".py":
        for node in ast.walk(ast.parse(text, str(path))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1


def check_functions(path: PurePosixPath, text: str) -> Iterator[Finding]:
    """Finds functions that do more than one thing, told by their length."""
    for line, lines in function_spans(path, text):
        if lines > LONGEST_FUNCTION:
            message = f"a function of {lines} lines, at most {LONGEST_FUNCTION}: cut it by verbs"
            yield Finding(path, line, message)


def check_words(path: PurePosixPath, text: str) -> Iterator[Finding]:
    """Finds unfinished work and paths that exist on one machine only."""
    for match in UNFINISHED.finditer(text):
        yield Finding(path, line_of(text, match.start()), f"{match.group()}: do it, or drop it")
    for match in MACHINE_PATH.finditer(text):
        message = f"{match.group()}: a path of one machine"
        yield Finding(path, line_of(text, match.start()), message)


def check_opens(path: PurePosixPath, text: str) -> Iterator[Finding]:
    """Finds each open() of a path that is no constant and may become the controlling terminal."""
    if path.suffix != ".c" or not any(path.is_relative_to(top) for top in OPENS_PATHS):
        return
    for match in OPEN.finditer(text):
        if "O_NOCTTY" not in match.group():
            yield Finding(path, line_of(text, match.start()), "an open() without O_NOCTTY")


def check(tree: Tree) -> Iterator[Finding]:
    """Checks every file that people wrote."""
    for path in tree.files:
        text = None if path.is_relative_to("LICENSES") else tree.text(path)
        if text is None:
            continue
        if path.suffix in CODE or path.name in BUILD_FILES:
            yield from check_length(path, text)
        yield from check_functions(path, text)
        yield from check_words(path, text)
        yield from check_opens(path, text)


if __name__ == "__main__":
    main(check, "Finds overlong files and functions, unfinished work, paths of one machine, opened terminals.")
