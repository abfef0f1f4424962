#!/bin/sh
# SPDX-License-Identifier: MIT
# The library exports what its map names, under the version that it names, and nothing else.
#
#     exports.sh LIBRARY MAP

set -eu

expected=$(sed -n 's/^\(CHARIO_[0-9.]*\) {$/\1/p; s/^\t\(chario_[a-z_]*\);$/\1/p' "$2" |
	awk '/^CHARIO_/ { version = $0; print version " " version; next } { print $0 " " version }' | sort)
exported=$(nm -D --defined-only "$1" | awk '{ print $3 }' |
	sed 's/@@*/ /; s/^\(CHARIO_[0-9.]*\)$/\1 \1/' | sort)

echo 1..1
if [ "$expected" = "$exported" ]; then
	echo "ok 1 - exported symbols"
else
	echo "not ok 1 - exported symbols"
	printf '# the map names:\n%s\n# exported:\n%s\n' "$expected" "$exported" | sed 's/^[^#]/#   &/'
	exit 1
fi
