#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs guest tests on the kernel that counts, and reports which lines and
# branches of the module have run.
#
#     scripts/coverage-module.sh [FILE...]
#
# Without files all of the guest tests run.  The counters and the report stay
# in results/coverage-module until the next run.  A failed test fails the run,
# but the report is made all the same; so does a line that no test has run, and
# of which tests/unreached.toml does not say why.

cd "$(dirname -- "$0")/.." || exit 1
venv=$(scripts/setup.sh) || exit 1
CHARIO_COVERAGE=$PWD/results/coverage-module
export CHARIO_COVERAGE
rm -rf "$CHARIO_COVERAGE"

[ $# -gt 0 ] || set -- tests/guest
"$venv/bin/pytest" -q -n "${JOBS:-2}" --dist loadfile --no-loadscope-reorder "$@" --kernel=gcov
failed=$?
"$venv/bin/python" -m chario_lab.coverage "$CHARIO_COVERAGE" || missed=1
[ $failed = 0 ] || echo 'tests failed, see above: their lines may count or not' >&2
exit $((failed | ${missed:-0}))
