#!/bin/sh
# SPDX-License-Identifier: MIT
# Fuzzes the library, with the address and undefined-behaviour sanitizers: whatever
# libFuzzer makes of it,
#
#     store     a disk is opened, listed, checked, repaired and changed
#     stream    a recording is read in every way, followed and gone on with
#
#     scripts/fuzz-library.sh SECONDS [FOLDER [WHAT...]]
#
# SECONDS are for each.  What it has learned is kept in FOLDER/corpus-WHAT, so that the
# next run goes on; what went wrong in FOLDER/found.  Without FOLDER it is build-fuzz,
# without WHAT both.  FUZZ_SEED repeats what another run with it began with.

set -eu

seconds=${1?usage: scripts/fuzz-library.sh SECONDS [FOLDER [WHAT...]]}
case $seconds in
'' | *[!0-9]*)
	echo "FUZZ_SECONDS is a number of seconds, not '$seconds'" >&2
	exit 1
	;;
esac
folder=${2:-build-fuzz}
shift "$(($# < 2 ? $# : 2))"
[ $# -gt 0 ] || set -- store stream
cd "$(dirname -- "$0")/.."
. scripts/build-common.sh
folder=$(realpath -m -- "$folder")

# Warnings are errors with GCC only: another compiler has other warnings.
export CC=clang-19 CXX=clang++-19
set_up "$folder" -Dfuzz=true -Dwerror=false -Db_sanitize=address,undefined -Db_lundef=false
mkdir -p "$folder/found"

for what; do
	ninja -C "$folder" "tests/fuzz/fuzz-$what" "tests/fuzz/test-fuzz-$what" >&2
	corpus=$folder/corpus-$what
	mkdir -p "$corpus"
	"$folder/tests/fuzz/test-fuzz-$what" "$corpus"
	# 25 s for an image is a hang: they take milliseconds.
	if ! UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 "$folder/tests/fuzz/fuzz-$what" \
		-max_len=131072 -seed="${FUZZ_SEED:-0}" -max_total_time="$seconds" -timeout=25 -print_final_stats=1 \
		-verbosity=0 -print_funcs=0 -artifact_prefix="$folder/found/" "$corpus"; then
		echo "fuzz-$what: the image is in $folder/found; to see it again:" >&2
		echo "  $folder/tests/fuzz/fuzz-$what $folder/found/NAME" >&2
		exit 1
	fi
done
