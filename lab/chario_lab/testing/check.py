# SPDX-License-Identifier: MIT
"""chario-lab check: runs a tier of tests, and says what it ran, what it left out and why, and what each stage took."""

from __future__ import annotations

import argparse
import math
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NoReturn

from chario_lab.cache import say
from chario_lab.kernel import NAMES
from chario_lab.kernel_build import RECIPES, is_built
from chario_lab.testing import areas, tiers
from chario_lab.testing.changes import read_changes
from chario_lab.testing.checkout import differing, read_files
from chario_lab.testing.guest_files import read_table
from chario_lab.testing.reuse import Passes
from chario_lab.testing.stage import Outcome, Stage, print_table, run_group
from chario_lab.testing.tiers import DEFAULT_KERNELS

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(words: Sequence[str]) -> int:
    """Run a tier; 0 where every stage that ran has passed, and one has run."""
    options = parse(words)
    if options.kernels is not None and not options.kernels.split():
        say(f'no kernel to test: KERNELS="{" ".join(DEFAULT_KERNELS)}" names some')
        return 1
    within_min = read_minutes(options.within)
    setting = make_setting(options)
    plan = make_plan(options, setting)
    end_by_signals()
    for line in (f"tier: {plan.tier}", *plan.notes, *(f"left out: {line}" for line in plan.left_out or ["nothing"])):
        print(f"== {line}", flush=True)
    before = read_state(options.tier)
    (built,) = run_group([tiers.make(setting, "library and program", "user")])
    if built.rc != 0:
        say("the library and the program do not build: nothing was tested")
        return 1
    passes = Passes(areas.TOP, setting.build) if options.tier == "quick" else None
    rc = run(plan, within_min, passes, built=(built,))
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
    """End the stages that run, and then this.  Who asks again has to wait: a stage that is left alone runs on."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(prog="chario-lab check", description="Run a tier of the tests.")
    parser.add_argument("tier", choices=("quick", "check", "long", "guests"))
    parser.add_argument("--kernels", help=f"kernels of the guests, by blanks (default: {' '.join(DEFAULT_KERNELS)})")
    parser.add_argument("--base", default="", help="quick: what has changed since this commit")
    parser.add_argument("--build", type=Path, default=Path("build"), help="folder of the built library and program")
    parser.add_argument("--within", metavar="MINUTES", help="leave out, and name, what no longer fits")
    return parser.parse_args(words)


def read_minutes(word: str | None) -> float | None:
    """The minutes that a run may take, where it is told."""
    if not word:
        return None
    try:
        minutes = float(word)
    except ValueError:
        minutes = math.nan
    if not (math.isfinite(minutes) and minutes > 0):
        raise SystemExit(f"WITHIN= is a number of minutes above 0, not {word!r}")
    return minutes


def make_setting(options: argparse.Namespace) -> tiers.Setting:
    """Where the run takes place."""
    kernels = tuple(options.kernels.split()) if options.kernels else DEFAULT_KERNELS
    unknown = [name for name in kernels if name not in NAMES]
    if unknown:
        raise SystemExit(f"no kernel is called {unknown[0]!r}: the lab has {', '.join(NAMES)}")
    files = tuple(read_table(areas.TOP / tiers.GUEST).values())
    missing = tuple(name for name in kernels if name in RECIPES and not is_built(RECIPES[name]))
    return tiers.Setting(Path(sys.executable), options.build.resolve(), kernels, files, missing)


def make_plan(options: argparse.Namespace, setting: tiers.Setting) -> tiers.Plan:
    """The plan of a tier in this checkout."""
    if options.tier == "quick":
        known, changes = areas.read_map(areas.TOP), read_changes(areas.TOP, options.base)
        changed = areas.select(known, changes.paths)
        return tiers.plan_quick(setting, known, changed, changes.base, len(changes.paths))
    if options.tier == "guests":
        return tiers.plan_guests(setting)
    return tiers.plan_check(setting) if options.tier == "check" else tiers.plan_long(setting)


def run(
    plan: tiers.Plan, within_min: float | None = None, passes: Passes | None = None, built: Sequence[Outcome] = ()
) -> int:
    """Run the groups one after the other; all of them, so that one run shows all that fails.

    What was `built` for them is in the table, and in the time that has been spent.
    """
    began_s = time.monotonic() - sum(outcome.wall_s for outcome in built)
    outcomes = list(built)
    too_late: list[Stage] = []
    foreseen_min = 0.0
    try:
        for group in plan.groups:
            reused = [stage for stage in group if passes and passes.has(stage)]
            outcomes += [Outcome(stage, reused=True) for stage in reused]
            wanted = [stage for stage in group if stage not in reused]
            spent_min = (time.monotonic() - began_s) / 60
            # A machine that has been slow so far will go on so.
            pace = max(1.0, spent_min / foreseen_min) if foreseen_min else 1.0
            minutes = max((stage.minutes for stage in wanted), default=0.0)
            if within_min is not None and spent_min + pace * minutes > within_min:
                too_late += wanted
            else:
                foreseen_min += minutes
                run_wanted(wanted, outcomes, passes)
    except KeyboardInterrupt:
        print_table(outcomes, time.monotonic() - began_s)
        say("interrupted: what is not in the table has not run to its end")
        raise
    return tell(plan, outcomes, too_late, time.monotonic() - began_s)


def run_wanted(wanted: Sequence[Stage], outcomes: list[Outcome], passes: Passes | None) -> None:
    """Run stages side by side; a pass that may be used again is remembered at once."""
    with closing(run_group(wanted)) as ended:
        for outcome in ended:
            outcomes.append(outcome)
            if passes and outcome.rc == 0:
                passes.add(outcome.stage)


def tell(plan: tiers.Plan, outcomes: Sequence[Outcome], too_late: Sequence[Stage], wall_s: float) -> int:
    """Print how a run ended; its exit code."""
    print_table(outcomes, wall_s)
    for stage in too_late:
        print(f"left out for want of time, about {stage.minutes:.0f} minutes: {stage.name}")
    failed = [outcome.stage.name for outcome in outcomes if outcome.rc != 0]
    left_out = f", {len(too_late)} left out" if too_late else ""
    print(f"{plan.tier}: {len(outcomes) - len(failed)} passed, {len(failed)} failed{left_out}")
    if failed:
        say(f"failed: {', '.join(failed)}")
    needed = plan.needed in [stage.name for stage in too_late]
    if not outcomes:
        say("no stage has run: nothing is shown; WITHIN= may be too few minutes")
    elif needed:
        say(f"there was no time for {plan.needed}: without it nothing is shown; run it again, what was built is kept")
    return 0 if outcomes and not failed and not needed else 1
