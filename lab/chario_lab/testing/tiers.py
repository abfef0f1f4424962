# SPDX-License-Identifier: MIT
"""The three tiers of tests as lists of stages.

    quick    static and unit tests, a smoke test of each feature, all tests of what has changed
    check    every test on 6.1, and on each other kernel what depends on it; nothing is selected or used again
    long     what takes hours: fuzzers, many crash points, mutations, fresh machines

Stages in one group run side by side.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from chario_lab.kernel import DEBUG, KCSAN, SERIES
from chario_lab.testing.areas import Map, Selection
from chario_lab.testing.guest_files import FIRST_KERNEL, GuestFile
from chario_lab.testing.seats import seats_of_machine
from chario_lab.testing.stage import Stage

DEFAULT_KERNELS = ("6.1", "6.12", "6.12-rt", DEBUG)
GUEST = "tests/guest/"
HOST_TESTS = ("tests/lab", "tests/python", "tests/gst", "tests/format")

# About how many minutes each stage takes on two idle processors, with a warm cache.
MINUTES = {
    "module": 1.0, "static": 1.0, "unit": 1.0, "host": 2.0, "sanitizers": 3.5, "fuzz-library": 1.0,
    "guests 6.1": 30.0, "guests 6.12": 9.0, "guests 6.12-rt": 5.0, "guests debug": 33.0, "guests kcsan": 45.0,
    "guests debug, first": 10.0, "guests debug, rest": 23.0,
    "smoke 6.1": 3.0, "changed 6.1": 15.0,
}  # fmt: skip
KERNEL_MINUTES = 35.0
# Power cuts of the store's unit test; the long tier has five times as many.
FEW_CUTS = "2000"
# Other tests look at samples too, which these make whole.
NO_SAMPLES = {"FAIL_NTH_STRIDE": "1", "LIES": "100000"}

# All that a stage reads, where it is deterministic: such a pass is used again in the quick tier.
SCRIPTS = ("Makefile", "scripts/*", "lab/pyproject.toml")
USER_SPACE = (
    *SCRIPTS, "meson*", "lib/*", "cli/*", "gst/*", "man/*", "packaging/*", "kernel/*",
    "tests/unit/*", "tests/fuzz/*", "tests/abi/*", "tests/gst/*",
)  # fmt: skip
INPUTS = {"static": ("*",), "unit": USER_SPACE}


@dataclass(frozen=True)
class Plan:
    """What a tier runs, and what it leaves out with the reason of each; nothing is shown without what is `needed`."""

    tier: str
    groups: tuple[tuple[Stage, ...], ...]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    needed: str = ""


@dataclass(frozen=True)
class Setting:
    """Where a run takes place; kernels that are `missing` have to be built first."""

    python: Path
    build: Path
    kernels: tuple[str, ...]
    files: Sequence[GuestFile] = field(default=())
    missing: tuple[str, ...] = ()


def make(setting: Setting, name: str, target: str, **environment: str) -> Stage:
    """A stage that is a target of the Makefile."""
    command = ("make", "--no-print-directory", target)
    # Relative, so that a pass does not depend on where the checkout lies.
    variables = {"BUILD": os.path.relpath(setting.build), **environment}
    return Stage(name, command, MINUTES.get(name, 30.0), variables, INPUTS.get(name, ()))


def pytest(setting: Setting, name: str, words: Iterable[str], minutes: float = 10.0) -> Stage:
    """A stage that is a run of pytest."""
    command = (str(setting.python), "-m", "pytest", "-q", *words)
    return Stage(name, command, MINUTES.get(name, minutes), {"CHARIO_BUILD": str(setting.build)})


def host_tests(setting: Setting, tests: Iterable[str]) -> Stage:
    """Tests of the lab, the Python package, GStreamer and the formats; none boots a guest."""
    return pytest(setting, "host", ["-n", "2", *tests])


def fuzz_briefly(setting: Setting) -> Stage:
    """The library's fuzzers for ten seconds each, always with the same seed."""
    return make(setting, "fuzz-library", "fuzz-library", FUZZ_SEED="1", FUZZ_SECONDS="10")


def guests(setting: Setting, kernel: str, tests: Iterable[str], name: str = "") -> Stage:
    """Guest tests with a kernel; how many files run side by side is a matter of their seats."""
    # Each worker boots guests of its own, and a boot of the debug kernel is expensive.
    workers = seats_of_machine() - (1 if kernel == DEBUG else 0)
    words = ["-n", str(workers), "--dist", "loadfile", "--no-loadscope-reorder", "--rerun-show-tracebacks",
             f"--kernel={kernel}", *tests]  # fmt: skip
    return pytest(setting, name or f"guests {kernel}", words)


def listed(setting: Setting, kernel: str, everything: bool = False) -> list[str]:
    """The guest test files of a kernel's list; 6.1 has all."""
    everything = everything or kernel == FIRST_KERNEL
    return [f"{GUEST}{file.name}" for file in setting.files if everything or file.runs_on(kernel)]


def turns(setting: Setting, kernel: str) -> list[Stage]:
    """The guest tests of a kernel; on the debug kernel in two turns: where time is short the first still runs."""
    if kernel != DEBUG:
        return [guests(setting, kernel, listed(setting, kernel))]
    files = [file for file in setting.files if file.runs_on(kernel)]
    stages = []
    for name, is_first in (("first", True), ("rest", False)):
        tests = [f"{GUEST}{file.name}" for file in files if file.debug_first == is_first]
        stages += [guests(setting, kernel, tests, f"guests {kernel}, {name}")] if tests else []
    return stages


def module(setting: Setting, kernels: Sequence[str], name: str = "module") -> Stage:
    """The module is built once for each kernel of a run, for static checks and guests alike."""
    command = (str(setting.python), "-m", "chario_lab.kernel", "--build", "kernel", "--again", *kernels)
    missing = [kernel for kernel in kernels if kernel in setting.missing]
    return Stage(name, command, MINUTES["module"] + KERNEL_MINUTES * len(missing))


def not_named(setting: Setting) -> list[str]:
    """The usual kernels that a run does without, as it was told to."""
    return [f"guests {kernel}: KERNELS does not name it" for kernel in DEFAULT_KERNELS if kernel not in setting.kernels]


def plan_guests(setting: Setting, everything: bool = False) -> Plan:
    """The guest tests of some kernels."""
    stages = [guests(setting, kernel, listed(setting, kernel, everything)) for kernel in setting.kernels]
    return Plan("guests", tuple((stage,) for stage in stages), ("all but guests", *not_named(setting)))


def plan_check(setting: Setting) -> Plan:
    """Everything that has to pass before a change is called done.

    A kernel that the lab builds itself may take most of an hour, where there is no cache: its turn comes after all
    that does not need it.
    """
    packaged = [kernel for kernel in setting.kernels if kernel in SERIES]
    host: list[tuple[Stage, ...]] = [
        *([(module(setting, packaged),)] if packaged else []),
        (make(setting, "static", "check-static"), make(setting, "unit", "check-meson", CUTS=FEW_CUTS)),
        (host_tests(setting, HOST_TESTS), make(setting, "sanitizers", "check-sanitize"), fuzz_briefly(setting)),
    ]
    left_out = [f"{name}: in `make check-long`" for name in (
        "fail-nth sweeps without samples, a million commands of the fuzzer, library fuzzers for 10 minutes",
        "100 killed machines, 1,000 killed writers, 100,000 lies of a drive", "10,000 crash points",
        "a siege of 10 minutes", "all files on all kernels")]  # fmt: skip
    left_out += not_named(setting)
    in_guests: list[tuple[Stage, ...]] = []
    for kernel in setting.kernels:
        if kernel not in SERIES:
            in_guests.append((module(setting, [kernel], f"module {kernel}"),))
        in_guests += [(stage,) for stage in turns(setting, kernel)]
    return Plan("check", (*host, *in_guests), tuple(left_out), needed=f"guests {setting.kernels[0]}")


def sieges(setting: Setting) -> list[Stage]:
    """Ten minutes of everything at once; on the debug kernel everything takes longer, so that there is less of it."""
    long = []
    for kernel, least in ((FIRST_KERNEL, "1000"), (DEBUG, "100")):
        if kernel in setting.kernels:
            stage = pytest(setting, f"siege {kernel}", [f"{GUEST}test_siege.py", f"--kernel={kernel}"], 20.0)
            environment = {**stage.environment, "SIEGE_SECONDS": "600", "SIEGE_LEAST": least}
            long.append(replace(stage, environment=environment))
    return long


def plan_long(setting: Setting) -> Plan:
    """What takes hours."""
    cuts = pytest(setting, "100 killed machines", [f"{GUEST}test_{name}_cuts.py" for name in ("store", "block")], 70.0)
    writers = pytest(setting, "1,000 killed writers", [f"{GUEST}test_fencing.py"], 8.0)
    everywhere = [stage for group in plan_guests(setting, everything=True).groups for stage in group]
    groups = [
        *((replace(stage, environment={**stage.environment, **NO_SAMPLES}),) for stage in everywhere),
        (guests(setting, KCSAN, listed(setting, KCSAN)),),
        (replace(cuts, environment={**cuts.environment, "KILLS": "100"}),),
        (replace(writers, environment={**writers.environment, "WRITERS": "112"}),),
        *((stage,) for stage in sieges(setting)),
        (make(setting, "10,000 crash points", "check-meson", CUTS="10000"),),
        (make(setting, "fuzz-library 10 min", "fuzz-library", FUZZ_SECONDS="600"),),
        (make(setting, "fuzz", "fuzz"),),
        (make(setting, "coverage of the library", "coverage"),),
        (make(setting, "coverage of the module", "coverage-module"),),
        (make(setting, "mutants", "mutants"),),
        (Stage("fresh machines", ("scripts/test-fresh.sh",), 60.0),),
    ]
    host = "static checks, sanitizers, tests of the lab, of Python, GStreamer and formats: in `make check`"
    return Plan("long", tuple(groups), (host, *not_named(setting)), needed=everywhere[0].name)


def plan_quick(setting: Setting, known: Map, changed: Selection, base: str, count: int) -> Plan:
    """Everyday work: what a change may have broken, and one test of everything else."""
    notes = [f"{count} paths differ from {base}; areas: {', '.join(changed.areas) or 'none'}"]
    if changed.everything:
        notes.append(f"all tests are selected because of {changed.everything}")
    chosen = [*HOST_TESTS, *listed(setting, FIRST_KERNEL)] if changed.everything else list(changed.tests)
    host = [test for test in chosen if not test.startswith(GUEST)]
    smoke = [area.smoke for area in known.areas if area.smoke and area.smoke.partition("::")[0] not in chosen]
    # The same cuts each time: the unit tests of unchanged sources then need not run again.
    unit = make(setting, "unit", "check-meson", SEED="1", CUTS=FEW_CUTS)
    groups: list[tuple[Stage, ...]] = [(make(setting, "static", "check-static"), unit)]
    left_out = [f"kernels other than {FIRST_KERNEL}: in `make check`"]
    host += [test for test in smoke if not test.startswith(GUEST)]
    on_host: tuple[Stage, ...] = (host_tests(setting, host),) if host else ()
    if changed.library:
        on_host += (make(setting, "sanitizers", "check-sanitize"), fuzz_briefly(setting))
    else:
        left_out.append("sanitizers and fuzzing: nothing of the library or the program has changed")
    if on_host:
        groups.append(on_host)
    in_guests = [test for test in (*chosen, *smoke) if test.startswith(GUEST)]
    has_changed = any(test.startswith(GUEST) for test in chosen)
    in_guest = guests(setting, FIRST_KERNEL, in_guests, "changed 6.1" if has_changed else "smoke 6.1")
    groups.append((in_guest,))
    left = sum(1 for file in setting.files if f"{GUEST}{file.name}" not in chosen)
    if left:
        left_out.append(f"{left} of {len(setting.files)} files of guest tests, but for their smoke tests: not changed")
    return Plan("quick", tuple(groups), tuple(left_out), tuple(notes), needed=in_guest.name)
