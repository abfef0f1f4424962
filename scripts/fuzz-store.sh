#!/bin/sh
# SPDX-License-Identifier: MIT
# Fuzzes the store: opens, lists, checks, repairs and changes whatever libFuzzer
# makes of a disk, with the address and undefined-behaviour sanitizers.
#
#     scripts/fuzz-store.sh SECONDS [FOLDER]
#
# What it has learned is kept in FOLDER/corpus, so that the next run goes on; what
# went wrong in FOLDER/found.  Without FOLDER it is build-fuzz.

set -eu

seconds=${1:?usage: scripts/fuzz-store.sh SECONDS [FOLDER]}
folder=${2:-build-fuzz}
cd "$(dirname -- "$0")/.."
folder=$(realpath -m -- "$folder")

if ! [ -e "$folder/build.ninja" ]; then
	# What GCC warns of is an error elsewhere; another compiler has other ideas.
	CC=clang-19 CXX=clang++-19 meson setup "$folder" -Dfuzz=true -Dwerror=false \
		-Db_sanitize=address,undefined -Db_lundef=false >&2
fi
meson compile -C "$folder" fuzz-store test-fuzz-store >&2
mkdir -p "$folder/corpus" "$folder/found"
"$folder/tests/fuzz/test-fuzz-store" "$folder/corpus"

# 25 s for an image is a hang: they take milliseconds.
if ! UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 "$folder/tests/fuzz/fuzz-store" \
	-max_len=131072 -max_total_time="$seconds" -timeout=25 -print_final_stats=1 \
	-verbosity=0 -artifact_prefix="$folder/found/" "$folder/corpus"; then
	echo "fuzz-store: the image is in $folder/found; to see it again:" >&2
	echo "  $folder/tests/fuzz/fuzz-store $folder/found/NAME" >&2
	exit 1
fi
