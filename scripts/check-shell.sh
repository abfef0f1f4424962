#!/bin/sh
# SPDX-License-Identifier: MIT
# Every shell script passes shellcheck, whatever its name ends with.

. "$(dirname "$0")/check-common.sh"

need shellcheck shellcheck

{
	tracked '*.sh' '*.bash'
	git grep -lE '^#!.*\b(sh|bash|dash)\b' | while IFS= read -r file; do
		if head -n 1 "$file" | grep -qE '^#!.*\b(sh|bash|dash)( |$)'; then
			printf '%s\n' "$file"
		fi
	done
} | sort -u | xargs -r shellcheck --external-sources --source-path=SCRIPTDIR --format=gcc
