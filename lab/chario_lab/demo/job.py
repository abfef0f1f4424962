# SPDX-License-Identifier: MIT
"""The main job: bind the drive, write the recording, read it back, compare."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from chario_lab.demo.recording import MIB, file_hash
from chario_lab.demo.screen import DemoError, show, step
from chario_lab.guest.devices import bdf, nodes
from chario_lab.guest.session import Guest
from chario_lab.shell import prepare

BLOCK_NODE = "/dev/nvme0n1"
STEP_LIMIT_S = 600


def take(console: Console, guest: Guest, module: Path, chario: Path) -> str:
    """Bind the drive, which Linux's driver has, as a user does; the disk's path."""
    prepare(guest, module, chario, bound=False)
    wait_for_block_device(guest)
    address = bdf(guest, 0)
    with step(console, f"giving the drive to CharIO: chario bind {address}"):
        said = guest.must([str(chario), "bind", address], STEP_LIMIT_S)
    show(console, said)
    return nodes(guest, address)[0]


def give_back(console: Console, guest: Guest, chario: Path) -> None:
    """Unbind the drive, which returns to Linux's driver."""
    address = bdf(guest, 0)
    with step(console, f"giving the drive back: chario unbind {address}"):
        said = guest.must([str(chario), "unbind", address], STEP_LIMIT_S)
        wait_for_block_device(guest)
    show(console, said)


def wait_for_block_device(guest: Guest) -> None:
    """Return when Linux's driver has made the block device."""
    guest.must(
        f"modprobe nvme; for i in $(seq 300); do [ -b {BLOCK_NODE} ] && exit; sleep 0.1; done; "
        f"echo 'no {BLOCK_NODE} after 30 s' >&2; exit 1"
    )


def show_job(console: Console, guest: Guest, disk: str, recording: Path) -> None:
    """Write the recording with dd, read it back with dd, compare."""
    size_bytes = recording.stat().st_size
    back = guest.host.share / "back.wav"
    write = "bs=4M oflag=direct conv=fsync"
    with step(console, f"writing {size_bytes // MIB} MiB: dd if={recording.name} of={disk} {write}"):
        guest.must(f"dd if={recording} of={disk} {write}", STEP_LIMIT_S)
    read = f"bs=4M iflag=direct,count_bytes count={size_bytes}"
    try:
        with step(console, f"reading it back: dd if={disk} of={back.name} {read}"):
            guest.must(f"dd if={disk} of=/share/{back.name} {read}", STEP_LIMIT_S)
        with step(console, "comparing"):
            expected, found = file_hash(recording), file_hash(back)
    finally:
        back.unlink(missing_ok=True)
    show(console, f"SHA-256 written    {expected}\nSHA-256 read back  {found}")
    if found != expected:
        raise DemoError("what was read back is not what was written: this is a bug of CharIO, please report it")
