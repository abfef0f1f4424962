# SPDX-License-Identifier: MIT
"""The paper's sentences about block sizes, by instructions in a guest and by the time of the CPUs on hardware."""

from collections.abc import Sequence

from chario_lab.experiment.page import Verdict
from chario_lab.experiments.blocksizes.cells import BUFFERED, DIRECT, SIZES, WAYS, Cell, Size
from chario_lab.experiments.blocksizes.results import Results
from chario_lab.experiments.ways import DIRECTIONS, WRITE

# Of all samples: whatever else runs on a machine copies as well.
NO_COPIES = 0.01
ABOVE_A_PAGE, SMALL = SIZES[2:], SIZES[:2]


def judge(results: Results) -> list[Verdict]:
    """The paper's sentences that do not depend on its board."""
    where = f" (Linux {results.kernel})"
    copies = no_samples(results) if results.is_hardware else no_bytes(results)
    return [
        Verdict(f"Direct writes spend no time in the copy functions{where}", *copies),
        Verdict(f"Above 4 KiB, direct I/O takes less of the CPU than the page cache{where}",
                *compare(results, ABOVE_A_PAGE, direct_is_less=True)),
        Verdict(f"Up to 4 KiB, where the paper finds it slower, direct I/O takes more than the page cache{where}",
                *compare(results, SMALL, direct_is_less=False)),
    ]  # fmt: skip


def direct_writes() -> list[Cell]:
    """Those of whole pages."""
    return [Cell(medium, DIRECT, WRITE, size_bytes=size.size_bytes) for medium in WAYS for size in ABOVE_A_PAGE]


def no_bytes(results: Results) -> tuple[bool | None, str]:
    """By the bytes that were copied."""
    own = [usage.copied_a_byte for cell in direct_writes() if (usage := results.usage(cell))]
    return (max(own) < 0.01, f"at most {max(own):.4f} bytes copied a byte") if own else (None, "not measured")


def no_samples(results: Results) -> tuple[bool | None, str]:
    """By the samples of a profiler."""
    own = [profile.copies for cell in direct_writes() if (profile := results.profile(cell))]
    return (max(own) < NO_COPIES, f"at most {max(own):.2%} of the samples") if own else (None, "not measured")


def work_of(results: Results, cell: Cell) -> float | None:
    """What a MiB takes of the CPUs; None where that is no result."""
    usage = results.timed(cell)
    return None if usage is None else usage.cpu_ms_a_mib if results.is_hardware else usage.instructions_a_mib


def compare(results: Results, sizes: Sequence[Size], *, direct_is_less: bool) -> tuple[bool | None, str]:
    """Direct beside buffered at each size, on each medium that has both."""
    form, unit = ("{:,.3f}", " ms of a CPU a MiB") if results.is_hardware else ("{:,.0f}", "")
    wrong, columns = [], 0
    for medium in WAYS:
        for direction in DIRECTIONS:
            for size in sizes:
                direct, buffered = (
                    work_of(results, Cell(medium, way, direction, size_bytes=size.size_bytes))
                    for way in (DIRECT, BUFFERED)
                )
                if direct is None or buffered is None:
                    continue
                columns += 1
                if direct == buffered or (direct < buffered) != direct_is_less:
                    figures = f"{form.format(direct)}{unit} direct, {form.format(buffered)}{unit} buffered"
                    wrong.append(f"{medium}, {direction} {size.title}: {figures}")
    return (not wrong, "; ".join(wrong) or f"in all {columns} columns") if columns else (None, "not measured")
