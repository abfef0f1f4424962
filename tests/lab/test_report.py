# SPDX-License-Identifier: MIT
"""The report without its drawings: chapters, gaps, the page and its Markdown."""

import io
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from chario_lab.experiment.book import ExperimentError
from chario_lab.experiment.chapter import Chapter, Gap, collect, compose
from chario_lab.experiment.page import Plot, Section, Table, Verdict
from chario_lab.experiment.spec import Experiment
from chario_lab.experiment.terminal import print_chapter
from chario_lab.experiments import table1
from chario_lab.records import AnyRecord, ComplaintRecord, EndRecord, FailureRecord, OmissionRecord, RunRecord
from chario_lab.report import html, markdown
from chario_lab.report.command import main, parse
from chario_lab.report.names import picture_names
from chario_lab.testing.runs import table1_run, write_book
from chario_lab.testing.series import machine_record

HOSTILE = '<script>alert("|")</script> & *x*'
RUN = RunRecord(experiment="one", started="2026-11-26T12:00:00+00:00", checkout="abc-dirty", excluded="")
SHORT = msgspec.structs.replace(RUN, short=True)
END = EndRecord(took_s=7)
MACHINE = machine_record(kernel_command="quiet")
SECTION = Section(
    (
        Table("Costs", ("", "a MiB, 4 KiB", "a MiB, 1 MiB"), (("CharIO", "1", "2"), (HOSTILE, "3", "4")), "a board"),
        Plot("Costs, Linux 6.1.0-56-amd64", "bar", ({"cost": 1, "way": "CharIO", "by": "us"},), "cost", "way", "by"),
        Plot("Costs: Linux 6.1.0-56-amd64", "bar", ({"cost": 1, "way": "CharIO", "by": "us"},), "cost", "way", "by"),
    ),
    (Verdict("CharIO is fast", True, "1"), Verdict("It flies", False, HOSTILE), Verdict("It sings", None, "-")),
)


def experiment(section: Section = SECTION, name: str = "one") -> Experiment:
    """One that shows this, whatever was recorded."""
    return Experiment(
        name, "The first", "Somebody: A paper, Table 9", "a guest", "no times", lambda choice: [], lambda _: section
    )


def chapter(*records: AnyRecord, section: Section = SECTION) -> Chapter:
    """The chapter of a run with these records."""
    return compose(experiment(section), (RUN, MACHINE, *records))


def failure(case: str, reason: str, logs: str = "") -> FailureRecord:
    """The record of one."""
    return FailureRecord(machine="6.1", station="raw", case=case, reason=reason, logs=logs)


def page_of(*chapters: Chapter) -> str:
    """The page, with drawings that say which they are."""
    drawings = [{place: f"<svg>{name}</svg>" for place, name in picture_names(each).items()} for each in chapters]
    return html.render(chapters, drawings)


def titles(gaps: Sequence[Gap]) -> list[str]:
    """A line each."""
    return [gap.title for gap in gaps]


def test_what_a_page_says_of_an_experiment() -> None:
    """Where it comes from, what holds, each figure, what is left out, and what it was measured on."""
    page = page_of(chapter(END))
    for text in (
        '<a href="#one">The first</a>',
        "holds: 1, does not hold: 1, not measured: 1",
        "Somebody: A paper, Table 9",
        '<span class="outcome does-not-hold">does not hold</span>',
        '<th colspan="2" scope="colgroup" class="first">a MiB</th>',
        "<figcaption>a board</figcaption>",
        "<p>no times</p>",
        "<dt>sources</dt><dd>abc-dirty</dd>",
        "<dt>kernel&#39;s command line</dt><dd>quiet</dd>",
        "<svg>one-costs-linux-6.1.0-56-amd64</svg>",
    ):
        assert text in page
    assert 'class="gaps"' not in page
    assert "the short form" not in page


def test_text_is_no_markup() -> None:
    """What machines, papers and programs say is shown as it is, on the page and in Markdown."""
    made = chapter(failure(HOSTILE, HOSTILE), ComplaintRecord(machine=HOSTILE, text=HOSTILE))
    page = page_of(made)
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 5
    text = markdown.render([made], "plots")
    assert "<script" not in text.replace("\\<", "")
    assert r"\*x\*" in text
    assert r'| \<script\>alert("\|")\</script\> & \*x\* | 3 | 4 |' in text


def test_markdown_refers_to_the_pictures() -> None:
    """By names that follow from titles, so that they are the same in each report; no two are."""
    made = chapter(END)
    assert list(picture_names(made).values()) == ["one-costs-linux-6.1.0-56-amd64", "one-costs-linux-6.1.0-56-amd64.2"]
    text = markdown.render([made], "plots")
    assert "![Costs, Linux 6.1.0-56-amd64](plots/one-costs-linux-6.1.0-56-amd64.png)" in text
    assert "|---|---:|---:|" in text
    assert "- **does not hold**: It flies" in text


def test_logarithmic_axes_are_marked() -> None:
    """A bar twice as long is not twice as much."""
    costs = Plot(
        "Costs", "bar", ({"cost": 1, "way": "CharIO", "by": "us"},), "cost", "way", "by", log=True, note="See:"
    )
    made = chapter(END, section=replace(SECTION, parts=(costs,)))
    for written in (page_of(made), markdown.render([made], "plots")):
        assert "See: Axes of numbers are logarithmic" in written


def test_gaps_are_named() -> None:
    """Cases that failed for the same reason together; what else the records tell; what the experiment says."""
    made = chapter(
        failure("a", "the guest died\nOops", "/records/logs/one"),
        failure("b", "the guest died\nOops", "/records/logs/one"),
        failure("c", "it failed"),
        OmissionRecord(machine="6.1", station="raw", case="d", needs="/dev/udmabuf"),
        ComplaintRecord(machine="6.1", text="WARNING: at queue.c"),
        section=replace(SECTION, gaps=("no GStreamer",)),
    )
    assert titles(made.gaps) == [
        "6.1, a and 1 more: the guest died",
        "6.1, c: it failed",
        "6.1, d: left out, it needs /dev/udmabuf",
        "6.1: the kernel complained",
        "no GStreamer",
    ]
    page, text = page_of(made), markdown.render([made], "plots")
    assert "<td>5</td>" in page
    assert "<pre>the guest died\nOops</pre>" in page
    for written in (page, text):
        assert "/records/logs/one" in written
        assert "no GStreamer" in written


def test_what_has_no_rows_is_left_out() -> None:
    """Where a machine has died at once, there is nothing to draw."""
    empty = (Table("No figures", ("", "a MiB"), ()), Plot("No picture", "bar", (), "cost", "way", "by"))
    made = chapter(END, failure("", "died"), section=replace(SECTION, parts=empty))
    assert picture_names(made) == {}
    assert titles(made.gaps) == ["6.1, after its last case: died"]
    for written in (page_of(made), markdown.render([made], "plots")):
        assert "No figures" not in written
        assert "No picture" not in written


def test_a_run_without_an_end_is_a_gap() -> None:
    """It was killed: what is missing has no record of its own."""
    assert titles(chapter().gaps) == ["this run has not come to its end: it was interrupted, or goes on"]


def test_the_short_form_is_marked() -> None:
    """Nobody takes its figures for more than they are."""
    made = compose(experiment(), (SHORT, END))
    assert "the short form" in page_of(made)
    assert "the short form" in markdown.render([made], "plots")


def test_records_of_another_experiment_are_told(tmp_path: Path) -> None:
    """A file that was renamed shows no table of something else."""
    write_book(tmp_path / "two.jsonl", [RUN, END])
    (made,) = collect([experiment(name="two")], tmp_path)
    assert titles(made.gaps) == [f"the records are of one: {tmp_path / 'two.jsonl'}"]


def test_a_run_of_some_cases_does_not_hide_a_whole_one(tmp_path: Path) -> None:
    """Nor one on hardware, which has a chapter of its own; where there is nothing else it is shown, and told."""
    some = RunRecord(experiment="one", started="later", checkout="", excluded="", cases=("CharIO/*",))
    here = RunRecord(experiment="one", started="here", checkout="", excluded="")
    write_book(tmp_path / "one.jsonl", [RUN, END, some, END])
    write_book(tmp_path / "one-hardware.jsonl", [here, END])
    guests, hardware = collect([experiment()], tmp_path)
    assert (guests.run, hardware.run) == (RUN, here)
    assert hardware.experiment.title.endswith("on hardware")
    write_book(tmp_path / "one.jsonl", [SHORT, END, RUN])
    assert collect([experiment()], tmp_path)[0].end == END
    made = compose(experiment(), (some, END))
    assert titles(made.gaps) == ["only some cases were run: CharIO/*"]


def test_what_cannot_be_shown_is_a_gap_and_the_rest_is_there(tmp_path: Path) -> None:
    """No records, records that are none, records of which no figures can be made: the next experiment is shown."""

    def fail(records: Sequence[AnyRecord]) -> Section:
        raise KeyError("spin")

    (tmp_path / "broken.jsonl").write_text("{}\n")
    for name in ("poor", "good"):
        write_book(tmp_path / f"{name}.jsonl", [msgspec.structs.replace(RUN, experiment=name), END])
    poor = replace(experiment(name="poor"), section=fail)
    made = collect((experiment(name="absent"), experiment(name="broken"), poor, experiment(name="good")), tmp_path)
    assert [titles(each.gaps) for each in made] == [
        ["not run yet: there are no records"],
        ["the records cannot be read"],
        ["no figures can be made of what was recorded"],
        [],
    ]
    assert made[2].gaps[0].text == "KeyError: 'spin'"
    page = page_of(*made)
    assert all(f'<section id="{name}">' in page for name in ("absent", "broken", "poor", "good"))
    assert markdown.render(made, "plots").count("\n## ") == 4


def test_a_whole_run() -> None:
    """All of Table I: what failed is named, the rest has its figures, beside those of the paper."""
    made = compose(table1.EXPERIMENT, list(table1_run()))
    assert titles(made.gaps) == ["6.1, passthrough/read/4096 and 3 more: chario-bench: /dev/ng0n1: Invalid argument"]
    page = page_of(made)
    assert "CharIO, registered memory" in page
    assert "Xilinx Zynq-7000" in page
    assert "QEMU 10.0.2" in page


def test_libraries_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What to do is said, before anything is run."""
    for name in ("chario_lab.report.write", "chario_lab.report.draw"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ExperimentError, match="altair is missing, which draws: use `make report`"):
        main(["--run"])


def test_the_terminal_needs_no_libraries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tables, verdicts and gaps."""
    write_book(tmp_path / "table1.jsonl", table1_run())
    assert main(["--terminal", "--records", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "missing  6.1, passthrough/read/4096 and 3 more" in shown


def test_options_of_runs_need_a_run() -> None:
    """They would have no effect."""
    with pytest.raises(SystemExit):
        parse(["--short"])


def test_nothing_commands_the_terminal() -> None:
    """Neither what a drive calls itself nor what a program said."""
    table = Table("\x1b[31m[/red] [bold]D", ("what is measured", "a [b]"), (("\x1b]0;title\x07", "[/]"),), "\x9b1m")
    console = Console(file=io.StringIO(), width=200)
    print_chapter(console, chapter(END, section=Section((table,))))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "?[31m[/red] [bold]D" in shown and "?]0;title?" in shown and "[/]" in shown
    assert not {"\x1b", "\x07", "\x9b"} & set(shown)
