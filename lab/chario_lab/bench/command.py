# SPDX-License-Identifier: MIT
"""The command `chario-lab bench`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from chario_lab.bench.build import build_tools
from chario_lab.bench.measure import measure
from chario_lab.bench.report import print_run, write_json
from chario_lab.kernel import build_module, get_kernel

SOURCE = Path(__file__).resolve().parents[3] / "kernel"
# Where the output is a file, the tables may be as wide as they need.
FILE_WIDTH = 190


def main(argv: Sequence[str] | None = None) -> int:
    """Count, print, and save what was asked for; the exit code is 0 when all could be counted."""
    options = _parse(argv)
    console = Console()
    if not console.is_terminal:
        console = Console(width=FILE_WIDTH)
    with console.status("preparing") as status:
        tools = build_tools()
        module = None if options.stock_only else build_module(get_kernel(options.kernel), SOURCE)

        def progress(text: str) -> None:
            status.update(f"counting: {text}")

        run = measure(options.kernel, module, tools, progress)
        behind = measure(options.kernel, module, tools, progress, iommu=True) if options.iommu else None
    print_run(console, run, behind)
    if options.json:
        write_json(options.json, run, behind)
        console.print(f"\nevery operation is in {options.json}")
    return 0 if run.complete and (behind is None or behind.complete) else 1


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="chario-lab bench",
        description="Count the instructions of one call through CharIO and through Linux's own paths, in one guest.",
    )
    parser.add_argument("--kernel", default="6.1", help="kernel of the guest (default: 6.1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every operation to FILE")
    parser.add_argument("--stock-only", action="store_true", help="leave CharIO out")
    parser.add_argument(
        "--iommu", action="store_true", help="count some calls once more, in a second guest, behind an IOMMU"
    )
    return parser.parse_args(argv)
