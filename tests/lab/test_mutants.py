# SPDX-License-Identifier: MIT
"""The list of mutations, and the parts of its runner that need neither a guest nor a build."""

import subprocess
import sys
from pathlib import Path

import pytest

from chario_lab.kernel import update
from chario_lab.mutants.catalogue import (
    GUEST,
    UNIT,
    Killer,
    MutantError,
    Mutation,
    Outcome,
    apply,
    in_order,
    parse,
    read_all,
    select,
)
from chario_lab.mutants.generate import generate
from chario_lab.mutants.sweep import CHOICE, plant, read_equivalents, read_sites, stale_names
from chario_lab.mutants.tree import Ended, Tree, evidence, locate, needed_files, outcome_of, stale_files
from chario_lab.testing.areas import select as select_tests

TOP = Path(__file__).resolve().parents[2]
LIST = """
[first]
why = "Data are lost."
file = "lib/a.c"
find = "x = 1;"
replace = "x = 2;"
unit = "a"

[second]
why = "Data are lost."
file = "kernel/b.c"
find = "y"
replace = "z"
guest = "test_b.py::test_c[512]"
"""
# What a list says wrong, and a part of what is said about it.
WRONG = {
    "[mutant": "no TOML",
    'mutant = ["a"]': "write [mutant]",
    LIST.replace("[second]", "[first]"): "no TOML",
    LIST.replace('why = "Data are lost."\n', ""): "missing: why",
    LIST.replace('unit = "a"\n', ""): "one of unit and guest",
    LIST.replace('unit = "a"', 'unit = "a"\nguest = "b"'): "one of unit and guest",
    LIST.replace('unit = "a"', 'unit = "a"\nseed = "b"'): "unknown: seed",
    LIST.replace('replace = "x = 2;"', 'replace = "x = 1;"'): "changes nothing",
    LIST.replace("lib/a.c", "tests/a.c"): "tests/a.c is in none of",
}


def test_a_list_is_read() -> None:
    """Each table is a mutation with one test."""
    first, second = parse(LIST, "list")
    assert (first.name, first.file, first.find, first.replace) == ("first", "lib/a.c", "x = 1;", "x = 2;")
    assert (first.test, second.test) == (Killer(UNIT, "a"), Killer(GUEST, "test_b.py::test_c[512]"))
    assert str(second.test) == "guest test_b.py::test_c[512]"


@pytest.mark.parametrize(("text", "complaint"), WRONG.items(), ids=WRONG.values())
def test_a_wrong_list_is_refused(text: str, complaint: str) -> None:
    """The message names the list and what is wrong with it."""
    with pytest.raises(MutantError) as refused:
        parse(text, "list.toml")
    assert "list.toml" in str(refused.value) and complaint in str(refused.value)


def test_names_are_used_once(tmp_path: Path) -> None:
    """In all lists together."""
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text(LIST)
    with pytest.raises(MutantError, match="first, second"):
        read_all(tmp_path)


def test_a_pattern_chooses() -> None:
    """By name, file or test; one that chooses nothing is an error."""
    first, second = parse(LIST, "list")
    for pattern, chosen in {
        "": [first, second],
        "fir*": [first],
        "kernel/*": [second],
        "unit *": [first],
        "*test_c*": [second],
    }.items():
        assert select([first, second], pattern) == chosen
    with pytest.raises(MutantError, match="'third'"):
        select([first, second], "third")


def test_a_mutation_needs_its_text_once() -> None:
    """Text that is not there, or there twice, is an error and no kill."""
    mutation = parse(LIST, "list")[0]
    assert apply(mutation, "if (x == 1) { x = 1; }") == "if (x == 1) { x = 2; }"
    assert apply(mutation, "x = 3;") is Outcome.ABSENT
    assert apply(mutation, "x = 1; x = 1;") is Outcome.AMBIGUOUS


def test_unit_tests_come_first() -> None:
    """And mutations of one test follow each other."""
    tests = [Killer(GUEST, "b"), Killer(UNIT, "z"), Killer(GUEST, "a"), Killer(UNIT, "y"), Killer(GUEST, "b")]
    mutations = [Mutation(str(n), "", "lib/a.c", "", "", test) for n, test in enumerate(tests)]
    assert [mutation.name for mutation in in_order(mutations)] == ["3", "1", "2", "0", "4"]


ENDS = {
    "passed": (Ended(0, "1 passed"), Outcome.SURVIVED),
    "failed": (Ended(1, "FAILED tests/guest/a - assert 0"), Outcome.KILLED),
    "hung": (Ended(None, "FAILED tests/guest/a"), Outcome.ENDLESS),
    "no guest": (Ended(1, "ERROR tests/guest/a - GuestDied"), Outcome.UNTESTED),
    "no such test": (Ended(4, ""), Outcome.UNTESTED),
    "none chosen": (Ended(5, ""), Outcome.UNTESTED),
}


@pytest.mark.parametrize(("ended", "outcome"), ENDS.values(), ids=ENDS)
def test_how_a_guest_test_ends(ended: Ended, outcome: Outcome) -> None:
    """One that fails has seen the mistake; one that did not run or did not end has shown nothing."""
    assert outcome_of(Killer(GUEST, "a"), ended) is outcome
    assert outcome.is_good == (outcome is Outcome.KILLED)


def test_what_was_seen_of_a_mutation() -> None:
    """The first complaint of pytest, or of a program that prints TAP."""
    assert evidence("x\nE       AssertionError: assert 1 == 2\nE   more: 3\n") == "AssertionError: assert 1 == 2"
    assert evidence("1..2\n# a.c:3: x is 1\nnot ok 1 - y\n") == "a.c:3: x is 1"
    assert evidence("nothing") == ""


def test_what_a_unit_test_needs() -> None:
    """Its program, as ninja names it; a name that Meson does not know is an error."""
    found = {
        "tests": [{"name": "a", "depends": ["1"]}, {"name": "b", "depends": ["2"]}],
        "targets": [{"id": "1", "filename": ["/t/build/tests/a"]}, {"id": "2", "filename": ["/t/build/tests/b"]}],
    }
    assert needed_files(found, ["a"], Path("/t/build")) == ["tests/a"]
    assert needed_files(found, ["b", "a"], Path("/t/build")) == ["tests/a", "tests/b"]
    with pytest.raises(MutantError, match="called c"):
        needed_files(found, ["a", "c"], Path("/t/build"))


def test_the_tree_is_as_it_was_afterwards(tmp_path: Path) -> None:
    """A mutation is there for the length of a block, also when that fails."""
    mutation = parse(LIST, "list")[0]
    path = tmp_path / "lib/a.c"
    path.parent.mkdir()
    path.write_text("x = 1;")
    with pytest.raises(KeyError), Tree(tmp_path, "6.1").mutated(mutation) as obstacle:
        assert obstacle is None and path.read_text() == "x = 2;"
        raise KeyError
    assert path.read_text() == "x = 1;"
    path.unlink()
    with Tree(tmp_path, "6.1").mutated(mutation) as obstacle:
        assert obstacle is Outcome.ABSENT
    assert not path.exists()


def test_a_copy_changes_what_has_changed(tmp_path: Path) -> None:
    """Files of the same content keep their times, so that nothing is built again; what is gone goes."""
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.mkdir()
    (source / "a").write_text("one")
    update(source / "a", copy / "a")
    before = (copy / "a").stat().st_mtime_ns
    update(source / "a", copy / "a")
    assert (copy / "a").stat().st_mtime_ns == before
    (source / "a").write_text("two")
    update(source / "a", copy / "a")
    assert (copy / "a").read_text() == "two"
    (copy / "build").mkdir()
    (copy / "build/kept").write_text("")
    (copy / "gone").write_text("")
    assert stale_files(copy, {"a"}) == [copy / "gone"]


def test_a_changed_file_selects_the_tests_that_kill_its_mutations() -> None:
    """What is selected by a change sees each mistake in it that a test in a guest is known to see."""
    mutations = [one for one in read_all(TOP / "tests/mutants") if one.test.kind == GUEST]
    chosen = {file: select_tests([file]) for file in {one.file for one in mutations}}
    killers = {one.name: locate(TOP, one.test.name).partition("::")[0] for one in mutations}
    assert [one.name for one in mutations if killers[one.name] not in chosen[one.file]] == []


def test_each_mutation_fits_the_checkout() -> None:
    """All texts are there once, so that a run finds no stale ones; there are at least 30."""
    mutations = read_all(TOP / "tests/mutants")
    misfits = [one.name for one in mutations if isinstance(apply(one, (TOP / one.file).read_text()), Outcome)]
    assert not misfits and len(mutations) >= 30


def test_each_guest_test_of_a_mutation_is_there() -> None:
    """By the name that pytest gives it; a test with a table may be named without a row."""
    words = [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/guest"]
    tests = set(subprocess.run(words, cwd=TOP, capture_output=True, text=True, check=True).stdout.splitlines())
    tests |= {test.partition(end)[0] for test in tests for end in ("[", "::")}
    killers = {locate(TOP, one.test.name) for one in read_all(TOP / "tests/mutants") if one.test.kind == GUEST}
    assert sorted(killers - tests) == []


# Bodies of functions, and what becomes of them.
GENERATED = {
    "return chario_store_sync(store);": ["flush: chario_store_sync(store) -> 0", "result: chario_store_sync(store)"],
    "stream->flush_ready = true;": ["flush: true -> 0"],
    "push(at, CHARIO_TRANSFER_FUA);": ["flush: CHARIO_TRANSFER_FUA -> 0"],
    "if (!err)\n\t\terr = push(x);\n\treturn err ? err : y;": [
        "result: push(x)",
        "guard: !err -> 1",
        "guard: err -> 0",
    ],
    'if (a || b > c(1, "< 2"))\n\t\treturn /* d < e */ 0;': ["bound: b > c(1, ) -> 0"],
    "if (a <= b && c)\n\t\ta = b;": ["bound: a <= b -> 1"],
    "x = MIN(a, b(1));\n\treturn a < b ? a : b;": [
        "bound: MIN(a, b(1)) -> a",
        "bound: MIN(a, b(1)) -> b(1)",
        "bound: a < b -> 0",
        "bound: a < b -> 1",
    ],
    "while (i < n && a->b)\n\t\ti++;": ["loop: < -> <="],
    'err = push(x, "a, b") + player->push(x);\n\treturn push(x)->y;': ['result: push(x, "a, b")'],
    "x = 1 << n;": [],
}


@pytest.mark.parametrize(("body", "should"), GENERATED.items())
def test_mutations_are_made_of_a_source(body: str, should: list[str]) -> None:
    """Calls that are not looked at, comments and texts give none; the changed function is the old one elsewhere."""
    text = f"static int f(int x)\n{{\n\t{body}\n}}\n"
    sites = generate("a.c", text, {"push", "chario_store_sync"})
    names = [site.name.replace('"< 2"', "") for site in sites]
    assert names == [f"a.c:f: {name}" for name in should]
    for site in sites:
        assert text.count(site.find) == 1 and site.replace != site.find
        assert site.kind != "result" or site.name.partition("result: ")[2] in site.replace


def test_all_mutations_of_a_source_are_there_at_once(tmp_path: Path) -> None:
    """A variable of the environment chooses one; without it the source does what it did."""
    text = "int f(int a)\n{\n\treturn a < 4;\n}\n"
    sites = generate("a.c", text, set())
    main = "int main(void)\n{\n\treturn f(3) + 2 * f(4);\n}\n"
    (tmp_path / "a.c").write_text(plant(text, list(enumerate(sites, 1))) + main)
    subprocess.run(["gcc", "-w", "-o", tmp_path / "a", tmp_path / "a.c"], check=True)
    chosen = [subprocess.call([tmp_path / "a"], env={CHOICE: str(number)}) for number in range(3)]
    assert [site.kind for site in sites] == ["bound"] * 2 and chosen == [1, 0, 3]


def test_each_equivalent_mutation_is_one() -> None:
    """The list names mutations that there are, with a reason for each; a name has one mutation."""
    sites, equivalents = read_sites(TOP), read_equivalents(TOP)
    assert not stale_names(sites, equivalents) and all(equivalents.values())
    assert len({site.name for site in sites}) == len(sites) >= 1000
