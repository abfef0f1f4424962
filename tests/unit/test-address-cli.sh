#!/bin/sh
# SPDX-License-Identifier: MIT
# What a user sees of the names of sources: addresses, sockets and terminals.
#
#     test-address-cli.sh CHARIO

. "$(dirname "$0")/store-cli.sh"

# A session leader without a terminal would get the first one that it opens without O_NOCTTY; at
# its end the kernel would hang up the other programs of its session.
format 64M
bytes 100 >source
gives 0 put source area
python3 - "$chario" <<'PYTHON' >said 2>&1 || note "$(cat said)"
import os
import pty
import sys

CALLS = (
    ("record --size 4M --bytes 5 cam --from TTY", b"\x03line\n"),
    ("put --bytes 4 TTY new", b"abc\n"),
    ("get area TTY", b""),
    ("replay -o TTY cam", b""),
    ("ls --store TTY", b""),
    ("format --force TTY", b""),
    ("check TTY", b""),
)


def lead(words: list[str], asked: int, answer: int) -> None:
    """Lead a session in which one more program answers as long as it lives."""
    os.setsid()
    if not os.fork():
        os.read(asked, 1)
        os.write(answer, b"alive")
        os._exit(0)
    os.execv(words[0], words)


wrong = 0
for words, typed in CALLS:
    master, slave = pty.openpty()
    os.write(master, typed)
    asked, ask = os.pipe()
    answered, answer = os.pipe()
    leader = os.fork()
    if not leader:
        lead([sys.argv[1], *words.replace("TTY", os.ttyname(slave)).split()], asked, answer)
    os.waitpid(leader, 0)
    os.close(answer)
    os.write(ask, b"x")
    if not os.read(answered, 9):
        wrong += 1
        print(f"it has become the controlling terminal: {words}")
sys.exit(wrong)
PYTHON
gives 0 replay cam
says line
claim "no terminal becomes the controlling terminal of a verb"

end
