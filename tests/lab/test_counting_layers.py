# SPDX-License-Identifier: MIT
"""Functions of the kernel and their layers."""

import tomllib
from collections import Counter

import pytest

from chario_lab.counting.layers import (
    HANDLER,
    LAYERS,
    TABLE,
    WATCH_COPY,
    WATCH_FILL,
    WATCH_IRQ,
    WATCH_NONE,
    WATCH_STORES,
    WATCH_SWITCH,
    layer_of,
    parse_kallsyms,
    render_map,
    watch_of,
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


def test_points_are_named_by_who_wants_them() -> None:
    """Without a wish there are none; a name for one address must not hide one."""
    assert not any(symbol.point for symbol in parse_kallsyms(KALLSYMS))
    points = {symbol.name: symbol.point for symbol in parse_kallsyms(KALLSYMS, points={"nvme_queue_rq": HANDLER})}
    assert {name for name, point in points.items() if point} == {"nvme_queue_rq"}
    assert f" {WATCH_STORES} {HANDLER}\n" in render_map(parse_kallsyms(KALLSYMS, points={"nvme_queue_rq": HANDLER}))


def test_a_driver_is_its_own_layer_and_its_stores_are_watched() -> None:
    """Doorbells are looked for in the drivers' stores only."""
    symbols = {symbol.name: symbol for symbol in parse_kallsyms(KALLSYMS, {"submit": "chario/core"})}
    assert (symbols["nvme_queue_rq"].layer, symbols["nvme_queue_rq"].watch) == ("nvme", WATCH_STORES)
    assert (symbols["submit"].layer, symbols["submit"].watch) == ("chario/core", WATCH_STORES)
    assert symbols["helper"].layer == "other"


@pytest.mark.parametrize(("name", "layer"), [
    ("entry_SYSCALL_64", "system call"),
    ("__x64_sys_pread64", "system call"),
    ("vfs_read", "vfs"),
    ("crypto_shash_update", "file system"),
    ("filemap_read", "page cache"),
    ("__folio_mark_dirty", "page cache"),
    ("iomap_file_buffered_write", "page cache"),
    ("iomap_dio_bio_iter", "direct I/O"),
    ("bio_alloc_bioset", "bio"),
    ("bio_split_rw", "merge"),
    ("__blk_flush_plug", "merge"),
    ("blk_mq_submit_bio", "request"),
    ("dma_map_page_attrs", "dma"),
    ("intel_iommu_map_pages", "dma"),
    ("__iommu_dma_map", "dma"),
    ("qi_submit_sync", "dma"),
    ("handle_edge_irq", "interrupt"),
    ("sysvec_apic_timer_interrupt", "timer"),
    ("__schedule", "scheduler"),
    ("idle_cpu", "scheduler"),
    ("complete", "scheduler"),
    ("complete_walk", "other"),
    ("do_idle", "idle"),
    ("ktime_get", "timer"),
    ("update_process_times", "timer"),
    ("_raw_spin_lock", "lock"),
    ("internal_get_user_pages_fast", "gup"),
    ("bio_iov_iter_get_pages", "gup"),
    ("io_issue_sqe", "io_uring"),
    ("io_schedule", "scheduler"),
    ("__kmalloc", "slab"),
    ("get_partial_node.part.0", "slab"),
    ("_copy_from_user", "copy"),
    ("rb_erase", "library"),
    ("a_function_of_no_layer", "other"),
])  # fmt: skip
def test_well_known_functions(name: str, layer: str) -> None:
    """Functions that each layer is known by, and some whose names begin like those of another one."""
    assert layer_of(name) == layer


@pytest.mark.parametrize(
    ("module", "layer"), [("ext4", "file system"), ("jbd2", "file system"), ("ahci", "driver"), ("nvme_core", "nvme")]
)
def test_well_known_modules(module: str, layer: str) -> None:
    """A function of a module is named as its author likes."""
    (symbol,) = parse_kallsyms(f"ffffffffc0001000 t bio_alloc\t[{module}]\n")
    assert symbol.layer == layer


def test_no_word_of_the_table_has_two_layers() -> None:
    """The second would win without a word."""
    words = [word for layer in tomllib.loads(TABLE.read_text()).values() for kind in layer.values() for word in kind]
    assert [word for word, count in Counter(words).items() if count > 1] == []


@pytest.mark.parametrize(("name", "watch"), [
    ("memcpy", WATCH_COPY),
    ("__memmove", WATCH_COPY),
    ("copy_user_generic_unrolled", WATCH_COPY),
    ("rep_movs_alternative", WATCH_COPY),
    ("memset_erms", WATCH_FILL),
    ("clear_page_rep", WATCH_FILL),
    ("copy_page_regs", WATCH_NONE),
    ("memcpy_fromio", WATCH_NONE),
    ("_copy_from_user", WATCH_NONE),
])  # fmt: skip
def test_functions_whose_stores_are_bytes_moved(name: str, watch: int) -> None:
    """Only assembly that keeps nothing on its stack: other stores would be counted as copied."""
    assert watch_of(name) == watch


def test_the_map_has_a_line_a_function() -> None:
    """Address, number of the layer, what is watched."""
    lines = render_map(parse_kallsyms(KALLSYMS)).splitlines()
    assert lines[0] == f"ffffffff81000100 {LAYERS.index('interrupt')} {WATCH_IRQ} 0"
    assert len(lines) == 6
