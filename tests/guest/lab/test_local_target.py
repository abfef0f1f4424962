# SPDX-License-Identifier: MIT
"""Experiments on a user's machine with a drive of its own; the machine is a guest, and the drive an emulated one."""

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest
from bind_lab import Machine, MachineKeeper, keep
from programs import TOP

from chario_lab.cache import cache_dir
from chario_lab.counting.build import build_tools
from chario_lab.experiment.measure import HANDLED, RESUMED, SUBMITTED
from chario_lab.experiments.figure3.plan import SHORT_RUNS
from chario_lab.experiments.figure3.points import POLLED as SEEN
from chario_lab.experiments.figure3.points import recall
from chario_lab.experiments.isolation.plan import HERE_SHORT
from chario_lab.experiments.layers.field import WAITING
from chario_lab.experiments.layers.methods import PROBED, TRACED
from chario_lab.guest.devices import command_counts
from chario_lab.guest.job import Job, Result
from chario_lab.guest.spec import Namespace, Nvme
from chario_lab.kernel import Kernel
from chario_lab.programs import build_repeat
from chario_lab.records import (
    AnyRecord,
    FailureRecord,
    MachineRecord,
    OmissionRecord,
    SeriesRecord,
    TextRecord,
    of_kind,
    read,
)
from chario_lab.target.loan import TRACE_BUFFER
from chario_lab.waiting import until

pytestmark = [pytest.mark.area("lab/"), pytest.mark.cpus(2), pytest.mark.slow]

SPARE, OTHER = range(2)
DRIVES = (Nvme("spare", (Namespace(512, 4096),)), Nvme("other", (Namespace(64),)))
LIMIT_S = 600
BOOK = "local.jsonl"
READ, WRITE, FILE = "CharIO/read/4096", "block device, direct/write/4096", "ext4, direct/write/4096"
WINDOW, POLLED = "CharIO, physical window/read/4096", "io_uring, fixed buffers, polled/read/4096"
# In the short form.
CALLS, WARM = 64, 4
# Calls that the program makes before, unless it is told.
WARM_UP = 16
# Reads of figure3: those that sleep, that poll, that wait for the drive each time, and that find most in memory.
SLEEPING, POLLING, DIRECT, BUFFERED = (
    f"{way}/40960/sequential" for way in ("CharIO", "CharIO, polled", "block device, direct", "ext4")
)
THROTTLE = "/proc/sys/kernel/sched_rt_runtime_us"


@pytest.fixture(scope="module")
def keeper(kernel: Kernel, module: Path, cpus: int) -> Iterator[MachineKeeper]:
    """One guest for this file, which has the lab's programs already: compiling them there would take minutes."""
    build_tools()
    build_repeat()
    with keep(kernel, module, DRIVES, cpus=cpus, append="nvme_core.multipath=N") as keeper:
        yield keeper


@pytest.fixture
def machine(keeper: MachineKeeper, request: pytest.FixtureRequest) -> Iterator[Machine]:
    """The guest, for one test, which writes to nobody's drive but the one that it names."""
    machine = keeper.get(request)
    (machine.guest.host.share / BOOK).unlink(missing_ok=True)
    before = command_counts(machine.guest, OTHER)
    yield machine
    assert command_counts(machine.guest, OTHER)[1] == before[1]


def start(machine: Machine, *words: str, experiment: str = "table1") -> Job:
    """Run an experiment with the spare drive, as root."""
    environment = f"PYTHONPATH={TOP / 'lab'} CHARIO_CACHE={cache_dir()} COLUMNS=190"
    command = [*environment.split(), sys.executable, "-m", "chario_lab.main", "run", experiment, "--target", "local"]
    command += ["--device", machine.address(SPARE), "--records", f"/share/{BOOK}", *words]
    return machine.guest.start(["env", *command], LIMIT_S)


def run(machine: Machine, *words: str, experiment: str = "table1") -> Result:
    """The same, to its end."""
    return start(machine, *words, experiment=experiment).wait()


def cases(*names: str) -> list[str]:
    """The options that choose them."""
    return [word for name in names for word in ("--case", name)]


def records(machine: Machine) -> list[AnyRecord]:
    """What was written down; nothing where no run has begun."""
    path = machine.guest.host.share / BOOK
    return read(path) if path.exists() else []


def scheduler(machine: Machine) -> str:
    """The scheduler of the spare drive, as the kernel shows it."""
    return machine.guest.files.value(f"/sys/block/{machine.block(SPARE)[5:]}/queue/scheduler")


def use_deadline(machine: Machine) -> None:
    """A setting that a drive does not have by itself."""
    machine.must(f"echo mq-deadline >/sys/block/{machine.block(SPARE)[5:]}/queue/scheduler")
    assert "[mq-deadline]" in scheduler(machine)


def check_given_back(machine: Machine) -> None:
    """Linux's driver has the drive, as before, and nothing is mounted."""
    assert machine.driver(SPARE) == "nvme" and machine.override(SPARE) == ""
    assert "[mq-deadline]" in scheduler(machine)
    machine.must("! grep chario-lab /proc/mounts")
    machine.must(f"test ! -e {TRACE_BUFFER}")


def measure(machine: Machine, *words: str, experiment: str = "table1") -> Result:
    """Run the short form of an experiment, which succeeds and gives the drive back as it was."""
    use_deadline(machine)
    done = run(machine, "--destroy-data", "--short", *words, experiment=experiment)
    assert done.rc == 0, done.describe()
    check_given_back(machine)
    return done


def test_a_table_is_measured_and_the_drive_goes_back(machine: Machine) -> None:
    """Speeds, shares of the CPU and the drive's own counts, and what this machine lacks; then all is as it was."""
    done = measure(machine, *cases(READ, WRITE, FILE, WINDOW, POLLED))
    assert "all data on this drive will be lost: QEMU NVMe Ctrl, serial spare" in done.stderr
    assert "MiB/s" in done.stdout and "memory that Linux leaves alone" in done.stdout, done.stdout
    found = records(machine)
    (described,) = of_kind(found, MachineRecord)
    assert described.is_hardware and described.release == machine.guest.release and "serial spare" in described.device
    series = {record.case: record for record in of_kind(found, SeriesRecord)}
    assert set(series) == {READ, WRITE, FILE} and of_kind(found, FailureRecord) == []
    assert {record.case for record in of_kind(found, OmissionRecord)} == {WINDOW, POLLED}
    for record in series.values():
        assert record.summary is None and record.operations == CALLS and record.moved_bytes == CALLS * 4096
        assert int(str(record.said["elapsed_us"])) > 0
    assert series[READ].commands.reads == CALLS + WARM
    assert series[WRITE].commands.writes == CALLS + WARM


def series_of(machine: Machine) -> dict[str, SeriesRecord]:
    """What was measured, by case; nothing has failed."""
    assert of_kind(records(machine), FailureRecord) == []
    return {record.case: record for record in of_kind(records(machine), SeriesRecord)}


SINGLE = [{"0": 1}, {"1": 1}, {"2": 1}]


def test_commands_are_counted(machine: Machine) -> None:
    """By the drive itself, and by Linux's tracepoints, for each call; beside what chario plan has said."""
    single = [f"single/read/{count}" for count in (0, 1, 2)]
    counted: list[object] = []
    # On a busy machine a commit of the file system's own may fall between the counts of one read.
    while SINGLE not in counted and len(counted) < 3:
        (machine.guest.host.share / BOOK).unlink(missing_ok=True)
        measure(machine, *cases(READ, *single), experiment="commands")
        series = series_of(machine)
        counted.append([series[name].said["commands"] for name in single])
    assert SINGLE in counted, counted
    assert series[READ].said["commands"] == {"1": series[READ].operations}
    assert '"commands":1' in next(one.text for one in of_kind(records(machine), TextRecord)).replace(" ", "")


def tracing(machine: Machine) -> str:
    """What the kernel's tracer is set to, and its buffer in MiB, which the kernel makes of whole pages."""
    names = "current_tracer tracing_on options/sleep-time set_graph_function set_ftrace_pid"
    size = "cut -d'(' -f2 buffer_size_kb | tr -dc 0-9"
    return machine.must(f"cd /sys/kernel/tracing && cat {names} && echo $(($({size}) / 1024))")


def test_layers_are_seen_in_the_field(machine: Machine) -> None:
    """By a tracer, beside the same calls without it, as shares of the time."""
    before = tracing(machine)
    done = measure(machine, experiment="layers")
    assert tracing(machine) == before
    plain, traced = (name for name in series_of(machine) if not name.endswith(PROBED))
    assert traced == f"{plain}/{TRACED}"
    assert "Seen in the field" in done.stdout and WAITING in done.stdout, done.stdout
    machine.must("! ls /run/chario-lab | grep work")


BLOCKS = {
    "buffered": "NVMe SSD/ext4, buffered/read/sequential/1048576/here",
    "direct": "NVMe SSD/ext4, direct/write/sequential/1048576/here",
    "chario": "NVMe SSD/CharIO/read/sequential/1048576/here",
    "memory": "tmpfs/tmpfs/read/sequential/1048576/here",
    "database": "NVMe SSD/SQLite/write/SQLite/0/here",
    "profiled": "NVMe SSD/ext4, buffered/read/sequential/1048576/here/profiled",
    "one": "NVMe SSD/CharIO/read/sequential/1048576/1",
}
# The drive has blocks of 4 KiB, and nothing sets the clock of an emulated CPU.
NO_BLOCKS = {
    "small": "NVMe SSD/ext4, direct/read/sequential/512/here",
    "small, CharIO": "NVMe SSD/CharIO/read/sequential/512/here",
    "slow": "NVMe SSD/CharIO/read/sequential/1048576/here/cpuinfo_min_freq",
}


def test_block_sizes_are_measured_with_fewer_cpus_and_a_profiler(machine: Machine, cpus: int) -> None:
    """Rates of each medium, with a CPU off line, which is on line again; what this machine lacks is said."""
    done = measure(machine, *cases(*BLOCKS.values(), *NO_BLOCKS.values()), experiment="blocksizes")
    assert machine.guest.files.value("/sys/devices/system/cpu/online") == ("0" if cpus == 1 else f"0-{cpus - 1}")
    series = series_of(machine)
    assert set(series) == set(BLOCKS.values())
    assert {record.case for record in of_kind(records(machine), OmissionRecord)} == set(NO_BLOCKS.values())
    for name in BLOCKS.keys() - {"database"}:
        record = series[BLOCKS[name]]
        assert record.summary is None and record.moved_bytes == 4 << 20
        assert int(str(record.said["elapsed_us"])) > 0
    assert len(cast("list[int]", series[BLOCKS["one"]].said["idle_us"])) == 1
    assert "of event 'cpu-clock" in series[BLOCKS["profiled"]].report
    assert int(str(series[BLOCKS["database"]].said["elapsed_us"])) > 0
    assert "blocks of 512 bytes" in done.stdout and "cpufreq" in done.stdout and "rows a second" in done.stdout


def test_points_of_reads_are_seen_without_a_counter(machine: Machine) -> None:
    """By the timeline and by trace events, in their order; drive, real-time throttle and tracing are as before."""
    throttle = machine.must(f"cat {THROTTLE}")
    measure(machine, *cases(SLEEPING, POLLING, DIRECT, BUFFERED), experiment="figure3")
    assert machine.must(f"cat {THROTTLE}") == throttle and throttle != "-1"
    series = series_of(machine)
    assert of_kind(records(machine), OmissionRecord) == []
    assert set(series) == {SLEEPING, POLLING, DIRECT, BUFFERED}
    for case, record in series.items():
        kept = recall(record.report)
        assert record.said["operations"] == kept.whole.requests == SHORT_RUNS
        assert 0 < kept.computing_ns <= kept.whole.mean_ns and kept.whole.max_ns > 0
        if case == BUFFERED:
            # An emulated drive may answer before its caller sleeps: then no read has waited.
            assert kept.waiting < 1
        else:
            assert kept.waiting + kept.unclear / SHORT_RUNS == 1
        if kept.points:
            seen = SEEN if case == POLLING else HANDLED
            times = [0, *(kept.points[name].median_ns for name in (SUBMITTED, seen, RESUMED))]
            assert times == sorted(times) and kept.points[RESUMED].max_ns <= kept.whole.max_ns, case


ISOLATED = {
    "recorder": "CharIO/recorder alone",
    "load": "CharIO/block load alone",
    "both": "CharIO/both, 1 block command",
    "linux": "Linux/both",
    "class": "Linux/both, real-time I/O class",
}


def test_urgent_calls_are_measured_beside_a_load(machine: Machine) -> None:
    """How long they take, and what the block side moves; the load has ended, and the scheduler is as before."""
    done = measure(machine, *cases(*ISOLATED.values()), experiment="isolation")
    machine.must("! pgrep -x fio")
    series = series_of(machine)
    assert of_kind(records(machine), OmissionRecord) == []
    assert set(series) == set(ISOLATED.values())
    for name, case in ISOLATED.items():
        said = series[case].said
        times = list(cast("dict[str, int]", said.get("latency_ns", {})).values())
        assert len(times) == (0 if name == "load" else 4) and times == sorted(times)
        assert bool(said["beside_bytes"]) == bool(series[case].report) == (name != "recorder"), case
    assert series[ISOLATED["recorder"]].commands.writes == HERE_SHORT.calls + WARM_UP
    assert "block side loses" in done.stdout and "µs of a call" in done.stdout, done.stdout


def test_nothing_is_done_without_the_words(machine: Machine) -> None:
    """The option that gives up the data is needed."""
    before = command_counts(machine.guest, SPARE)
    done = run(machine, "--short")
    assert done.rc == 2 and "add --destroy-data" in done.stderr, done.describe()
    assert command_counts(machine.guest, SPARE) == before and records(machine) == []
    assert machine.driver(SPARE) == "nvme"


def test_a_mounted_drive_is_refused(machine: Machine) -> None:
    """The answer of chario bind is shown; the file system is as it was, and no run was written down."""
    block = machine.block(SPARE)
    machine.must(f"mkfs.ext4 -q -F -E nodiscard {block} && mkdir -p /run/mnt && mount {block} /run/mnt")
    # A file system that may write does so when it likes.
    machine.must("cp /etc/passwd /run/mnt && mount -o remount,ro /run/mnt")
    try:
        before = command_counts(machine.guest, SPARE)
        done = run(machine, "--destroy-data", "--short", *cases(WRITE))
        assert done.rc == 1 and "is mounted at /run/mnt" in done.stderr, done.describe()
        assert command_counts(machine.guest, SPARE)[1] == before[1]
        machine.must("echo 3 >/proc/sys/vm/drop_caches; cmp /etc/passwd /run/mnt/passwd")
    finally:
        machine.must("umount /run/mnt")
    assert records(machine) == [] and machine.driver(SPARE) == "nvme"


def start_on_disk(machine: Machine) -> Job:
    """A run whose program reads from the character disk."""
    job = start(machine, "--destroy-data", *cases(READ))
    until(lambda: machine.guest.run("pgrep -x chario-bench").rc == 0, "the program does not run")
    assert machine.driver(SPARE) == "chario"
    return job


def start_on_files(machine: Machine) -> Job:
    """A run that has mounted its file system."""
    job = start(machine, "--destroy-data", "--short", *cases("ext4*"))
    until(lambda: machine.guest.run("grep chario-lab /proc/mounts").rc == 0, "nothing is mounted")
    return job


def start_traced(machine: Machine) -> Job:
    """A run whose program reads while its events are traced."""
    job = start(machine, "--destroy-data", *cases(DIRECT), experiment="figure3")
    until(lambda: machine.guest.run(f"grep 1 {TRACE_BUFFER}/tracing_on && pgrep -x chario-bench").rc == 0, "no trace")
    return job


@pytest.mark.parametrize(
    ("begin", "number"),
    [(start_on_disk, signal.SIGINT), (start_on_files, signal.SIGTERM), (start_traced, signal.SIGINT)],
)
def test_a_run_that_is_stopped_gives_the_drive_back(
    machine: Machine, begin: Callable[[Machine], Job], number: signal.Signals
) -> None:
    """In the middle, whoever has the drive; nothing of the run goes on."""
    use_deadline(machine)
    job = begin(machine)
    assert job.kill(number)
    done = job.wait()
    assert done.rc == 128 + number, done.describe()
    assert "is with nvme, as before" in done.stderr
    machine.must("! pgrep -x chario-bench && ! pgrep -x dd")
    check_given_back(machine)


def test_the_next_run_gives_back_what_a_killed_one_has_left(machine: Machine) -> None:
    """A drive with a file system that is mounted; the run then does its own work."""
    use_deadline(machine)
    job = start_on_files(machine)
    job.kill(signal.SIGKILL)
    job.wait()
    machine.must("grep chario-lab /proc/mounts")
    # As if its program waited for the drive: it would go on when all is given back.
    machine.guest.run("pkill -STOP -x 'chario-bench|dd'")
    done = run(machine, "--destroy-data", "--short", *cases(READ))
    assert done.rc == 0, done.describe()
    assert "an earlier run has not given" in done.stderr
    machine.must("! pgrep -x 'chario-bench|dd'")
    check_given_back(machine)
