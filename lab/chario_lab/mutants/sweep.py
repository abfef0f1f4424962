# SPDX-License-Identifier: MIT
"""Each flush, bound, checked result, guard and loop of the library is removed or changed, one at a time.

generate.py makes these mutations; a unit test that runs the mutated line has to fail.  Those that
change nothing a test could see are in tests/mutants/equivalent.toml, with the reason.  An entry of
that list that fits no mutation, or one that a test kills, is an error.  The library is built once
with all of them: an environment variable says which one is there.
"""

import fnmatch
import hashlib
import json
import os
import shutil
import tempfile
import threading
import time
import tomllib
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from chario_lab.cache import cache_dir, locked, say
from chario_lab.mutants.catalogue import MutantError
from chario_lab.mutants.generate import KINDS, Site, generate, returning_errors
from chario_lab.mutants.tree import UNIT_LIMIT_S, Ended, copy_tree, must, needed_files, run_limited

FOLDERS = ("lib/src/store", "lib/src/stream")
LIST = "tests/mutants/equivalent.toml"
SUITE = "chario:unit"
# They test the program or a view, and take long; the library's own tests are to see what is wrong with it.
OTHERS = ("*cli", "put-changed", "pages", "fuzz-*", "view-*")
# The counters of their children are lost when these are killed: no line tells that it was run.
FORKING = ("fence", "store-locks", "store-sharing")
# Few power cuts, and the same random numbers in each run.
ENVIRONMENT = {"CUTS": "500", "SEED": "1"}
CHOICE = "SWEEP_MUTATION"
PROLOGUE = f"""char *getenv(const char *name);
int atoi(const char *text);
static int sweep_mutation;
static __attribute__((constructor)) void choose_mutation(void)
{{
	const char *number = getenv("{CHOICE}");
	sweep_mutation = number ? atoi(number) : 0;
}}
"""
OUTPUT_CHARS = 4000
LEAST_LIMIT_S, LIMIT_FACTOR = 20.0, 10.0


@dataclass(frozen=True)
class Program:
    """A unit test: what it runs in which build folder, the files of that, and how long it takes."""

    name: str
    folder: Path
    command: tuple[str, ...]
    environment: dict[str, str]
    files: tuple[str, ...]
    seconds: float = 0.0


def read_sites(top: Path) -> list[Site]:
    """All mutations of the sources in FOLDERS, the most dangerous first."""
    checked = returning_errors([path.read_text() for path in sorted((top / "lib").rglob("*.[ch]"))])
    sites = [
        site
        for folder in FOLDERS
        for path in sorted((top / folder).glob("*.c"))
        for site in generate(str(path.relative_to(top)), path.read_text(), checked)
    ]
    return sorted(sites, key=lambda site: KINDS.index(site.kind))


def read_equivalents(top: Path) -> dict[str, str]:
    """The reason of each mutation that no test can see."""
    entries = tomllib.loads((top / LIST).read_text()).get("equivalent", [])
    return {name: entry["why"] for entry in entries for name in entry["names"]}


def stale_names(sites: Sequence[Site], equivalents: dict[str, str]) -> list[str]:
    """Names of the list that no mutation has."""
    return sorted(set(equivalents) - {site.name for site in sites})


def run(pattern: str) -> int:
    """Try all mutations whose name or file matches a pattern; 0 when each was killed, or has its reason."""
    top = Path(__file__).resolve().parents[3]
    sites, equivalents = read_sites(top), read_equivalents(top)
    stale = stale_names(sites, equivalents)
    if stale:
        raise MutantError("\n  ".join([f"{LIST} has names of no mutation: remove them, or give the new name", *stale]))
    chosen = [site for site in sites if not pattern or fnmatch.fnmatch(site.name, pattern) or site.file == pattern]
    if not chosen:
        raise MutantError(f"no mutation matches {pattern!r}: a name is 'FILE:FUNCTION: KIND: WAS -> IS'")
    with locked(cache_dir() / "mutants", "mutations"), ThreadPoolExecutor(os.cpu_count()) as pool:
        sweep = Sweep(top, sites)
        places = [f"{place}/{len(chosen)}" for place in range(1, len(chosen) + 1)]
        seen = list(pool.map(sweep.kills, chosen, places))
    return report(chosen, [site for site, killed in zip(chosen, seen, strict=True) if not killed], equivalents)


def plant(text: str, numbered: Sequence[tuple[int, Site]]) -> str:
    """A source with all its mutations: each function does what the chosen one does."""
    for whole, group in groupby(sorted(numbered, key=lambda one: one[1].find), key=lambda one: one[1].find):
        head, _, body = whole.partition("\n{\n")
        cases = (f"case {number}:\n{{\n{site.replace[len(head) + 3 :]}\ngoto sweep_end;" for number, site in group)
        choice = ["switch (sweep_mutation) {", *cases, "default:", "{", body, "}", "sweep_end: ;"]
        text = text.replace(whole, "\n".join([head, "{", *choice, "}"]))
    return PROLOGUE + text


def report(chosen: Sequence[Site], survivors: Sequence[Site], equivalents: dict[str, str]) -> int:
    """Say what came of all mutations; 0 when the list has just the survivors."""
    unseen = [site for site in survivors if site.name not in equivalents]
    seen = [site for site in chosen if site.name in equivalents and site not in survivors]
    for site in unseen:
        say(f"no unit test sees: {site.name} (line {site.line})")
    for site in seen:
        say(f"a test sees what {LIST} says that none can: {site.name}")
    counts = ", ".join(f"{kind} {sum(site.kind == kind for site in chosen)}" for kind in KINDS)
    say(
        f"{len(chosen)} mutations ({counts}): {len(chosen) - len(survivors)} killed, "
        f"{len(survivors) - len(unseen)} equivalent, {len(unseen)} not seen"
    )
    return 1 if unseen or seen else 0


class Sweep:
    """A copy of the checkout, its unit tests, and which lines each of them runs."""

    def __init__(self, top: Path, sites: Sequence[Site]) -> None:
        self._numbers = {site.name: number for number, site in enumerate(sites, 1)}
        mine: dict[str, list[tuple[int, Site]]] = defaultdict(list)
        for number, site in enumerate(sites, 1):
            mine[site.file].append((number, site))
        planted = {file: plant((top / file).read_text(), numbered) for file, numbered in mine.items()}
        self._top = copy_tree(top)
        folder = copy_tree(top, "sweep", planted) / "build"
        self._kills: Counter[tuple[str, str]] = Counter()
        self._last = folder / "killers.json"
        self._lock = threading.Lock()
        self._build(folder)
        self._killers: dict[str, str] = json.loads(self._last.read_text()) if self._last.exists() else {}
        self._programs = self._measure(folder)
        failing = [program.name for program in self._programs if self._try(program, 0) != 0]
        if failing:
            raise MutantError(f"built with all mutations, these fail without one: {', '.join(failing)}")

    def kills(self, site: Site, place: str) -> bool:
        """Whether a unit test sees a mutation."""
        begin = time.monotonic()
        programs, number = self._in_order(site), self._numbers[site.name]
        outcome, killer = f"NOT SEEN by {len(programs)} tests", ""
        for program in programs:
            code = self._try(program, number)
            if code != 0:
                killer = program.name
                outcome = f"killed by {killer}" + (", which did not end," if code is None else "")
                break
        say(f"{place} {site.name} (line {site.line}): {outcome} in {time.monotonic() - begin:.0f} s")
        if killer:
            with self._lock:
                self._kills[site.file, killer] += 1
                self._killers[site.name] = killer
                self._last.write_text(json.dumps(self._killers, indent=0))
        return bool(killer)

    def _in_order(self, site: Site) -> list[Program]:
        """The tests that run the line of a mutation; those first that have killed the like, then the quick ones."""
        last = self._killers.get(site.name)
        return sorted(
            (program for program in self._programs if self._reaches(program, site)),
            key=lambda program: (
                program.name != last,
                -self._kills[site.file, program.name] / (program.seconds + 0.2),
                program.seconds,
            ),
        )

    def _reaches(self, program: Program, site: Site) -> bool:
        if program.name in FORKING:
            return True
        lines = self._lines[site.file]
        at = bisect_right(lines, site.line) - 1
        return at < 0 or lines[at] in self._reached[program.name].get(site.file, ())

    def _try(self, program: Program, number: int) -> int | None:
        """How a test ends; one that does not end within many times its usual time has seen something."""
        return self._execute(program, {CHOICE: str(number)}, LEAST_LIMIT_S + LIMIT_FACTOR * program.seconds).rc

    def _measure(self, planted: Path) -> list[Program]:
        """Run each test once without a mutation, with counters: the tests, the quickest first."""
        folder = self._top / "sweep-coverage"
        self._build(folder, "-Db_coverage=true")
        kept = folder / "runs.json"
        known: dict[str, dict[str, Any]] = json.loads(kept.read_text()) if kept.exists() else {}
        runs: dict[str, dict[str, Any]] = {}
        for program in self._list(folder):
            digest = hashlib.sha256((folder / program.files[0]).read_bytes()).hexdigest()
            run = known.get(program.name, {})
            runs[program.name] = run if run.get("digest") == digest else {"digest": digest, **self._count(program)}
            kept.write_text(json.dumps(known | runs))
        self._lines = {file: lines for run in runs.values() for file, lines in run["lines"].items()}
        self._reached = {
            name: {file: set(lines) for file, lines in run["reached"].items()} for name, run in runs.items()
        }
        programs = [replace(program, seconds=runs[program.name]["seconds"]) for program in self._list(planted)]
        return sorted(programs, key=lambda program: program.seconds)

    def _count(self, program: Program) -> dict[str, Any]:
        """How long a test takes, the lines that there are in each source, and those that it runs."""
        with tempfile.TemporaryDirectory() as counters:
            for path in program.folder.rglob("*.gcda"):
                path.unlink()
            begin = time.monotonic()
            ended = self._execute(program, {"GCOV_PREFIX": counters}, UNIT_LIMIT_S)
            seconds = time.monotonic() - begin
            if ended.rc != 0:
                raise MutantError(f"{program.name} does not pass without a mutation:\n{ended.output[-OUTPUT_CHARS:]}")
            found = list(Path(counters).rglob("libchario-inner.a.p/*.gcda"))
            for path in found:
                shutil.copy(program.folder / "lib/libchario-inner.a.p" / f"{path.stem}.gcno", path.parent)
            words = ["gcov", "--json-format", "--stdout", *map(str, found)]
            text = must(words, program.folder) if found else ""
        lines, reached = {}, {}
        for line in text.splitlines():
            for file in json.loads(line)["files"]:
                name = os.path.relpath(program.folder / file["file"], self._top)
                lines[name] = sorted({entry["line_number"] for entry in file["lines"]})
                reached[name] = sorted({entry["line_number"] for entry in file["lines"] if entry["count"]})
        return {"seconds": seconds, "lines": lines, "reached": reached}

    def _list(self, folder: Path) -> list[Program]:
        """The unit tests of a folder."""
        found: dict[str, Any] = json.loads(must(["meson", "introspect", "--tests", "--targets", str(folder)], folder))
        return [
            Program(
                test["name"],
                folder,
                tuple(test["cmd"]),
                test["env"],
                tuple(needed_files(found, [test["name"]], folder)),
            )
            for test in found["tests"]
            if SUITE in test["suite"] and not any(fnmatch.fnmatch(test["name"], pattern) for pattern in OTHERS)
        ]

    def _execute(self, program: Program, environment: dict[str, str], limit_s: float) -> Ended:
        words = [f"{name}={value}" for name, value in {**ENVIRONMENT, **program.environment, **environment}.items()]
        return run_limited(["env", *words, *program.command], program.folder, limit_s)

    def _build(self, folder: Path, *options: str) -> None:
        if not (folder / "build.ninja").exists():
            words = ["-Dgstreamer=disabled", "-Dbuildtype=debug", "-Dwerror=false", *options]
            source = self._top if options else folder.parent
            must(["meson", "setup", *words, str(folder), str(source)], source)
        must(["ninja", "-C", str(folder)], folder)
