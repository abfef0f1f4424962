# SPDX-License-Identifier: MIT
"""Pipelines with the plugin that was built, on a store in a file."""

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CHARIO_BUILD", TOP / "build"))
PLUGIN = BUILD / "gst" / "libgstchario.so"
LIMIT_S = 120
MIB = 1 << 20
WIDTH, HEIGHT = 160, 120
FRAME_BYTES = WIDTH * HEIGHT * 3 // 2
RAW = f"video/x-raw,format=I420,width={WIDTH},height={HEIGHT},framerate=30/1"


@dataclass(frozen=True)
class Lab:
    """A folder with a store, and the plugin that was built."""

    folder: Path
    image: Path

    @property
    def environment(self) -> dict[str, str]:
        """Where the plugin and the library are; nothing of the user's registry is touched."""
        return {
            **os.environ,
            "LC_ALL": "C",
            "GST_PLUGIN_PATH": str(PLUGIN.parent),
            "GST_REGISTRY": str(self.folder / "registry"),
            "LD_LIBRARY_PATH": str(BUILD / "lib"),
            "GST_DEBUG_NO_COLOR": "1",
            "G_DEBUG": "fatal-criticals",
        }

    def start(self, pipeline: str, *options: str, **settings: str) -> subprocess.Popen[str]:
        """Begin to run a pipeline; settings are of its environment."""
        command = ["gst-launch-1.0", *options, *shlex.split(pipeline)]
        return subprocess.Popen(
            command, env=self.environment | settings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def run(self, pipeline: str, *options: str, **settings: str) -> subprocess.CompletedProcess[str]:
        """Run a pipeline to its end."""
        with self.start(pipeline, *options, **settings) as process:
            output, _ = process.communicate(timeout=LIMIT_S)
            return subprocess.CompletedProcess(pipeline, process.returncode, output)

    def must(self, pipeline: str, *options: str) -> str:
        """Run a pipeline that ends well; what it printed."""
        result = self.run(pipeline, *options)
        assert result.returncode == 0 and "ERROR" not in result.stdout, result.stdout
        return result.stdout

    def frames(self, count: int) -> str:
        """Part of a pipeline: so many pictures, each of which is another."""
        return f"videotestsrc num-buffers={count} pattern=ball ! {RAW}"

    def sink(self, area: str, settings: str = "") -> str:
        """The last part of a pipeline: a recording."""
        return f"chariosink store={self.image} area={area} {settings}"

    def source(self, area: str, settings: str = "") -> str:
        """The first part of a pipeline: what was recorded."""
        return f"chariosrc store={self.image} area={area} {settings}"

    def count(self, pipeline: str) -> int:
        """The number of buffers that come out of a pipeline."""
        output = self.must(f"{pipeline} ! identity silent=false ! fakesink", "-v")
        return len(re.findall(r"chain .*\(\d+ bytes", output))

    def into_file(self, pipeline: str, name: str) -> bytes:
        """What comes out at the end of a pipeline."""
        path = self.folder / name
        self.must(f"{pipeline} ! filesink location={path}", "-q")
        return path.read_bytes()

    def reference(self, count: int) -> bytes:
        """The pictures as they are without a recording."""
        return self.into_file(self.frames(count), "reference.raw")
