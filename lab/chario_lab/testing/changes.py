# SPDX-License-Identifier: MIT
"""What has changed in this checkout: the paths that differ from a base, and what that base is."""

import subprocess
from dataclasses import dataclass
from pathlib import Path


class ChangesError(Exception):
    """Git cannot be asked, or does not know the base; the message says what to do."""


@dataclass(frozen=True)
class Changes:
    """Paths that differ from a commit, with new files that git does not ignore; `base` is the name of that commit."""

    commit: str
    base: str
    paths: tuple[str, ...]


def read_changes(top: Path, base: str = "") -> Changes:
    """What differs from a base: the one that is named, else where this branch left its upstream or
    the default branch of origin, else HEAD."""
    head = ask_git(top, "rev-parse", "--verify", "HEAD^{commit}").strip()
    if base:
        named = git(top, "rev-parse", "--verify", "--end-of-options", f"{base}^{{commit}}")
        if named is None:
            raise ChangesError(f"git knows no commit {base!r}: give BASE= a commit, or leave it out")
        commit = named.strip()
    else:
        upstream = git(top, "merge-base", "HEAD", "@{upstream}") or git(top, "merge-base", "HEAD", "origin/HEAD")
        commit = (upstream or head).strip()
    differing = ask_git(top, "diff", "--name-only", "--no-renames", "-z", commit)
    untracked = ask_git(top, "ls-files", "--others", "--exclude-standard", "-z")
    paths = {path for path in f"{differing}{untracked}".split("\0") if path}
    # HEAD as the base hides what is committed: say so.
    name = commit[:12] if base or commit != head else f"{commit[:12]}, which is HEAD: BASE= names an earlier commit"
    return Changes(commit, name, tuple(sorted(paths)))


def git(top: Path, *words: str) -> str | None:
    """What git prints, or None where it refuses."""
    done = run_git(top, *words)
    return done.stdout if done.returncode == 0 else None


def ask_git(top: Path, *words: str) -> str:
    """What git prints of a checkout that it can read."""
    done = run_git(top, *words)
    if done.returncode:
        reason = done.stderr.strip().splitlines() or [f"git {words[0]} has failed"]
        raise ChangesError(
            f"git cannot say what is in this checkout: {reason[0]}; the tests need a clone with a commit, of your own"
        )
    return done.stdout


def run_git(top: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run git in a checkout."""
    try:
        return subprocess.run(["git", "-C", str(top), *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise ChangesError("git is missing: run scripts/setup.sh as root") from None
