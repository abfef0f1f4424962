#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the static checks: all of them, or those that are named.  One line a
# check; what a check found follows its line.  A tool that is missing is a
# failure, because a check that did not run has not passed.

cd "$(dirname "$0")/.." || exit 1

# name, script, what it holds
table='
module      check-module.sh      chario.ko builds without a warning of compiler or sparse
checkpatch  check-checkpatch.sh  the module is in the style of the kernel
kernel-doc  check-kernel-doc.sh  documentation comments of headers are complete
exports     check-exports.py     the library exports what its headers document
compat      check-compat.py      versions of the kernel are tested for in kernel/compat only
layers      check-layers.py      includes follow the layers
circles     check-circles.sh     no source of the module needs itself by way of others
stages      check-stages.py      the stages of a request are spelled alike everywhere
areas       check-areas.sh       every file of guest tests names an area, and every source is in one
spdx        check-spdx.py        every file names the licence of its folder
house       check-house.py       files and functions are short and finished
format      check-format.sh      C of user space is formatted
python      check-python.sh      Python is formatted, linted and typed
shell       check-shell.sh       shell scripts pass shellcheck
spelling    check-spelling.sh    no common misspellings
words       check-words.py       comments are sentences with a subject
man         check-man.sh         manual pages are well-formed
'

usage()
{
	echo "usage: scripts/check.sh [--list | NAME...]"
}

# script_of NAME: the script of a check; nothing where there is no such check.
script_of()
{
	echo "$table" | while read -r name script _; do
		[ "$name" != "$1" ] || echo "$script"
	done
}

# run NAME: one line, then the findings.  On a terminal the name stands alone
# until the check has ended; what takes long is said on descriptor 3.
run()
{
	[ ! -t 1 ] || printf '%-11s ...\r' "$1"
	output=$("scripts/$(script_of "$1")" 3>&2 2>&1)
	result=$?
	[ ! -t 1 ] || printf '\r\033[K'
	case $result in
	0)
		printf '%-11s ok\n' "$1"
		printf '%s\n' "$output" | sed -n 's/^note: /            /p'
		passed=$((passed + 1))
		return
		;;
	2) printf '%-11s FAILED  %s\n' "$1" "$(printf '%s\n' "$output" | tail -n 1)" ;;
	*)
		printf '%-11s FAILED\n' "$1"
		printf '%s\n' "$output" | sed 's/^/            /'
		;;
	esac
	failed=$((failed + 1))
}

case $1 in
-h | --help)
	usage
	exit 0
	;;
--list)
	echo "$table" | sed -E '/^$/d; s/check-[^ ]+ +//'
	exit 0
	;;
esac

for name in "$@"; do
	[ -n "$(script_of "$name")" ] && continue
	usage >&2
	echo "no check is called '$name'; --list shows them" >&2
	exit 2
done

# shellcheck disable=SC2046 # names of checks have no blanks
[ $# -gt 0 ] || set -- $(echo "$table" | sed 's/ .*//')

passed=0
failed=0
for name in "$@"; do
	run "$name"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
