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
# of which tests/unreached.toml does not say why, unless files are named.

cd "$(dirname -- "$0")/.." || exit 1
venv=$(scripts/setup.sh) || exit 1
for file; do
	[ -e "${file%%::*}" ] || { echo "there is no $file: FILES= names files of tests/guest" >&2; exit 2; }
done
CHARIO_COVERAGE=$PWD/results/coverage-module
PYTHONPATH=$PWD/lab
# Each failing allocation, not a sample of them.
FAIL_NTH_STRIDE=${FAIL_NTH_STRIDE:-1}
export CHARIO_COVERAGE PYTHONPATH FAIL_NTH_STRIDE
rm -rf "$CHARIO_COVERAGE"

# What chario_lab.coverage exits with where only lines without a reason are missing.
gaps=3
gaps_fail=0
[ $# -gt 0 ] || { gaps_fail=1; set -- tests/guest; }
"$venv/bin/pytest" -q -n "${JOBS:-2}" --dist loadfile --no-loadscope-reorder "$@" --kernel=gcov
failed=$?
[ $failed = 0 ] || echo 'tests failed, see above: their lines may count or not' >&2
"$venv/bin/python" -m chario_lab.coverage "$CHARIO_COVERAGE"
case $? in
0) ;;
"$gaps") [ $gaps_fail = 0 ] || failed=1 ;;
*) failed=1 ;;
esac
exit "$failed"
