# SPDX-License-Identifier: MIT
"""Which layer a symbol of the guest's kernel belongs to, and what is watched there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

USER = "user"
OTHER = "other"
IDLE = "idle"

WATCH_NONE, WATCH_IRQ, WATCH_TICK, WATCH_SWITCH, WATCH_STORES = range(5)

WATCHED = {
    "common_interrupt": WATCH_IRQ,
    "sysvec_apic_timer_interrupt": WATCH_TICK,
    "__switch_to_asm": WATCH_SWITCH,
}

# Modules whose stores may ring a doorbell.
DRIVERS = frozenset({"nvme", "chario"})

# A module's symbols go to its layer whatever they are called; chario's are told apart by its
# object files. The first pattern that matches the start of a name decides.
MODULE_LAYERS = {"nvme": "nvme", "nvme_core": "nvme", "chario": "chario"}

PATTERNS: tuple[tuple[str, str], ...] = (
    (
        IDLE,
        r"do_idle|cpuidle_|default_idle|arch_cpu_idle|amd_e400_idle|mwait_idle|acpi_idle"
        r"|tick_nohz_idle|tick_nohz_stop|tick_nohz_next|tick_nohz_get_|tick_nohz_retain"
        r"|tick_nohz_restart|tick_nohz_irq_exit|__tick_nohz|tick_nohz_tick_stopped"
        r"|can_stop_idle_tick|get_next_timer_interrupt|__get_next_timer"
        r"|tick_nohz_start_idle|ct_idle|rcu_needs_cpu|rcu_nocb_flush_deferred|menu_|poll_idle|cpu_startup_entry"
        r"|haltpoll|arch_cpu_idle|sched_idle_set_state|native_safe_halt"
        r"|ct_kernel_exit|ct_kernel_enter|acpi_processor_ffh|intel_idle|tick_check_broadcast",
    ),
    (
        "entry",
        r"entry_SYSCALL|do_syscall_64|syscall_|__x64_sys_|x64_sys_call|__do_sys_|__se_sys_"
        r"|ksys_|exit_to_user|fpregs_|switch_fpu|swapgs|__put_user|__get_user|do_sys_|sync_regs"
        r"|__ct_user|ct_user",
    ),
    (
        "irq",
        r"asm_common_interrupt|common_interrupt|irq_entries|asm_sysvec|sysvec|handle_edge_irq"
        r"|handle_irq|__handle_irq|__common_interrupt|irq_|irqentry_|apic_|lapic_|native_apic"
        r"|x2apic|add_interrupt_random|fast_mix|error_return|error_entry|ret_from_intr"
        r"|__irq_exit|handle_fasteoi|msi_|pci_msi|do_softirq|__do_softirq|raise_softirq"
        r"|__raise_softirq|handle_softirqs|generic_handle|ack_|restore_regs|call_irq|note_int"
        r"|native_iret|common_interrupt_return|ct_irq|ct_nmi|idtentry|__x86_vector|vector_",
    ),
    (
        "timer",
        r"ktime_|timekeeping|read_tsc|kvm_clock|pvclock|hrtimer|__hrtimer|timer_|__mod_timer"
        r"|mod_timer|add_timer|del_timer|__del_timer|calc_wheel|enqueue_timer|detach_if|clockevents"
        r"|tick_|lapic_next|native_sched_clock|sched_clock|local_clock|delay_tsc|__run_timers"
        r"|update_wall|jiffies|tsc_|native_read_tsc|__timer|internal_add_timer|usecs_|nsecs_"
        r"|msecs_|lock_timer|get_nohz|update_fast|trigger_dyntick|forward_timer|lapic_timer",
    ),
    (
        "sched",
        r"schedule|__schedule|try_to_wake|ttwu|default_wake|wake_up|__wake_up|autoremove_wake"
        r"|finish_task|__switch_to|switch_mm|enter_lazy_tlb|pick_|put_prev|set_next|dequeue_"
        r"|enqueue_task|enqueue_entity|update_curr|update_load|__update_load|update_rq|update_min"
        r"|place_entity|check_preempt|resched_|psi_|record_times|select_task|select_idle"
        r"|available_idle|activate_task|deactivate_task|prepare_to_wait|finish_wait|io_schedule"
        r"|delayacct|sched_|newidle|nohz_|load_balance|cpuacct|cgroup_|__cgroup|calc_load|yield_"
        r"|complete|swake_|wait_for_|do_wait|rb_|__rb|reweight|propagate_|task_|__task|set_task"
        r"|kick_process|wakeup_|cpu_util|effective_cpu|avg_vruntime|entity_|dl_|rt_|fair_|attach_"
        r"|detach_|decay_|___update|sugov|cpufreq|update_|prepare_task|vtime|balance_|init_wait"
        r"|bit_wait|kthread|worker_|wq_|pwq_|process_one|queue_work|__queue_work|insert_work"
        r"|mm_cid|membarrier|trace_sched|probe_sched|native_load_tls|save_fpregs|os_xsave"
        r"|rcuwait|affine_|wake_|cfs_|__dequeue|__enqueue|min_vruntime|tg_|hrtick|clear_buddies"
        r"|blk_start_plug$|context_tracking|get_task_struct|put_task_struct|put_cpu|ttwu_",
    ),
    (
        "lock",
        r"_raw_spin|_raw_read|_raw_write|queued_|native_queued|__rcu_read|rcu_|__rcu|mutex_"
        r"|__mutex|down_|up_|rwsem_|percpu_rwsem|__percpu|percpu_ref|osq_|call_rcu|preempt_"
        r"|__call_rcu|kick_|lockref|refcount|__srcu|srcu|rt_mutex|rt_spin|migrate_|note_gp"
        r"|__local_bh|local_bh|_local_bh|invoke_rcu",
    ),
    (
        "security",
        r"security_|apparmor_|aa_|common_file_perm|tomoyo_|bpf_lsm|selinux_|cap_|landlock"
        r"|rw_verify_area|fsnotify|__fsnotify|__x86_return_thunk_security|ima_|yama_",
    ),
    (
        "gup",
        r"pin_user|unpin_user|get_user_pages|internal_get_user|lockless_pages|gup_|try_grab"
        r"|try_get_folio|__gup|get_gate|follow_|faultin|iov_iter_extract|iov_iter_get_pages"
        r"|__iov_iter_get|bio_iov_iter_get|__bio_release_pages|bio_release_pages|put_page"
        r"|folio_|__folio|want_pages|sanity_check_pinned|undo_dev_pagemap|page_|pud_|pmd_|pte_"
        r"|gup|unpin|is_valid_gup|bio_add_hw|unlock_page|set_page_dirty|bio_set_pages_dirty|huge",
    ),
    (
        "dma",
        r"dma_|iommu_|swiotlb|nvme_dma|sg_|arch_dma|phys_to|is_swiotlb|__iommu_|intel_iommu_|__domain_|domain_"
        r"|qi_|iova_|alloc_iova|free_iova|__iova|pfn_to_dma|dmar_|cache_tag_",
    ),
    ("io_uring", r"io_|__io_|__ia32_sys_io_uring|import_ubuf|tctx_"),
    (
        "block",
        r"blk_|__blk_|blkdev_|bio_|__bio|submit_bio|__submit_bio|bdev_|blkg_|blkcg_|iocost|wbt_|rq_qos"
        r"|__rq_qos|sbitmap|__sbitmap|elv_|dd_|mq_|part_|bvec_|biovec|disk_|get_max_io|iomap_|__iomap"
        r"|blockdev_|dio_|filemap_|kiocb_|generic_file_|file_write|file_update|update_io_ticks"
        r"|account_|should_fail|req_|rq_|dio|invalidate_|get_max|submit_|write_inode|inode_|sb_"
        r"|mempool_|throtl|hctx_|plug_|flush_plug|find_next|__mark_inode|__get_request",
    ),
    (
        "vfs",
        r"vfs_|__vfs|do_iter|do_pread|do_pwrite|do_read|do_write|do_preadv|do_pwritev|import_|__import"
        r"|iov_iter|__fget|__fdget|fget|fput|fdget|file_|null_|read_null|copy_iovec|iter_|fs_|kernel_|"
        r"iovec_|iov_|init_sync_kiocb|touch_atime|atime_|current_time|timestamp_|put_files|__get_file"
        r"|generic_write_checks|generic_|fd_",
    ),
    (
        "slab",
        r"kmem_|kmalloc|__kmalloc|kfree|slab_|__slab|___slab|memcg_|obj_cgroup|mod_objcg|memset"
        r"|get_obj|refill_|should_failslab|__kmem|kmem_cache|mem_cgroup|cache_from|drain_",
    ),
    ("memcpy", r"memcpy|__memcpy|copy_|_copy_|__memset|clear_page|clear_user|rep_|memmove|__copy"),
    ("mm", r"handle_mm|do_user_addr|exc_page|asm_exc|find_vma|mas_|mt_|lru_|free_|alloc_|__alloc"),
)

_COMPILED = tuple((layer, re.compile(pattern)) for layer, pattern in PATTERNS)

CHARIO_LAYERS = ("chario/front", "chario/core", "chario/back", "chario")

LAYERS: tuple[str, ...] = (
    USER,
    OTHER,
    *CHARIO_LAYERS,
    "nvme",
    *(layer for layer, _ in PATTERNS),
)


@dataclass(frozen=True)
class Symbol:
    """A function of the guest's kernel or of one of its modules."""

    address: int
    name: str
    module: str
    layer: str
    watch: int


def parse_kallsyms(text: str, chario: Mapping[str, str] | None = None) -> list[Symbol]:
    """Functions in the order of their addresses; of names for one address the first.

    `chario` tells the layer of a function of chario.ko by its name.
    """
    found: dict[int, Symbol] = {}
    for line in text.splitlines():
        address_text, kind, name, *module = line.split()
        if kind not in "tTwW":
            continue
        address = int(address_text, 16)
        module_name = module[0].strip("[]") if module else ""
        symbol = _symbol(address, name, module_name, chario or {})
        known = found.get(address)
        if known is None or (symbol.watch and not known.watch):
            found[address] = symbol
    return [found[address] for address in sorted(found)]


def _symbol(address: int, name: str, module: str, chario: Mapping[str, str]) -> Symbol:
    if module:
        layer = MODULE_LAYERS.get(module, OTHER)
        if module == "chario":
            layer = chario.get(name, layer)
        watch = WATCH_STORES if module in DRIVERS else WATCH_NONE
    else:
        layer = layer_of(name)
        watch = WATCHED.get(name, WATCH_NONE)
    return Symbol(address, name, module, layer, watch)


def layer_of(name: str) -> str:
    """The layer of a function of the kernel proper."""
    for layer, pattern in _COMPILED:
        if pattern.match(name):
            return layer
    return OTHER


def render_map(symbols: Sequence[Symbol]) -> str:
    """The map as the plugin reads it: a line of address, layer number and watch a symbol."""
    number = {layer: index for index, layer in enumerate(LAYERS)}
    return "".join(f"{s.address:x} {number[s.layer]} {s.watch}\n" for s in symbols)
