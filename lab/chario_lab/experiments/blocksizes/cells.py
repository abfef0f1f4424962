# SPDX-License-Identifier: MIT
"""The cases of blocksizes: what is varied, and the calls of each."""

from dataclasses import dataclass, replace

from chario_lab.experiment.plan import SERIES, Case
from chario_lab.experiment.spec import Choice
from chario_lab.experiments.blocksizes.processors import FASTEST, SLOWEST, clock_limited, cpus_online
from chario_lab.experiments.ways import FILE, KIB, LATE, MIB, READ, WRITE, Way, chario, make_file
from chario_lab.target.need import Need
from chario_lab.target.place import Holder

NVME, HDD, SSD, MEMORY = "NVMe SSD", "SATA hard disk", "SATA SSD", "tmpfs"
BUFFERED, DIRECT = "ext4, buffered", "ext4, direct"
STRICT, ANY_SIZE = "CharIO", "CharIO, any size"
SEQUENTIAL, RANDOM, SQLITE = "sequential", "random", "SQLite"
# The same program and no rows.
START = "SQLite's start"
SQLITE_ROWS, SHORT_SQLITE_ROWS, HERE_SQLITE_ROWS = 300, 20, 20_000


@dataclass(frozen=True)
class Size:
    """Blocks of one size, and how many are counted in a guest."""

    title: str
    size_bytes: int
    calls: int = 1


SIZES = (
    Size("512 B", 512, 128),
    Size("4 KiB", 4 * KIB, 128),
    Size("512 KiB", 512 * KIB, 32),
    Size("1 MiB", MIB, 32),
    Size("16 MiB", 16 * MIB, 4),
    Size("128 MiB", 128 * MIB),
    Size("256 MiB", 256 * MIB),
    Size("512 MiB", 512 * MIB),
    Size("768 MiB", 768 * MIB),
)
FILE_MIB, SHORT_FILE_MIB = 768, 16
# What is varied besides is varied at these.
THREE = ("4 KiB", "1 MiB", "16 MiB")
FEW_CALLS = 4
# On this machine calls go once along a part of the disk, or a file: what was read before would be in memory.  In random
# order they move an eighth of it, so that no more than one of 16 is where another one was.
HERE_MIB = 4096
HERE_RANDOM_MIB = HERE_MIB // 8
# Small blocks move less, or they would take too long: those that each wait for the drive, and others.
HERE_WAITING_CALLS, HERE_CALLS = 1 << 17, 1 << 20
# In memory calls go along a file of this size, or of one block where that is larger, again and again.
HERE_TMPFS_MIB = 256
# A program that has blocks of this size at least needs memory for them.
LARGE_BYTES = 128 * MIB


def ext4(title: str, opened: str) -> Way:
    """A file of ext4, as dd opens it."""
    return Way(title, Holder.EXT4, ("pread", "pwrite"), LATE, (f"open={opened}",))


IN_MEMORY = Way(MEMORY, Holder.TMPFS, ("pread", "pwrite"), LATE, ("open=buffered",))
ON_EXT4 = (ext4(BUFFERED, "buffered"), ext4(DIRECT, "direct"))
ON_CHARIO = (chario(STRICT, opened="direct"), chario(ANY_SIZE, any_size=True, opened="direct"))
WAYS = {NVME: (*ON_CHARIO, *ON_EXT4), HDD: ON_EXT4, SSD: ON_EXT4, MEMORY: (IN_MEMORY,)}

PROFILE, CONTROL = "{work}/profile", "{work}/profile.control"
ACK = f"{CONTROL}.ack"
# Nothing is sampled until the program opens the gate, after it has filled its memory.  What is sampled by is perf's
# choice: cycles where the processor counts them, else a clock.
PERF = (
    "perf", "record", "--quiet", "--all-cpus", "--freq", "997", "--output", PROFILE, "--delay=-1",
    f"--control=fifo:{CONTROL},{ACK}", "--",
)  # fmt: skip
MAKE_CONTROL = f"rm -f {CONTROL} {ACK} && mkfifo -m 600 {CONTROL} {ACK}"
REPORT = (
    f"perf report --input {PROFILE} --stdio --sort comm,symbol --fields overhead,comm,symbol 2>/dev/null; "
    f"rm -f {PROFILE} {CONTROL} {ACK}"
)
HAS_PERF = Need("perf version", "perf")
HAS_SQLITE = Need("/usr/bin/python3 -S -E -c 'import sqlite3'", "Python with SQLite")
SMALL_BLOCKS = Need(
    "test $(cat /sys/class/block/{name}/queue/logical_block_size /sys/class/chario/{name}/logical_block_size "
    "2>/dev/null) -le 512",
    "a drive with blocks of 512 bytes, which direct I/O needs",
)
ROWS = """\
import sqlite3, sys, time
base = sqlite3.connect(sys.argv[1])
began, used = time.monotonic(), time.process_time()
base.execute("create table readings (at integer primary key, value text)")
for at in range(int(sys.argv[2])):
    base.execute("insert into readings values (?, ?)", (at, "x" * 200))
    if at % 10 == 9:
        base.commit()
base.commit()
assert base.execute("select count(*), sum(length(value)) from readings").fetchone()[0] == int(sys.argv[2])
elapsed, used = time.monotonic() - began, time.process_time() - used
print('{"elapsed_us": %d, "cpu_us": %d}' % (elapsed * 1e6, used * 1e6))
"""


@dataclass(frozen=True)
class Cell:
    """What one case is, in words that its name in records is made of.

    `cpus` is 0 where this machine has all of its CPUs, and `clock` the file with the limit of their clock, empty where
    nobody has set it.
    """

    medium: str = NVME
    way: str = ""
    direction: str = READ
    order: str = SEQUENTIAL
    size_bytes: int = 0
    cpus: int = 0
    profiled: bool = False
    clock: str = ""

    @property
    def key(self) -> str:
        """What the case is called in records."""
        parts = [self.medium, self.way, self.direction, self.order, f"{self.size_bytes}"]
        parts += [f"{self.cpus}"] if self.cpus else ["here"]
        parts += [self.clock] if self.clock else []
        return "/".join([*parts, "profiled"] if self.profiled else parts)

    @property
    def size(self) -> Size:
        """The blocks."""
        return next(size for size in SIZES if size.size_bytes == self.size_bytes)

    @property
    def waits(self) -> bool:
        """Whether each call waits for the drive."""
        found_ahead = self.way == BUFFERED and (self.order == SEQUENTIAL or self.direction == WRITE)
        return self.medium != MEMORY and not found_ahead


def number_of_calls(cell: Cell, choice: Choice) -> int:
    """How many are measured."""
    if choice.short:
        return min(cell.size.calls, FEW_CALLS)
    if not choice.here:
        return cell.size.calls
    moved_mib = HERE_RANDOM_MIB if cell.order == RANDOM and cell.medium != MEMORY else HERE_MIB
    return min(moved_mib * MIB // cell.size_bytes, HERE_WAITING_CALLS if cell.waits else HERE_CALLS)


def span_mib(cell: Cell, choice: Choice) -> int:
    """The part of the disk or file that is used."""
    if choice.short:
        return SHORT_FILE_MIB
    if not choice.here:
        return FILE_MIB
    return max(HERE_TMPFS_MIB, cell.size_bytes // MIB) if cell.medium == MEMORY else HERE_MIB


def case(way: Way, cell: Cell, choice: Choice) -> Case:
    """A series of calls, from memory as a program gets it; what was written is durable in the end."""
    calls, span = number_of_calls(cell, choice), span_mib(cell, choice)
    options = [f"span={span * MIB}", "warm=0"]
    options += ["order=sequential"] if cell.order == SEQUENTIAL else []
    options += ["finish=fsync"] if cell.direction == WRITE else []
    options += [f"perf={CONTROL}"] if cell.profiled else []
    words = replace(way, speed=LATE).words(cell.direction, cell.size_bytes, calls, options, "plain")
    own_file = choice.here and cell.medium == MEMORY and cell.direction == READ
    before = MAKE_CONTROL if cell.profiled else make_file(span, way.holder) if own_file else ""
    return Case(
        cell.key,
        f"{cell.medium}, {way.title}, {cell.direction} {cell.size.title}, {cell.order}",
        words,
        operations=calls,
        call_bytes=cell.size_bytes,
        step=f"measuring: {cell.medium}, {way.title}{varied(cell)}",
        cold=True,
        settings=way.settings,
        before=before,
        after=f"rm -f {FILE}" if own_file else way.tidy(cell.direction, cell.size_bytes),
        under=PERF if cell.profiled else (),
        report=REPORT if cell.profiled else "",
        needs=tuple(needs(cell, span)) if choice.here else (),
    )


def varied(cell: Cell) -> str:
    """What is not as it always is, for a human who waits."""
    cpus = {1: ", one CPU", 2: ", two CPUs"}.get(cell.cpus, "")
    clock = {SLOWEST: ", slowest clock", FASTEST: ", fastest clock"}.get(cell.clock, "")
    return cpus + clock


def needs(cell: Cell, span: int) -> list[Need]:
    """What this machine may lack."""
    found = []
    if cell.way in {STRICT, DIRECT} and cell.size_bytes == SIZES[0].size_bytes:
        found.append(SMALL_BLOCKS)
    in_files_mib = span if cell.medium == MEMORY else 0
    if in_files_mib or cell.size_bytes >= LARGE_BYTES:
        found.append(memory(in_files_mib + cell.size_bytes // MIB))
    found += [HAS_PERF] if cell.profiled else []
    found += [clock_limited(cell.clock)] if cell.clock else []
    return [*found, cpus_online(cell.cpus)] if cell.cpus else found


def memory(size_mib: int) -> Need:
    """So much memory that nobody has, and a third more: a file in memory must not push others out."""
    least = size_mib * 4 // 3
    test = f"awk '/^MemAvailable:/ {{ exit ($2 < {least * KIB}) }}' /proc/meminfo"
    return Need(test, f"{least} MiB of memory free")


def sqlite(medium: str, choice: Choice) -> list[Case]:
    """A database: rows, ten in a transaction, and a query over all of them.

    Where all of the program is counted, once more without rows.
    """
    rows = SHORT_SQLITE_ROWS if choice.short else HERE_SQLITE_ROWS if choice.here else SQLITE_ROWS
    full = rows_of(medium, SQLITE, rows, choice)
    return [full] if choice.here else [full, rows_of(medium, START, 0, choice)]


def rows_of(medium: str, order: str, rows: int, choice: Choice) -> Case:
    """So many rows."""
    return Case(
        Cell(medium, SQLITE, WRITE, order, cpus=0 if choice.here else 1).key,
        f"{medium}, SQLite, {rows} rows",
        ("run", "/usr/bin/python3", "-S", "-E", "-c", ROWS, "{folder}/base", str(rows)),
        SERIES,
        calls=max(1, rows),
        step=f"measuring: {medium}, SQLite",
        cold=True,
        after="rm -f {folder}/base*",
        needs=(HAS_SQLITE,) if choice.here else (),
    )
