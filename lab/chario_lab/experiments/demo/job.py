# SPDX-License-Identifier: MIT
"""The main job: write the recording to the character disk, read it back, compare."""

from dataclasses import dataclass
from pathlib import Path

from chario_lab.experiment.plan import Act
from chario_lab.experiments.demo.recording import MIB, RECORDING_BYTES, file_hash
from chario_lab.target.guest import GuestTarget
from chario_lab.target.target import Target, TargetError

BACK = "back.wav"
WRITE = "bs=4M oflag=direct conv=fsync"
READ = f"bs=4M iflag=direct,count_bytes count={RECORDING_BYTES}"


def job(recording: Path) -> tuple[Act, ...]:
    """With dd, as anybody would do it."""
    name = recording.name
    return (
        Act("job-write", f"writing {RECORDING_BYTES // MIB} MiB: dd if={name} of=/dev/chardisk0 {WRITE}",
            Write(recording)),
        Act("job-read", f"reading it back: dd if=/dev/chardisk0 of={BACK} {READ}", read),
        Act("job-compare", "comparing", Compare(recording), shown=True),
    )  # fmt: skip


@dataclass(frozen=True)
class Write:
    """Writes the recording, which the guest sees where the host has it."""

    recording: Path

    def __call__(self, target: Target) -> None:
        """From the disk's first block on."""
        target.must(f"dd if={self.recording} of={target.place.node} {WRITE}")


def read(target: Target) -> None:
    """Into a file that the host sees as well."""
    target.must(f"dd if={target.place.node} of=/share/{BACK} {READ}")


@dataclass(frozen=True)
class Compare:
    """Compares the file that came back."""

    recording: Path

    def __call__(self, target: Target) -> str:
        """Both hashes, which have to be the same."""
        assert isinstance(target, GuestTarget)
        back = target.guest.host.share / BACK
        expected, found = file_hash(self.recording), file_hash(back)
        back.unlink()
        sums = f"SHA-256 written    {expected}\nSHA-256 read back  {found}"
        if found != expected:
            raise TargetError(
                f"{sums}\nwhat was read back is not what was written: this is a bug of CharIO, please report it"
            )
        return sums
