# SPDX-License-Identifier: MIT
"""What bash offers for the program chario while a line is typed."""

import subprocess
from pathlib import Path

import pytest

COMPLETION = Path(__file__).resolve().parents[2] / "cli/completion/chario.bash"
# Two drives, and what readline hands over of a line that ends at the cursor.
SCRIPT = """\
source "$0"
compopt() { :; }
_chario_drives() { echo 0000:01:00.0; echo 0000:02:00.0; }
COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDBREAKS=$2
read -ra COMP_WORDS <<<"${1//:/ : }"
[[ $1 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_chario chario "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
echo "${COMPREPLY[*]}"
"""
USUAL = " \t\n\"'@><=;|&(:"


def offered(line: str, breaks: str = USUAL) -> list[str]:
    """What bash puts in the place of the word at the cursor, or of its part behind a colon."""
    done = subprocess.run(
        ["bash", "-c", SCRIPT, str(COMPLETION), line, breaks], capture_output=True, text=True, check=True, timeout=60
    )
    assert not done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(("line", "words"), [
    ("chario bi", ["bind"]),
    ("chario bind 0", ["0000:01:00.0", "0000:02:00.0"]),
    ("chario bind 0000:", ["01:00.0", "02:00.0"]),
    ("chario bind 0000:0", ["01:00.0", "02:00.0"]),
    ("chario unbind 0000:02:0", ["00.0"]),
    ("chario unbind 0000:01:00.0 0000:02", ["02:00.0"]),
    ("chario plan --limits bl", ["block="]),
    ("chario bind 0000:03", []),
])  # fmt: skip
def test_words_that_fit_are_offered(line: str, words: list[str]) -> None:
    """An address is completed on either side of its colons."""
    assert offered(line) == words


def test_colons_may_be_no_breaks() -> None:
    """Who has taken them from COMP_WORDBREAKS gets whole words."""
    assert offered("chario bind 0000:02", USUAL.replace(":", "")) == ["0000:02:00.0"]


def test_a_store_is_a_file_also_behind_s(tmp_path: Path) -> None:
    """The short option completes what the long one does; of timeline it is a number."""
    store = tmp_path / "a.store"
    store.touch()
    for option in ("-s", "--store"):
        assert offered(f"chario ls {option} {tmp_path}/a") == [str(store)]
    assert not offered(f"chario timeline -s {tmp_path}/a")
