# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# What the tests of the verbs of a store share; read with ".", with the program as $1.
# Each test works in an empty folder, on a store in the file "store".

set -u

chario=$(realpath "$1") || exit 1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export CHARIO_STORE=store LC_ALL=C.UTF-8
input=/dev/null
nr=0
failed=0
wrong=''

# claim TEXT: ends a test; it has passed when nothing was wrong.
claim()
{
	nr=$((nr + 1))
	if [ -z "$wrong" ]; then
		echo "ok $nr - $1"
	else
		echo "not ok $nr - $1"
		echo "$wrong" | sed 's/^/# /'
		failed=1
	fi
	wrong=''
	rm -rf ./*
}

# Ends the file: with 0 when all tests have passed.  Who dies before has no plan.
end()
{
	echo "1..$nr"
	exit $failed
}

# note WORD...: something is wrong.
note()
{
	wrong="$wrong$*
"
}

# gives STATUS ARGUMENT... [:: TEXT...]: chario ends with that, and says each text; what it says is in "said".
gives()
{
	expected=$1
	shift
	nr_arguments=0
	for word; do
		[ "$word" = :: ] && break
		nr_arguments=$((nr_arguments + 1))
	done
	command=$*
	# The arguments go behind the texts, where no other word follows them.
	for word; do
		[ "$word" = :: ] && break
		shift
		set -- "$@" "$word"
	done
	nr_texts=$(($# - nr_arguments))
	(shift $nr_texts; exec "$chario" "$@") >said 2>&1 <"$input"
	status=$?
	[ $status = "$expected" ] || note "chario $command: $status, not $expected: $(cat said)"
	for text; do
		[ $nr_texts = 0 ] && break
		nr_texts=$((nr_texts - 1))
		[ "$text" = :: ] || says "$text"
	done
}

# says TEXT...: each was said.
says()
{
	for text; do
		grep -qF -e "$text" said || note "not said: $text; but: $(cat said)"
	done
}

# A store of so many bytes.
format()
{
	gives 0 format --size "$1" store
}

# same FILE NAME: the area holds what the file holds.
same()
{
	"$chario" cat "$2" | cmp -s - "$1" || note "\"$2\" does not hold what $1 holds"
}

# member NAME: its number in the JSON that was said.
member()
{
	sed -n "s/^ *\"$1\": *\\([0-9]*\\),*\$/\\1/p" said
}

# has NAME NUMBER...: the JSON that was said has these.
has()
{
	while [ $# -gt 1 ]; do
		[ "$(member "$1")" = "$2" ] || note "$1 is $(member "$1"), not $2: $(cat said)"
		shift 2
	done
}

# wait_for NAME PROCESS: until an area of this name is there, or the process has ended.
wait_for()
{
	until "$chario" stat --store store "$1" >/dev/null 2>&1; do
		kill -0 "$2" 2>/dev/null || return
	done
}

# from_pipe SAID ARGUMENT...: chario as $!, which reads what is written to descriptor 3; what it says is in SAID.
from_pipe()
{
	mkfifo pipe
	said=$1
	shift
	"$chario" "$@" >"$said" 2>&1 &
	exec 3>pipe
}

# A port of UDP and TCP that no program has.
free_port()
{
	python3 -c '
import socket
with socket.socket() as one, socket.socket(type=socket.SOCK_DGRAM) as two:
    one.bind(("127.0.0.1", 0))
    two.bind(("127.0.0.1", one.getsockname()[1]))
    print(one.getsockname()[1])'
}

# dead PATH: makes a socket that its program leaves behind.
dead()
{
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).bind(sys.argv[1])' "$1"
}

# send WHAT TO TEXT...: by a socket of Python, which knows all kinds.
send()
{
	python3 - "$@" <<'PYTHON'
import socket
import sys
import time

what, to, *texts = sys.argv[1:]
family = socket.AF_UNIX if what == "unix" else socket.AF_INET
with socket.socket(family, socket.SOCK_STREAM if what == "tcp" else socket.SOCK_DGRAM) as sender:
    for attempt in range(3000):
        try:
            sender.connect(("127.0.0.1", int(to)) if what != "unix" else to.replace("@", "\0"))
            break
        except OSError:
            time.sleep(0.01)
    for text in texts:
        sender.sendall(text.encode())
PYTHON
}

bytes()
{
	head -c "$1" /dev/urandom
}
