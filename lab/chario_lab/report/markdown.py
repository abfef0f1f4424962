# SPDX-License-Identifier: MIT
"""The report as Markdown, which refers to the pictures."""

import re
from collections.abc import Iterator, Sequence

from chario_lab.experiment.chapter import Chapter, Gap
from chario_lab.experiment.page import Table
from chario_lab.report.names import HOLDS, facts, note_of, picture_names

TITLE = "# CharIO: what was measured"


def render(chapters: Sequence[Chapter], pictures: str) -> str:
    """The text; `pictures` is the folder of the pictures, as seen from the text."""
    lines = [TITLE, ""]
    for chapter in chapters:
        lines += chapter_lines(chapter, pictures)
    return "\n".join(lines)


def chapter_lines(chapter: Chapter, pictures: str) -> Iterator[str]:
    """One experiment."""
    yield from (f"## {escape(chapter.experiment.title)}", "", escape(chapter.experiment.paper), "")
    if chapter.run:
        form = ", **the short form**: few calls of each kind" if chapter.run.short else ""
        yield from (f"Run of {chapter.run.started}{form}.", "")
    if chapter.gaps:
        yield from ("### Missing", "", *(gap_line(gap) for gap in chapter.gaps), "")
    if chapter.section:
        for verdict in chapter.section.verdicts:
            yield f"- **{HOLDS[verdict.holds]}**: {escape(verdict.text)}"
        names = picture_names(chapter)
        for place, part in enumerate(chapter.section.parts):
            yield from ("", f"### {escape(part.title)}", "")
            if isinstance(part, Table):
                yield from table_lines(part)
            else:
                yield f"![{escape(part.title)}]({pictures}/{names[place]}.png)"
            note = note_of(part)
            yield from ("", escape(note)) if note else ()
    yield from ("", "### What the figures leave out", "", escape(chapter.excluded), "")
    yield from machine_lines(chapter)


def machine_lines(chapter: Chapter) -> Iterator[str]:
    """What it was measured on."""
    if chapter.run:
        yield from ("### What it was measured on", "", f"- sources: {escape(chapter.run.checkout or 'unknown')}")
    for machine in chapter.machines:
        yield from ("", f"Machine {escape(machine.machine)}:", "")
        yield from (f"- {name}: {escape(value)}" for name, value in facts(machine))
    yield ""


def table_lines(table: Table) -> Iterator[str]:
    """A table; figures stand at the right."""
    for place, row in enumerate((table.columns, *table.rows)):
        yield f"| {' | '.join(escape(cell).replace('|', chr(92) + '|') for cell in row)} |"
        if not place:
            yield f"|{'|'.join(['---', *['---:'] * (len(table.columns) - 1)])}|"


def gap_line(gap: Gap) -> str:
    """One thing that is missing."""
    text = f": {' '.join(gap.text.split())}" if gap.text else ""
    logs = f"; what the machine said is kept in {escape(gap.logs)}" if gap.logs else ""
    return f"- **missing**: {escape(gap.title)}{escape(text)}{logs}"


def escape(text: str) -> str:
    """Text of one line, in which nothing is markup."""
    return re.sub(r"([\\`*_\[\]<>#])", r"\\\1", " ".join(text.split()))
