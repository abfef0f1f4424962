# SPDX-License-Identifier: MIT
"""What things are called in a report: files of pictures, places on the page, outcomes of verdicts."""

import re
from collections.abc import Sequence

from chario_lab.experiment.chapter import Chapter
from chario_lab.experiment.page import Plot, Table, Verdict
from chario_lab.records import MachineRecord

HOLDS = {True: "holds", False: "does not hold", None: "not measured"}


def picture_names(chapter: Chapter) -> dict[int, str]:
    """The name of each plot's picture, by the place of the plot among the parts; it follows from the title."""
    names: dict[int, str] = {}
    for place, part in enumerate(chapter.section.parts if chapter.section else ()):
        if isinstance(part, Plot):
            base = f"{chapter.experiment.name}-{slug(part.title)}"
            same = sum(name == base or name.startswith(f"{base}.") for name in names.values())
            names[place] = f"{base}.{same + 1}" if same else base
    return names


def note_of(part: Table | Plot) -> str:
    """What has to be known to read it."""
    scales = "Axes of numbers are logarithmic, unless one of them is 0, and each picture has a range of its own."
    return " ".join(text for text in (part.note, scales if isinstance(part, Plot) and part.log else "") if text)


def slug(text: str) -> str:
    """A title as a part of a file's name."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")


def tally(verdicts: Sequence[Verdict]) -> str:
    """How many sentences hold, and how many do not."""
    counts = [(sum(verdict.holds is holds for verdict in verdicts), word) for holds, word in HOLDS.items()]
    return ", ".join(f"{word}: {count}" for count, word in counts if count) or "no sentences"


def facts(machine: MachineRecord) -> list[tuple[str, str]]:
    """What is known of a machine, each with a name."""
    known = (
        ("kernel", machine.release),
        ("kernel's command line", machine.kernel_command),
        ("processor", f"{machine.processor}; CPUs: {machine.cpus}"),
        ("memory", f"{machine.memory_mib} MiB"),
        ("device", machine.device),
        ("build of the module", machine.module_build),
        ("emulator", machine.emulator),
        ("its command line", machine.command),
    )
    return [(name, value) for name, value in known if value]
