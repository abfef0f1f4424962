# SPDX-License-Identifier: MIT
"""The tiers of tests, as lists of stages that run one after the other.  Everything here is pure.

quick    static checks, unit tests, and on 6.1 smoke tests and the tests of what has changed
check    what a change has to pass: on 6.1 every guest test of the product; on each other kernel the smoke
         tests, and the files of that kernel's list whose area has changed
all      every test: on each kernel its whole list, and the tests of the lab and its experiments
long     what takes hours: fuzzers, every file on every kernel, many crashes, mutants, bare machines
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from chario_lab.kernel import DEBUG, KCSAN, SERIES
from chario_lab.testing.areas import FIRST_KERNEL, GUEST
from chario_lab.testing.stage import Stage

DEFAULT_KERNELS = (*SERIES, DEBUG)
HOST_TESTS = ("tests/python", "tests/gst", "tests/format")
LAB_TESTS = "tests/lab"
# A change of these asks for the tests of the lab: they are the lab, or the lab's tests plant mistakes in them.
OF_THE_LAB = (
    "lab/",
    LAB_TESTS,
    "tests/mutants/",
    "scripts/",
    "Makefile",
    "pytest.ini",
    "packaging/",
    "cli/completion/",
)
# Power cuts of the store's unit test; the long tier has five times as many.
FEW_CUTS = "2000"
# Other tests look at samples too, which these make whole.
NO_SAMPLES = {"FAIL_NTH_STRIDE": "1", "FS_LOAD": "4", "LIES": "100000"}
BUILD_TIME = "about 30 minutes on two processors, once"


@dataclass(frozen=True)
class Plan:
    """What a tier runs, what it leaves out with the reason of each, and what else a reader should know."""

    tier: str
    stages: tuple[Stage, ...]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setting:
    """Where a run takes place, and what has changed since the commit `base`, which messages give the name `called`.

    Kernels that are `missing` have to be built first; `asked` are those in the lists of files whose area has changed.
    """

    python: Path
    build: Path
    kernels: tuple[str, ...]
    missing: frozenset[str] = frozenset()
    base: str = ""
    called: str = ""
    changed: tuple[str, ...] = ()
    asked: frozenset[str] = field(default=frozenset())


def make(setting: Setting, name: str, target: str, **environment: str) -> Stage:
    """A stage that is a target of the Makefile."""
    command = ("make", "--no-print-directory", target)
    return Stage(name, command, {"BUILD": os.path.relpath(setting.build), **environment})


def pytest(setting: Setting, name: str, *words: str, **environment: str) -> Stage:
    """A stage that is a run of pytest."""
    command = (str(setting.python), "-m", "pytest", "-q", *words)
    return Stage(name, command, {"CHARIO_BUILD": str(setting.build), **environment})


def guests(setting: Setting, kernel: str, choice: str) -> Stage:
    """Guest tests on a kernel: a worker for each processor, and one more because some files wait."""
    workers = len(os.sched_getaffinity(0)) + 1
    words = ("-n", str(workers), "--dist", "loadfile", "--no-loadscope-reorder", "--rerun-show-tracebacks",
             "--durations=30", "--durations-min=20",
             f"--kernel={kernel}", f"--choose={choice}", f"--base={setting.base}")  # fmt: skip
    return pytest(setting, f"guests {kernel}", *words, GUEST)


def module(setting: Setting, kernels: Iterable[str]) -> Stage:
    """The module is built once for each kernel of a run, for static checks and guests alike."""
    return Stage("module", (str(setting.python), "-m", "chario_lab.kernel", "--build", "kernel", "--again", *kernels))


def not_named(setting: Setting) -> list[str]:
    """The usual kernels that a run does without, as it was told to."""
    return [f"guests {kernel}: KERNELS does not name it" for kernel in DEFAULT_KERNELS if kernel not in setting.kernels]


def on_host(setting: Setting, lab: bool) -> list[Stage]:
    """What boots no guest, with the library's fuzzers for ten seconds each, always with the same seed."""
    tests = (LAB_TESTS, *HOST_TESTS) if lab else HOST_TESTS
    return [
        make(setting, "static", "check-static"),
        make(setting, "unit", "check-meson", CUTS=FEW_CUTS),
        pytest(setting, "host", "-n", "2", *tests),
        make(setting, "sanitizers", "check-sanitize"),
        make(setting, "fuzz-library", "fuzz-library", FUZZ_SEED="1", FUZZ_SECONDS="10"),
    ]


def told(setting: Setting) -> str:
    """What the selection rests on."""
    return f"{len(setting.changed)} paths differ from {setting.called}"


def plan_quick(setting: Setting) -> Plan:
    """Everyday work."""
    stages = [
        module(setting, [FIRST_KERNEL]),
        make(setting, "static", "check-static"),
        make(setting, "unit", "check-meson", CUTS=FEW_CUTS),
        guests(setting, FIRST_KERNEL, "changed"),
    ]
    left_out = (f"kernels other than {FIRST_KERNEL}, sanitizers, other host tests, guest tests of what has not changed"
                " but for smoke tests: in `make check`",)  # fmt: skip
    return Plan("quick", tuple(stages), left_out, (told(setting),))


def plan_check(setting: Setting) -> Plan:
    """What a change has to pass."""
    left_out = not_named(setting)
    kernels = list(setting.kernels)
    for kernel in sorted(setting.missing & {*kernels} - setting.asked):
        kernels.remove(kernel)
        left_out.append(f"guests {kernel}: this kernel is not built here, and no file of its list has changed; "
                        f"`make prefetch DEBUG=1` builds it, in {BUILD_TIME}")  # fmt: skip
    lab = any(path.startswith(OF_THE_LAB) for path in setting.changed)
    if not lab:
        left_out.append("tests of the lab, and experiments: nothing of the lab has changed")
    left_out.append(
        "on kernels other than 6.1, files whose area has not changed, but for smoke tests: `make check-all`"
    )
    in_guests = [guests(setting, kernel, "product" if kernel == FIRST_KERNEL else "changed") for kernel in kernels]
    stages = (module(setting, kernels), *on_host(setting, lab), *in_guests)
    return Plan("check", stages, tuple(left_out), (told(setting),))


def plan_all(setting: Setting) -> Plan:
    """Every test, but only samples of endless ones."""
    left_out = (
        "sweeps without samples, a million commands of the fuzzer, library fuzzers for 10 minutes, 100 killed machines,"
        " 1,000 killed writers, 100,000 lies of a drive, 10,000 crash points, a siege of 10 minutes, all files on all"
        " kernels: in `make check-long`", *not_named(setting))  # fmt: skip
    in_guests = [with_environment(guests(setting, kernel, "listed"), FS_LOAD="4") for kernel in setting.kernels]
    return Plan("all", (module(setting, setting.kernels), *on_host(setting, lab=True), *in_guests), left_out)


def plan_guests(setting: Setting) -> Plan:
    """The guest tests of some kernels."""
    stages = (module(setting, setting.kernels), *(guests(setting, kernel, "listed") for kernel in setting.kernels))
    return Plan("guests", stages, ("all but guests", *not_named(setting)))


def with_environment(stage: Stage, name: str = "", **environment: str) -> Stage:
    """A stage with more variables, and perhaps another name."""
    return replace(stage, name=name or stage.name, environment={**stage.environment, **environment})


def sieges(setting: Setting) -> list[Stage]:
    """Ten minutes of everything at once; on the debug kernel everything takes longer, so that there is less of it."""
    return [
        pytest(setting, f"siege {kernel}", f"{GUEST}/calls/test_siege.py", f"--kernel={kernel}",
               SIEGE_SECONDS="600", SIEGE_LEAST=least)
        for kernel, least in ((FIRST_KERNEL, "1000"), (DEBUG, "100"))
        if kernel in setting.kernels
    ]  # fmt: skip


def plan_long(setting: Setting) -> Plan:
    """What takes hours."""
    cuts = (f"{GUEST}/store/test_store_cuts.py", f"{GUEST}/block/test_block_cuts.py")
    everywhere: Sequence[Stage] = [guests(setting, kernel, "all") for kernel in setting.kernels]
    stages = (
        module(setting, setting.kernels),
        *(with_environment(stage, **NO_SAMPLES) for stage in everywhere),
        guests(setting, KCSAN, "listed"),
        pytest(setting, "100 killed machines", *cuts, KILLS="100"),
        pytest(setting, "1,000 killed writers", f"{GUEST}/store/test_fencing.py", WRITERS="112"),  # 3 ways, 3 media
        *(pytest(setting, f"10,000 claims {kernel}", f"{GUEST}/block/test_claims.py", "-k", "while_the_table",
                 f"--kernel={kernel}", CLAIM_TURNS="2500")
          for kernel in SERIES if kernel in setting.kernels),
        *sieges(setting),
        make(setting, "10,000 crash points", "check-meson", CUTS="10000"),
        make(setting, "fuzz-library 10 min", "fuzz-library", FUZZ_SECONDS="600"),
        make(setting, "fuzz", "fuzz"),
        make(setting, "coverage of the library", "coverage"),
        make(setting, "coverage of the module", "coverage-module"),
        make(setting, "mutants", "mutants"),
        make(setting, "sweep", "sweep"),
        Stage("fresh machines", ("scripts/test-fresh.sh",)),
    )  # fmt: skip
    host = "static checks, sanitizers, tests of the lab, of Python, GStreamer and formats: in `make check-all`"
    return Plan("long", stages, (host, *not_named(setting)))
