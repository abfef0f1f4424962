# SPDX-License-Identifier: MIT
"""The input of the demonstration and the comparison of what came back."""

import hashlib
from pathlib import Path
from unittest.mock import Mock, create_autospec

import pytest

from chario_lab.experiment.book import ExperimentError
from chario_lab.experiments.demo import recording
from chario_lab.experiments.demo.job import Compare
from chario_lab.programs import ProgramError, build
from chario_lab.target.guest import GuestTarget
from chario_lab.target.target import TargetError
from chario_lab.testing.files import plant


def test_the_recording_fills_whole_blocks() -> None:
    """Its last MiB is filled, never cut, and has room for the head of the file."""
    assert [recording.whole_mib(size) for size in (1, recording.MIB, recording.MIB + 1)] == [
        recording.MIB,
        recording.MIB,
        2 * recording.MIB,
    ]
    assert recording.SAMPLES_BYTES + 4096 <= recording.RECORDING_BYTES


def test_the_recording_is_as_long_as_promised() -> None:
    """At least 256 MiB, as the README says, with all channels described."""
    bytes_a_second = recording.RATE_HZ * recording.SAMPLE_BITS // 8 * recording.NR_CHANNELS
    assert recording.LENGTH_S * bytes_a_second >= 256 * recording.MIB
    waves = ("noise", "sine", "pluck", "sawtooth", "trapezium")
    assert sum(word.endswith(waves) for word in recording.CHANNELS.split()) == recording.NR_CHANNELS


def test_without_sox_the_message_says_what_to_do(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback of a program that is not there, and no half-made file."""
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(ExperimentError, match=r"sox is missing.*scripts/setup\.sh"):
        recording.make_recording()
    assert not list((own_cache / "recordings").iterdir())


def test_a_recording_that_was_cut_short_is_not_kept(
    tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a full disk sox writes what fits and reports success."""
    script = '#!/bin/sh\nfor word; do case $word in *.wav) echo cut >"$word" ;; esac; done\necho full >&2\n'
    plant(tmp_path / "bin/sox", script)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    with pytest.raises(ExperimentError, match=r"not written all of the recording: full"):
        recording.make_recording()
    assert not list((own_cache / "recordings").iterdir())


def test_a_missing_tool_is_named() -> None:
    """The message names the tool, what it is for and how to get it."""
    with pytest.raises(ProgramError, match=r"no-such-tool is missing, which builds it: run scripts/setup\.sh"):
        build("it", ["no-such-tool"])


@pytest.mark.parametrize("arrives", [True, False])
def test_both_sums_are_compared(tmp_path: Path, arrives: bool) -> None:
    """A recording that comes back otherwise is an error that shows both; no copy stays."""
    source, back = tmp_path / "recording.wav", tmp_path / "back.wav"
    source.write_bytes(b"samples" * 1000)
    back.write_bytes(source.read_bytes() if arrives else b"other" * 1400)
    sums = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (source, back)]
    target = create_autospec(GuestTarget, instance=True)
    target.guest = Mock()
    target.guest.host.share = tmp_path
    if arrives:
        said = Compare(source)(target)
    else:
        with pytest.raises(TargetError, match="is not what was written") as raised:
            Compare(source)(target)
        said = str(raised.value)
    assert f"written    {sums[0]}" in said
    assert f"read back  {sums[1]}" in said
    assert not back.exists()
