# SPDX-License-Identifier: MIT
"""Shows a chapter in a terminal; pictures are for the page."""

from rich import box
from rich.console import Console
from rich.table import Table as Grid

from chario_lab.experiment.chapter import Chapter
from chario_lab.experiment.page import Section, Table
from chario_lab.progress import plain
from chario_lab.records import RunRecord

MARKS = {True: "[green]holds[/green]", False: "[red]does not hold[/red]", None: "[yellow]not measured[/yellow]"}


def print_chapter(console: Console, chapter: Chapter) -> None:
    """Tables, verdicts and gaps."""
    console.print(f"\n[bold]{plain(chapter.experiment.title)}[/bold]", highlight=False)
    if chapter.run:
        console.print(plain(words_of(chapter.run)), style="dim", highlight=False)
    if chapter.section:
        print_section(console, chapter.section)
    for gap in chapter.gaps:
        text = "\n".join(part for part in (gap.title, gap.text, gap.logs and f"logs: {gap.logs}") if part)
        console.print(f"[red]missing[/red]  {plain(text)}", highlight=False)
    console.print(plain(chapter.excluded), style="dim", highlight=False)


def words_of(run: RunRecord) -> str:
    """When it was, of which sources, and whether it is but the short form."""
    short = "; the short form: few calls of each kind, which show that it works" if run.short else ""
    return f"run of {run.started}, sources {run.checkout or 'unknown'}{short}"


def print_section(console: Console, section: Section) -> None:
    """Its tables and verdicts."""
    for part in section.parts:
        if isinstance(part, Table):
            console.print(grid(part))
    for verdict in section.verdicts:
        console.print(f"{MARKS[verdict.holds]}  {plain(verdict.text)}", highlight=False)


def grid(table: Table) -> Grid:
    """A table whose columns with the same heading stand below one."""
    shown = Grid(
        title=plain(table.title), title_justify="left", box=box.SIMPLE_HEAD, caption=plain(table.note), pad_edge=False
    )
    before = ""
    for place, column in enumerate(table.columns):
        heading, _, rest = column.rpartition(", ")
        same = heading == before and bool(heading)
        before = heading
        name = f"{'' if same else heading}\n{rest}" if heading else column
        shown.add_column(plain(name), justify="right" if place else "left", no_wrap=not place, overflow="fold")
    for row in table.rows:
        shown.add_row(*map(plain, row))
    return shown
