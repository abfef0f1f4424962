# SPDX-License-Identifier: MIT
"""A guest that does not come up is started once more, and no more than that."""

from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from chario_lab.guest import launch
from chario_lab.guest.session import Guest, GuestDied, GuestSilent, QemuCrashed
from chario_lab.guest.spec import GuestSpec
from chario_lab.kernel import Kernel

KERNEL = Kernel("6.1", "6.1.0", Path("v"), Path("m"), Path("b"), debug=False)


class Attempt:
    """A guest that comes up, or fails to."""

    def __init__(self, failure: Exception | None) -> None:
        self.failure = failure

    def wait_ready(self, limit_s: float) -> None:
        """Return when it is up."""
        if self.failure:
            raise self.failure


def boot(monkeypatch: pytest.MonkeyPatch, *failures: Exception | None) -> tuple[object, int]:
    """Boot with these failures, one an attempt; the guest, and how many attempts were ended."""
    attempts = [Attempt(failure) for failure in failures]
    left = iter(attempts)
    ended: list[Attempt] = []

    def start(stack: ExitStack, *_: object) -> Attempt:
        attempt = next(left)
        stack.callback(ended.append, attempt)
        return attempt

    monkeypatch.setattr(launch, "start", start)
    with ExitStack() as stack:
        guest = launch.boot(stack, GuestSpec(), KERNEL, False, None)
        return attempts.index(guest), len(ended)  # type: ignore[arg-type]


@pytest.mark.parametrize("failure", [GuestSilent("no timer"), QemuCrashed("signal 6"), GuestDied("Oops: int3")])
def test_the_second_attempt_counts(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], failure: Exception
) -> None:
    """The first is ended, its reason is said, the second is the guest."""
    assert boot(monkeypatch, failure, None) == (1, 1)
    assert f"{failure} while it boots: once more" in capfd.readouterr().err


def test_two_failures_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel that never boots is told as what it is."""
    with pytest.raises(GuestDied, match="again"):
        boot(monkeypatch, GuestDied("once"), GuestDied("again"))


def test_other_failures_are_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in what is asked for stays one."""
    with pytest.raises(ValueError, match="wrong"):
        boot(monkeypatch, ValueError("wrong"), None)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("rcu: rcu_preempt kthread timer wakeup didn't happen for 10000 jiffies!", "lost its timer"),
        ("", "not come up after 0 s"),
    ],
    ids=["lost", "silent"],
)
def test_why_a_guest_does_not_come_up(tmp_path: Path, said: str, reason: str) -> None:
    """What its kernel says of itself is told at once; else the time is what tells."""
    guest = object.__new__(Guest)
    guest.host = SimpleNamespace(console=tmp_path / "console", run_dir=tmp_path)  # type: ignore[assignment]
    guest._channel = SimpleNamespace(ready=Future())  # type: ignore[assignment]
    guest.host.console.write_text(said)
    with pytest.raises(GuestSilent, match=reason) as silence:
        guest.wait_ready(3600 if said else 0)
    assert silence.value.run_dir == tmp_path
