#!/bin/sh
# SPDX-License-Identifier: MIT
# Documentation comments of the headers name everything that they describe.

. "$(dirname "$0")/check-common.sh"

find_kernel_scripts

tracked 'kernel/*.h' 'lib/include/*.h' | xargs -r "$kernel_scripts/kernel-doc" -none -Wall -Werror
