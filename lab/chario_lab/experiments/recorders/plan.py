# SPDX-License-Identifier: MIT
"""The programs that move a recording, by the store, by dd, and by GStreamer."""

from dataclasses import dataclass, replace

from chario_lab.experiment.plan import SERIES, SPIN, Act, Case, Plan, Station
from chario_lab.experiments.recorders.pipelines import GST, Plugins, from_file, into_file
from chario_lab.guest.spec import GuestSpec, Namespace, Nvme
from chario_lab.target.machine import Machine
from chario_lab.target.place import Holder

DRIVE = Nvme("recorders", (Namespace(size_mib=1024, lba_bytes=4096),))
MEMORY_MIB = 1536
SIZE_MIB = 128
REPEATS = 3
SOURCE = "/dev/shm/source"
BACK = "/dev/shm/back"
FILE = "{folder}/recording"
WRITE, READ = "write", "read"
AREA, STREAM, PIPELINE = "recording", "stream", "pipeline"
TOOL = "CHARIO_STORE={node} {chario}"
# Behind all areas.
SEEK_MIB = 768


@dataclass(frozen=True)
class Program:
    """A way to move the recording; `command` is of the shell, `tidy` is not counted and comes before."""

    title: str
    direction: str
    command: str
    tidy: str = "true"

    @property
    def key(self) -> str:
        """What its case is called in records."""
        return f"{self.title}, {self.direction}"

    def case(self) -> Case:
        """The whole program, from its start to its end; what came back has to be what was written."""
        reads = self.direction == READ
        return Case(
            self.key,
            self.key,
            ("run", "sh", "-c", self.command),
            SERIES,
            repeats=REPEATS,
            step=f"counting: {self.key}",
            cold=True,
            before=self.tidy,
            after=f"cmp {SOURCE} {BACK}" if reads else "",
            wrong="what was read back is not what was written" if reads else "",
        )


def back(title: str, command: str) -> Program:
    """A program that reads the recording into a new file."""
    return Program(title, READ, command, f"rm -f {BACK}")


def anew(title: str, command: str) -> Program:
    """A program that writes the recording to a new file."""
    return Program(title, WRITE, command, f"rm -f {FILE}")


ON_DISK = (
    Program("dd, direct", WRITE, f"dd if={SOURCE} of={{node}} bs=4M seek={SEEK_MIB // 4} oflag=direct conv=fsync"
            " status=none"),
    back("dd, direct", f"dd if={{node}} of={BACK} bs=4M skip={SEEK_MIB // 4} count={SIZE_MIB // 4} iflag=direct"
         " status=none"),
    Program("chario put / get", WRITE, f"{TOOL} put --quiet --force {SOURCE} {AREA}"),
    back("chario put / get", f"{TOOL} get --quiet {AREA} {BACK}"),
    Program("chario record / replay", WRITE, f"{TOOL} record {STREAM} --force --late-ms 600000 --from {SOURCE}"),
    back("chario record / replay", f"{TOOL} replay {STREAM} -o {BACK}"),
    Program("chariosink / chariosrc", WRITE, f"{from_file(SOURCE)} ! chariosink store={{node}} area={PIPELINE}"
            " force=true"),
    back("chariosink / chariosrc", f"{GST} chariosrc store={{node}} area={PIPELINE} ! {into_file(BACK)}"),
)  # fmt: skip

ON_EXT4 = (
    anew("ext4, dd, buffered", f"dd if={SOURCE} of={FILE} bs=4M conv=fsync status=none"),
    back("ext4, dd, buffered", f"dd if={FILE} of={BACK} bs=4M status=none"),
    anew("ext4, dd, direct", f"dd if={SOURCE} of={FILE} bs=4M oflag=direct conv=fsync status=none"),
    back("ext4, dd, direct", f"dd if={FILE} of={BACK} bs=4M iflag=direct status=none"),
    anew("ext4, filesink, buffered", f"{from_file(SOURCE)} ! {into_file(FILE)}; sync {FILE}"),
    back("ext4, filesink, buffered", f"{from_file(FILE)} ! {into_file(BACK)}"),
    anew("ext4, filesink, o-sync", f"{from_file(SOURCE)} ! {into_file(FILE, 'o-sync=true')}"),
)


def plan(kernel: str, plugins: Plugins | None) -> Plan:
    """On the character disk, then on ext4 on the same drive; pipelines where there are plugins for them."""
    spec = GuestSpec(kernel=kernel, drives=(DRIVE,), cpus=1, memory_mib=MEMORY_MIB, append="nvme_core.multipath=N")
    machine = Machine(kernel, spec)
    prepare = (
        f"dd if=/dev/urandom of={SOURCE} bs=1M count={SIZE_MIB} status=none",
        "{chario} format {node}",
        *(f"{TOOL} create {area} {SIZE_MIB * 3 // 2}M" for area in (STREAM, PIPELINE)),
    )
    offer = (Act("plugins", "offering GStreamer's plugins", plugins.offer),) if plugins else ()
    return [
        Station("chario", machine, Holder.CHARIO, (*offer, *cases(ON_DISK, plugins)), prepare),
        Station("ext4", machine, Holder.EXT4, cases(ON_EXT4, plugins)),
    ]


def cases(programs: tuple[Program, ...], plugins: Plugins | None) -> tuple[Case, ...]:
    """What is counted, after what a timer tick costs."""
    chosen = [program.case() for program in programs if plugins or GST not in program.command]
    return (replace(SPIN, step=chosen[0].step), *chosen)
