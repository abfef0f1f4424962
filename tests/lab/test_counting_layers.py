# SPDX-License-Identifier: MIT
"""Functions of the kernel and their layers."""

from __future__ import annotations

import pytest

from chario_lab.counting.layers import (
    LAYERS,
    WATCH_IRQ,
    WATCH_STORES,
    WATCH_SWITCH,
    layer_of,
    parse_kallsyms,
    render_map,
)

KALLSYMS = """\
ffffffff81000300 T pin_user_pages_fast
ffffffff81000100 T common_interrupt
ffffffff81000100 t alias_of_the_handler
ffffffff81000200 T __switch_to_asm
ffffffff82000000 D jiffies
ffffffffc0001000 t nvme_queue_rq\t[nvme]
ffffffffc0002000 t submit\t[chario]
ffffffffc0003000 t helper\t[other_module]
"""


def test_functions_are_sorted_and_data_is_left_out() -> None:
    """The plugin searches the map by halving."""
    symbols = parse_kallsyms(KALLSYMS)
    assert [symbol.address for symbol in symbols] == sorted(symbol.address for symbol in symbols)
    assert "jiffies" not in {symbol.name for symbol in symbols}


def test_what_is_watched_wins_over_an_alias() -> None:
    """Two names for one address must not hide the interrupt's handler."""
    watched = {symbol.name: symbol.watch for symbol in parse_kallsyms(KALLSYMS)}
    assert watched["common_interrupt"] == WATCH_IRQ
    assert watched["__switch_to_asm"] == WATCH_SWITCH
    assert "alias_of_the_handler" not in watched


def test_a_driver_is_its_own_layer_and_its_stores_are_watched() -> None:
    """Doorbells are looked for in the drivers' stores only."""
    symbols = {symbol.name: symbol for symbol in parse_kallsyms(KALLSYMS, {"submit": "chario/core"})}
    assert (symbols["nvme_queue_rq"].layer, symbols["nvme_queue_rq"].watch) == ("nvme", WATCH_STORES)
    assert (symbols["submit"].layer, symbols["submit"].watch) == ("chario/core", WATCH_STORES)
    assert symbols["helper"].layer == "other"


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("entry_SYSCALL_64", "entry"),
        ("vfs_read", "vfs"),
        ("internal_get_user_pages_fast", "gup"),
        ("dma_map_page_attrs", "dma"),
        ("__schedule", "sched"),
        ("do_idle", "idle"),
        ("intel_iommu_map_pages", "dma"),
        ("__iommu_dma_map", "dma"),
        ("qi_submit_sync", "dma"),
        ("ktime_get", "timer"),
        ("_raw_spin_lock", "lock"),
        ("handle_edge_irq", "irq"),
        ("blk_mq_submit_bio", "block"),
        ("io_issue_sqe", "io_uring"),
        ("idle_cpu", "other"),
        ("a_function_of_no_layer", "other"),
    ],
)
def test_well_known_functions(name: str, layer: str) -> None:
    """One function that each layer is known by."""
    assert layer_of(name) == layer


def test_the_map_has_a_line_a_function() -> None:
    """Address, number of the layer, what is watched."""
    lines = render_map(parse_kallsyms(KALLSYMS)).splitlines()
    assert lines[0] == f"ffffffff81000100 {LAYERS.index('irq')} {WATCH_IRQ}"
    assert len(lines) == 6
