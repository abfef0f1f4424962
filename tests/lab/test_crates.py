# SPDX-License-Identifier: MIT
"""Programs from crates.io: which cargo compiles them, and what is said where none can."""

from pathlib import Path

import pytest

from chario_lab import crates
from chario_lab.packages import PackageError
from chario_lab.testing.files import plant

RUST = (1, 82)
# Notes its words and its compiler, and makes what it was asked for.
CARGO = """\
#!/bin/sh
[ "$1" != --version ] || {{ echo "cargo {version} (Debian)"; exit; }}
echo "$RUSTC $*" >>"$CALLS"
[ -z "$FAILS" ] || {{ echo "error: $FAILS" >&2; exit 101; }}
while [ "$1" != --root ]; do shift; done
mkdir "$2/bin" && : >"$2/bin/thing"
"""


@pytest.fixture
def calls(tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What cargo was called with, on a machine that has none so far and an empty cache."""
    monkeypatch.setattr(crates, "SYSTEM_CARGO", str(tmp_path / "system/cargo"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'user'}:/usr/bin:/bin")
    # The machine's own cargo may be there.
    monkeypatch.setattr("shutil.which", lambda name: next(map(str, tmp_path.glob(f"user/{name}")), None))
    monkeypatch.setenv("FAILS", "")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    return tmp_path / "calls"


def give(tmp_path: Path, place: str, version: str) -> str:
    """Put a cargo at a place, "system" or "user"; its path."""
    return str(plant(tmp_path / place / "cargo", CARGO.format(version=version)))


@pytest.mark.parametrize(
    ("system", "user", "taken"),
    [("1.96.0", "1.95.0", "system"), ("1.82.0", "", "system"), ("1.65.0", "1.95.0", "user"), ("", "2.0.0", "user")],
)
def test_debians_cargo_is_taken_where_it_is_new_enough(
    calls: Path, tmp_path: Path, system: str, user: str, taken: str
) -> None:
    """Otherwise the one on the user's path; with the compiler that belongs to it."""
    for place, version in (("system", system), ("user", user)):
        if version:
            give(tmp_path, place, version)
    assert (crates.install("thing", "0.3.2", RUST) / "bin/thing").exists()
    (call,) = calls.read_text().splitlines()
    assert call.startswith(f"{tmp_path / taken / 'rustc'} install ")
    assert call.endswith(" --version 0.3.2 thing")


def test_what_the_cache_has_needs_no_cargo(calls: Path, tmp_path: Path) -> None:
    """Nor the network; another version is another thing."""
    cargo = give(tmp_path, "user", "1.95.0")
    made = crates.install("thing", "0.3.2", RUST)
    Path(cargo).unlink()
    assert crates.install("thing", "0.3.2", RUST) == made
    with pytest.raises(PackageError, match="there is none"):
        crates.install("thing", "0.3.3", RUST)
    assert len(calls.read_text().splitlines()) == 1


@pytest.mark.usefixtures("calls")
def test_a_cargo_that_is_too_old_is_named(tmp_path: Path) -> None:
    """With its version, the one that is needed, and what to install."""
    cargo = give(tmp_path, "system", "1.65.0")
    with pytest.raises(PackageError) as raised:
        crates.install("thing", "0.3.2", RUST)
    assert str(raised.value) == f"cargo 1.82 or newer is needed, and {cargo} is 1.65: {crates.ADVICE}"


@pytest.mark.usefixtures("calls")
def test_an_error_of_cargo_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its own words, and nothing of it stays in the cache."""
    give(tmp_path, "user", "1.95.0")
    monkeypatch.setenv("FAILS", "failed to download from crates.io")
    with pytest.raises(PackageError, match=r"thing 0\.3\.2 cannot be built:\nerror: failed to download"):
        crates.install("thing", "0.3.2", RUST)
    assert not list((tmp_path / "cache/packages").iterdir())
