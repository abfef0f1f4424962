# SPDX-License-Identifier: MIT
"""Who has the drive of a target, and where it is found meanwhile."""

from dataclasses import dataclass
from enum import Enum

from chario_lab.target.need import Need


class Holder(Enum):
    """Who has the drive.

    A file system is made anew each time that the drive is given to it.
    """

    BLOCK = "block"  # Linux's own driver, and nobody above it
    CHARIO = "chario"
    EXT4 = "ext4"
    XFS = "xfs"
    F2FS = "f2fs"
    TMPFS = "tmpfs"  # in memory, without the drive

    @property
    def is_file_system(self) -> bool:
        """Whether it is mounted in a folder."""
        return self not in {Holder.BLOCK, Holder.CHARIO}


FOLDER = "/mnt"
WORK = "/dev/shm"
# udev reads what has been made anew, which is nobody's work that is measured.
SETTLED = "if command -v udevadm >/dev/null; then udevadm settle; fi"
MOUNT = f"mount {{node}} {{folder}} && {SETTLED}"
# How each is made and mounted, without work that would go on in the background afterwards.
MAKE = {
    Holder.EXT4: f"mkfs.ext4 -q -F -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 {{node}} && {MOUNT}",
    Holder.XFS: f"mkfs.xfs -q -f -K {{node}} && {MOUNT}",
    Holder.F2FS: f"mkfs.f2fs -q -f -t 0 {{node}} && {MOUNT}",
    Holder.TMPFS: "mount -t tmpfs -o size=75%,mode=700,nosuid,nodev tmpfs {folder}",
}
# What a machine needs to have each.
NEEDS = {
    holder: Need(
        f"command -v mkfs.{holder.value} >/dev/null && {{ grep -qw {holder.value} /proc/filesystems || "
        f"modprobe -q {holder.value}; }}",
        f"mkfs.{holder.value}, and {holder.value} in the kernel",
    )
    for holder in (Holder.EXT4, Holder.XFS, Holder.F2FS)
}


@dataclass(frozen=True)
class Place:
    """Where the drive is found while somebody has it.

    `nodes` are its disks, the first namespace first, and `generics` their nodes for commands of NVMe, where
    there are any; `namespace` is the place of the one that is used.  `folder` is that of the file system, empty
    where there is none; `chario` is the program of that name, and `work` a folder in memory for what is needed
    meanwhile.
    """

    chario: str
    nodes: tuple[str, ...] = ("",)
    generics: tuple[str, ...] = ()
    namespace: int = 0
    folder: str = ""
    work: str = WORK

    @property
    def node(self) -> str:
        """The disk that is used."""
        return self.nodes[self.namespace]

    def fill(self, text: str) -> str:
        """The text with {node}, {name}, {second}, {second_name}, {generic}, {folder}, {work} and {chario} replaced.

        A name is that of a node without its folder.
        """
        second = self.nodes[1] if len(self.nodes) > 1 else ""
        generic = self.generics[self.namespace] if self.generics else ""
        words = {
            "node": self.node,
            "name": self.node.rpartition("/")[2],
            "second": second,
            "second_name": second.rpartition("/")[2],
            "generic": generic,
            "folder": self.folder,
            "work": self.work,
            "chario": self.chario,
        }
        for name, value in words.items():
            text = text.replace(f"{{{name}}}", value)
        return text
