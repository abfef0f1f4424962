# SPDX-License-Identifier: MIT
"""Debian's browser without a window, unpacked into the cache, for tests of pages.

    get_browser()                              the folder, fetched unless the cache has it
    open_page(page, scratch, "--dump-dom")     what the browser prints

The network is out of its reach: it knows the address of no host.
"""

import os
import subprocess
from pathlib import Path

from chario_lab.guest.tools import fetch, host_suite

PACKAGES = ("chromium-common", "chromium-headless-shell", "fonts-dejavu-core")
PROGRAM = "usr/lib/chromium/chromium-headless-shell"
LIBRARIES = ("usr/lib/*-linux-gnu", "usr/lib/*-linux-gnu/pulseaudio", "lib/*-linux-gnu")
FONTS = """\
<?xml version="1.0"?>
<fontconfig><dir>{fonts}</dir><cachedir>{scratch}/fonts</cachedir></fontconfig>
"""
# It speaks to its maker as soon as it starts, unless it is told not to.
SILENT = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
# A loaded machine takes a hundred times what an idle one does.
LIMIT_S = 300


def get_browser() -> Path:
    """A folder with the browser and all that it needs."""
    return fetch(PACKAGES, host_suite())


def open_page(page: Path, scratch: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Open a file; the browser's words are on its standard error, requests in `scratch`/requests.json."""
    root = get_browser()
    libraries = [path for pattern in LIBRARIES for path in root.glob(pattern)]
    fonts = scratch / "fonts.conf"
    fonts.write_text(FONTS.format(fonts=root / "usr/share/fonts", scratch=scratch))
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(scratch),
        "FONTCONFIG_FILE": str(fonts),
        "LD_LIBRARY_PATH": ":".join(map(str, libraries)),
    }
    words = [
        *SILENT,
        f"--user-data-dir={scratch / 'profile'}",
        f"--log-net-log={scratch / 'requests.json'}",
        "--enable-logging=stderr",
        *options,
        page.as_uri(),
    ]
    return subprocess.run(
        [root / PROGRAM, *words], env=environment, capture_output=True, text=True, check=False, timeout=LIMIT_S
    )
