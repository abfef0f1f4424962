# SPDX-License-Identifier: MIT
"""What is shown of an experiment, whichever way: in a terminal, as Markdown, as a page, as a picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Of a sentence, and then nothing else is to be said.
NOT_MEASURED = "not measured"
Value = str | int | float


def number(value: float | None, form: str = "{:,.0f}") -> str:
    """A figure in a table, where there is one."""
    return "-" if value is None else form.format(value)


@dataclass(frozen=True)
class Table:
    """Rows of cells; the first column names the row, the others are figures."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True)
class Plot:
    """A picture of rows of values, drawn with one mark.

    `x`, `y`, `color` and `column` name values of the rows; each `column` has a picture of its own.  The names are
    what the axes are called.  Bars and stacks lie, whichever of `x` and `y` is the number.  With `log` the axes of
    numbers are logarithmic where all values are above zero.
    """

    title: str
    mark: str  # bar, line, stack, or point, whose size is the color
    rows: Sequence[Mapping[str, Value]]
    x: str
    y: str
    color: str
    column: str = ""
    log: bool = False
    note: str = ""


@dataclass(frozen=True)
class Verdict:
    """A sentence of the paper, whether it holds here, and the figures that say so.

    `holds` is None where it was not measured.
    """

    sentence: str
    holds: bool | None
    figures: str

    @property
    def text(self) -> str:
        """The sentence and its figures, where there are any."""
        return f"{self.sentence}: {self.figures}" if self.figures != NOT_MEASURED else self.sentence


@dataclass(frozen=True)
class Section:
    """All that is shown of one experiment.

    `gaps` are for what the records do not tell: failures, cases that were left out and complaints of kernels are
    found there.
    """

    parts: Sequence[Table | Plot]
    verdicts: Sequence[Verdict] = ()
    gaps: Sequence[str] = ()
