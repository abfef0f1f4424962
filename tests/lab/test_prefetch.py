# SPDX-License-Identifier: MIT
"""`make prefetch` fetches all that checks and tests download: nothing can be fetched that it does not know."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from chario_lab import cache, kernel, prefetch
from chario_lab.guest.tools import Tools
from chario_lab.packages import PackageError
from chario_lab.prefetch import Need, needs

TOP = Path(__file__).resolve().parents[2]
PACKAGES, CRATES = "chario_lab.packages", "chario_lab.crates"
# Functions of the first by which something is downloaded.
DOWNLOADS = {"AptRoot", "fill", "unpack", "unpack_first", "retry"}
# The modules that call them; each has a function in needs().
KNOWN = {
    "guest.fsx",
    "guest.liburing",
    "guest.tools",
    "kernel",
    "kernel_build",
    "kernel_scripts",
    "qemu",
    "testing.browser",
}


def sources(*folders: str) -> list[Path]:
    """Files with Python below folders of the checkout."""
    return sorted(path for folder in folders for path in (TOP / folder).rglob("*.py"))


def imports(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Module and name of all that a file imports from elsewhere; the name is empty for a whole module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def downloads(text: str) -> bool:
    """Whether a file can download Debian packages or crates by itself."""
    whole = {
        imported for name in ("packages", "crates") for imported in ((f"chario_lab.{name}", ""), ("chario_lab", name))
    }
    parts = {(PACKAGES, name) for name in DOWNLOADS} | {("chario_lab.guest.tools", "fetch"), (CRATES, "install")}
    return not (whole | parts).isdisjoint(imports(ast.parse(text)))


def unknown_tools(text: str) -> list[str]:
    """Calls of tools.install() in a test that name anything but a member of Tools."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "tools.install":
            known = {f"{prefix}Tools.{name}" for prefix in ("", "tools.") for name in Tools.__members__}
            if len(node.args) != 2 or ast.unparse(node.args[1]) not in known:
                found.append(ast.unparse(node))
    return found


def test_every_module_that_downloads_is_known() -> None:
    """A new module of the lab that fetches packages has to be added to needs(), and to KNOWN."""
    lab = TOP / "lab/chario_lab"
    found = {
        ".".join(path.relative_to(lab).with_suffix("").parts)
        for path in sources("lab/chario_lab")
        if downloads(path.read_text())
    }
    assert found == KNOWN
    used = {module.removeprefix("chario_lab.") for module, _ in imports(ast.parse(Path(prefetch.__file__).read_text()))}
    assert used >= KNOWN


@pytest.mark.parametrize("path", sources("tests/guest", "scripts"), ids=lambda path: path.name)
def test_no_test_downloads_by_itself(path: Path) -> None:
    """Guest tests name sets of packages that prefetch knows, and nothing else."""
    text = path.read_text()
    assert not downloads(text), "fetch it in a function of the lab that needs() calls"
    assert unknown_tools(text) == [], "make a member of Tools for these packages"


@pytest.mark.parametrize("text", [
    "from chario_lab.packages import unpack\nunpack(['fio'], 'bookworm')",
    "from chario_lab import packages\npackages.unpack(['fio'], 'bookworm')",
    "import chario_lab.packages",
    "from chario_lab.guest.tools import fetch",
    "from chario_lab.crates import install",
    "from chario_lab import crates",
])  # fmt: skip
def test_a_download_is_seen(text: str) -> None:
    """In each way in which a file could come by it."""
    assert downloads(text)


def test_an_unknown_set_is_seen() -> None:
    """Packages by name, and sets that are not there."""
    assert unknown_tools("tools.install(guest, 'fio')")
    assert unknown_tools("tools.install(guest, *PACKAGES)")
    assert unknown_tools("tools.install(guest, tools.Tools.NO_SUCH_SET)")
    assert not unknown_tools("tools.install(guest, tools.Tools.STORAGE)")


def test_every_kernel_and_every_set_is_needed() -> None:
    """The debug kernel is built only where it is asked for."""
    titles = [need.title for need in needs(debug=False)]
    assert {f"kernel {name}" for name in kernel.SERIES} <= set(titles)
    assert [title for title in titles if title.startswith("guest packages")] == [
        f"guest packages {', '.join(tools.value)}" for tools in Tools
    ]
    assert [need.title for need in needs(debug=True)] == [*titles, "debug kernel"]


def test_it_says_what_is_new(own_cache: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The first time a thing is fetched, the second time it is there."""
    target = own_cache / "packages/thing"
    thing = Need("a thing", lambda: cache.keep(target, "a thing", lambda folder: None))
    for _ in range(2):
        assert prefetch.prefetch([thing])
    lines = [line for line in capfd.readouterr().err.splitlines() if "a thing" in line]
    assert lines == ["chario-lab: a thing: fetched", "chario-lab: a thing: there already"]


def test_a_failure_does_not_keep_the_rest_away(own_cache: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Everything else is fetched, the failure is named, and the run fails."""

    def fail() -> None:
        raise PackageError("no network")

    got: list[str] = []
    assert not prefetch.prefetch([Need("one", fail), Need("two", lambda: got.append("two"))])
    assert got == ["two"]
    said = capfd.readouterr().err
    assert "one: FAILED: no network" in said
    assert "tests will look for these again: one" in said
    assert "all that tests download" not in said
