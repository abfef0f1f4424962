# SPDX-License-Identifier: MIT
"""The report as it is drawn: made by the environment that draws, opened in a browser."""

import json
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from chario_lab.packages import PackageError
from chario_lab.testing.browser import get_browser, open_page
from chario_lab.testing.runs import RELEASE, table1_run, write_book

TOP = Path(__file__).resolve().parents[2]
LIMIT_S = 600
PICTURE = f"table1-instructions-a-mib-linux-{RELEASE}.png"
# What a document fetches from elsewhere, or would lead to: names of SVG's language are no addresses.
OUTSIDE = re.compile(r"^\s*([a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
STYLED = re.compile(r"url\(\s*['\"]?([^'\")]*)|@import\s+['\"]?([^'\";]*)", re.IGNORECASE)
PLOTS = """\
from pathlib import Path
import sys
from chario_lab.experiment.page import Plot
from chario_lab.report import draw
rows = [
    {"way": way, "KiB": 4 ** size, "cost": cost * 10 ** size, "part": part, "direction": direction}
    for way, cost in (("zebra", 3), ("[a].b: c", 1)) for size in range(3)
    for part in ("one", "two") for direction in ("read", "write")
]
kinds = (
    ("bar", "cost", "way", "KiB"), ("stack", "way", "cost", "part"),
    ("line", "KiB", "cost", "way"), ("point", "cost", "way", "KiB"),
)
for mark, x, y, color in kinds:
    for log in (False, True):
        for column in ("", "direction"):
            plot = Plot("<b>title</b>", mark, rows, x, y, color, column, log)
            assert draw.png(plot).startswith(b"\\x89PNG")
            svg = draw.svg(plot)
            (Path(sys.argv[1]) / f"{mark}-{log}-{column}.svg").write_text(svg)
"""


class Document(HTMLParser):
    """What matters of a page: headings, references, scripts, drawings."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.headings: list[str] = []
        self.references: list[str] = []
        self.tags: list[str] = []
        self._heading = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the element refers to."""
        self.tags.append(tag)
        for name, value in attrs:
            if name in {"src", "href", "xlink:href", "srcset", "data", "action", "poster"}:
                self.references.append(value or "")
            self.references += styled(value or "")
        self._heading = tag in {"h1", "h2", "h3"}
        if self._heading:
            self.headings.append("")

    def handle_endtag(self, tag: str) -> None:
        """A heading ends."""
        self._heading = self._heading and tag not in {"h1", "h2", "h3"}

    def handle_data(self, data: str) -> None:
        """Text of a heading, or of a style."""
        if self._heading:
            self.headings[-1] += data
        if self.tags and self.tags[-1] == "style":
            self.references += styled(data)


def styled(text: str) -> list[str]:
    """What a style refers to."""
    return [first or second for first, second in STYLED.findall(text)]


@pytest.fixture(scope="module")
def drawing_python() -> Path:
    """The Python that has the libraries that draw."""
    command = [str(TOP / "scripts/setup.sh"), "--report"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    if done.returncode:
        pytest.skip(f"the environment that draws cannot be made: {done.stderr.strip()}")
    return Path(done.stdout.strip()) / "bin/python"


def run(*words: str | Path) -> None:
    """A program that has to succeed, with the lab of this checkout."""
    environment = {"PYTHONPATH": str(TOP / "lab"), "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}
    done = subprocess.run(
        [*map(str, words)], env=environment, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def report(drawing_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a report of one run."""
    records, output = tmp_path_factory.mktemp("records"), tmp_path_factory.mktemp("report")
    write_book(records / "table1.jsonl", table1_run())
    run(drawing_python, "-m", "chario_lab.main", "report", "--records", records, "--output", output)
    return output


def test_all_forms_are_written(report: Path) -> None:
    """A page, the same as Markdown, and each picture under the name by which Markdown knows it."""
    assert {path.name for path in report.iterdir()} == {"report.html", "report.md", "plots"}
    assert (report / "plots" / PICTURE).read_bytes().startswith(b"\x89PNG")
    assert f"(plots/{PICTURE})" in (report / "report.md").read_text()


def test_the_page_refers_to_nothing_outside(report: Path) -> None:
    """No script, no picture, no font and no style of elsewhere; the drawing is in it."""
    document = Document((report / "report.html").read_text())
    assert [reference for reference in document.references if OUTSIDE.match(reference)] == []
    assert "#table1" in document.references
    assert "svg" in document.tags
    assert not {"script", "iframe", "object", "embed", "img"} & set(document.tags)


def test_the_watch_sees_what_it_watches_for() -> None:
    """References in attributes, in styles and without a scheme."""
    document = Document(
        '<style>@import "//a/b"; x { src: url(http://c) }</style><img src="https://d"><p style="background: url(//e)">'
    )
    assert [text for text in document.references if OUTSIDE.match(text)] == ["//a/b", "http://c", "https://d", "//e"]


def test_every_mark_can_be_drawn(drawing_python: Path, tmp_path: Path) -> None:
    """Names with any signs, in the order of the rows; in several pictures; on both kinds of axes."""
    run(drawing_python, "-c", PLOTS, tmp_path)
    drawn = {path.stem: path.read_text() for path in tmp_path.iterdir()}
    assert len(drawn) == 16
    for svg in drawn.values():
        assert 0 < svg.index(">zebra<") < svg.index(">[a].b: c<")
        assert ("read" in svg) == (">write<" in svg)


def test_a_browser_opens_the_page(report: Path, tmp_path: Path) -> None:
    """Nothing is said on its console, nothing is asked of a network, and every heading is there."""
    page = report / "report.html"
    said, dom, requests = visit(page, tmp_path)
    assert said == []
    assert requests == set()
    headings = Document(dom).headings
    assert headings == Document(page.read_text()).headings
    assert headings[:2] == ["CharIO: what was measured", "Storage access transfer speeds and CPU usages"]
    assert {"Missing", "What the figures leave out", "The paper's own figures: read"} <= set(headings)


def test_the_browser_would_tell(tmp_path: Path) -> None:
    """A page that asks for a picture elsewhere and has a mistake is found out."""
    page = tmp_path / "bad.html"
    page.write_text('<!DOCTYPE html><img src="http://example.invalid/x.png"><script>nothing()</script>')
    said, _, requests = visit(page, tmp_path)
    assert len(said) == 1
    assert requests == {"http://example.invalid/x.png"}


def visit(page: Path, scratch: Path) -> tuple[list[str], str, set[str]]:
    """Lines of the browser's console, the document that it has made, addresses that it has asked for."""
    try:
        get_browser()
    except PackageError as error:
        pytest.skip(f"there is no browser: {error}")
    done = open_page(page, scratch, "--dump-dom")
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    events = json.loads((scratch / "requests.json").read_text())["events"]
    urls = {str(event["params"]["url"]) for event in events if "url" in event.get("params", {})}
    return said, done.stdout, {url for url in urls if url.startswith(("http:", "https:", "ws:", "wss:"))}
