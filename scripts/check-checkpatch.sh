#!/bin/sh
# SPDX-License-Identifier: MIT
# The module passes checkpatch --strict; .checkpatch.conf has the exceptions
# for all files, this script those of single ones.

. "$(dirname "$0")/check-common.sh"

find_kernel_scripts

checkpatch()
{
	xargs -r "$kernel_scripts/checkpatch.pl" --file "$@"
}

status=0

# Events are laid out as in every trace header of the kernel.
tracked kernel/trace.h |
	checkpatch --ignore PARENTHESIS_ALIGNMENT,OPEN_ENDED_LINE || status=1

# BIT_ULL() is not there in user space.
tracked kernel/uapi |
	checkpatch --ignore BIT_MACRO || status=1

# KERNEL_VERSION() is taken for the variable of the two.
tracked 'kernel/compat/*.h' |
	checkpatch --ignore CONSTANT_COMPARISON || status=1

tracked 'kernel/*.c' 'kernel/*.h' |
	grep -v -e '^kernel/trace\.h$' -e '^kernel/uapi/' -e '^kernel/compat/' |
	checkpatch || status=1

exit $status
