# SPDX-License-Identifier: MIT
"""Whether a guest of ours runs under KVM on this host.

Inside another virtual machine KVM may run a few instructions and still hang or
abort with a whole kernel.  So the probe is a boot: the guest's own kernel and
initramfs, on the guest's own machine, up to the first line of init, which ends
QEMU with a code that nothing else gives.  The verdict holds until the host
boots again.
"""

import getpass
import hashlib
import os
import subprocess
from functools import cache
from pathlib import Path

from chario_lab.cache import cache_dir, locked, say
from chario_lab.guest.plan import Host, boot_args, machine_args
from chario_lab.guest.spec import GuestSpec
from chario_lab.qemu import Qemu

KVM = Path("/dev/kvm")
PROBE_LIMIT_S = 20.0
# init writes 0x21 to the exit port; QEMU ends with (value << 1) | 1.
PROBE_CODE = 0x21 << 1 | 1


@cache
def may_use_kvm() -> bool:
    """Whether there is KVM here for this user; who may not use it is told how to change that."""
    if not KVM.exists():
        return False
    if not os.access(KVM, os.R_OK | os.W_OK):
        say(f"you may not use {KVM}, so guests are emulated, which is slower; as root: adduser {username()} kvm")
        return False
    return True


def username() -> str:
    """Who runs this, for a line to copy."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "USER"


def boots_with_kvm(qemu: Qemu, kernel: Path, initrd: Path) -> bool:
    """The verdict for this host, found out once."""
    if not may_use_kvm():
        return False
    boot_id = Path("/proc/sys/kernel/random/boot_id").read_text()
    key = hashlib.sha256(f"{boot_id} {qemu.binary} {qemu.version}".encode()).hexdigest()[:16]
    record = cache_dir() / f"kvm-{key}"
    with locked(record, "the probe of KVM"):
        if not record.exists():
            for old in cache_dir().glob("kvm-*"):
                old.unlink()
            record.write_text("yes" if probe(qemu, kernel, initrd) else "no")
        return record.read_text() == "yes"


def probe(qemu: Qemu, kernel: Path, initrd: Path) -> bool:
    """Boot once under KVM; False when that fails or takes too long."""
    nowhere = Path(os.devnull)
    host = Host(qemu.binary, qemu.data_dirs, True, kernel, nowhere, initrd, nowhere, -1, -1)
    spec = GuestSpec(append="lab_probe=1")
    command = [str(qemu.binary), *machine_args(spec, host), *boot_args(spec, host)]
    try:
        # subprocess kills a process that outlives its limit.
        done = subprocess.run(command, capture_output=True, check=False, timeout=PROBE_LIMIT_S)
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode != PROBE_CODE:
        say("/dev/kvm is there, but a guest does not boot with it: using software emulation")
        return False
    return True
