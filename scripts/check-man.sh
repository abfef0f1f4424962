#!/bin/sh
# SPDX-License-Identifier: MIT
# Manual pages are well-formed.

. "$(dirname "$0")/check-common.sh"

need mandoc mandoc

pages=$(tracked 'man/*.[1-9]' 'man/**/*.[1-9]')
[ -n "$pages" ] || { echo "man/: no manual page is tracked"; exit 1; }

# shellcheck disable=SC2086 # no blanks in these names
mandoc -T lint -W warning $pages
