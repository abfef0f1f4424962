# SPDX-License-Identifier: MIT
"""chario-lab check: runs a tier of tests, and says what it ran, what it left out and why, and what each stage took."""

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from chario_lab.cache import say
from chario_lab.kernel import NAMES
from chario_lab.kernel_build import RECIPES, is_built
from chario_lab.testing import areas, tiers
from chario_lab.testing.changes import read_changes
from chario_lab.testing.checkout import differing, read_files
from chario_lab.testing.stage import Outcome, print_table
from chario_lab.testing.stage import run as run_stage
from chario_lab.testing.tiers import DEFAULT_KERNELS

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PLANS = {
    "quick": tiers.plan_quick,
    "check": tiers.plan_check,
    "all": tiers.plan_all,
    "long": tiers.plan_long,
    "guests": tiers.plan_guests,
}


def main(words: Sequence[str]) -> int:
    """Run a tier; 0 where every stage has passed."""
    options = parse(words)
    if options.kernels is not None and not options.kernels.split():
        say(f'no kernel to test: KERNELS="{" ".join(DEFAULT_KERNELS)}" names some')
        return 1
    setting = make_setting(options)
    plan = PLANS[options.tier](setting)
    end_by_signals()
    for line in (f"tier: {plan.tier}", *plan.notes, *(f"left out: {line}" for line in plan.left_out or ["nothing"])):
        print(f"== {line}", flush=True)
    before = read_state(options.tier)
    built = run_stage(tiers.make(setting, "library and program", "user"))
    if built.rc != 0:
        say("the library and the program do not build: nothing was tested")
        return 1
    rc = run(plan, built=(built,))
    changed = differing(before, read_state(options.tier))
    if changed:
        say(f"the checkout was changed while it was tested, nothing is shown of it: {', '.join(changed)}")
    return 1 if changed else rc


def read_state(tier: str) -> dict[str, str]:
    """The files that a run shows something of; guest tests alone also run where git knows nothing of the files."""
    return {} if tier == "guests" else read_files(areas.TOP)


def end_by_signals() -> None:
    """Let ctrl-c, SIGTERM and a hangup end the run; what nohup or a script's background ignores stays ignored."""
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)


def interrupt(*_: object) -> NoReturn:
    """End the stage that runs, and then this.  Who asks again has to wait: a stage that is left alone runs on."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="chario-lab check", description="Run a tier of the tests.")
    parser.add_argument("tier", choices=tuple(PLANS))
    parser.add_argument("--kernels", help=f"kernels of the guests, by blanks (default: {' '.join(DEFAULT_KERNELS)})")
    parser.add_argument("--base", default="", help="what differs from this commit has changed")
    parser.add_argument("--build", type=Path, default=Path("build"), help="folder of the built library and program")
    return parser.parse_args(words)


def make_setting(options: argparse.Namespace) -> tiers.Setting:
    """Where the run takes place, and what has changed there."""
    kernels = tuple(options.kernels.split()) if options.kernels else DEFAULT_KERNELS
    unknown = [name for name in kernels if name not in NAMES]
    if unknown:
        raise SystemExit(f"no kernel is called {unknown[0]!r}: the lab has {', '.join(NAMES)}")
    setting = tiers.Setting(Path(sys.executable), options.build.resolve(), kernels, missing=missing(kernels))
    if options.tier not in ("quick", "check"):
        return setting
    changes = read_changes(areas.TOP, options.base)
    files = areas.read_files(areas.TOP)
    asked = frozenset(kernel for name in areas.select(changes.paths) & set(files) for kernel in files[name].kernels)
    return replace(setting, base=changes.commit, called=changes.base, changed=changes.paths, asked=asked)


def missing(kernels: Sequence[str]) -> frozenset[str]:
    """The kernels that the lab has to build first."""
    return frozenset(name for name in kernels if name in RECIPES and not is_built(RECIPES[name]))


def run(plan: tiers.Plan, built: Sequence[Outcome] = ()) -> int:
    """Run the stages one after the other; all of them, so that one run shows all that fails.

    What was `built` for them is in the table, and in the time that has been spent.
    """
    began_s = time.monotonic() - sum(outcome.wall_s for outcome in built)
    outcomes = list(built)
    try:
        outcomes.extend(map(run_stage, plan.stages))
    except KeyboardInterrupt:
        print_table(outcomes, time.monotonic() - began_s)
        say("interrupted: what is not in the table has not run to its end")
        raise
    print_table(outcomes, time.monotonic() - began_s)
    failed = [outcome.stage.name for outcome in outcomes if outcome.rc != 0]
    print(f"{plan.tier}: {len(outcomes) - len(failed)} passed, {len(failed)} failed")
    if failed:
        say(f"failed: {', '.join(failed)}")
    return 1 if failed else 0
