# SPDX-License-Identifier: MIT
"""Everything that checks and tests download, fetched at once.

    python -m chario_lab.prefetch            afterwards no test needs the network
    python -m chario_lab.prefetch --debug    build the debug kernel too

scripts/setup.sh gets what is installed: Debian packages and the libraries of
Python.  The modules of the lab that fetch anything else are listed in needs();
tests/lab/test_prefetch.py fails when one is not.
"""

import argparse
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from chario_lab.cache import cache_dir, explain, guarded, say
from chario_lab.guest.fsx import get_fsx
from chario_lab.guest.liburing import get_liburing_tests
from chario_lab.guest.tools import Tools, get_tools
from chario_lab.kernel import DEBUG, SERIES, KernelError, get_kernel
from chario_lab.kernel_build import SOURCE, BuildError, get_source
from chario_lab.kernel_scripts import get_kernel_scripts
from chario_lab.packages import PackageError
from chario_lab.qemu import QemuError, find_qemu
from chario_lab.testing.browser import get_browser

# Folders of the cache in which something new appears when something was fetched.
KEPT = ("packages", "kernels", "kernel-scripts")
# A debug kernel's build keeps its log there.
LOG = ".log"


@dataclass(frozen=True)
class Need:
    """A thing that checks or tests need, and what gets it unless the cache has it."""

    title: str
    get: Callable[[], object]


def needs(debug: bool) -> list[Need]:
    """All that is fetched; the source comes before checkpatch, which is in it."""
    return [
        Need("QEMU", find_qemu),
        *(Need(f"kernel {name}", partial(get_kernel, name)) for name in SERIES),
        *(Need(f"guest packages {', '.join(tools.value)}", partial(get_tools, tools)) for tools in Tools),
        Need("tests of liburing", get_liburing_tests),
        Need("fsx", get_fsx),
        Need("browser", get_browser),
        Need(SOURCE, get_source),
        Need("checkpatch and kernel-doc", get_kernel_scripts),
        *([Need("debug kernel", partial(get_kernel, DEBUG))] if debug else []),
    ]


def kept() -> set[Path]:
    """What the cache has."""
    folders = (cache_dir() / name for name in KEPT)
    return {path for folder in folders if folder.is_dir() for path in folder.iterdir() if path.suffix != LOG}


def prefetch(wanted: Iterable[Need]) -> bool:
    """Get everything and say of each thing what happened; whether all of it is there now."""
    failed = []
    for need in wanted:
        before = kept()
        try:
            need.get()
        except (KernelError, BuildError, PackageError, QemuError, OSError) as error:
            failed.append(need.title)
            say(f"{need.title}: FAILED: {explain(error)}")
            continue
        say(f"{need.title}: {'fetched' if kept() - before else 'there already'}")
    if failed:
        say(f"tests will look for these again: {'; '.join(failed)}")
    else:
        say(f"all that tests download is in {cache_dir()}")
    return not failed


def main() -> int:
    """Fetch; the exit code."""
    parser = argparse.ArgumentParser(prog="chario_lab.prefetch", description="Fetch all that tests download.")
    parser.add_argument("--debug", action="store_true", help="build the debug kernel too")
    return 0 if prefetch(needs(parser.parse_args().debug)) else 1


if __name__ == "__main__":
    sys.exit(guarded(main))
