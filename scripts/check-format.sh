#!/bin/sh
# SPDX-License-Identifier: MIT
# User space is formatted by clang-format; the module is judged by checkpatch.

. "$(dirname "$0")/check-common.sh"

# Another version formats differently; this one is in Debian 12 and 13.
need clang-format-19 clang-format-19

findings=$(tracked '*.c' '*.h' | grep -v '^kernel/' | while IFS= read -r file; do
	clang-format-19 --dry-run --Werror --ferror-limit=1 "$file" 2>&1 |
		sed -n 's/: error: .*/: not formatted; clang-format-19 -i does it/p'
done)
[ -z "$findings" ] || {
	echo "$findings"
	exit 1
}
