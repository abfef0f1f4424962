# SPDX-License-Identifier: MIT
"""A file system on the block disk whose power is cut: all that was synced is there, beside a recording.

The cuts are made from a log of what the drive has done, see power_cuts.py: after flushes, where the
log was when the witness looked, and where the machine was killed.  KILLS=N says how many machines
are killed, CUT_PLACES=N after how many flushes of each a cut is tried, and at how many looks.  Both
tests print the seed of their dice.
"""

import os
import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cut_work
import pytest
from block_side import enable
from conftest import Launcher
from disks import MIB
from power_cuts import History, Part, Witness
from programs import run_here
from rig import Rig
from shared_guest import Setup

from chario_lab.guest.devices import bdf, bind, block_device, nodes
from chario_lab.guest.job import Job
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Namespace, Nvme, WriteLog, node_name, write_log_path

pytestmark = [
    pytest.mark.area("kernel/disk/regions", "kernel/front/block/", "kernel/front/confine", "cli/region", "cli/table"),
]  # fmt: skip

KIT = Path(__file__).resolve().parents[1] / "kit"
KILLS = int(os.environ.get("KILLS", "2"))
CUT_PLACES = int(os.environ.get("CUT_PLACES", "8"))
CHANGES = 60
LIMIT_S = 600
REGION_MIB = 32


@dataclass(frozen=True)
class FileSystem:
    """How one is made, how much room it gets, and how it is checked when its journal has been replayed."""

    make: str
    mib: int
    check: tuple[str, ...]


SYSTEMS = {
    "ext4": FileSystem("mkfs.ext4 -qF", 64, ("e2fsck", "-fn")),
    # XFS wants 300 MiB.
    "xfs": FileSystem("mkfs.xfs -qf", 320, ("xfs_repair", "-n", "-f")),
    "f2fs": FileSystem("mkfs.f2fs -qf", 128, ("fsck.f2fs", "--dry-run")),
}
# The machines that are killed, in turn: the file system, the journal of SQLite, and the drive's blocks and queues.
# A drive of few queues has none for its block disk alone.
KILLED = [
    ("ext4", "WAL", 512, None),
    ("xfs", "DELETE", 4096, 4),
    ("ext4", "DELETE", 4096, None),
    ("xfs", "WAL", 512, 4),
]
# The guest that mounts what is left has a drive for the largest of them.
JUDGE_MIB = max(system.mib for system in SYSTEMS.values())
SETUP = Setup(drives=(Nvme("judge", (Namespace(JUDGE_MIB),)),), parameters=None)


class Judge:
    """Replays the journals of file systems that a power cut has left, checks them and takes their files out."""

    def __init__(self, rig: Rig) -> None:
        self._guest = rig.guest
        self._drive = rig.guest.host.run_dir / f"{node_name(0)}.img"
        self._block = block_device(self._guest, 0)
        self._guest.must("mkdir -p /run/mnt")

    def files(self, name: str, image: Path) -> Path:
        """A folder with the files of a checked file system."""
        out = self._guest.host.share / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        if name == "ext4":
            # This replays the journal and deals with files that were about to be removed, as a mount does.
            run_here("e2fsck", "-p", image)
            run_here("debugfs", "-R", f"rdump / {out}", image)
            left = image
        else:
            run_here("cp", "--sparse=always", image, self._drive)
            os.truncate(self._drive, JUDGE_MIB * MIB)
            self._guest.must(
                f"mount -t {name} {self._block} /run/mnt && cp -r /run/mnt/. /share/out && umount /run/mnt", LIMIT_S
            )
            left = self._drive
        run_here(*SYSTEMS[name].check, left)
        return out


@pytest.fixture
def judge(rig: Rig) -> Judge:
    """A guest that is not killed."""
    return Judge(rig)


@pytest.fixture
def dice() -> random.Random:
    """Whatever is decided at random."""
    seed = random.getrandbits(32)
    print(f"seed {seed}")
    return random.Random(seed)


def doomed(mib: int, lba_bytes: int = 512, pairs: int | None = None) -> dict[str, Any]:
    """A machine to kill: a drive with a log, and 1 MiB at each end for the partition table.

    Its queues are so long that the witness sees each command, however busy the host is.
    """
    namespace = Namespace(mib + 2, lba_bytes, backing=WriteLog())
    drives = (Nvme("cuts", (namespace,), max_ioqpairs=pairs),)
    return {"drives": drives, "parameters": "queue_depth=1024", "dies": True}


def start(guest: Guest, told: list[str], table: list[int]) -> tuple[Witness, str]:
    """Bind the drive and give its block disk partitions of these sizes; the witness, and the character disk."""
    for name in ("cut_work.py", "region_calls.py"):
        guest.push(KIT / name)
    witness = Witness(guest, [guest.host.share / name for name in told])
    bind(guest, bdf(guest, 0))
    disk = nodes(guest, bdf(guest, 0))[0]
    lines = "".join(f"size={mib}MiB\n" for mib in table)
    witness.must(f"echo 'label: gpt\n{lines}' | sfdisk -q {enable(guest, disk)}", LIMIT_S)
    return witness, disk


def mount(witness: Witness, name: str, part: str, folder: str) -> None:
    """Make a file system, and mount it."""
    witness.must(f"mkdir {folder} && {SYSTEMS[name].make} {part} && mount {part} {folder}", LIMIT_S)


def work(guest: Guest, *words: object) -> Job:
    """Begin some work, see cut_work.py."""
    return guest.start(["python3", "/share/cut_work.py", *map(str, words)], LIMIT_S)


def places(history: History, since: int, end: int, dice: random.Random) -> list[int]:
    """Where to cut between two numbers of entries: after some of the flushes, at some of the looks, and at the end."""
    chosen = {end}
    for counts in (history.flushes(since), history.looked(since)):
        before = [count for count in counts if count < end]
        chosen.update(dice.sample(before, min(CUT_PLACES, len(before))))
    return sorted(chosen)


def forget(guest: Guest, images: Path) -> None:
    """Remove the log of a killed machine, which may be one of many, and the images that were made from it."""
    write_log_path(node_name(0), guest.host.run_dir).unlink()
    shutil.rmtree(images)


@pytest.mark.parametrize("number", range(KILLS))
def test_what_sqlite_has_committed(
    fresh_guest: Launcher, judge: Judge, dice: random.Random, tmp_path: Path, number: int
) -> None:
    """Each row that was committed, and each durable block of a region beside, whatever the moment."""
    name, journal, lba_bytes, pairs = KILLED[number % len(KILLED)]
    seed, mib = str(dice.getrandbits(32)), SYSTEMS[name].mib
    guest = fresh_guest(**doomed(mib + REGION_MIB, lba_bytes, pairs))
    witness, disk = start(guest, ["rows", "blocks"], [mib, REGION_MIB])
    mount(witness, name, f"{disk}b1", "/run/mnt")
    begin = witness.look()
    region = ((1 + mib) * MIB, REGION_MIB * MIB)
    jobs = [
        work(guest, "rows", "/run/mnt/rows", "/share/rows", seed, journal),
        work(guest, "record", disk, "/share/blocks", seed, *region),
    ]
    witness.look_while(lambda look: not all(look.told), jobs)
    witness.look_for(dice.uniform(0.0, 4.0), jobs)
    guest.kill()
    history, copies = witness.history(), (tmp_path / "system.cut", tmp_path / "region.cut")
    system = Part(history, MIB, mib * MIB, tmp_path / "system")
    recording = Part(history, *region, tmp_path / "region")
    for count in places(history, history.count(begin.log_bytes), len(history.entries), dice):
        rows, blocks = history.told(count)
        print(f"{name} {journal}: cut {count} of {len(history.entries)}, {rows} rows and {blocks} blocks")
        for part, copy in zip((system, recording), copies, strict=True):
            part.cut(count, dice, copy)
        cut_work.judge_rows(judge.files(name, copies[0]) / "rows", seed, rows)
        cut_work.judge_recording(copies[1], seed, blocks)
    forget(guest, tmp_path)


def test_every_change(fresh_guest: Launcher, judge: Judge, dice: random.Random, tmp_path: Path) -> None:
    """Files that come, change and go, each synced: after a cut they are as the last change left them."""
    guest = fresh_guest(**doomed(sum(system.mib for system in SYSTEMS.values())))
    witness, disk = start(guest, list(SYSTEMS), [system.mib for system in SYSTEMS.values()])
    seed, spans = str(dice.getrandbits(32)), []
    for number, name in enumerate(SYSTEMS, start=1):
        mount(witness, name, f"{disk}b{number}", f"/run/{name}")
        begin = witness.look()
        witness.wait(work(guest, "files", f"/run/{name}/data", f"/share/{name}", seed, CHANGES))
        spans.append((begin.log_bytes, witness.look().log_bytes))
    guest.kill()
    history, copy, first = witness.history(), tmp_path / "cut", MIB
    for number, (name, system) in enumerate(SYSTEMS.items()):
        part = Part(history, first, system.mib * MIB, tmp_path / name)
        since, end = map(history.count, spans[number])
        for count in places(history, since, end, dice):
            told = history.told(count)[number]
            print(f"{name}: cut {count}, {told} changes")
            part.cut(count, dice, copy)
            cut_work.judge_files(judge.files(name, copy) / "data", seed, told, CHANGES)
        first += system.mib * MIB
    forget(guest, tmp_path)
