# SPDX-License-Identifier: MIT
"""A guest as a target: everything is emulated, and every instruction is counted."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from chario_lab.cache import cache_dir, check_room
from chario_lab.counting.build import build_tools
from chario_lab.counting.counter import Counter
from chario_lab.counting.functions import chario_layers
from chario_lab.counting.layers import CALL_POINTS
from chario_lab.guest.devices import bdf, block_device, command_counts, offer_module
from chario_lab.guest.job import Result
from chario_lab.guest.launch import Plugin, launch
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Nvme, files, numbered
from chario_lab.kernel import build_module, get_kernel
from chario_lab.kmsg import KernelComplaint
from chario_lab.programs import TOP, build_chario, build_repeat
from chario_lab.progress import Progress
from chario_lab.qemu import find_qemu
from chario_lab.records import MachineRecord
from chario_lab.target.machine import Machine, drive_words
from chario_lab.target.place import Place
from chario_lab.target.target import STEP_LIMIT_S, Target, TargetError


@dataclass(frozen=True)
class Parts:
    """What is built before a guest boots."""

    module: Path
    plugin: Path
    chario: Path
    programs: tuple[Path, ...]


class GuestTarget(Target):
    """A guest whose first drive is under test."""

    def __init__(self, machine: Machine, guest: Guest, parts: Parts, counter_dir: Path, progress: Progress) -> None:
        super().__init__(str(parts.chario), progress)
        self.machine = machine
        self.guest = guest
        drive = guest.spec.drives[0]
        self.nr_namespaces = len(drive.namespaces) if isinstance(drive, Nvme) else 1
        self._parts = parts
        self._programs = {path.name: guest.push(path) for path in parts.programs}
        self._layers = chario_layers(parts.module)
        reload = [self.program("repeat"), "reload"]
        self.counter = Counter(counter_dir / "map", counter_dir / "counts", lambda: guest.must(reload, STEP_LIMIT_S))

    def run(self, command: str | Sequence[str], timeout_s: float = STEP_LIMIT_S) -> Result:
        """Run a command to its end, whatever that is."""
        return self.guest.run(command, timeout_s)

    def push(self, source: Path) -> str:
        """Make a file of this machine known there; its path."""
        return self.guest.push(source)

    def program(self, name: str) -> str:
        """A program of the lab there; its path."""
        return self._programs[name]

    def read(self, path: str) -> str:
        """The content of a small file there."""
        with told(path):
            return self.guest.files.read(path)

    def write(self, path: str, text: str) -> None:
        """Write to a file that is there, in one call."""
        with told(path):
            self.guest.files.write(path, text)

    @property
    def address(self) -> str:
        """The drive's PCI address."""
        return bdf(self.guest, 0)

    def learn(self, points: bool) -> None:
        """Tell the counter which functions the kernel has now, and whether points are wanted."""
        self.must("cat /proc/kallsyms >/share/kallsyms")
        assert self.counter is not None
        kallsyms = (self.guest.host.share / "kallsyms").read_text()
        self.counter.learn(kallsyms, self._layers, CALL_POINTS if points else {})

    def _find_block_device(self) -> None:
        if isinstance(self.guest.spec.drives[0], Nvme):
            super()._find_block_device()
        else:
            self._place = Place(self.chario, (block_device(self.guest, 0),))

    def served(self) -> tuple[int, int]:
        """Reads and writes that the drive has served, as QEMU counts them, whichever of its namespaces has."""
        drive = self.guest.spec.drives[0]
        numbers = [nsid for nsid, _ in numbered(drive)] if isinstance(drive, Nvme) else [1]
        counts = [command_counts(self.guest, 0, nsid) for nsid in numbers]
        return sum(reads for reads, _, _ in counts), sum(writes for _, writes, _ in counts)

    def describe(self) -> MachineRecord:
        """What figures of this guest are measured on."""
        guest, drive = self.guest, self.guest.spec.drives[0]
        return MachineRecord(
            machine=self.machine.name,
            kernel=guest.spec.kernel,
            release=guest.release,
            kernel_command=without_places(guest.files.value("/proc/cmdline")),
            processor="emulated by QEMU, -cpu max",
            cpus=guest.spec.cpus,
            memory_mib=guest.spec.memory_mib,
            emulator=f"QEMU {'.'.join(map(str, find_qemu().version))}",
            command=without_places((guest.host.run_dir / "command").read_text().strip()),
            module_build=self._parts.module.parent.name,
            device=f"emulated {drive_words(drive)}",
        )

    def complaint(self) -> str:
        """What the kernel has complained of; empty when there is nothing."""
        try:
            self.guest.check_log()
        except KernelComplaint as complaint:
            return str(complaint)
        return ""


@contextmanager
def told(path: str) -> Iterator[None]:
    """What the guest refuses is an error of the target, like everywhere."""
    try:
        yield
    except OSError as error:
        raise TargetError(f"{path}: {error.strerror}") from error


def without_places(command: str) -> str:
    """A command line that says the same on every machine: where its user keeps things is named, not told."""
    for place, name in ((cache_dir(), "CHARIO_CACHE"), (TOP, "CHARIO"), (tempfile.gettempdir(), "TMPDIR")):
        command = command.replace(f"{place}/", f"${name}/")
    return command


@contextmanager
def guest_target(machine: Machine, progress: Progress) -> Iterator[Target]:
    """A guest that has booted, with nobody's driver on the drive; it ends with the block."""
    kernel_name = machine.spec.kernel
    with ExitStack() as stack:
        with progress.step(f"building the module for Linux {kernel_name}, and the programs"):
            parts = build_parts(kernel_name)
        # A drive whose image has no room reports errors of its medium.
        check_room(room_bytes(machine), "the emulated drive")
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chario-counts-")))
        plugin = Plugin(parts.plugin, f"map={folder / 'map'},out={folder / 'counts'}")
        with progress.step(f"booting {machine.describe()}"):
            guest = stack.enter_context(launch(machine.spec, plugin=plugin))
        offer_module(guest, parts.module, machine.module_parameters)
        yield GuestTarget(machine, guest, parts, folder, progress)


def build_parts(kernel_name: str) -> Parts:
    """What a guest of this kernel is given, built where it is not in the cache."""
    module = build_module(get_kernel(kernel_name), TOP / "kernel")
    tools = build_tools()
    return Parts(module, tools.plugin, build_chario(TOP), (tools.program, build_repeat()))


def room_bytes(machine: Machine) -> int:
    """The most that the drives' files may grow to."""
    return sum(size_bytes for _, size_bytes in files(machine.spec, Path("/")))
