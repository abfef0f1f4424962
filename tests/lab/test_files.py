# SPDX-License-Identifier: MIT
"""Small files of a guest: what the agent answers is what a caller gets."""

from collections.abc import Mapping

import pytest

from chario_lab.guest.files import Files, answer_of

FOLDER = {"state": "live\n", "size": "512\n", "uevent": "A=1\nB=2\n"}


def ask(operation: str, fields: Mapping[str, str]) -> object:
    """An agent whose only folder is /disk."""
    path = fields["path"]
    if operation == "read_folder" and path == "/disk":
        return FOLDER
    name = path.removeprefix("/disk/")
    if name not in FOLDER:
        return answer_of(path, {"id": 1, "errno": 2})
    return FOLDER[name] if operation == "read" else path


def test_a_value_has_no_end_of_line() -> None:
    """One line becomes a value; the content of a file stays as it is."""
    files = Files(ask)
    assert files.value("/disk/state") == "live"
    assert files.read("/disk/uevent") == "A=1\nB=2\n"
    assert files.values("/disk") == {"state": "live", "size": "512", "uevent": "A=1\nB=2"}


def test_an_error_of_the_guest_is_raised() -> None:
    """As the exception that it would be here, with the path."""
    with pytest.raises(FileNotFoundError, match=r"in the guest.*'/disk/none'"):
        Files(ask).read("/disk/none")
    assert not Files(ask).exists("/disk/none")
    assert Files(ask).exists("/disk/state")


def test_nothing_is_an_answer() -> None:
    """A write has nothing to say, and that is no error."""
    assert answer_of("/disk/state", {"id": 1, "value": None}) is None
