# SPDX-License-Identifier: MIT
"""The lab's own apt: what it reads of the machine's set-up, and what it makes of it."""

import re
from pathlib import Path

import pytest

from chario_lab import packages
from chario_lab.packages import AptRoot, Mirror, PackageError, Source, choose_mirror, parse_deb822, parse_lines

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
DEB822 = f"""\
Types: deb deb-src
# where it was once
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
 contrib
Signed-By: {KEYRING}

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
Signed-By: {KEYRING}

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main
"""


def test_deb822_stanzas_become_sources() -> None:
    """Fields of several lines, comments, and stanzas that are switched off are understood."""
    assert parse_deb822(DEB822) == [
        Source("http://mirror.example/debian", ("bookworm", "bookworm-updates"), ("main", "contrib"), KEYRING),
        Source("http://mirror.example/debian-security", ("bookworm-security",), ("main",), KEYRING),
    ]


def test_lines_become_sources() -> None:
    """Lines with and without options are understood; comments and deb-src are left out."""
    text = (
        "# deb http://no.example/debian bookworm main\n"
        "deb-src http://src.example/debian bookworm main\n"
        "deb http://plain.example/debian trixie main contrib # why\n"
        f"deb [arch=amd64 signed-by={KEYRING}] http://mirror.example/debian bookworm main\n"
    )
    assert parse_lines(text) == [
        Source("http://plain.example/debian", ("trixie",), ("main", "contrib"), ""),
        Source("http://mirror.example/debian", ("bookworm",), ("main",), KEYRING),
    ]


def test_other_publishers_are_not_the_archive() -> None:
    """A source with another key, another suite or another component is passed over."""
    others = [
        Source("https://keys.example/debian", ("bookworm",), ("main",), "/usr/share/keyrings/other.gpg"),
        Source("https://suite.example/apt", ("nodistro",), ("main",), ""),
        Source("https://component.example/debian", ("bookworm",), ("stable",), ""),
    ]
    ours = parse_deb822(DEB822)
    expected = Mirror("http://mirror.example/debian", "http://mirror.example/debian-security", KEYRING)
    assert choose_mirror([*others, *ours]) == expected


def test_no_archive_is_explained() -> None:
    """A machine without a Debian source gets a message that says what is needed."""
    with pytest.raises(PackageError, match="needs a source line"):
        choose_mirror([Source("https://other.example/apt", ("jammy",), ("main",), "")])


@pytest.mark.parametrize(("suite", "expected"), [
    ("bookworm", ["A bookworm main", "A bookworm-updates main", "S bookworm-security main"]),
    ("bookworm-backports", ["A bookworm-backports main"]),
])  # fmt: skip
def test_a_release_includes_its_updates(suite: str, expected: list[str]) -> None:
    """A release stands for its updates and security archive too; other suites stand for themselves."""
    lines = packages.source_lines(Mirror("A", "S", KEYRING), suite).splitlines()
    assert lines == [f"deb [signed-by={KEYRING}] {line}" for line in expected]


def test_apt_writes_nowhere_else(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every state folder that apt is given lies in the cache."""
    monkeypatch.setattr(packages, "find_mirror", lambda: Mirror("A", "S", ""))
    command = AptRoot("bookworm").command("apt-get", "update")
    assert command[:2] == ["apt-get", "-c"]
    folders = re.findall(r'^Dir::\S+ "(.*)";$', Path(command[2]).read_text(), re.MULTILINE)
    assert folders
    assert all(Path(folder).is_relative_to(own_cache) for folder in folders)


@pytest.fixture
def fetched(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The suites of which packages were fetched; bookworm has none that is called "new"."""
    suites: list[str] = []

    def fill(folder: Path, names: list[str], suite: str) -> None:
        suites.append(suite)
        (folder / "usr").mkdir()
        if "new" in names and suite == "bookworm":
            raise PackageError("bookworm has none")

    monkeypatch.setattr(packages, "fill", fill)
    return suites


def test_what_is_unpacked_is_not_fetched_again(fetched: list[str]) -> None:
    """The same packages of the same suite are one folder, in any order; another suite is another."""
    first = packages.unpack(["b", "a"], "bookworm")
    assert packages.unpack(["a", "b"], "bookworm") == first
    assert packages.unpack(["a", "b"], "trixie") != first
    assert fetched == ["bookworm", "trixie"]


def test_the_next_suite_is_asked(fetched: list[str]) -> None:
    """Packages that a suite lacks come from the next, which is then not looked for again."""
    first = packages.unpack_first(["new"], ["bookworm", "trixie"])
    assert packages.unpack_first(["new"], ["bookworm", "trixie"]) == first
    assert fetched == ["bookworm", "trixie"]
    with pytest.raises(PackageError, match="bookworm has none"):
        packages.unpack_first(["b", "new"], ["bookworm"])


@pytest.mark.usefixtures("fetched")
def test_a_failure_leaves_nothing_that_looks_done(own_cache: Path) -> None:
    """When unpacking fails halfway, the next call starts anew."""
    for _ in range(2):
        with pytest.raises(PackageError, match="bookworm has none"):
            packages.unpack(["new"], "bookworm")
    assert not list((own_cache / "packages").iterdir())


def test_a_failed_command_is_one_message() -> None:
    """What a command said is in the error."""
    with pytest.raises(PackageError, match=r"(?s)cannot list:.*nonexistent"):
        packages.run(["ls", "/nonexistent"], "cannot list")


def test_a_long_complaint_is_cut_to_its_end() -> None:
    """tar has a line for each file that does not fit on a disk."""
    with pytest.raises(PackageError) as raised:
        packages.run(["sh", "-c", "seq 3000 >&2; exit 1"], "cannot unpack it")
    assert str(raised.value).startswith("cannot unpack it:\n")
    assert str(raised.value).endswith("\n3000")
    assert len(str(raised.value).splitlines()) == 1 + packages.COMPLAINT_LINES


def test_the_network_gets_another_chance(tmp_path: Path) -> None:
    """A download is tried again, and a failure for good says what to look at."""
    flaky = ["sh", "-c", "echo x >> tries; [ $(wc -l < tries) -ge 2 ]"]
    packages.retry(flaky, "cannot fetch", cwd=tmp_path)
    with pytest.raises(PackageError, match=r"(?s)cannot fetch.*Check the network"):
        packages.retry(["false"], "cannot fetch")
