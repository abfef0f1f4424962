# SPDX-License-Identifier: MIT
"""A copy of the checkout in the cache, where mutations are planted and tests run.

The checkout itself is never changed.  The copy stays from run to run, so that only what has
changed is built again; files whose content is the same are left as they are.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from chario_lab.cache import cache_dir
from chario_lab.kernel import KernelError, build_module, get_kernel, write_changed
from chario_lab.mutants.catalogue import GUEST, Killer, MutantError, Mutation, Outcome, apply
from chario_lab.testing.changes import ask_git

GUEST_LIMIT_S = 1200.0
UNIT_LIMIT_S = 1200.0
END_LIMIT_S = 120.0
EVIDENCE_CHARS = 100
WORKSHOP = "module"
GUEST_TESTS = "tests/guest"
# The folders of a copy that are no part of the checkout: what is built, and a copy with all mutations.
KEPT = ("build", WORKSHOP, "sweep", "sweep-coverage")


@dataclass(frozen=True)
class Ended:
    """A program that was run: its exit code, None where it was ended for taking too long, and its output."""

    rc: int | None
    output: str


@dataclass(frozen=True)
class Tree:
    """The copy: its folder, and the kernel whose guests run its tests."""

    folder: Path
    kernel: str

    @property
    def build(self) -> Path:
        """Where Meson builds."""
        return self.folder / "build"

    @contextlib.contextmanager
    def mutated(self, mutation: Mutation) -> Iterator[Outcome | None]:
        """Plant a mutation for the length of a block; what keeps it from being planted, if anything does."""
        path = self.folder / mutation.file
        before = path.read_text() if path.is_file() else ""
        after = apply(mutation, before)
        if isinstance(after, Outcome):
            yield after
            return
        path.write_text(after)
        try:
            yield None
        finally:
            path.write_text(before)

    def try_out(self, mutation: Mutation) -> tuple[Outcome, str]:
        """Plant a mutation and run its test; the outcome, and what explains it."""
        with self.mutated(mutation) as obstacle:
            if obstacle:
                return obstacle, f"{mutation.file}: the text to replace must be there once"
            built = self.build_for([mutation.test], mutation.file)
            if built:
                return Outcome.BROKEN, built
            ended = self.run([mutation.test])
        return outcome_of(mutation.test, ended), ended.output

    def build_for(self, tests: Sequence[Killer], changed: str) -> str:
        """Build what tests of one kind need, where a file has changed; what a compiler says against it, or nothing."""
        if tests[0].kind == GUEST:
            if changed.startswith("kernel/"):
                return self._build_module()
            return self._ninja(["cli/chario"])
        return self._ninja(needed_files(self._introspect(), [test.name for test in tests], self.build))

    def run(self, tests: Sequence[Killer]) -> Ended:
        """Run tests of one kind."""
        names = [test.name for test in tests]
        if tests[0].kind == GUEST:
            words = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"--kernel={self.kernel}"]
            where = [locate(self.folder, name) for name in names]
            return run_limited([sys.executable, *words, *where], self.folder, GUEST_LIMIT_S)
        # No limit but ours: meson calls a test that it has ended one that has failed.
        words = ["--no-rebuild", "--print-errorlogs", "--timeout-multiplier", "0", *names]
        return run_limited(["meson", "test", "-C", str(self.build), *words], self.folder, UNIT_LIMIT_S)

    def _introspect(self) -> dict[str, Any]:
        if not (self.build / "build.ninja").exists():
            shutil.rmtree(self.build, ignore_errors=True)
            must(["meson", "setup", "-Dgstreamer=disabled", str(self.build), str(self.folder)], self.folder)
        # Meson itself does not look whether its files have changed.
        must(["ninja", "-C", str(self.build), "build.ninja"], self.folder)
        text = must(["meson", "introspect", "--tests", "--targets", str(self.build)], self.folder)
        return dict(json.loads(text))

    def _build_module(self) -> str:
        try:
            build_module(get_kernel(self.kernel), self.folder / "kernel", workshop=self.folder / WORKSHOP)
        except KernelError as error:
            return str(error)
        return ""

    def _ninja(self, targets: Sequence[str]) -> str:
        self._introspect()
        ended = run_limited(["ninja", "-C", str(self.build), *targets], self.folder, UNIT_LIMIT_S)
        return ended.output if ended.rc != 0 else ""


def locate(folder: Path, name: str) -> str:
    """The path of a guest test in a copy; names in the lists of mutations do not say the folder."""
    file, colons, test = name.partition("::")
    found = sorted((folder / GUEST_TESTS).glob(f"*/{file}"))
    return f"{found[0].relative_to(folder) if found else f'{GUEST_TESTS}/{file}'}{colons}{test}"


def outcome_of(test: Killer, ended: Ended) -> Outcome:
    """What a run of a test has shown.

    A test has to say itself that it failed: one that does not end may hang for any reason, and a
    guest that does not start has seen nothing.
    """
    if ended.rc == 0:
        return Outcome.SURVIVED
    if ended.rc is None:
        return Outcome.ENDLESS
    if test.kind == GUEST and not re.search(rf"FAILED {GUEST_TESTS}/(\w+/)?{re.escape(test.name)}", ended.output):
        return Outcome.UNTESTED
    return Outcome.KILLED


def evidence(output: str) -> str:
    """The first thing that a test has said against a mutation, in one line."""
    lines = (line.strip() for line in output.splitlines() if line.startswith(("E   ", "# ")))
    return next((line.lstrip("E# ") for line in lines if ": " in line or "Error" in line), "")[:EVIDENCE_CHARS]


def needed_files(found: dict[str, Any], names: Sequence[str], build: Path) -> list[str]:
    """The files that some tests run, as ninja names them; from what Meson says of tests and targets."""
    wanted = [test for test in found["tests"] if test["name"] in names]
    absent = sorted(set(names) - {test["name"] for test in wanted})
    if absent:
        raise MutantError(f"Meson knows no test called {', '.join(absent)}: tests/unit/meson.build has them")
    targets = {target["id"]: target["filename"] for target in found["targets"]}
    files = {file for test in wanted for depend in test["depends"] for file in targets[depend]}
    return sorted(os.path.relpath(file, build) for file in files)


def run_limited(command: Sequence[str], folder: Path, limit_s: float) -> Ended:
    """Run a program in a session of its own, for a limited time; it may tidy up when that is over."""
    environment = {**os.environ, "CCACHE_DIR": str(cache_dir() / "ccache")}
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit_s)
            return Ended(process.returncode, output)
        except subprocess.TimeoutExpired:
            output = end(process)
            return Ended(None, f"{output}\nended after {limit_s:.0f} s")
        except BaseException:
            end(process)
            raise


def end(process: subprocess.Popen[str]) -> str:
    """Ask a program to end by SIGINT, and then kill its group; its output."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=END_LIMIT_S)[0]
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0]


def must(command: Sequence[str], folder: Path) -> str:
    """Run a program that has to succeed; its output."""
    ended = run_limited(command, folder, UNIT_LIMIT_S)
    if ended.rc != 0:
        raise MutantError(f"{' '.join(command)} failed:\n{ended.output.rstrip()}")
    return ended.output


def copy_tree(top: Path, part: str = "", texts: Mapping[str, str] = MappingProxyType({})) -> Path:
    """A copy of a checkout, with all files that git knows there as they are now, but for those with other texts."""
    names = ask_git(top, "ls-files", "-z").split("\0")
    wanted = {name for name in names if name and (top / name).is_file()}
    folder = cache_dir() / "mutants" / hashlib.sha256(str(top).encode()).hexdigest()[:16] / part
    folder.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        write_changed(folder / name, texts[name].encode() if name in texts else (top / name).read_bytes())
        shutil.copymode(top / name, folder / name)
    for path in stale_files(folder, wanted):
        path.unlink()
    return folder


def stale_files(folder: Path, wanted: set[str]) -> list[Path]:
    """Files of a copy that the checkout has no more; what is built there stays."""
    return [
        path
        for path in folder.rglob("*")
        if path.is_file()
        and path.relative_to(folder).parts[0] not in KEPT
        and "__pycache__" not in path.parts
        and str(path.relative_to(folder)) not in wanted
    ]
