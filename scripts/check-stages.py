#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The stages of a request are spelled and ordered alike wherever they are listed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from check_common import Finding, Tree, line_of, main

STAGES = ["enter", "split", "map", "queue", "post", "doorbell", "irq", "reap", "unmap", "finish"]

UAPI = PurePosixPath("kernel/uapi/chario/uapi.h")
TRACE = PurePosixPath("kernel/trace.h")
REQUEST_PATH = PurePosixPath("docs/architecture.md")

ENUM = re.compile(r"enum\s+chario_stage\s*{(.*?)}", re.DOTALL)
ENUMERATOR = re.compile(r"^\s*CHARIO_STAGE_(\w+)", re.MULTILINE)
# TRACE_EVENT(enter, ...), DEFINE_EVENT(class, enter, ...), and a macro of the
# header's own that takes the name alone.
EVENT = re.compile(r"^(?:TRACE_EVENT\(|DEFINE_EVENT\(\w+,\s*|CHARIO_\w*EVENT\()(\w+)", re.MULTILINE)
# A list in prose: words with nothing but marks between them.
LISTING = re.compile(r"\benter\b[^\w.;]{1,8}\bsplit\b(?:[^\w.;]{1,8}[a-z]+\b)*")
WORD = re.compile(r"[a-z]+")


def compare(path: PurePosixPath, line: int, found: list[str]) -> Iterator[Finding]:
    """Says where a list departs from the stages."""
    if found != STAGES:
        yield Finding(path, line, f"stages are '{' '.join(STAGES)}', not '{' '.join(found)}'")


def check_uapi(tree: Tree) -> Iterator[Finding]:
    """Compares the enumeration of the ABI."""
    text = tree.text(UAPI) if UAPI in tree.files else None
    match = ENUM.search(text or "")
    if text is None or match is None:
        yield Finding(UAPI, 1, "no enum chario_stage")
        return
    names = [name.lower() for name in ENUMERATOR.findall(match.group(1))]
    yield from compare(UAPI, line_of(text, match.start()), names)


def check_trace(tree: Tree) -> Iterator[Finding]:
    """Looks for one tracepoint a stage; they stand in the order of their classes."""
    text = tree.text(TRACE) if TRACE in tree.files else None
    events = EVENT.findall(text or "")
    for stage in STAGES:
        if events.count(stage) != 1:
            yield Finding(TRACE, 1, f"{events.count(stage)} tracepoints '{stage}', not one")


def check_prose(tree: Tree) -> Iterator[Finding]:
    """Compares every list in the documentation; the page on a request must have one."""
    for path in tree.files:
        if path.suffix != ".md" and path.parts[0] not in {"docs", "man"}:
            continue
        text = tree.text(path) or ""
        listings = list(LISTING.finditer(text))
        for match in listings:
            words = WORD.findall(match.group())[: len(STAGES)]
            yield from compare(path, line_of(text, match.start()), words)
        if path == REQUEST_PATH and not listings:
            yield Finding(path, 1, "does not list the stages of a request")
    if REQUEST_PATH not in tree.files:
        yield Finding(REQUEST_PATH, 1, "no page that lists the stages of a request")


def check(tree: Tree) -> Iterator[Finding]:
    """Compares the ABI, the tracepoints and the documentation with the one list."""
    yield from check_uapi(tree)
    yield from check_trace(tree)
    yield from check_prose(tree)


if __name__ == "__main__":
    main(check, "Compares every list of a request's stages.")
