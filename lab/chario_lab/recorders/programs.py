# SPDX-License-Identifier: MIT
"""The programs that move a recording, and what each costs."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from chario_lab.demo.job import BLOCK_NODE, STEP_LIMIT_S
from chario_lab.demo.screen import DemoError, step
from chario_lab.demo.workload import MAKE_EXT4, Cost, Counter
from chario_lab.guest.session import Guest
from chario_lab.recorders.pipelines import GST, from_file, into_file

SIZE_MIB = 128
REPEATS = 3
SOURCE = "/dev/shm/source"
BACK = "/dev/shm/back"
FILE = "/mnt/recording"
WRITE, READ = "write", "read"


@dataclass(frozen=True)
class Program:
    """A way to move the recording; `command` is of the shell, `tidy` is not counted and comes before."""

    title: str
    direction: str
    command: str
    tidy: str = "true"
    back: bool = False


# By title and direction: what a MiB costs.
Costs = dict[tuple[str, str], Cost]

AREA = "recording"
STREAM = "stream"
PIPELINE = "pipeline"


def on_disk(chario: Path, disk: str) -> tuple[Program, ...]:
    """Programs on a store, and dd beside them on the same disk."""
    tool = f"CHARIO_STORE={disk} {chario}"
    # Behind all areas.
    seek_mib = 768
    dd = f"dd if={SOURCE} of={disk} bs=4M seek={seek_mib // 4} oflag=direct conv=fsync status=none"
    back = f"dd if={disk} of={BACK} bs=4M skip={seek_mib // 4} count={SIZE_MIB // 4} iflag=direct status=none"
    return (
        Program("dd, direct", WRITE, dd),
        Program("dd, direct", READ, back, f"rm -f {BACK}", back=True),
        Program("chario put / get", WRITE, f"{tool} put --quiet --force {SOURCE} {AREA}"),
        Program("chario put / get", READ, f"{tool} get --quiet {AREA} {BACK}", f"rm -f {BACK}", back=True),
        Program("chario record / replay", WRITE, f"{tool} record {STREAM} --force --late-ms 600000 --from {SOURCE}"),
        Program("chario record / replay", READ, f"{tool} replay {STREAM} -o {BACK}", f"rm -f {BACK}", back=True),
        Program("chariosink / chariosrc", WRITE, f"{from_file(SOURCE)} ! chariosink store={disk} area={PIPELINE}"),
        Program("chariosink / chariosrc", READ,
                f"{GST} chariosrc store={disk} area={PIPELINE} ! {into_file(BACK)}", f"rm -f {BACK}", back=True),
    )  # fmt: skip


EXT4 = (
    Program("ext4, dd, buffered", WRITE, f"dd if={SOURCE} of={FILE} bs=4M conv=fsync status=none", f"rm -f {FILE}"),
    Program("ext4, dd, buffered", READ, f"dd if={FILE} of={BACK} bs=4M status=none", f"rm -f {BACK}", back=True),
    Program("ext4, dd, direct", WRITE, f"dd if={SOURCE} of={FILE} bs=4M oflag=direct conv=fsync status=none",
            f"rm -f {FILE}"),
    Program("ext4, dd, direct", READ, f"dd if={FILE} of={BACK} bs=4M iflag=direct status=none", f"rm -f {BACK}",
            back=True),
    Program("ext4, filesink, buffered", WRITE, f"{from_file(SOURCE)} ! {into_file(FILE)}; sync {FILE}",
            f"rm -f {FILE}"),
    Program("ext4, filesink, buffered", READ, f"{from_file(FILE)} ! {into_file(BACK)}", f"rm -f {BACK}", back=True),
    Program("ext4, filesink, o-sync", WRITE, f"{from_file(SOURCE)} ! {into_file(FILE, 'o-sync=true')}",
            f"rm -f {FILE}"),
)  # fmt: skip


def prepare(guest: Guest) -> None:
    """The recording, in memory."""
    guest.must(f"dd if=/dev/urandom of={SOURCE} bs=1M count={SIZE_MIB} status=none", STEP_LIMIT_S)


def measure_disk(console: Console, counter: Counter, chario: Path, disk: str, *, pipelines: bool) -> Costs:
    """The programs on the character disk: a store, and dd near its end."""
    guest, tool = counter.guest, f"CHARIO_STORE={disk} {chario}"
    guest.must(f"{chario} format {disk}", STEP_LIMIT_S)
    for area in (STREAM, PIPELINE):
        guest.must(f"{tool} create {area} {SIZE_MIB * 3 // 2}M", STEP_LIMIT_S)
    counter.learn()
    return measure(console, counter, on_disk(chario, disk), pipelines=pipelines)


def measure_ext4(console: Console, counter: Counter, *, pipelines: bool) -> Costs:
    """The programs on a file, on the same drive."""
    guest = counter.guest
    guest.must(f"{MAKE_EXT4} && mount {BLOCK_NODE} /mnt", STEP_LIMIT_S)
    counter.learn()
    costs = measure(console, counter, EXT4, pipelines=pipelines)
    guest.must("umount /mnt", STEP_LIMIT_S)
    return costs


def measure(console: Console, counter: Counter, programs: Sequence[Program], *, pipelines: bool) -> Costs:
    """Each program some times, `pipelines` or not; the middle one counts."""
    costs = {}
    for program in programs:
        if GST in program.command and not pipelines:
            continue
        with step(console, f"counting: {program.title}, {program.direction}"):
            costs[program.title, program.direction] = middle([measure_once(counter, program) for _ in range(REPEATS)])
    return costs


def measure_once(counter: Counter, program: Program) -> Cost:
    """What a MiB costs; what came back has to be what was written."""
    counter.guest.must(program.tidy, STEP_LIMIT_S)
    cost = counter.count_program(["sh", "-c", program.command])
    if program.back and counter.guest.run(f"cmp {SOURCE} {BACK}", STEP_LIMIT_S).rc:
        raise DemoError(f"{program.title}: what was read back is not what was written")
    return Cost(cost.commands / SIZE_MIB, cost.instructions / SIZE_MIB)


def middle(costs: Sequence[Cost]) -> Cost:
    """The median of each figure."""
    return Cost(
        statistics.median(cost.commands for cost in costs), statistics.median(cost.instructions for cost in costs)
    )
