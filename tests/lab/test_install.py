# SPDX-License-Identifier: MIT
"""`make` and `make install`: where things go; what would build or install is played."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from chario_lab.testing.files import plant

TOP = Path(__file__).resolve().parents[2]
MESON = """\
case $1 in
compile) ;;
install) echo "meson $DESTDIR" >>"$CALLS" ;;
*) exec /usr/bin/meson "$@" ;;
esac
"""


@dataclass(frozen=True)
class House:
    """This checkout, and a folder for all that `make` makes."""

    folder: Path

    def give(self, name: str, body: str) -> None:
        """A program that goes before the real one."""
        plant(self.folder / "bin" / name, f"#!/bin/sh\n{body}")

    def make(self, *words: str, **environment: str) -> None:
        """Run it, without what brings packages."""
        settings = {
            **os.environ,
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "CALLS": str(self.folder / "calls"),
            **environment,
        }
        settings.pop("MAKEFLAGS", None)
        subprocess.run(
            ["/usr/bin/make", "-o", "setup-build", f"BUILD={self.folder / 'build'}", *words],
            cwd=TOP,
            env=settings,
            check=True,
            timeout=600,
        )

    def after_install(self) -> str:
        """What a user is told at the end."""
        settings = {**os.environ, "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}"}
        settings.pop("DESTDIR", None)
        script = [TOP / "scripts/after-install.sh"]
        return subprocess.run(script, env=settings, check=True, capture_output=True, text=True, timeout=60).stdout

    def prefix(self) -> str:
        """Where Meson would install."""
        options = json.loads((self.folder / "build/meson-info/intro-buildoptions.json").read_text())
        return str(next(option["value"] for option in options if option["name"] == "prefix"))


@pytest.fixture
def house(tmp_path: Path) -> House:
    """Nothing is built or installed."""
    made = House(tmp_path)
    made.give("meson", MESON)
    return made


def test_a_prefix_counts_whenever_it_is_given(house: House) -> None:
    """Also in a folder that has been set up with another one; and it stays."""
    house.make("user")
    assert house.prefix() == "/usr/local"
    house.make("user", "PREFIX=/opt/chario")
    assert house.prefix() == "/opt/chario"
    house.make("user")
    assert house.prefix() == "/opt/chario"


@pytest.mark.parametrize("by_environment", [False, True])
def test_all_goes_below_one_root(house: House, by_environment: bool) -> None:
    """A relative DESTDIR means the same folder for make, Meson and Kbuild."""
    house.give("make", 'for word; do case $word in INSTALL_MOD_PATH=*) echo "make ${word#*=}" >>"$CALLS";; esac; done')
    house.give("install", 'for target; do :; done; echo "install ${target%/usr/*}" >>"$CALLS"')
    headers = house.folder / "headers"
    plant(headers / "include/generated/utsrelease.h", '#define UTS_RELEASE "6.1.0"\n')
    plant(headers / ".config", 'CONFIG_MODULE_SIG_KEY=""\n')
    words = ("-o", "all", "install", f"KDIR={headers}")
    if by_environment:
        house.make(*words, DESTDIR="stage/root")
    else:
        house.make(*words, "DESTDIR=stage/root")
    root = TOP / "stage/root"
    calls = (house.folder / "calls").read_text().splitlines()
    assert sorted(calls) == sorted([f"make {root}", f"meson {root}", *[f"install {root}"] * 4])


@pytest.mark.parametrize(("loaded", "installed", "told"), [("A1", "B2", True), ("A1", "A1", False), ("", "B2", False)])
def test_a_module_that_still_runs_is_told_of(house: House, loaded: str, installed: str, told: bool) -> None:
    """Who installs another one than that which is loaded learns that, and what to do; others do not."""
    for name in ("ldconfig", "systemd-sysusers", "udevadm"):
        house.give(name, "")
    house.give("modinfo", f"echo {installed}")
    running = f"echo {loaded}" if loaded else "false"
    house.give("cat", f'case $1 in /sys/module/chario/srcversion) {running} ;; *) exec /bin/cat "$@" ;; esac')
    assert ("modprobe -r chario" in house.after_install()) == told
