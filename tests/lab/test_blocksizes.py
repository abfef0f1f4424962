# SPDX-License-Identifier: MIT
"""Block sizes on hardware: what is planned there, how a profile is read, and what is shown and judged."""

import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from chario_lab.experiment.page import Plot
from chario_lab.experiment.plan import SPIN, Act, Case
from chario_lab.experiment.spec import Choice
from chario_lab.experiments.blocksizes import EXPERIMENT
from chario_lab.experiments.blocksizes.cells import (
    BUFFERED,
    DIRECT,
    HERE_MIB,
    HERE_RANDOM_MIB,
    MEMORY,
    NVME,
    RANDOM,
    SEQUENTIAL,
    SIZES,
    SQLITE,
    STRICT,
    WAYS,
    Cell,
)
from chario_lab.experiments.blocksizes.judge import judge
from chario_lab.experiments.blocksizes.processors import FASTEST, POLICIES, SLOWEST, KeepCpus, LimitClock, clock_limited
from chario_lab.experiments.blocksizes.profile import kind_of, read_profile
from chario_lab.experiments.blocksizes.results import results
from chario_lab.experiments.ways import DIRECTIONS, READ, WRITE
from chario_lab.records import AnyRecord, Commands, SeriesRecord
from chario_lab.target.machine import THIS_MACHINE
from chario_lab.target.target import TargetError
from chario_lab.testing.runs import show
from chario_lab.testing.series import machine_record

MACHINE = machine_record(THIS_MACHINE.name, processor="Fast CPU", cpus=2, device="Good Drive")
MIB = 1 << 20
REPORT = """\
# Samples: 1K of event 'cycles'
# Overhead  Command          Symbol
    40.00%  swapper          [k] intel_idle
    20.00%  perf             [k] perf_mmap__push
    10.00%  chario-bench     [k] copy_user_enhanced_fast_string
     5.00%  kworker/0:1-ev   [k] _raw_spin_lock
     5.00%  chario-bench     [k] v7_dma_clean_range
    10.00%  chario-bench     [k] clear_page_erms
    10.00%  a b              [.] main
 nonsense
"""
COPYING = """\
# Samples: 200 of event 'cpu-clock'
    50.00%  chario-bench     [k] copy_user_generic_string
    50.00%  chario-bench     [.] main
"""
MOVING = "# Samples: 50 of event 'cpu-clock'\n  100.00%  chario-bench  [k] nvme_queue_rq\n"


def test_a_profile_is_read() -> None:
    """Parts of what was done, without idle CPUs and the profiler; lines that are none are passed over."""
    profile = read_profile(REPORT)
    assert profile is not None
    assert (profile.copies, profile.locks, profile.caches) == (0.25, 0.125, 0.125)
    assert profile.event == "cycles"
    assert read_profile("# no samples\n") is None
    assert read_profile("   100.00%  swapper  [k] default_idle\n") is None
    # Shares of few samples are those of chance.
    assert read_profile(MOVING) is not None and read_profile(MOVING.replace("50 of", "49 of")) is None


@pytest.mark.parametrize(
    "name",
    [
        "v7_flush_kern_dcache_area", "v7_dma_inv_range", "l2c210_flush_range", "dcache_clean_poc",
        "caches_clean_inval_pou", "__dma_flush_area", "arch_sync_dma_for_device", "__pi_dcache_clean_inval_poc",
        "__inval_dcache_area",
    ],
)  # fmt: skip
def test_maintenance_of_caches_has_its_names(name: str) -> None:
    """Of 32 and 64 bits, with an outer cache and without."""
    assert kind_of(name) == "caches"


def test_what_is_no_maintenance_and_no_copy() -> None:
    """Mapping for DMA, the cache of names, and filling memory."""
    others = (
        "dma_map_sg_attrs",
        "dma_unmap_page_attrs",
        "dcache_dir_open",
        "d_lookup",
        "memset_erms",
        "clear_page_erms",
    )
    assert not {"caches", "copy"} & {kind_of(name) for name in others}


def test_an_arm_copies_and_is_idle_too() -> None:
    """By its own names."""
    assert {kind_of(name) for name in ("__arch_copy_to_user", "arm_copy_from_user", "__copy_to_user_std")} == {"copy"}
    assert {kind_of(name) for name in ("cpu_do_idle", "cpu_v7_do_idle", "psci_cpu_suspend_enter")} == {"idle"}


def test_cells_have_names_of_their_own() -> None:
    """Or records of one would be taken for another's."""
    cells = [
        Cell(NVME, "CharIO", READ, SEQUENTIAL, 4096, cpus, profiled, clock)
        for cpus in (0, 1, 2)
        for profiled in (True, False)
        for clock in ("", SLOWEST, FASTEST)
    ]
    assert len({cell.key for cell in cells}) == len(cells)
    keys = [step.key for station in EXPERIMENT.plan(Choice(here=True)) for step in station.steps]
    cases = [key for key in keys if "/" in key]
    assert len(set(cases)) == len(cases)


def planned() -> Iterator[Case]:
    """All cases on hardware."""
    for station in EXPERIMENT.plan(Choice(here=True)):
        yield from (step for step in station.steps if isinstance(step, Case))


def option(case: Case, name: str) -> int:
    """A number that the program is told."""
    return next(int(word.partition("=")[2]) for word in case.words if word.startswith(f"{name}="))


def test_on_this_machine_nothing_is_read_twice() -> None:
    """Along the disk no byte, in random order an eighth of it; memory may, which is as fast again."""
    for case in planned():
        assert case.key != SPIN.key
        if not case.call_bytes:
            continue
        moved_bytes, span_bytes = case.operations * case.call_bytes, option(case, "span")
        if case.key.startswith(MEMORY):
            assert case.call_bytes <= span_bytes and case.needs
        else:
            most_mib = HERE_RANDOM_MIB if f"/{RANDOM}/" in case.key else HERE_MIB
            assert moved_bytes <= most_mib * MIB <= span_bytes == HERE_MIB * MIB
        if case.call_bytes >= 128 * MIB:
            assert case.operations >= 5 and case.needs


def test_what_a_machine_may_lack_is_asked_for() -> None:
    """Each by the cases that need it, and by no others."""
    asked = {case.key: " ".join(need.words for need in case.needs) for case in planned()}
    for key, words in asked.items():
        assert ("blocks of 512" in words) == any(fnmatchcase(key, f"*/{way}/*/512/*") for way in (STRICT, DIRECT))
        assert ("perf" in words) == key.endswith("/profiled")
        assert ("cpufreq" in words) == ("cpuinfo" in key)
        assert ("off line" in words) == (key.endswith(("/1", "/2")))


class FakeTarget:
    """A machine's sysfs, some of whose files cannot be written."""

    def __init__(self, files: dict[str, str], fixed: Sequence[str] = ()) -> None:
        self.files = files
        self.fixed = fixed

    def must(self, command: str) -> str:
        """The answer of ls -d PATTERN."""
        pattern = command.split()[2]
        return "\n".join(sorted({path for name in self.files for path in (name, name.rpartition("/")[0])
                                 if fnmatchcase(path, pattern) and path.count("/") == pattern.count("/")}))  # fmt: skip

    def read(self, path: str) -> str:
        """A file."""
        return self.files[path]

    def write(self, path: str, text: str) -> None:
        """The same."""
        assert path in self.files
        if path in self.fixed:
            raise TargetError(f"{path} cannot be set to {text}: Device or resource busy")
        self.files[path] = text


def use(act: Callable[..., str | None], files: dict[str, str], fixed: Sequence[str] = ()) -> str | None:
    """What an act says of a machine with these files."""
    return act(FakeTarget(files, fixed))


def test_cpus_are_taken_off_line() -> None:
    """Those from a number on, unless they are off line already; the first one often cannot be."""
    folder = "/sys/devices/system/cpu"
    files = {f"{folder}/cpu{cpu}/online": f"{int(cpu != 3)}\n" for cpu in range(1, 12)} | {f"{folder}/online": "0-1\n"}
    assert use(KeepCpus(2), files) == "0-1"
    assert files[f"{folder}/cpu1/online"] == "1\n" and files[f"{folder}/cpu3/online"] == "0\n"
    assert files[f"{folder}/cpu2/online"] == files[f"{folder}/cpu11/online"] == "0"


def test_the_clock_of_all_cpus_is_limited() -> None:
    """To what each of them can; nothing is done where nothing sets a clock."""
    policy = "/sys/devices/system/cpu/cpufreq/policy"
    files: dict[str, str] = {}
    for number, slowest in ((0, 600), (4, 800)):
        files |= {f"{policy}{number}/{name}": f"{khz}\n" for name, khz in
                  ((SLOWEST, slowest), (FASTEST, 2000), ("scaling_max_freq", 1500))}  # fmt: skip
    assert use(LimitClock(SLOWEST), files) == "600 800"
    assert use(LimitClock(FASTEST), files) == "2000 2000"
    assert use(LimitClock(SLOWEST), {}) is None


def test_what_cannot_be_set_stays() -> None:
    """The cases find it as it is, and are left out; others are measured."""
    cpu = "/sys/devices/system/cpu/cpu1/online"
    files = {cpu: "1", "/sys/devices/system/cpu/online": "0-1"}
    assert use(KeepCpus(1), files, [cpu]) == "0-1" and files[cpu] == "1"


@pytest.mark.parametrize(("limits", "slow", "fast"), [((600, 800), 0, 1), ((2000, 2000), 1, 0), ((600, 2000), 1, 1)])
def test_a_clock_is_what_it_was_set_to(tmp_path: Path, limits: Sequence[int], slow: int, fast: int) -> None:
    """All of them at their slowest, or none: else what would be compared is not known."""
    for number, (slowest, limit) in enumerate(zip((600, 800), limits, strict=True)):
        policy = tmp_path / f"policy{number}"
        policy.mkdir()
        (policy / SLOWEST).write_text(f"{slowest}\n")
        (policy / "scaling_max_freq").write_text(f"{limit}\n")
    codes = [
        subprocess.run(["sh", "-c", clock_limited(limit).test.replace(POLICIES, f"{tmp_path}/policy*")],
                       check=False, capture_output=True).returncode
        for limit in (SLOWEST, FASTEST)
    ]  # fmt: skip
    assert codes == [slow, fast]


def test_acts_come_before_what_they_are_for() -> None:
    """And CPUs go after all that needs them."""
    stations = EXPERIMENT.plan(Choice(here=True))
    acts = [step.key for station in stations for step in station.steps if isinstance(step, Act)]
    assert acts == [SLOWEST, FASTEST, SLOWEST, FASTEST, "2 CPU", "2 CPU", "1 CPU", "1 CPU"]
    for station in stations:
        act = ""
        for step in station.steps:
            act = step.key if isinstance(step, Act) else act
            assert isinstance(step, Act) or act in {"", step.key.rpartition("/")[2], f"{step.key[-1]} CPU"}


def measured(cell: Cell, busy_us: int, elapsed_us: int = 1_000_000, report: str = "") -> SeriesRecord:
    """64 MiB, while one CPU of two was busy for a time, in the kernel."""
    return SeriesRecord(
        machine=MACHINE.machine, station="ext4", case=cell.key, repeat=0, words=(), operations=1, calls=1,
        call_bytes=64 * MIB, commands=Commands(512, 0, 0), report=report,
        said={"elapsed_us": elapsed_us, "cached_kib": 65536, "interrupts": 1, "switches": 1, "user_us": [0, 0],
              "kernel_us": [busy_us, 0], "idle_us": [elapsed_us - busy_us, elapsed_us]},
    )  # fmt: skip


def hardware_run(copies: str = MOVING, direct_us: int = 100_000, elapsed_us: int = 1_000_000) -> list[AnyRecord]:
    """Direct and buffered calls of all sizes, with and without a profiler; the smallest direct ones take the most."""
    records: list[AnyRecord] = [MACHINE]
    for size in SIZES:
        for direction in DIRECTIONS:
            direct = Cell(NVME, DIRECT, direction, size_bytes=size.size_bytes)
            buffered = replace(direct, way=BUFFERED)
            busy_us = elapsed_us // 2 if size in SIZES[:2] else direct_us
            records += [measured(direct, busy_us, elapsed_us), measured(buffered, 300_000, elapsed_us)]
            records += [measured(replace(direct, profiled=True), busy_us, elapsed_us, copies)]
            records += [measured(replace(buffered, profiled=True), 300_000, elapsed_us, COPYING)]
    return records


def verdicts(records: Sequence[AnyRecord]) -> list[bool | None]:
    """Whether each sentence holds."""
    (found,) = results(records)
    return [verdict.holds for verdict in judge(found)]


def test_the_sentences_are_judged_by_time() -> None:
    """And by samples; nothing is said of what took too short."""
    assert verdicts(hardware_run()) == [True, True, True]
    assert verdicts(hardware_run(copies=COPYING)) == [False, True, True]
    assert verdicts(hardware_run(direct_us=400_000)) == [True, False, True]
    assert verdicts(hardware_run(elapsed_us=400_000)) == [None, None, None]
    assert verdicts([MACHINE]) == [None, None, None]


def row(text: str, begin: str) -> list[str]:
    """The figures of a row of a table."""
    (line,) = [line for line in text.splitlines() if line.strip().strip("│┃ ").startswith(begin)]
    return line.partition(begin)[2].replace("│", " ").split()


def test_hardware_is_shown_by_rates_and_samples() -> None:
    """Instead of instructions; what was varied stands beside what was not, and a share of nothing is 0."""
    one = Cell(NVME, STRICT, WRITE, size_bytes=MIB)
    records = hardware_run()
    for cell, elapsed_us in (
        (replace(one, cpus=1), 1_000_000), (replace(one, cpus=2), 500_000), (replace(one, clock=SLOWEST), 2_000_000),
        (replace(one, clock=FASTEST), 1_000_000), (one, 1_000_000), (replace(one, order=RANDOM), 4_000_000),
    ):  # fmt: skip
        records.append(measured(cell, 100_000, elapsed_us))
    said = {"elapsed_us": 2_000_000, "cpu_us": 500_000}
    database = measured(Cell(NVME, SQLITE, WRITE, SQLITE), 0)
    fields = {name: getattr(database, name) for name in database.__struct_fields__}
    records.append(SeriesRecord(**(fields | {"call_bytes": 0, "calls": 1000, "said": said})))
    text = show(EXPERIMENT, records)
    assert "Good Drive" in text and "instructions" not in text and "All is emulated" not in text
    assert "0 where DMA is coherent" in " ".join(text.split()) and "none is lent here" in " ".join(text.split())
    assert "MiB/s in random order" in text and "0.25" in text
    assert "MiB/s with two CPUs" in text and "2.00" in text
    assert "Rate with the slowest clock" in text and "0.50" in text
    assert "sampled by cpu-clock" in text
    assert row(text, f"{BUFFERED}, read 16 MiB") == ["64.0", "1.00", "50.0%", "0.0%", "0.0%"]
    assert row(text, f"{NVME} ")[:3] == ["500", "500.0", "0.51"]


def test_the_papers_figures_are_drawn_by_time() -> None:
    """A point a size, each by what stands for it on hardware."""
    plots = [part for part in EXPERIMENT.section(hardware_run()).parts if isinstance(part, Plot)]
    names = ["MiB/s", "kernel's share of the busier CPU", "copies' share of the samples"]
    assert [plot.y for plot in plots] == names
    assert {len(plot.rows) for plot in plots} == {2 * len(DIRECTIONS) * len(SIZES)}
    drawn = [sorted({round(float(each[plot.y]), 3) for each in plot.rows}) for plot in plots]
    assert drawn == [[64], [0.1, 0.3, 0.5], [0, 0.5]]


def test_a_guest_has_its_names_still() -> None:
    """One CPU where a cell names none; a machine has all of its own."""
    guest = machine_record("6.1, NVMe SSD, 1 CPU", emulator="QEMU")
    cell = Cell(NVME, WAYS[NVME][0].title, READ, size_bytes=4096)
    assert [each.key(cell).rpartition("/")[2] for each in results([guest])] == ["1"]
    assert [each.key(cell).rpartition("/")[2] for each in results([MACHINE])] == ["here"]
