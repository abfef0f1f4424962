# SPDX-License-Identifier: MIT
"""Writes a report into a folder: report.html, report.md, and the pictures in plots."""

from collections.abc import Sequence
from pathlib import Path

from chario_lab.experiment.chapter import Chapter
from chario_lab.experiment.page import Plot
from chario_lab.report import draw, html, markdown
from chario_lab.report.html import Drawings
from chario_lab.report.names import picture_names

PICTURES = "plots"


def write(chapters: Sequence[Chapter], folder: Path) -> Path:
    """All forms of the report; the page, which comes last."""
    (folder / PICTURES).mkdir(parents=True, exist_ok=True)
    drawings = [draw_all(chapter, folder / PICTURES) for chapter in chapters]
    (folder / "report.md").write_text(markdown.render(chapters, PICTURES))
    page = folder / "report.html"
    page.write_text(html.render(chapters, drawings))
    return page


def draw_all(chapter: Chapter, folder: Path) -> Drawings:
    """The drawings of a chapter for the page; a picture of each goes into the folder."""
    drawings: Drawings = {}
    for place, name in picture_names(chapter).items():
        assert chapter.section is not None
        plot = chapter.section.parts[place]
        assert isinstance(plot, Plot)
        (folder / f"{name}.png").write_bytes(draw.png(plot))
        drawings[place] = draw.svg(plot)
    return drawings
