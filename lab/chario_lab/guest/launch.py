# SPDX-License-Identifier: MIT
"""Start a guest and own all that belongs to it.

    with launch(GuestSpec(drives=(Nvme("disk"),))) as guest:
        print(guest.must("lspci -nn"))

Each guest has a folder under the cache, `runs/TIME-PID`, with the console,
QEMU's own messages, the command line, the shared folder and the drives'
files.  The drives' files go when the guest does; the rest is kept for a human,
for the newest runs.
"""

import contextlib
import itertools
import os
import shlex
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from chario_lab.cache import cache_dir, say
from chario_lab.guest import counters
from chario_lab.guest.accel import boots_with_kvm
from chario_lab.guest.image import build_image
from chario_lab.guest.plan import Host, argv
from chario_lab.guest.session import Guest, GuestDied, GuestSilent
from chario_lab.guest.spec import GuestSpec, check, files
from chario_lab.guest.vmlinux import bootable
from chario_lab.kernel import Kernel, get_kernel
from chario_lab.qemu import find_qemu

RUNS_KEPT = 20
SEND_LIMIT_S = 60
BOOT_LIMIT_S = 180.0
DEBUG_BOOT_LIMIT_S = 600.0

_launched = itertools.count(1)


@dataclass(frozen=True)
class Plugin:
    """A TCG plugin for QEMU, which is also loaded before QEMU's own libraries."""

    library: Path
    options: str


@contextlib.contextmanager
def launch(spec: GuestSpec, terminal: bool = False, plugin: Plugin | None = None) -> Iterator[Guest]:
    """A booted guest, which ends with the block.

    `terminal` gives the console to the caller's terminal instead of a file.
    A `plugin` sees every instruction, so the guest is emulated in software.
    """
    check(spec)
    kernel = get_kernel(spec.kernel)
    with ExitStack() as stack:
        yield boot(stack, spec, kernel, terminal, plugin)


def boot(stack: ExitStack, spec: GuestSpec, kernel: Kernel, terminal: bool, plugin: Plugin | None) -> Guest:
    """A booted guest, which ends with the stack.

    On a busy host an emulated CPU can lose its timer for good while it boots, QEMU can end itself
    by an assertion when CPUs find devices that move, and a CPU can run into a breakpoint that
    another one has just taken out of the kernel's code.  Nothing of a test has run by then, nor
    is our module loaded, so such a guest is started once more, and it is said.
    """
    limit_s = DEBUG_BOOT_LIMIT_S if kernel.debug else BOOT_LIMIT_S
    for last in (False, True):
        attempt = ExitStack()
        try:
            guest = start(attempt, spec, kernel, terminal, plugin)
            guest.wait_ready(limit_s)
        except (GuestSilent, GuestDied) as failure:
            attempt.close()
            if last:
                raise
            say(f"{str(failure).splitlines()[0]} while it boots: once more")
        except BaseException:
            attempt.close()
            raise
        else:
            break
    stack.push(attempt)
    stack.callback(counters.collect, guest)
    return guest


def start(stack: ExitStack, spec: GuestSpec, kernel: Kernel, terminal: bool, plugin: Plugin | None) -> Guest:
    """A guest that has been started, but has not come up."""
    run_dir = make_run_dir(stack)
    agent, agent_far = socket_pair(stack)
    qmp, qmp_far = socket_pair(stack)
    qtest, qtest_far = socket_pair(stack) if spec.qtest else (None, None)
    far = [end for end in (agent_far, qmp_far, qtest_far) if end]
    host = describe_host(kernel, run_dir, terminal, far, spec.can_sleep)
    if plugin:
        host = replace(host, kvm=False)
    for path, size in files(spec, run_dir):
        make_sparse(path, size)
    process = start_qemu(stack, argv(spec, host), host, far, plugin)
    for end in far:
        end.close()
    guest = Guest(spec, host, process, agent, qmp, qtest)
    stack.callback(guest.close)
    return guest


def make_run_dir(stack: ExitStack) -> Path:
    """The folder of this run; older ones are thinned out first."""
    runs = cache_dir() / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    for old in sorted(runs.iterdir())[:-RUNS_KEPT]:
        # Behind the last dash is the process that made the folder.
        if not Path(f"/proc/{old.name.rpartition('-')[2]}").exists():
            shutil.rmtree(old, ignore_errors=True)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    run_dir = runs / f"{stamp}-{next(_launched):03d}-{os.getpid()}"
    (run_dir / "share").mkdir(parents=True)
    stack.callback(drop_images, run_dir)
    return run_dir


def drop_images(run_dir: Path) -> None:
    """Remove what is large."""
    for path in run_dir.glob("*.img"):
        path.unlink()


def make_sparse(path: Path, size_bytes: int) -> None:
    """A file of this size that takes no room; an existing one is kept."""
    if path.exists():
        return
    with path.open("wb") as file:
        file.truncate(size_bytes)


def socket_pair(stack: ExitStack) -> tuple[socket.socket, socket.socket]:
    """Both ends of a line; ours gives up a write that takes too long."""
    near, far = socket.socketpair()
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_LIMIT_S, 0))
    stack.callback(near.close)
    stack.callback(far.close)
    return near, far


def describe_host(
    kernel: Kernel, run_dir: Path, terminal: bool, far: list[socket.socket], can_sleep: bool = False
) -> Host:
    """Find QEMU, probe KVM, build the initramfs.

    An unpacked kernel is put into memory anew whenever QEMU resets the machine, and waking up
    from sleep is a reset of all but the memory: a machine that can sleep unpacks its own.
    """
    qemu = find_qemu()
    image = kernel.vmlinuz if can_sleep else bootable(kernel.vmlinuz)
    initrd = build_image(kernel.modules)
    return Host(
        qemu=qemu.binary,
        data_dirs=qemu.data_dirs,
        kvm=boots_with_kvm(qemu, image, initrd),
        kernel=image,
        modules=kernel.modules,
        initrd=initrd,
        run_dir=run_dir,
        agent_fd=far[0].fileno(),
        qmp_fd=far[1].fileno(),
        qtest_fd=far[2].fileno() if len(far) > 2 else None,
        terminal=terminal,
    )


def start_qemu(
    stack: ExitStack, command: list[str], host: Host, far: list[socket.socket], plugin: Plugin | None
) -> subprocess.Popen[bytes]:
    """QEMU, which does not outlive us even when we are killed."""
    if plugin:
        command = ["env", f"LD_PRELOAD={plugin.library}", *command, "-plugin", f"{plugin.library},{plugin.options}"]
    (host.run_dir / "command").write_text(shlex.join(command) + "\n")
    log = stack.enter_context((host.run_dir / "qemu.log").open("wb"))
    return subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "--", *command],
        stdin=None if host.terminal else subprocess.DEVNULL,
        stdout=None if host.terminal else log,
        stderr=log,
        pass_fds=[end.fileno() for end in far],
        start_new_session=not host.terminal,
    )
