# SPDX-License-Identifier: MIT
"""Draws a plot, without a browser and without a network.

    svg(plot)     for a page: no background, and text in the colour of the page's own
    png(plot)     a picture of its own, with its title, on white

Each column becomes a chart of its own beside the others.  Names stand in the order in which the rows bring them.
Altair and vl-convert are in the environment that `scripts/setup.sh --report` makes, and in no other.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt
import vl_convert

from chario_lab.experiment.page import Plot, Value

# Colours that remain apart for the colour-blind, on white and on black: Okabe and Ito's, then some of Tol's.
COLORS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999933", "#882255"),
    *("#88CCEE", "#AA4499", "#44AA99", "#DDCC77", "#661100", "#6699CC", "#117733", "#999999"),
)
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
# The widths of letters are those of the first three; the page knows the last but one.
FONT = "Liberation Sans, Arial, Helvetica, DejaVu narrow, sans-serif"
# Of the page, whatever it is; where there is no page it is black.
INK = "currentColor"
# Heights of a bar alone and of one of several that belong together, and of a picture of lines.
BAR_STEP, BESIDE_STEP, LINE_HEIGHT = 19, 13, 260
# How wide all charts of a row are together, and a letter of a label about.
ROW_WIDTH, LETTER_WIDTH = 640, 6
# Of the smallest spot and of the largest.
SPOT_AREAS = (12, 260)
MOST_TICKS = 16
# From here on a number on an axis has a prefix of the SI.
LONG, PLAIN = 10_000, ",.9~g"
PNG_SCALE = 2


def svg(plot: Plot) -> str:
    """The drawing as SVG."""
    return str(vl_convert.vegalite_to_svg(styled(picture(plot), INK, "transparent").to_dict()))


def png(plot: Plot) -> bytes:
    """The drawing as a picture, twice as fine as a screen needs."""
    chart = styled(picture(plot).properties(title=plot.title), "black", "white")
    return bytes(vl_convert.vegalite_to_png(chart.to_dict(), scale=PNG_SCALE))


def picture(plot: Plot) -> Any:
    """The charts of all columns."""
    names = distinct(row[plot.column] for row in plot.rows) if plot.column else [""]
    across = next((number for number in (4, 3, 2) if len(names) % number == 0), min(len(names), 3))
    look = LOOKS[plot.mark]
    width = min(ROW_WIDTH // across, look.widest)
    charts = []
    for place, name in enumerate(names):
        rows = [row for row in plot.rows if not plot.column or row[plot.column] == name]
        chart = look.draw(replace(plot, rows=rows), plot, place % across == 0, width)
        charts.append(chart.properties(width=width, title=alt.TitleParams(str(name), frame="group")))
    return alt.concat(*charts, columns=across, spacing={"row": 24, "column": look.spacing})


def bars(plot: Plot, whole: Plot, first: bool, _: int) -> Any:
    """Bars that lie, so that names of any length can be read; each has its figure, unless it has parts.

    On a logarithmic axis the length of a bar would mean nothing: there they are points.
    """
    name, number = sides(whole)
    colors = texts(whole, plot.color)
    stacked = plot.mark == "stack"
    beside = not stacked and len(texts(plot, name)) < len(plot.rows)
    rows = [
        {"name": str(row[name]), "number": row[number], "color": str(row[plot.color]), "figure": figure(row[number])}
        | {"rank": colors.index(str(row[plot.color]))}
        for row in plot.rows
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=beneath(name, texts(whole, name), first),
        x=alt.X("number:Q", title=number, stack="zero" if stacked else None, **measure(plot, number)),
        **({"yOffset": alt.YOffset("color:N", sort=colors, scale=alt.Scale(domain=colors))} if beside else {}),
    )
    mark = base.mark_point(filled=True, size=70, opacity=1) if is_logarithmic(plot, number) else base.mark_bar()
    drawn = mark.encode(color=color_of(plot.color, colors, plot.color != name), order=alt.Order("rank:Q"))
    if not stacked:
        drawn += base.mark_text(align="left", dx=6, fontSize=10, color=INK).encode(text="figure:N")
    return drawn.properties(height=alt.Step(BESIDE_STEP, **{"for": "offset"}) if beside else alt.Step(BAR_STEP))


def spots(plot: Plot, whole: Plot, first: bool, _: int) -> Any:
    """Spots whose area is the third number."""
    name, number = sides(whole)
    rows = [{"name": str(row[name]), "number": row[number], "size": row[plot.color]} for row in plot.rows]
    sizes = [float(row[plot.color]) for row in whole.rows]
    few, most = min(sizes), max(sizes)
    shown = sorted({few, round((few + most) / 2), most})
    legend = alt.Legend(orient="top", titleOrient="left", values=shown, symbolFillColor=COLORS[0], symbolStrokeWidth=0)
    scale = alt.Scale(domain=[few, most], range=SPOT_AREAS)
    drawn = alt.Chart(alt.Data(values=rows)).mark_point(filled=True, opacity=0.8, color=COLORS[0])
    return drawn.encode(
        y=beneath(name, texts(whole, name), first),
        x=alt.X("number:Q", title=number, **measure(plot, number)),
        size=alt.Size("size:Q", title=plot.color, scale=scale, legend=legend),
    ).properties(height=alt.Step(BAR_STEP))


def beneath(title: str, names: Sequence[str], first: bool) -> Any:
    """Names one beneath the other, written at the first chart of a row."""
    axis = alt.Axis(grid=False) if first else alt.Axis(labels=False, ticks=False, grid=False)
    return alt.Y("name:N", sort=names, scale=alt.Scale(domain=names), title=title if first else None, axis=axis)


def lines(plot: Plot, whole: Plot, first: bool, width: int) -> Any:
    """Points and the lines between them, told apart by colour and by shape."""
    colors = texts(whole, plot.color)
    rows = [{"x": row[plot.x], "y": row[plot.y], "color": str(row[plot.color])} for row in plot.rows]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=along(plot, whole, width),
        y=alt.Y("y:Q", title=plot.y if first else None, **measure(plot, plot.y)),
        color=color_of(plot.color, colors),
    )
    shape = alt.Shape("color:N", title=plot.color, scale=alt.Scale(domain=colors, range=repeat(SHAPES, colors)))
    points = base.mark_point(filled=True, size=55, opacity=1).encode(shape=shape)
    return (base.mark_line(strokeWidth=2) + points).properties(height=LINE_HEIGHT)


def along(plot: Plot, whole: Plot, width: int) -> Any:
    """Names in their order, or numbers, each of which is marked where there are few."""
    if not is_numeric(whole, plot.x):
        names = texts(whole, plot.x)
        crowded = sum(len(name) + 2 for name in names) * LETTER_WIDTH > width
        axis = alt.Axis(labelAngle=-50 if crowded else 0, labelOverlap=False, grid=False)
        return alt.X("x:N", title=plot.x, sort=names, scale=alt.Scale(domain=names), axis=axis)
    fields = measure(plot, plot.x)
    values = sorted(float(value) for value in distinct(row[plot.x] for row in whole.rows))
    if len(values) <= MOST_TICKS:
        fields["axis"] = alt.Axis(format=PLAIN, values=values)
    return alt.X("x:Q", title=plot.x, **fields)


def measure(plot: Plot, name: str) -> dict[str, Any]:
    """Scale and axis of a number."""
    values = [float(row[name]) for row in plot.rows]
    form = "~s" if max(values) >= LONG else PLAIN
    along_lines = plot.mark == "line" and name == plot.x
    if not is_logarithmic(plot, name):
        return {"scale": alt.Scale(zero=not along_lines), "axis": alt.Axis(format=form)}
    low, high = min(values) if along_lines else round_down(min(values) * 0.9), max(values)
    ticks = alt.Axis(format=form, values=marks(low, high))
    return {"scale": alt.Scale(type="log", domain=[low, high], nice=False), "axis": ticks}


def is_logarithmic(plot: Plot, name: str) -> bool:
    """If that is asked for and can be."""
    return plot.log and min(float(row[name]) for row in plot.rows) > 0


def marks(low: float, high: float) -> list[float]:
    """Numbers to mark on a logarithmic axis: powers of ten, and more of them where there would be few."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1,) if high / low > 1000 else (1, 3) if high / low > 30 else (1, 2, 5)
    return [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]


def round_down(value: float) -> float:
    """To one digit."""
    unit = 10.0 ** math.floor(math.log10(value))
    return math.floor(value / unit) * unit


def color_of(title: str, names: Sequence[str], shown: bool = True) -> Any:
    """A colour each; the legend is left out where an axis says the same, or there is but one."""
    legend = alt.Legend(orient="top", titleOrient="left") if shown and len(names) > 1 else None
    return alt.Color("color:N", title=title, scale=alt.Scale(domain=names, range=repeat(COLORS, names)), legend=legend)


def repeat(supply: Sequence[str], names: Sequence[str]) -> list[str]:
    """One for each name, over and over."""
    return [supply[place % len(supply)] for place in range(len(names))]


def styled(chart: Any, ink: str, ground: str) -> Any:
    """With sizes that can be read, and faint lines behind."""
    words = {"labelColor": ink, "titleColor": ink, "titleFontWeight": "normal", "labelLimit": 0, "titleFontSize": 12}
    rules = {"gridColor": ink, "gridOpacity": 0.15, "tickColor": ink, "domainColor": ink, "labelOverlap": True}
    return chart.configure(
        background=ground,
        font=FONT,
        axis={**words, **rules, "labelFontSize": 11, "tickCount": 5},
        legend={**words, "labelFontSize": 12, "columns": 6, "symbolSize": 110},
        title={"color": ink, "anchor": "start", "fontSize": 13},
        view={"stroke": None},
    )


def figure(value: Value) -> str:
    """A number as it stands behind its bar."""
    number = float(value)
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


def is_numeric(plot: Plot, name: str) -> bool:
    """Whether all values are numbers."""
    return all(isinstance(row[name], int | float) for row in plot.rows)


def sides(plot: Plot) -> tuple[str, str]:
    """Which of x and y has the names, and which the numbers."""
    return (plot.y, plot.x) if is_numeric(plot, plot.x) else (plot.x, plot.y)


def texts(plot: Plot, name: str) -> list[str]:
    """The values under a name as texts, each once."""
    return [str(value) for value in distinct(row[name] for row in plot.rows)]


def distinct(values: Iterable[Value]) -> list[Value]:
    """Each once, in the order in which they come."""
    return list(dict.fromkeys(values))


@dataclass(frozen=True)
class Look:
    """How a mark is drawn: at most how wide, and how far from the next chart."""

    draw: Callable[[Plot, Plot, bool, int], Any]
    widest: int
    spacing: int


# Behind the longest bar there has to be room for its figure, before an axis for its numbers.
LOOKS = {
    "bar": Look(bars, widest=420, spacing=70),
    "stack": Look(bars, widest=420, spacing=40),
    "point": Look(spots, widest=420, spacing=30),
    "line": Look(lines, widest=460, spacing=30),
}
