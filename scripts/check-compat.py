#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernel versions are tested for in kernel/compat only."""

from __future__ import annotations

import re
from collections.abc import Iterator

from check_common import Finding, Tree, line_of, main

VERSION_TEST = re.compile(r"\b(LINUX_VERSION_CODE|KERNEL_VERSION|RHEL_RELEASE_CODE)\b|<linux/version\.h>")


def check(tree: Tree) -> Iterator[Finding]:
    """Finds the version tests outside kernel/compat."""
    for path in tree.files:
        if path.suffix not in {".c", ".h"} or path.is_relative_to("kernel/compat"):
            continue
        text = tree.text(path) or ""
        for match in VERSION_TEST.finditer(text):
            yield Finding(
                path,
                line_of(text, match.start()),
                f"{match.group()}: test for a feature in kernel/compat instead",
            )


if __name__ == "__main__":
    main(check, "Finds tests of the kernel's version outside kernel/compat.")
