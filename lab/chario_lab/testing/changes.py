# SPDX-License-Identifier: MIT
"""What has changed in this checkout: the paths that differ from a base, and what that base is."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


class ChangesError(Exception):
    """Git does not know the base; the message says what to do."""


@dataclass(frozen=True)
class Changes:
    """Paths that differ from a base; new files that git does not ignore are among them."""

    base: str
    paths: tuple[str, ...]


def read_changes(top: Path, base: str = "") -> Changes:
    """What differs from a base: the one that is named, else where this branch left its upstream or
    the default branch of origin, else HEAD."""
    known = git(top, "rev-parse", "--short", "--verify", f"{base or 'HEAD'}^{{commit}}")
    if known is None:
        raise ChangesError(f"git knows no commit {base}: give BASE= a commit, or leave it out")
    upstream = git(top, "merge-base", "HEAD", "@{upstream}") or git(top, "merge-base", "HEAD", "origin/HEAD")
    commit = (known if base or not upstream else upstream).strip()
    differing = git(top, "diff", "--name-only", "--no-renames", "-z", commit)
    untracked = git(top, "ls-files", "--others", "--exclude-standard", "-z")
    if differing is None or untracked is None:
        raise ChangesError("git cannot say what has changed: see what git diff and git status print")
    paths = {path for path in f"{differing}{untracked}".split("\0") if path}
    # HEAD as the base hides what is committed: say so.
    name = commit[:12] if base or upstream else f"{commit[:12]}, which is HEAD: BASE= names an earlier commit"
    return Changes(name, tuple(sorted(paths)))


def git(top: Path, *words: str) -> str | None:
    """What git prints, or None where it refuses."""
    done = subprocess.run(["git", "-C", str(top), *words], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None
