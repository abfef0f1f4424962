# SPDX-License-Identifier: MIT
"""The guest in which calls are counted: one CPU, one drive, QEMU with the plugin.

It is the lab's guest, started with the plugin loaded twice into one QEMU: as a plugin, and by
LD_PRELOAD before the C library, where it controls the device's speed.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from chario_lab.bench.matrix import ATTRIBUTES, IOMMU_MODES, KIB, Case
from chario_lab.counting import layers
from chario_lab.counting.build import Tools
from chario_lab.counting.series import Operation, Reader
from chario_lab.guest.launch import describe_host, make_run_dir, make_sparse, socket_pair
from chario_lab.guest.plan import Host, argv
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import GuestSpec, Namespace, NullCo, Nvme, files
from chario_lab.kernel import get_kernel

BOOT_LIMIT_S = 240.0
CASE_LIMIT_S = 900.0
MAP_LIMIT_S = 600.0
HUGE_PAGES = 4
# No medium below the drive: what a call costs the guest's CPU does not depend on one.
DRIVE = Nvme("bench", namespaces=(Namespace(size_mib=1024, backing=NullCo()), Namespace(size_mib=256)))
# Poll queues for io_uring; without multipath, as on a drive with one controller: with it each
# request would pass the block layer twice, to Linux's disadvantage. Without autogroups, so that
# the scheduler's work does not depend on the session in which the guest's agent was started.
# Memory that Linux leaves alone, for the row of physical windows.
HIDDEN = "0x30000000"
APPEND = f"memmap=1M${HIDDEN} nvme.poll_queues=1 nvme_core.multipath=N noautogroup"


class MachineError(Exception):
    """The guest cannot do what the benchmark needs; the message says what."""


class CountedGuest:
    """A guest with the plugin, its symbols and the program that repeats calls."""

    def __init__(self, guest: Guest, tools: Tools, map_path: Path, reader: Reader) -> None:
        self.guest = guest
        self.symbols: list[layers.Symbol] = []
        self._map_path = map_path
        self._reader = reader
        self._program = guest.push(tools.program)

    def load_map(self, chario: Mapping[str, str]) -> None:
        """Tell the plugin the kernel's functions as they are now; `chario` as parse_kallsyms()."""
        copy = self._map_path.parent / "kallsyms"
        self.guest.must("cat /proc/kallsyms >/share/kallsyms", MAP_LIMIT_S)
        (self.guest.host.share / "kallsyms").replace(copy)
        self.symbols = layers.parse_kallsyms(copy.read_text(), chario)
        self._map_path.write_text(layers.render_map(self.symbols))
        self.guest.must([self._program, "reload"])

    def count(self, case: Case) -> tuple[dict[str, object], list[Operation]]:
        """Run a case; what its program said, and what was counted of each operation."""
        if case.completion:
            attributes = ATTRIBUTES.format(Path(case.device).name)
            self.guest.must(f"echo {case.completion} >{attributes}/completion")
            self.guest.must(f"echo {case.command_kib * KIB} >{attributes}/command_bytes")
        words = [case.call, case.device, str(case.size_bytes), case.pages, case.speed, str(case.operations)]
        result = self.guest.run([self._program, *words], CASE_LIMIT_S)
        segments = self._reader.new_segments()
        if result.rc != 0:
            raise MachineError(result.stderr.strip() or f"chario-bench ended with {result.rc}")
        if not segments or len(segments[-1]) != case.operations:
            raise MachineError("the plugin did not see the operations: was its map loaded?")
        return json.loads(result.stdout), segments[-1]


@contextlib.contextmanager
def counted_guest(kernel_name: str, tools: Tools, iommu: str = "") -> Iterator[CountedGuest]:
    """A booted guest with the drive under Linux's own driver; behind an IOMMU in one of IOMMU_MODES."""
    append = f"{APPEND} {IOMMU_MODES[iommu]}" if iommu else APPEND
    spec = GuestSpec(kernel=kernel_name, drives=(DRIVE,), cpus=1, append=append, iommu=bool(iommu))
    kernel = get_kernel(kernel_name)
    with ExitStack() as stack:
        run_dir = make_run_dir(stack)
        agent, agent_far = socket_pair(stack)
        qmp, qmp_far = socket_pair(stack)
        far = [agent_far, qmp_far]
        host = replace(describe_host(kernel, run_dir, False, far), kvm=False)
        for path, size in files(spec, run_dir):
            make_sparse(path, size)
        map_path, out_path = run_dir / "map", run_dir / "counts"
        plugin = f"{tools.plugin},map={map_path},out={out_path}"
        process = _start_qemu(stack, [*argv(spec, host), "-plugin", plugin], host, tools.plugin)
        for end in far:
            end.close()
        guest = Guest(spec, host, process, agent, qmp, None)
        stack.callback(guest.close)
        guest.wait_ready(BOOT_LIMIT_S)
        yield CountedGuest(guest, tools, map_path, Reader(out_path))


def _start_qemu(stack: ExitStack, command: list[str], host: Host, plugin: Path) -> subprocess.Popen[bytes]:
    (host.run_dir / "command").write_text(f"LD_PRELOAD={plugin} {shlex.join(command)}\n")
    log = stack.enter_context((host.run_dir / "qemu.log").open("wb"))
    return subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "--", "env", f"LD_PRELOAD={plugin}", *command],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        pass_fds=[host.agent_fd, host.qmp_fd],
        start_new_session=True,
    )


def prepare_stock(guest: Guest) -> str:
    """The drive under nvme, ready to be counted; its address on the bus."""
    guest.must("modprobe nvme", MAP_LIMIT_S)
    guest.must("for i in $(seq 300); do [ -b /dev/nvme0n1 ] && exit 0; sleep 0.1; done; exit 1", 60)
    guest.must("echo none >/sys/block/nvme0n1/queue/scheduler")
    guest.must(f"echo {HUGE_PAGES} >/proc/sys/vm/nr_hugepages")
    return Path(guest.must("readlink -f /sys/class/nvme/nvme0/device")).name


def prepare_chario(guest: Guest, module: Path, address: str) -> None:
    """Take the drive from nvme and give it to chario."""
    device = f"/sys/bus/pci/devices/{address}"
    guest.must(f"insmod {shlex.quote(str(module))} windows={HIDDEN}+1M")
    guest.must(f"echo chario >{device}/driver_override")
    guest.must(f"echo {address} >{device}/driver/unbind")
    guest.must(f"echo {address} >/sys/bus/pci/drivers_probe")
    ready = "for i in $(seq 300); do [ -c /dev/chardisk0 ] && exit 0; sleep 0.1; done; exit 1"
    if guest.run(ready, 60).rc != 0:
        tail = "\n".join(guest.kernel_log()[-10:])
        raise MachineError(f"chario did not make /dev/chardisk0; the kernel's last words:\n{tail}")


def chario_layers(module: Path) -> dict[str, str]:
    """Layer of each of the module's functions, by the folder of the object that holds it: front, back, else core.

    A name that two layers have is left to the layer of the whole module.
    """
    found: dict[str, str] = {}
    for path in sorted(module.parent.glob("*/**/*.o")):
        folder = path.relative_to(module.parent).parts[0]
        layer = f"chario/{folder if folder in ('front', 'back') else 'core'}"
        for name in _functions_of(path):
            found[name] = layer if found.get(name, layer) == layer else "chario"
    return found


def _functions_of(path: Path) -> Iterator[str]:
    listing = subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        *_, kind, name = line.split()
        if kind in "tT":
            yield name
