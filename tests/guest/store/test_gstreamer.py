# SPDX-License-Identifier: MIT
"""Debian's GStreamer records to a character disk, or to a region of one, and plays it again."""

import platform
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from block_side import set_regions
from disks import MIB
from programs import BUILD

from chario_lab.guest.session import Guest

pytestmark = [pytest.mark.area("gst/")]

# Emulation is slow, and loading programs over 9p too.
LIMIT_S = 600
FRAMES = 20
# The region.
FIRST = 8 * MIB
LENGTH = 64 * MIB
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


@pytest.fixture(params=["disk", "region"])
def node(guest: Guest, disk4096: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A disk, or a region in the middle of it with the rest of the disk full of marks, which stay."""
    if request.param == "disk":
        yield disk4096
        return
    set_regions(guest, disk4096, (1, FIRST, LENGTH))
    marks = f"yes mark | head -c {FIRST}"
    for seek in (0, FIRST + LENGTH):
        guest.must(f"{marks} | dd of={disk4096} bs={MIB} seek={seek // MIB} iflag=fullblock oflag=direct status=none")
    yield f"{disk4096}p1"
    for skip in (0, FIRST + LENGTH):
        back = f"dd if={disk4096} bs={MIB} skip={skip // MIB} count={FIRST // MIB} iflag=direct status=none"
        guest.must(f"{marks} >/run/marks && {back} | cmp - /run/marks")
    set_regions(guest, disk4096)


def test_pictures_come_back(guest: Guest, node: str) -> None:
    """Raw frame by frame, and as a file of H.264 that plays."""
    run = f"{prepare(guest)} gst-launch-1.0"
    guest.must(f"LD_LIBRARY_PATH={BUILD / 'lib'} {BUILD / 'cli/chario'} format --force {node}")
    settings = f"store={node} area=raw"
    guest.must(f"{run} {PICTURES} ! chariosink {settings} size={16 * MIB}", LIMIT_S)
    guest.must(f"{run} chariosrc {settings} ! filesink location=/run/back.raw", LIMIT_S)
    guest.must(f"{run} {PICTURES} ! filesink location=/run/there.raw", LIMIT_S)
    guest.must(f"[ $(stat -c %s /run/back.raw) = {FRAMES * 160 * 120 * 3 // 2} ] && cmp /run/back.raw /run/there.raw")
    settings = f"store={node} area=h264"
    encoded = f"{PICTURES} ! x264enc ! matroskamux streamable=true ! tee name=t"
    both = f"t. ! queue ! chariosink {settings} size={16 * MIB} t. ! queue ! filesink location=/run/there.mkv"
    guest.must(f"{run} {encoded} {both}", LIMIT_S)
    guest.must(f"{run} chariosrc {settings} ! filesink location=/run/back.mkv", LIMIT_S)
    guest.must("cmp /run/back.mkv /run/there.mkv")
    shown = guest.must(
        f"{run} -v filesrc location=/run/back.mkv ! matroskademux ! identity silent=false ! fakesink", LIMIT_S
    )
    assert shown.count("chain   ") == FRAMES


def test_buffers_fit_the_limit_of_locked_memory(guest: Guest, disk4096: str) -> None:
    """A user with Debian's limit, where 8 buffers of 4 MiB are usual: a warning, and all pictures come back."""
    run = f"{prepare(guest)} gst-launch-1.0"
    guest.must(f"LD_LIBRARY_PATH={BUILD / 'lib'} {BUILD / 'cli/chario'} format --force {disk4096}")
    guest.must(f"chmod 666 {disk4096} && touch /run/registry && chmod 644 /run/registry")
    user = f"ulimit -l 8192 && setpriv --reuid=1000 --regid=1000 --clear-groups {run}"
    settings = f"store={disk4096} area=user"
    said = guest.must(f"{user} {PICTURES} ! chariosink {settings} size={64 * MIB} 2>&1", LIMIT_S)
    assert re.search(r"There is memory for \d+ buffers of \d+ bytes only", said), said
    shown = guest.must(f"{user} -v chariosrc {settings} ! identity silent=false ! fakesink", LIMIT_S)
    assert shown.count("chain   ") == FRAMES
