#!/bin/sh
# SPDX-License-Identifier: MIT
# No source of the module needs itself by way of others, as its objects say.  The
# build is the one that guests use: what has been built from the same content is not
# built again.

. "$(dirname "$0")/check-common.sh"

need nm binutils
find_python

"$python" -m chario_lab.testing.circles
