# SPDX-License-Identifier: MIT
"""The command `chario-lab bench`."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from chario_lab.experiment.book import open_book
from chario_lab.experiment.run import run
from chario_lab.experiments.bench.matrix import IOMMU_MODES
from chario_lab.experiments.bench.plan import name_of, plan
from chario_lab.experiments.bench.report import EXCLUDED, print_run
from chario_lab.experiments.bench.results import Results, results_of
from chario_lab.kernel import NAMES
from chario_lab.progress import OneLine, wide_console
from chario_lab.records import Book
from chario_lab.target.guest import guest_target

KERNELS = ("6.1", "6.12")


def main(argv: Sequence[str] | None = None) -> int:
    """Count, print, and keep the records; the exit code is 0 when all could be counted."""
    options = _parse(argv)
    console = wide_console()
    counted = []
    with open_book("bench", EXCLUDED, options.records) as book:
        for kernel in options.kernel or KERNELS:
            counted.append(_count(console, book, kernel, options.stock_only, options.iommu))
            print_run(console, *counted[-1])
    console.print(f"\nevery operation is in {book.path}", highlight=False)
    return 0 if all(one.complete for results, behind in counted for one in (results, *behind.values())) else 1


def _count(
    console: Console, book: Book, kernel: str, stock_only: bool, iommu: bool
) -> tuple[Results, dict[str, Results]]:
    """On one kernel: without an IOMMU, and behind it in each of its modes, where that is asked for."""
    with console.status(f"{kernel}: preparing") as status:
        run(plan(kernel, stock_only, iommu), guest_target, book, OneLine(status, kernel))
    modes = IOMMU_MODES if iommu else ()
    behind = {mode: results_of(book.records, name_of(kernel, mode), kernel) for mode in modes}
    return results_of(book.records, name_of(kernel), kernel), behind


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="chario-lab bench",
        description="Count the instructions of one call through CharIO and through Linux's own paths, side by side.",
    )
    parser.add_argument(
        "--kernel",
        action="append",
        choices=NAMES,
        help=f"kernel of the guest; may be repeated (default: {' and '.join(KERNELS)})",
    )
    parser.add_argument("--records", type=Path, metavar="FILE", help="append to FILE (default: one in the cache)")
    parser.add_argument("--stock-only", action="store_true", help="leave CharIO out")
    parser.add_argument(
        "--iommu", action="store_true", help="count some calls once more, in guests behind an IOMMU, strict and lazy"
    )
    return parser.parse_args(argv)
