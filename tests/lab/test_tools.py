# SPDX-License-Identifier: MIT
"""Programs for guests: which packages are unpacked together."""

from chario_lab.guest.tools import with_libraries

NEEDS = {
    "tool": ["libc6", "libone", "debconf", "libtwo"],
    "other": ["libtwo", "tool"],
    "libone": ["libc6", "libtwo", "libthree"],
    "libtwo": ["libone"],
    "libthree": [],
}


def test_libraries_come_along() -> None:
    """Those that libraries need as well, each once, in circles too; no C library and no other program."""
    assert with_libraries(["tool", "other"], NEEDS.__getitem__) == ["tool", "other", "libone", "libtwo", "libthree"]


def test_what_needs_nothing() -> None:
    """It is unpacked alone."""
    assert with_libraries(["libthree"], NEEDS.__getitem__) == ["libthree"]
