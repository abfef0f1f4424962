# SPDX-License-Identifier: MIT
"""How the same calls are measured in the field, where nothing counts instructions: by a tracer, and by eBPF."""

from dataclasses import replace
from functools import partial

from chario_lab.experiment.plan import Act, Case
from chario_lab.experiments.layers.trace import Spent, Trace, keep, read_trace
from chario_lab.experiments.tracing import TraceError
from chario_lab.programs import build_probe
from chario_lab.target.need import Need
from chario_lab.target.target import Target, TargetError

TRACED, PROBED = "function_graph", "eBPF"
METHODS = (TRACED, PROBED)

TRACE = "{work}/trace.dat"
BUFFER_KIB = 64 * 1024
# A call, the drive's interrupt, and what Linux does in a soft interrupt behind it, by their names on any processor; of
# the program and of the idle task, which the interrupt finds running.
ENTRIES = ("__*_sys_pread64", "__*_sys_pwrite64", "handle_edge_irq", "handle_fasteoi_irq", "blk_done_softirq")
TRACE_CMD = Need("command -v trace-cmd >/dev/null", "trace-cmd, which records what the kernel's tracer says")
TRACER = (
    *("trace-cmd", "record", "-q", "-p", "function_graph", "-F", "-P", "0", "-O", "nosleep-time"),
    *(word for entry in ENTRIES for word in ("-g", entry)),
    *("-b", str(BUFFER_KIB), "--compression", "none", "--temp", "{work}", "-o", TRACE),
)
# What trace-cmd leaves behind where it is killed; a run that is over sets it back, the tracer first.  A machine that is
# being traced already is left alone.
TRACING_FOLDER = "/sys/kernel/tracing"
SETTINGS = tuple(
    (f"{TRACING_FOLDER}/{name}", text)
    for name, text in (
        ("buffer_size_kb", str(BUFFER_KIB)),
        ("options/sleep-time", "0"),
        ("set_ftrace_pid", ""),
        ("set_graph_function", ""),
        ("tracing_on", "0"),
        ("current_tracer", "nop"),
    )
)
UNTRACED = Need(
    f'test $(cat {TRACING_FOLDER}/current_tracer) = nop && test -z "$(cat {TRACING_FOLDER}/set_event)"',
    "the kernel's tracer, which somebody uses",
)
TRACER_GATE = "gate=/sys/kernel/tracing/tracing_on"
READ_TRACE = f"trace-cmd report --stat -i {TRACE}; trace-cmd report -N -i {TRACE}"
REPORT_TRACE = f"grep -F '[' /proc/kallsyms; {READ_TRACE}; rm -f {TRACE}"

PROBE, PROBE_OUT = "{work}/chario-probe", "{work}/probed"
# The part of the calls that may be lost.
MOST_LOST = 0.01
PROBE_GATE = "gate=/dev/null"
# Where calls and interrupts enter a layer, of both kernels and file systems; the first is where they sleep.
BOUNDARIES = {
    "schedule": "scheduler",
    "__x64_sys_pread64": "system call",
    "__x64_sys_pwrite64": "system call",
    "__arm64_sys_pread64": "system call",
    "__arm64_sys_pwrite64": "system call",
    "vfs_read": "vfs",
    "vfs_write": "vfs",
    "ext4_file_read_iter": "file system",
    "ext4_file_write_iter": "file system",
    "ext4_iomap_begin": "file system",
    "xfs_file_read_iter": "file system",
    "xfs_file_write_iter": "file system",
    "xfs_read_iomap_begin": "file system",
    "xfs_direct_write_iomap_begin": "file system",
    "iomap_dio_rw": "direct I/O",
    "iomap_dio_bio_end_io": "direct I/O",
    "bio_iov_iter_get_pages": "gup",
    "bio_set_pages_dirty": "gup",
    "bio_check_pages_dirty": "gup",
    "__bio_release_pages": "gup",
    "bio_alloc_bioset": "bio",
    "bio_endio": "bio",
    "bio_split_rw": "merge",
    "blk_finish_plug": "merge",
    "__blk_flush_plug": "merge",
    "__blk_rq_map_sg": "merge",
    "submit_bio_noacct": "request",
    "blk_mq_submit_bio": "request",
    "blk_mq_dispatch_rq_list": "request",
    "blk_mq_end_request": "request",
    "blk_mq_end_request_batch": "request",
    "blk_update_request": "request",
    "blk_done_softirq": "request",
    "nvme_queue_rq": "nvme",
    "nvme_queue_rqs": "nvme",
    "nvme_irq": "nvme",
    "scsi_queue_rq": "driver",
    "scsi_complete": "driver",
    "ata_scsi_queuecmd": "driver",
    "ahci_single_level_irq_intr": "driver",
    "dma_map_sgtable": "dma",
    "__dma_map_sg_attrs": "dma",
    "dma_map_page_attrs": "dma",
    "dma_unmap_sg_attrs": "dma",
    "handle_edge_irq": "interrupt",
    "handle_fasteoi_irq": "interrupt",
    "try_to_wake_up": "scheduler",
}


def traced(key: str, plain: Case, calls: int) -> Case:
    """The same calls under trace-cmd."""
    return replace(
        in_field(plain, calls, TRACER_GATE),
        key=key,
        title=f"{plain.title}, {TRACED}",
        step=plain.step.replace("measuring", "tracing"),
        under=TRACER,
        report=REPORT_TRACE,
        digest=partial(digest_trace, operations=calls),
        needs=(TRACE_CMD, UNTRACED),
        settings=SETTINGS,
    )


def probed(key: str, plain: Case) -> Case:
    """The same calls with probes where layers begin."""
    return replace(
        in_field(plain, plain.operations, PROBE_GATE),
        key=key,
        title=f"{plain.title}, {PROBED}",
        step=plain.step.replace("measuring", "probing"),
        under=(PROBE, PROBE_OUT, ",".join(BOUNDARIES)),
        report=f"cat {PROBE_OUT}; rm {PROBE_OUT}",
        digest=digest_probes,
        needs=(Need(f"test -e {PROBE}", "a probe where layers begin, for which Linux 6.1 lacks kprobe.multi"),),
    )


def in_field(plain: Case, calls: int, gate: str) -> Case:
    """So many of the calls, and nothing else measured: chario-bench opens and closes the gate."""
    *words, _, opened, order, span, warm = plain.words
    return replace(plain, words=(*words, str(calls), opened, order, span, warm, gate), operations=calls)


def digest_trace(text: str, operations: int) -> str:
    """What records keep of a trace."""
    return keep(read_trace(text, operations))


def digest_probes(text: str) -> str:
    """What records keep of what chario-probe has written: each function's calls and own time, and what was lost."""
    functions, layers, lost = {}, dict[str, Spent](), None
    for name, *numbers in (line.split() for line in text.splitlines()):
        if name == "lost":
            lost = int(numbers[0])
        else:
            functions[name] = Spent(*map(int, numbers))
            layer = layers.setdefault(BOUNDARIES[name], Spent())
            layer.calls += functions[name].calls
            layer.self_ns += functions[name].self_ns
    if lost is None or not functions:
        raise TargetError("chario-probe has written nothing, or was cut off")
    calls = sum(spent.calls for spent in functions.values())
    # One or two were begun before the gate was opened.
    if lost > max(2, calls * MOST_LOST):
        raise TraceError(f"chario-probe has lost {lost} of {calls} calls")
    return keep(Trace(layers=layers, functions=functions, ticks_ns=0, events=2 * calls, unclosed=0, unopened=lost))


def install_probe(target: Target) -> None:
    """Bring chario-probe to the machine; it stays only where the kernel has kprobe.multi, which Linux 6.1 lacks."""
    program = target.push(build_probe())
    target.must(target.place.fill(f"! {program} check || cp {program} {PROBE}"))


INSTALL = Act("probe", "bringing chario-probe", install_probe)
