# SPDX-License-Identifier: MIT
"""`make guest` without a terminal."""

import io
from unittest.mock import Mock

import pytest

from chario_lab import shell
from chario_lab.guest.spec import GuestSpec


def test_what_is_piped_in_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it by one shell, whose exit code is the guest's."""
    monkeypatch.setattr("sys.stdin", io.StringIO("cd /tmp\npwd; exit 3\n"))
    run = Mock(return_value=3)
    monkeypatch.setattr(shell, "run_command", run)
    spec = GuestSpec()
    assert shell.open_shell(spec, bound=True) == 3
    run.assert_called_once_with(spec, ["/bin/bash", "-c", "cd /tmp\npwd; exit 3\n"], True, shell.DAY_S)


def test_nothing_piped_in_says_what_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guest is not booted for nothing, and the message has a line to copy."""
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    with pytest.raises(shell.ShellError, match=r"needs a terminal, or commands on its input: echo lspci \| make guest"):
        shell.open_shell(GuestSpec(), bound=False)
