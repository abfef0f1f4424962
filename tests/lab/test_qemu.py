# SPDX-License-Identifier: MIT
"""Which QEMU the lab takes, and when it trusts KVM."""

from collections.abc import Callable
from pathlib import Path

import pytest

from chario_lab import qemu
from chario_lab.guest import accel
from chario_lab.qemu import Qemu, QemuError, parse_version
from chario_lab.testing.files import plant

MakeQemu = Callable[[str], Qemu]


@pytest.fixture
def make_qemu(tmp_path: Path) -> MakeQemu:
    """Writes a shell script that stands in for QEMU."""

    def make(body: str) -> Qemu:
        return Qemu(plant(tmp_path / "qemu", f"#!/bin/sh\n{body}\n"), (10, 0, 2), ())

    return make


def test_version_is_read() -> None:
    """Debian's suffixes do not confuse the version."""
    text = "QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2+deb13u1~bpo12+1)\nCopyright"
    assert parse_version(text, Path("qemu")) == (10, 0, 2)
    with pytest.raises(QemuError, match="says no version"):
        parse_version("not a QEMU", Path("qemu"))


def test_firmware_folders_begin_the_command_line() -> None:
    """An unpacked QEMU is told where its firmware is; an installed one is not."""
    assert Qemu(Path("/q"), (10, 0), (Path("/a"), Path("/b"))).argv() == ["/q", "-L", "/a", "-L", "/b"]
    assert Qemu(Path("/q"), (10, 0), ()).argv() == ["/q"]


def test_missing_features_are_named(make_qemu: MakeQemu) -> None:
    """A QEMU that is too old for the lab is found out by what it lacks."""
    assert qemu.missing_features(make_qemu("echo '  dbcs=<bool>'; echo '-plugin [file=]'")) == []
    assert qemu.missing_features(make_qemu("echo nothing")) == ["-device nvme,dbcs=off", "-plugin"]


def test_an_old_qemu_is_not_taken(monkeypatch: pytest.MonkeyPatch, make_qemu: MakeQemu, tmp_path: Path) -> None:
    """Debian 12's own QEMU is passed over for the one of the backports, which lies in the cache."""
    old = make_qemu("echo 'QEMU emulator version 7.2.22'")
    new = "#!/bin/sh\necho 'version 10.0.2'; echo '  dbcs=<bool>'; echo '-plugin x'\n"
    unpacked = plant(tmp_path / "usr/bin/qemu-system-x86_64", new)
    monkeypatch.setattr("shutil.which", lambda name: str(old.binary))
    monkeypatch.setattr(qemu, "unpack", lambda names, suite: tmp_path)
    found = qemu.find_qemu.__wrapped__()
    assert (found.binary, found.version) == (unpacked, (10, 0, 2))


def test_a_qemu_that_does_not_start_is_explained(make_qemu: MakeQemu) -> None:
    """A missing library ends in a message that says what to run."""
    broken = make_qemu("echo 'libfdt.so.1: cannot open' >&2; exit 127")
    with pytest.raises(QemuError, match=r"(?s)libfdt.*setup\.sh"):
        qemu.read_version(broken.binary)


@pytest.mark.parametrize(
    ("body", "works"),
    [(f"exit {accel.PROBE_CODE}", True), ("exit 0", False), ("kill -ABRT $$", False), ("exec sleep 60", False)],
    ids=["ends as it should", "ends otherwise", "aborts", "hangs"],
)
def test_probe_tells_a_guest_that_runs(
    make_qemu: MakeQemu, monkeypatch: pytest.MonkeyPatch, body: str, works: bool
) -> None:
    """Only the code that the guest itself gives is trusted, and a guest that hangs is ended."""
    monkeypatch.setattr(accel, "PROBE_LIMIT_S", 0.5 if not works else 60.0)
    assert accel.probe(make_qemu(body), Path("kernel"), Path("initrd")) is works


def test_who_may_not_use_kvm_is_told(
    make_qemu: MakeQemu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A user outside the group is told the line that changes it; nothing is run."""
    (tmp_path / "kvm").touch()
    monkeypatch.setattr(accel, "KVM", tmp_path / "kvm")
    monkeypatch.setattr("os.access", lambda *_: False)
    monkeypatch.setattr(accel, "may_use_kvm", accel.may_use_kvm.__wrapped__)
    monkeypatch.setattr(accel, "probe", lambda *_: pytest.fail("nothing should run"))
    assert not accel.boots_with_kvm(make_qemu(""), Path("kernel"), Path("initrd"))
    assert "as root: adduser" in capsys.readouterr().err
