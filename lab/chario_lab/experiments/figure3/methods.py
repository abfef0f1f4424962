# SPDX-License-Identifier: MIT
"""How the points of reads are seen on hardware: CharIO's by its timeline, those of Linux's ways by trace events."""

from dataclasses import replace
from functools import partial

from chario_lab.experiment.plan import Case
from chario_lab.experiments.figure3.points import digest_timeline
from chario_lab.experiments.figure3.trace import ENTER, EXIT, INTERRUPT, ISSUE, WAKE, digest_trace
from chario_lab.target.loan import TRACE_BUFFER
from chario_lab.target.need import Need

TIMELINE = "{work}/timeline.json"
# A read passes each of its ten stages once.  A drive that takes less than 80 KiB in a command needs more records; some
# are lost then, and the case is refused.
RECORDS_A_READ = 12
# Both programs answer in JSON: that of the timeline goes to a file.
RECORDER = """exec 3>&1; disk=$1; shift
exec "$0" timeline --json --records {records} "$disk" -- sh -c 'exec "$@" >&3' sh "$@" >{file}"""

TRACE = "{work}/trace.dat"
BUFFER_KIB = 16 * 1024
PROGRAM = "chario-bench"
# A worker may send commands, and an interrupt comes whoever runs, so these are not those of the program alone.
EVENTS = {
    f"syscalls:{ENTER}": f'COMM == "{PROGRAM}"',
    f"syscalls:{EXIT}": f'COMM == "{PROGRAM}"',
    f"block:{ISSUE}": 'rwbs ~ "*R*"',
    f"irq:{INTERRUPT}": 'name ~ "nvme*"',
    f"sched:{WAKE}": f'comm == "{PROGRAM}"',
}
TRACER = (
    *("trace-cmd", "record", "-q", "-B", TRACE_BUFFER.name, "-C", "mono", "-b", str(BUFFER_KIB)),
    *(word for event, condition in EVENTS.items() for word in ("-e", event, "-f", condition)),
    *("--compression", "none", "--temp", "{work}", "-o", TRACE),
)
GATE = f"gate={TRACE_BUFFER}/tracing_on"
REPORT = f"trace-cmd report --stat -i {TRACE}; trace-cmd report -N -t -i {TRACE}; rm -f {TRACE}"
TRACE_EVENTS = Need(
    f"command -v trace-cmd >/dev/null && test -e /sys/kernel/tracing/events/syscalls/{ENTER}",
    "trace-cmd, and trace events of system calls in the kernel",
)


def recorded(case: Case) -> Case:
    """The same by `chario timeline`, which holds the records of all reads."""
    records = 1 << (case.operations * RECORDS_A_READ - 1).bit_length()
    return replace(
        case,
        under=("sh", "-c", RECORDER.format(records=records, file=TIMELINE), "{chario}", "{node}"),
        report=f"cat {TIMELINE}; rm -f {TIMELINE}",
        digest=partial(digest_timeline, operations=case.operations),
    )


def traced(case: Case) -> Case:
    """The same under trace-cmd, which sees nothing but the reads that are measured."""
    return replace(
        case,
        words=(*case.words, GATE),
        under=TRACER,
        report=REPORT,
        digest=partial(digest_trace, operations=case.operations),
        needs=(TRACE_EVENTS,),
    )
