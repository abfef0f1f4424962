#!/bin/sh
# SPDX-License-Identifier: MIT
# Every file of guest tests names the sources that it shows to work, and every source is named by one.

. "$(dirname "$0")/check-common.sh"

find_python
"$python" -m chario_lab.testing.areas
