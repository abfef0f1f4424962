# SPDX-License-Identifier: MIT
"""chario-lab: guests, the demonstration, the benchmark and experiments from the command line."""

import argparse
import signal
import sys
from collections.abc import Sequence
from importlib import import_module

from chario_lab.cache import guarded
from chario_lab.guest.spec import GuestSpec, Namespace, Nvme, SpecError
from chario_lab.kernel import NAMES

BLOCKS = (512, 4096)
DEFAULT_TIMEOUT_S = 600


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command of the lab; the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    # As Ctrl-C does: what was begun is ended in order.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, lambda number, frame: sys.exit(128 + number))
    return guarded(lambda: dispatch(words))


# Commands that read their own options, and the function of each: not every command pays for all modules.
COMMANDS = "chario_lab.experiment.command"
WITH_OPTIONS = {
    "bench": ("chario_lab.experiments.bench", "main"),
    "check": ("chario_lab.testing.check", "main"),
    "list": (COMMANDS, "main_list"),
    "run": (COMMANDS, "main_run"),
    "report": ("chario_lab.report.command", "main"),
}


def dispatch(words: list[str]) -> int:
    """Read the command line and do what it says."""
    if words and words[0] in WITH_OPTIONS:
        module, function = WITH_OPTIONS[words[0]]
        return int(getattr(import_module(module), function)(words[1:]))
    options = parse(words)
    if options.command in ("demo", "recorders"):
        return int(import_module(f"chario_lab.experiments.{options.command}").run(options.kernel))
    if options.command == "mutants":
        return int(import_module("chario_lab.mutants").run(options.pattern, options.kernel))
    if options.command == "sweep":
        return int(import_module("chario_lab.mutants.sweep").run(options.pattern))
    shell = import_module("chario_lab.shell")
    spec = GuestSpec(kernel=options.kernel, drives=drives(options.drive), cpus=options.cpus, iommu=options.iommu)
    if options.command == "guest":
        return int(shell.open_shell(spec, options.bind))
    return int(shell.run_command(spec, options.words, options.bind, options.timeout))


def parse(words: list[str]) -> argparse.Namespace:
    """The options of a command."""
    parser = argparse.ArgumentParser(
        prog="chario-lab",
        description="Guests with emulated NVMe drives, for trying, testing and measuring CharIO.",
        epilog="Each command explains itself: chario-lab COMMAND --help. CHARIO_LAB_TRACEBACK=1 traces errors.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    guest = commands.add_parser("guest", help="a root shell in a guest")
    execute = commands.add_parser("exec", help="one command in a guest")
    demo = commands.add_parser("demo", help="record, read back, compare; and what it costs")
    commands.add_parser("list", help="the experiments", add_help=False)
    commands.add_parser("run", help="run an experiment", add_help=False)
    commands.add_parser("report", help="one page of what all experiments have recorded", add_help=False)
    commands.add_parser("bench", help="count the instructions of a call", add_help=False)
    commands.add_parser("check", help="run a tier of the tests: quick, check or long", add_help=False)
    recorders = commands.add_parser("recorders", help="what a recording costs, by several programs")
    mutants = commands.add_parser("mutants", help="plant mistakes; the test of each has to fail")
    mutants.add_argument("pattern", nargs="?", default="", help="of names, files or tests; all when it is empty")
    sweep = commands.add_parser("sweep", help="remove each flush, checked result and bound of the library in turn")
    sweep.add_argument("pattern", nargs="?", default="", help="of names or files; all when it is empty")
    for command in (guest, execute, demo, recorders, mutants):
        command.add_argument("--kernel", default="6.1", choices=NAMES, help="of the guest (default: 6.1)")
    for command in (guest, execute):
        command.add_argument(
            "--drive",
            action="append",
            default=[],
            metavar="LBA[:MIB[:NAMESPACES]]",
            help="a drive with blocks of 512 or 4096 bytes; more than once for more (default: 512:1024)",
        )
        command.add_argument("--bind", action="store_true", help="load the module and give it the drives")
        command.add_argument("--cpus", type=positive, default=2, help="processors of the guest (default: 2)")
        command.add_argument("--iommu", action="store_true", help="an Intel IOMMU before the drives, used strictly")
    execute.add_argument(
        "--timeout", type=positive, default=DEFAULT_TIMEOUT_S, metavar="S", help="kill the command then"
    )
    execute.add_argument("words", nargs="+", metavar="COMMAND", help="after --, with its arguments")
    return parser.parse_args(words)


def positive(text: str) -> int:
    """A whole number above zero."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def drives(texts: Sequence[str]) -> tuple[Nvme, ...]:
    """The drives that --drive describes."""
    return tuple(read_drive(text, f"chario-lab-{place}") for place, text in enumerate(texts or ["512:1024"]))


def read_drive(text: str, serial: str) -> Nvme:
    """One drive: block size, size of a namespace in MiB, number of namespaces."""
    try:
        lba, mib, count = (int(word) for word in [*text.split(":"), *["1024", "1"][text.count(":") :]])
    except ValueError:
        raise SpecError(f"--drive {text}: expected LBA[:MIB[:NAMESPACES]], such as 4096:512") from None
    if lba not in BLOCKS or mib < 1 or count < 1:
        raise SpecError(f"--drive {text}: blocks have 512 or 4096 bytes, and namespaces 1 MiB at least")
    return Nvme(serial, (Namespace(mib, lba),) * count)


if __name__ == "__main__":
    sys.exit(main())
