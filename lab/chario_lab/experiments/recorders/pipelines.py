# SPDX-License-Identifier: MIT
"""Pipelines of GStreamer: the same buffers of a MiB into a file, and into a store."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from chario_lab.programs import build_plugin
from chario_lab.target.target import Target

BUFFER_BYTES = 1 << 20
PLUGINS = "/run/plugins"
SETTINGS = "/run/gstreamer"
GST = f". {SETTINGS}; gst-launch-1.0 -q"
NEEDED = "libgstreamer1.0-dev and gstreamer1.0-tools"


def from_file(path: str) -> str:
    """The beginning of a pipeline: a file, in buffers."""
    return f"{GST} filesrc location={path} blocksize={BUFFER_BYTES}"


def into_file(path: str, settings: str = "") -> str:
    """The end of a pipeline: a file."""
    return f"filesink location={path} {settings}".rstrip()


@dataclass(frozen=True)
class Plugins:
    """Our plugin, and GStreamer's with files."""

    ours: Path
    theirs: Path

    def offer(self, target: Target) -> None:
        """Offer the guest these only; its first pipeline writes the registry, which is not counted.

        A registry of all plugins of the machine takes minutes to make where a CPU is emulated.
        """
        target.must(f"mkdir -p {PLUGINS} && ln -sf {self.theirs} {PLUGINS}/")
        settings = (
            f"export GST_PLUGIN_SYSTEM_PATH_1_0={PLUGINS} GST_PLUGIN_PATH={self.ours.parent}"
            " GST_REGISTRY=/run/registry GST_REGISTRY_FORK=no"
        )
        target.must(f"echo '{settings}' >{SETTINGS}")
        target.must(f"{GST} fakesrc num-buffers=1 ! fakesink")


def find_plugins(top: Path) -> Plugins | None:
    """The plugins; None where this machine lacks GStreamer."""
    query = ["pkg-config", "--variable=pluginsdir", "gstreamer-base-1.0"]
    if shutil.which("gst-launch-1.0") is None or shutil.which(query[0]) is None:
        return None
    found = subprocess.run(query, capture_output=True, text=True, check=False)
    if found.returncode:
        return None
    return Plugins(build_plugin(top), Path(found.stdout.strip()) / "libgstcoreelements.so")
