# SPDX-License-Identifier: MIT
"""This machine as a target, with a drive of its own whose data may be lost.

    with local_target("0000:01:00.0", steps) as make:       the drive is on loan
        run(plan, make, book, steps)

However the block ends, the drive goes back to the driver that it had.
"""

import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from chario_lab.cache import say
from chario_lab.counting.build import build_tools
from chario_lab.guest.job import Result
from chario_lab.kmsg import complaints, parse_record
from chario_lab.programs import TOP, build_chario, build_repeat
from chario_lab.progress import Progress
from chario_lab.records import MachineRecord
from chario_lab.target.claim import Claim
from chario_lab.target.drive import Drive, Refused, driver_of, find_drive, full_address
from chario_lab.target.energy import Energy, read_energy
from chario_lab.target.loan import Loan
from chario_lab.target.machine import THIS_MACHINE
from chario_lab.target.place import Holder, Place
from chario_lab.target.process import SEARCH, Processes
from chario_lab.target.target import STEP_LIMIT_S, Maker, Target, TargetError

MODULE = Path("/sys/module/chario")
GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
KERNEL_LOG = "/dev/kmsg"
LOG_RECORD_BYTES = 8192
# The exit codes with which `chario health` has read the log of a drive: it is well, it warns, it is in danger.
HEALTHY = (0, 3, 4)
HEALTH_PAUSE_S = 0.2


class LocalTarget(Target):
    """This machine, whose drive is on loan."""

    def __init__(self, drive: Drive, chario: str, loan: Loan, processes: Processes, progress: Progress) -> None:
        super().__init__(chario, progress)
        self.drive = drive
        self.folder, self.work = str(loan.folder), str(loan.work)
        self._loan = loan
        self._processes = processes
        self._claim = Claim()
        self._programs = {path.name: str(path) for path in (build_tools().program, build_repeat())}
        self._log = os.open(KERNEL_LOG, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.lseek(self._log, 0, os.SEEK_END)

    def run(self, command: str | Sequence[str], timeout_s: float = STEP_LIMIT_S) -> Result:
        """Run a command to its end, whatever that is."""
        return self._processes.run(command, timeout_s)

    def push(self, source: Path) -> str:
        """A file of this machine is where it is."""
        return str(source)

    def program(self, name: str) -> str:
        """A program of the lab; its path."""
        return self._programs[name]

    def read(self, path: str) -> str:
        """The content of a small file."""
        try:
            return Path(path).read_text()
        except OSError as error:
            raise TargetError(f"{path} cannot be read: {error.strerror}") from error

    def write(self, path: str, text: str) -> None:
        """Write to a file that is there, in one call; how it was is noted, and made so again with the drive."""
        try:
            self._loan.begin_setting(path)
            with open(path, "r+b", buffering=0) as file:
                file.write(text.encode())
        except OSError as error:
            raise TargetError(f"{path} cannot be set to {text}: {error.strerror}") from error

    @property
    def address(self) -> str:
        """The drive's PCI address."""
        return self.drive.address

    def learn(self, points: bool) -> None:
        """Nothing counts instructions here."""

    def give(self, holder: Holder, namespace: int = 0) -> Place:
        """Give the drive to somebody; while it is a block device, nobody else can mount it."""
        self._claim.drop()
        place = super().give(holder, namespace)
        if holder is Holder.BLOCK:
            self._claim.take(place.nodes)
        return place

    def _bind(self) -> None:
        # Half a move would have to be repaired.
        with self._processes.undisturbed():
            super()._bind()

    def _unbind(self) -> None:
        with self._processes.undisturbed():
            super()._unbind()

    def _mount(self, holder: Holder) -> None:
        """Make a file system, unless somebody has begun to use one of the disks."""
        self._claim.take(self._place.nodes)
        self._claim.drop()
        super()._mount(holder)

    def served(self) -> tuple[int, int]:
        """Reads and writes that the drive has served, by its SMART log."""
        if self._holder is Holder.CHARIO:
            reads, writes = read_counts(self._health(), "read_commands", "write_commands")
        else:
            try:
                controller = find_drive(self.address).controller
            except (Refused, OSError) as error:
                raise TargetError(f"the drive has gone: {error}") from error
            text = self.must(["nvme", "smart-log", f"/dev/{controller}", "--output-format=json"])
            reads, writes = read_counts(text, "host_read_commands", "host_write_commands")
        return reads, writes

    def _health(self) -> str:
        """The log by way of CharIO, which asks the drive at most once a second: wait for one that is not older."""
        asked_ns = time.monotonic_ns()
        while True:
            result = self.run([self.chario, "health", "--json", self._place.nodes[0]])
            if result.rc not in HEALTHY:
                raise TargetError(result.stderr.strip() or result.describe())
            (read_ns,) = read_counts(result.stdout, "read_ns")
            if read_ns >= asked_ns:
                return result.stdout
            time.sleep(HEALTH_PAUSE_S)

    def energy(self) -> Energy | None:
        """What the processors have used until now."""
        return read_energy()

    def describe(self) -> MachineRecord:
        """The machine, its drive, and which chario.ko it has."""
        build = [path.read_text().strip() for path in (MODULE / "version", MODULE / "srcversion") if path.exists()]
        memory_kib = int(self.read("/proc/meminfo").split()[1])
        return MachineRecord(
            machine=THIS_MACHINE.name,
            kernel=os.uname().release,
            release=os.uname().release,
            kernel_command=self.read("/proc/cmdline").strip(),
            processor=describe_processor(self.read("/proc/cpuinfo")),
            cpus=os.cpu_count() or 1,
            memory_mib=memory_kib >> 10,
            module_build=" ".join(build),
            device=str(self.drive),
        )

    def complaint(self) -> str:
        """What the kernel has complained of since the drive is on loan."""
        records = []
        with suppress(BlockingIOError):
            while True:
                try:
                    raw = os.read(self._log, LOG_RECORD_BYTES)
                except BrokenPipeError:  # the next one was overwritten
                    continue
                records.append(parse_record(raw.decode(errors="replace")))
        return "\n".join(str(record) for record in complaints(records))

    def lend(self) -> None:
        """Take the drive: `chario bind` refuses one that is in use, before anything is written to it."""
        with self._processes.undisturbed():
            result = self.run([self.chario, "bind", self.address])
            if result.rc != 0:
                raise Refused(result.stderr.strip() or result.describe())
            self._find_chario_disks()
            self._holder = Holder.CHARIO

    def close(self) -> None:
        """Let go of what would keep the drive from its driver."""
        self._claim.drop()
        os.close(self._log)


@contextmanager
def local_target(device: str, progress: Progress) -> Iterator[Maker]:
    """What makes a target of this machine, for a run; the drive is on loan while the block runs."""
    address = full_address(device)
    check_machine()
    chario = shutil.which("chario", path=SEARCH) or str(build_chario(TOP))
    processes = Processes()
    with processes.catching(), Loan(address, chario, processes.run) as loan:
        processes.inherited = (loan.inherited,)
        if loan.note or loan.settings:
            say(f"an earlier run has not given {address} back, or settings of this machine: doing so first")
            give_back(loan, processes)
        drive = find_drive(address)
        target = LocalTarget(drive, chario, loan, processes, progress)
        loan.begin(drive)
        try:
            target.lend()
            say(f"all data on this drive will be lost: {drive}")
            say(f"However this ends, the drive goes back to nvme; only SIGKILL prevents that. {loan.way}")
            yield lambda machine, shown: nullcontext(target)
        finally:
            target.close()
            give_back(loan, processes)


def give_back(loan: Loan, processes: Processes) -> None:
    """Make the drive what it was, whatever signal comes meanwhile."""
    with processes.undisturbed():
        loan.give_back()
    # Where the terminal has gone, nobody can be told.
    with suppress(OSError):
        say(f"{loan.address} is with {driver_of(loan.address)}, as before")


def check_machine() -> None:
    """Raise Refused unless this machine can lend a drive to an experiment."""
    if os.geteuid() != 0:
        raise Refused("a drive changes hands as root: run this with sudo")
    if shutil.which("nvme", path=SEARCH) is None:
        raise Refused("nvme is missing, which reads the drive's counters: apt-get install nvme-cli")


def read_counts(text: str, *names: str) -> list[int]:
    """Numbers of a SMART log in JSON."""
    try:
        log = json.loads(text)
        return [int(log[name]) for name in names]
    except (ValueError, KeyError, TypeError) as error:
        raise TargetError(f"the drive's SMART log has no {' and '.join(names)}: {text.strip()}") from error


def describe_processor(cpuinfo: str) -> str:
    """What /proc/cpuinfo calls the processor, and who chooses its speed."""
    lines = [line.partition(":") for line in cpuinfo.splitlines()]
    words = {name.strip(): value.strip() for name, _, value in lines}
    name = words.get("model name") or words.get("Model") or words.get("Hardware") or os.uname().machine
    return f"{name}, governor {GOVERNOR.read_text().strip()}" if GOVERNOR.exists() else name
