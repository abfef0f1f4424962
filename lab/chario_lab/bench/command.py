# SPDX-License-Identifier: MIT
"""The command `chario-lab bench`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from chario_lab.bench.matrix import IOMMU_MODES
from chario_lab.bench.measure import Run, measure
from chario_lab.bench.report import print_run, write_json
from chario_lab.counting.build import build_tools
from chario_lab.kernel import build_module, get_kernel

SOURCE = Path(__file__).resolve().parents[3] / "kernel"
KERNELS = ("6.1", "6.12")
# Where the output is a file, the tables may be as wide as they need.
FILE_WIDTH = 190


def main(argv: Sequence[str] | None = None) -> int:
    """Count, print, and save what was asked for; the exit code is 0 when all could be counted."""
    options = _parse(argv)
    console = Console()
    if not console.is_terminal:
        console = Console(width=FILE_WIDTH)
    counted = []
    for kernel in options.kernel or KERNELS:
        counted.append(_count(console, kernel, options.stock_only, options.iommu))
        print_run(console, *counted[-1])
    if options.json:
        write_json(options.json, counted)
        console.print(f"\nevery operation is in {options.json}")
    return 0 if all(one.complete for run, behind in counted for one in (run, *behind.values())) else 1


def _count(console: Console, kernel: str, stock_only: bool, iommu: bool) -> tuple[Run, dict[str, Run]]:
    """On one kernel: without an IOMMU, and behind it in each of its modes, where that is asked for."""
    with console.status(f"{kernel}: preparing") as status:
        tools = build_tools()
        module = None if stock_only else build_module(get_kernel(kernel), SOURCE)

        def progress(text: str) -> None:
            status.update(f"{kernel}: counting: {text}")

        run = measure(kernel, module, tools, progress)
        modes = IOMMU_MODES if iommu else ()
        return run, {mode: measure(kernel, module, tools, progress, mode) for mode in modes}


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="chario-lab bench",
        description="Count the instructions of one call through CharIO and through Linux's own paths, side by side.",
    )
    parser.add_argument(
        "--kernel", action="append", help=f"kernel of the guest; may be repeated (default: {' and '.join(KERNELS)})"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every operation to FILE")
    parser.add_argument("--stock-only", action="store_true", help="leave CharIO out")
    parser.add_argument(
        "--iommu", action="store_true", help="count some calls once more, in guests behind an IOMMU, strict and lazy"
    )
    return parser.parse_args(argv)
