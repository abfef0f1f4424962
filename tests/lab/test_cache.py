# SPDX-License-Identifier: MIT
"""The cache: whole or not at all, once, and not for ever."""

import errno
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from chario_lab import cache
from chario_lab.cache import CacheError, cache_dir, check_room, chosen_dir, drop_unused, explain, keep, use

TWO_RUNS = """\
import sys, time
from pathlib import Path
from chario_lab.cache import keep

def make(folder):
    with open(sys.argv[1] + "/made", "a") as file:
        file.write("made\\n")
    time.sleep(0.5)
    (folder / "content").touch()

assert (keep(Path(sys.argv[1]) / "target", "a thing", make) / "content").exists()
"""


pytestmark = pytest.mark.usefixtures("own_cache")


def test_folder_follows_the_environment(own_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """CHARIO_CACHE decides; without it the cache is in the home folder."""
    assert cache_dir() == own_cache
    monkeypatch.delenv("CHARIO_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_dir() == tmp_path / ".cache/chario"


def test_a_folder_that_cannot_be_made_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the folder, the reason and the way out."""
    monkeypatch.setenv("CHARIO_CACHE", "/proc/no-such-folder")
    with pytest.raises(CacheError, match=r"^the cache /proc/no-such-folder cannot be used \(.*\): set CHARIO_CACHE to"):
        cache_dir()


def test_a_folder_that_cannot_be_written_to_is_named(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the modes of a folder are, root can write to it: the answer of the system is what counts."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(CacheError, match=rf"^the cache {own_cache} cannot be used \(it cannot be written to\)"):
        cache_dir()


def test_without_a_home_folder_the_users_record_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    """HOME may be unset or empty; a user who is in no record is told what to set."""
    monkeypatch.delenv("CHARIO_CACHE")
    monkeypatch.setenv("HOME", "")
    assert chosen_dir() == Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache/chario"
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000)
    with pytest.raises(CacheError, match="no home folder: set CHARIO_CACHE"):
        chosen_dir()


def test_a_full_disk_is_explained(own_cache: Path) -> None:
    """Ours or a program's own words, the way out follows; other errors have none."""
    ours = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/a/file")
    for error, first in (
        (ours, "/a/file: No space left on device"),
        (CacheError("tar: No space left on device"), "tar: "),
    ):
        assert explain(error).startswith(first)
        assert f"The cache {own_cache} has no room" in explain(error)
    assert explain(OSError(errno.EIO, "Input/output error", "/a/file")) == "/a/file: Input/output error"
    assert explain(KeyError()) == "KeyError"


def test_room_is_asked_for_beforehand(own_cache: Path) -> None:
    """Enough is silent; too little is said with both figures."""
    check_room(1, "the drive")
    with pytest.raises(CacheError, match=rf"^the drive needs 1099511627776 MiB and the cache {own_cache} has \d+ MiB"):
        check_room(1 << 60, "the drive")


def test_remains_of_a_killed_run_are_not_used(tmp_path: Path) -> None:
    """What a run left half made is thrown away by the next."""
    (tmp_path / ".target").mkdir()
    (tmp_path / ".target/half").touch()
    target = keep(tmp_path / "target", "a thing", lambda folder: (folder / "whole").touch())
    assert [path.name for path in target.iterdir()] == ["whole"]
    assert not (tmp_path / ".target").exists()


def test_two_runs_make_it_once(tmp_path: Path) -> None:
    """Of two runs at the same time one makes the thing, and the other waits for it."""
    command = [sys.executable, "-c", TWO_RUNS, str(tmp_path)]
    lab = Path(cache.__file__).parents[1]
    runs = [subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(lab)}) for _ in range(2)]
    assert [run.wait(timeout=60) for run in runs] == [0, 0]
    assert (tmp_path / "made").read_text() == "made\n"


def test_a_thing_is_there_while_it_is_made_again(tmp_path: Path) -> None:
    """Who uses the old one has it until the new one is whole, and when making it fails."""
    target = tmp_path / "thing"
    keep(target, "a thing", lambda folder: (folder / "old").touch())

    def make(folder: Path) -> None:
        assert (target / "old").exists()
        (folder / "new").touch()

    keep(target, "a thing", make, again=True)
    assert [path.name for path in target.iterdir()] == ["new"]
    with pytest.raises(ZeroDivisionError):
        keep(target, "a thing", lambda folder: print(1 // 0), again=True)
    assert [path.name for path in target.iterdir()] == ["new"]


def test_only_unused_things_are_dropped(tmp_path: Path) -> None:
    """What was used lately stays, what was not goes."""
    for name in ("used", "unused"):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (0, 0))
    use(tmp_path / "used")
    drop_unused(tmp_path, days=7)
    assert [path.name for path in tmp_path.iterdir()] == ["used"]
