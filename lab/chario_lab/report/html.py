# SPDX-License-Identifier: MIT
"""The report as one page: all that it needs is in it, and there is no program in it."""

from collections.abc import Sequence
from functools import cache
from itertools import groupby

import jinja2
from markupsafe import Markup

from chario_lab.experiment.chapter import Chapter
from chario_lab.experiment.page import Table
from chario_lab.report.names import HOLDS, facts, note_of, slug, tally

# Of each chapter, the drawings by the place of the plot among the parts.
Drawings = dict[int, str]


def render(chapters: Sequence[Chapter], drawings: Sequence[Drawings]) -> str:
    """The page; drawings are SVG, and all else is text that is escaped."""
    safe = [{place: Markup(svg) for place, svg in each.items()} for each in drawings]
    return template().render(chapters=list(zip(chapters, safe, strict=True)))


@cache
def template() -> jinja2.Template:
    """The page's own text."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("chario_lab.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"facts": facts, "headings": headings, "note_of": note_of, "slug": slug, "tally": tally}
    environment.globals |= {"outcomes": HOLDS}
    return environment.get_template("page.html")


def headings(table: Table) -> list[tuple[str, list[str]]]:
    """Columns with the same heading stand below it: the heading, and what each adds to it."""
    split = [column.rpartition(", ") for column in table.columns]
    return [(heading, [rest for _, _, rest in group]) for heading, group in groupby(split, key=lambda parts: parts[0])]
