#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs guest tests on the kernel that counts, and reports which lines and
# branches of the module have run.
#
#     scripts/coverage-module.sh [--check] [FILE...]
#
# Without files all of the guest tests run; with --check none does, but files
# or tests that do not exist are named.  The counters and the report stay
# in results/coverage-module until the next run.  A failed test fails the run,
# but the report is made all the same; so does a line that no test has run and
# that has no comment of exclusion beside it, unless files are named.

cd "$(dirname -- "$0")/.." || exit 1
venv=$(scripts/setup.sh) || exit 1
check=
[ "${1-}" != --check ] || { check=1; shift; }

# Exit status of chario_lab.coverage if nothing but lines that have not run is wrong.
gaps=3
gaps_fail=0
[ $# -gt 0 ] || { gaps_fail=1; set -- tests/guest; }
for file; do
	[ -e "${file%%::*}" ] || { echo "there is no $file: FILES= names files of tests/guest" >&2; exit 2; }
done
CHARIO_COVERAGE=$PWD/results/coverage-module
PYTHONPATH=$PWD/lab
# Each failing allocation, not a sample of them.
FAIL_NTH_STRIDE=${FAIL_NTH_STRIDE:-1}
export CHARIO_COVERAGE PYTHONPATH FAIL_NTH_STRIDE
set -- -q -n "${JOBS:-2}" --dist loadfile --no-loadscope-reorder "$@" --kernel=gcov

# The last report stays where pytest does not understand its words, or finds no test.
found=$("$venv/bin/pytest" "$@" --collect-only 2>&1) || {
	echo "$found" >&2
	echo 'no test has run, for the reason above; FILES= names files of tests/guest, or tests in them as FILE::TEST' >&2
	exit 2
}
[ -z "$check" ] || exit 0

rm -rf "$CHARIO_COVERAGE"
"$venv/bin/pytest" "$@"
failed=$?
[ $failed = 0 ] || echo 'tests failed, see above: their lines may count or not' >&2
"$venv/bin/python" -m chario_lab.coverage "$CHARIO_COVERAGE"
case $? in
0) ;;
"$gaps") [ $gaps_fail = 0 ] || failed=1 ;;
*) failed=1 ;;
esac
exit "$failed"
