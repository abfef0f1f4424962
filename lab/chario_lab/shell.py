# SPDX-License-Identifier: MIT
"""A guest for a human: a root shell on the terminal, commands from a pipe, or one command.

chario.ko is built for the guest's kernel and can be loaded by modprobe; the
program chario, of the same checkout, is in the PATH.
"""

import contextlib
import os
import shutil
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

from chario_lab.cache import say
from chario_lab.guest.devices import bdf, bind, nodes, offer_module
from chario_lab.guest.job import Result
from chario_lab.guest.launch import launch
from chario_lab.guest.session import Guest, GuestDied
from chario_lab.guest.spec import GuestSpec, Nvme
from chario_lab.kernel import build_module, get_kernel
from chario_lab.programs import TOP, build_chario

CONSOLE = "/dev/ttyS0"
EXAMPLE = "echo lspci | make guest"
DAY_S = 24 * 3600
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ShellError(Exception):
    """The shell cannot be given; the message says why."""


def open_shell(spec: GuestSpec, bound: bool) -> int:
    """A root shell in a guest, on this terminal or for the commands that are piped in.

    The exit code is that of the commands; that of what a human typed last is no failure of ours.
    """
    if not sys.stdin.isatty():
        return run_script(spec, sys.stdin.read(), bound)
    if not sys.stdout.isatty():
        raise ShellError(f"a shell needs a terminal, or commands on its input: {EXAMPLE}")
    module, chario = build(spec)
    say_booting(spec)
    with kept_terminal(), launch(spec, terminal=True) as guest:
        environment = prepare(guest, module, chario, bound)
        greet(guest, bound)
        columns, lines = shutil.get_terminal_size()
        guest.must(f"stty -F {CONSOLE} rows {lines} cols {columns} sane")
        shell = guest.start(["/bin/bash", "--norc", "-i"], DAY_S, cwd=os.getcwd(), env=environment, tty=CONSOLE)
        try:
            shell.wait()
        except GuestDied:
            # Ctrl-a x, poweroff, or a crash, which the console has shown.
            say("the guest has ended")
    return 0


def run_script(spec: GuestSpec, text: str, bound: bool) -> int:
    """Commands for the guest's shell, their output here when they have ended; the last one's exit code."""
    if not text.strip():
        raise ShellError(f"a shell needs a terminal, or commands on its input: {EXAMPLE}")
    return run_command(spec, ["/bin/bash", "-c", text], bound, DAY_S)


def build(spec: GuestSpec) -> tuple[Path, Path]:
    """The module for the guest's kernel, and the program chario."""
    return build_module(get_kernel(spec.kernel), TOP / "kernel"), build_chario(TOP)


def say_booting(spec: GuestSpec) -> None:
    """Nothing else is seen for some time."""
    say(f"booting Linux {spec.kernel}; this takes some seconds where there is no KVM")


def run_command(spec: GuestSpec, command: list[str], bound: bool, limit_s: float) -> int:
    """One command in a guest, its output here; its exit code."""
    module, chario = build(spec)
    say_booting(spec)
    with launch(spec) as guest:
        environment = prepare(guest, module, chario, bound)
        result = guest.run(command, limit_s, cwd=os.getcwd(), env=environment)
    sys.stdout.buffer.write(result.stdout_bytes)
    sys.stdout.flush()
    sys.stderr.buffer.write(result.stderr.encode(errors="surrogateescape"))
    sys.stderr.flush()
    if result.timed_out:
        say(f"the command was killed after {limit_s:.0f} s (--timeout)")
    return exit_code(result)


def exit_code(result: Result) -> int:
    """As a shell reports it: 128 and the number of the signal."""
    if result.rc is None:
        return 1
    return result.rc if result.rc >= 0 else 128 - result.rc


@contextlib.contextmanager
def kept_terminal() -> Iterator[None]:
    """QEMU changes the terminal's mode and does not always put it back."""
    mode = termios.tcgetattr(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, mode)


def prepare(guest: Guest, module: Path, chario: Path, bound: bool) -> dict[str, str]:
    """Make module and program known; give the drives to chario if asked to."""
    offer_module(guest, module)
    if bound:
        guest.must("modprobe chario")
        for place, drive in enumerate(guest.spec.drives):
            if isinstance(drive, Nvme):
                bind(guest, bdf(guest, place))
    return {"PATH": f"{chario.parent}:{PATH}", "TERM": os.environ.get("TERM", "linux"), "PS1": r"guest:\w\$ "}


def greet(guest: Guest, bound: bool) -> None:
    """Say what is there and how to leave; the terminal is raw by now."""
    lines = [f"Linux {guest.release}. You are root; what you write to the file system goes when you leave."]
    for place, drive in enumerate(guest.spec.drives):
        address = bdf(guest, place)
        found = ", ".join(nodes(guest, address)) if bound else "not bound to any driver"
        lines.append(f"  {address}  emulated NVMe drive {drive.serial}: {found}")
    if not bound:
        lines.append("To use it:  modprobe chario && chario bind ADDRESS    or, for Linux's driver:  modprobe nvme")
    lines.append("To leave:  exit      if nothing answers:  Ctrl-a x")
    sys.stdout.write("\r\n" + "".join(f"{line}\r\n" for line in lines))
    sys.stdout.flush()
