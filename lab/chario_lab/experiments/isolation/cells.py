# SPDX-License-Identifier: MIT
"""Who uses the drive in each case of isolation, and what its block side is allowed meanwhile."""

from dataclasses import dataclass

from chario_lab.target.place import Holder

DRIVERS = {Holder.CHARIO: "CharIO", Holder.BLOCK: "Linux"}
# More block commands than a drive ever has: nothing is held.
OFF_DEPTH = 65535


@dataclass(frozen=True)
class Cell:
    """One case.

    `recorder` makes its calls, which `urgent` says are urgent; `load` keeps the block side busy, of which the drive
    has `depth` commands at most while calls are urgent.  With `first_class` the recorder has Linux's real-time class
    of I/O, and a scheduler that honours it.
    """

    holder: Holder
    title: str
    recorder: bool = True
    load: bool = True
    urgent: bool = False
    depth: int = OFF_DEPTH
    first_class: bool = False

    @property
    def key(self) -> str:
        """What the case is called in records."""
        return f"{DRIVERS[self.holder]}/{self.title}"

    @property
    def name(self) -> str:
        """What tables call it."""
        return f"{DRIVERS[self.holder]}: {self.title}"


RECORDER, LOAD = "recorder alone", "block load alone"


def isolated(title: str, depth: int) -> Cell:
    """Both sides, with this much of isolation."""
    return Cell(Holder.CHARIO, f"both, {title}", urgent=True, depth=depth)


PLAIN = Cell(Holder.CHARIO, "both, not urgent")
OFF = isolated("isolation off", OFF_DEPTH)
ON = (isolated("4 block commands", 4), isolated("1 block command", 1), isolated("0 block commands", 0))
CELLS = (
    Cell(Holder.CHARIO, RECORDER, load=False, urgent=True),
    Cell(Holder.CHARIO, LOAD, recorder=False),
    PLAIN,
    OFF,
    *ON,
    Cell(Holder.BLOCK, RECORDER, load=False),
    Cell(Holder.BLOCK, LOAD, recorder=False),
    Cell(Holder.BLOCK, "both"),
    Cell(Holder.BLOCK, "both, real-time I/O class", first_class=True),
)
