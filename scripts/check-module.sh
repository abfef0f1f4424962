#!/bin/sh
# SPDX-License-Identifier: MIT
# The module builds for the oldest and the newest kernel of the house without a
# warning of the compiler (W=1) or of sparse.  The builds are those that guests
# use: what has been built from the same content is not built again.

. "$(dirname "$0")/check-common.sh"

need sparse sparse
need make make
find_python

"$python" -m chario_lab.kernel --build kernel 6.1 6.12
