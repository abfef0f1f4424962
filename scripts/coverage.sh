#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures which lines and branches of the library the unit programs run, and
# fails when the total is below the floors of lib/gcovr.cfg.
#
#     scripts/coverage.sh [FOLDER]
#
# The build is in FOLDER, without it in build-coverage.  The last report stays
# there as coverage.json, for gcovr's other formats.

set -eu

cd "$(dirname -- "$0")/.."
. scripts/build-common.sh
folder=${1:-build-coverage}
venv=$(scripts/setup.sh --venv)

# report METRIC: a table of the files, and the total, without the floors.
report()
{
	"$venv/bin/gcovr" --root . --config lib/gcovr.cfg --json-add-tracefile "$folder/coverage.json" \
		--fail-under-line 0 --fail-under-branch 0 --txt --txt-metric "$1"
}

# Without optimisation each line of the source is a line of the program.
set_up "$folder" -Dbuildtype=debug -Db_coverage=true
ninja -C "$folder" >&2
find "$folder" -name '*.gcda' -delete
# The cuts are the same ones many times over: fewer of them reach as much.
CUTS=2000 meson test -C "$folder" --suite unit --no-rebuild --print-errorlogs --timeout-multiplier 5 >&2

# Both tables are printed before a floor may end the run.
"$venv/bin/gcovr" --root . --config lib/gcovr.cfg --fail-under-line 0 --fail-under-branch 0 \
	--json "$folder/coverage.json" "$folder/lib"
report line
report branch
echo 'Counted: the lines and branches of lib/ that the programs of the suite "unit" run.'
echo 'Excluded: other folders.  These tests could not run here:'
sed -n 's/.*# SKIP /    /p' "$folder/meson-logs/testlog.txt" | sort -u
"$venv/bin/gcovr" --root . --config lib/gcovr.cfg --json-add-tracefile "$folder/coverage.json" \
	--txt "$folder/coverage.txt" --print-summary
