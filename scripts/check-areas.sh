#!/bin/sh
# SPDX-License-Identifier: MIT
# Every tracked file is in an area of tests/areas.toml, which says what tests show it.

. "$(dirname "$0")/check-common.sh"

find_python
"$python" -m chario_lab.testing.areas
