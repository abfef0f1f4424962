# SPDX-License-Identifier: MIT
"""The input of the demonstration: a WAV file that sox makes once, kept in the cache."""

import errno
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from chario_lab.cache import cache_dir, keep
from chario_lab.experiment.book import ExperimentError

MIB = 1 << 20
RATE_HZ = 96000
SAMPLE_BITS = 16
LENGTH_S = 175
# One word or two a channel.
CHANNELS = "pinknoise sine 440 sine 50:8000 pluck E2 sawtooth 220 brownnoise trapezium 110 sine 1000"
NR_CHANNELS = 8
SAMPLES_BYTES = LENGTH_S * RATE_HZ * NR_CHANNELS * SAMPLE_BITS // 8
NAME = "recording.wav"


def whole_mib(size_bytes: int) -> int:
    """The next multiple of a MiB."""
    return -(-size_bytes // MIB) * MIB


# With the head of the file, which is shorter than what fills the last MiB.
RECORDING_BYTES = whole_mib(SAMPLES_BYTES)


def make_recording() -> Path:
    """175 seconds of eight channels, 257 MiB in whole MiB; the same on every machine."""
    folder = cache_dir() / "recordings" / f"{NR_CHANNELS}x{RATE_HZ}x{LENGTH_S}s"
    return keep(folder, "the recording", lambda scratch: synthesise(scratch / NAME)) / NAME


def synthesise(target: Path) -> None:
    """Have sox make the file; fill its last MiB, because a disk takes whole blocks."""
    if shutil.which("sox") is None:
        raise ExperimentError("sox is missing, which makes the recording: run scripts/setup.sh, or apt-get install sox")
    output = ["-r", str(RATE_HZ), "-b", str(SAMPLE_BITS), "-c", str(NR_CHANNELS), str(target)]
    command = ["sox", "-R", "-n", *output, "synth", str(LENGTH_S), *CHANNELS.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ExperimentError(f"sox cannot make the recording: {done.stderr.strip()}")
    # On a full disk sox stops early and reports success.
    if not target.exists() or target.stat().st_size < SAMPLES_BYTES:
        raise ExperimentError(
            f"sox has not written all of the recording: {done.stderr.strip() or os.strerror(errno.ENOSPC)}"
        )
    with target.open("ab") as file:
        file.truncate(RECORDING_BYTES)


def file_hash(path: Path) -> str:
    """SHA-256 of a file of the host."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
