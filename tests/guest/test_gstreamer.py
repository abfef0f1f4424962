# SPDX-License-Identifier: MIT
"""Debian's GStreamer records to a character disk and plays it again."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from disks import MIB
from programs import TOP

from chario_lab.guest.session import Guest

BUILD = Path(os.environ.get("CHARIO_BUILD", TOP / "build"))
# Emulation is slow, and loading programs over 9p too.
LIMIT_S = 600
FRAMES = 20
RAW = "video/x-raw,format=I420,width=160,height=120,framerate=30/1"
PICTURES = f"videotestsrc num-buffers={FRAMES} pattern=ball ! {RAW}"
# Of all plugins of the machine, those that are used: each is loaded once to see what it has.
PLUGINS = ("coreelements", "videotestsrc", "matroska", "x264")


def prepare(guest: Guest) -> str:
    """The environment of a pipeline, as words before its command."""
    plugin = BUILD / "gst" / "libgstchario.so"
    assert plugin.exists(), f"{plugin} is missing: run make user, or set CHARIO_BUILD to the folder of the build"
    system = Path("/usr/lib") / f"{platform.machine()}-linux-gnu" / "gstreamer-1.0"
    found = " ".join(str(system / f"libgst{name}.so") for name in PLUGINS)
    guest.must(f"mkdir -p /run/plugins && ln -sf {found} {plugin} /run/plugins/")
    return (
        f"env GST_PLUGIN_SYSTEM_PATH_1_0=/run/plugins GST_REGISTRY=/run/registry GST_REGISTRY_FORK=no "
        f"G_DEBUG=fatal-criticals LD_LIBRARY_PATH={BUILD / 'lib'}"
    )


def test_pictures_come_back_from_a_disk(guest: Guest, disk4096: str) -> None:
    """Raw frame by frame, and as a file of H.264 that plays."""
    run = f"{prepare(guest)} gst-launch-1.0"
    guest.must(f"LD_LIBRARY_PATH={BUILD / 'lib'} {BUILD / 'cli/chario'} format --force {disk4096}")
    settings = f"store={disk4096} area=raw"
    guest.must(f"{run} {PICTURES} ! chariosink {settings} size={16 * MIB}", LIMIT_S)
    guest.must(f"{run} chariosrc {settings} ! filesink location=/run/back.raw", LIMIT_S)
    guest.must(f"{run} {PICTURES} ! filesink location=/run/there.raw", LIMIT_S)
    guest.must(f"[ $(stat -c %s /run/back.raw) = {FRAMES * 160 * 120 * 3 // 2} ] && cmp /run/back.raw /run/there.raw")
    settings = f"store={disk4096} area=h264"
    encoded = f"{PICTURES} ! x264enc ! matroskamux streamable=true ! tee name=t"
    both = f"t. ! queue ! chariosink {settings} size={16 * MIB} t. ! queue ! filesink location=/run/there.mkv"
    guest.must(f"{run} {encoded} {both}", LIMIT_S)
    guest.must(f"{run} chariosrc {settings} ! filesink location=/run/back.mkv", LIMIT_S)
    guest.must("cmp /run/back.mkv /run/there.mkv")
    shown = guest.must(
        f"{run} -v filesrc location=/run/back.mkv ! matroskademux ! identity silent=false ! fakesink", LIMIT_S
    )
    assert shown.count("chain   ") == FRAMES
