#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the unit tests of user space built with sanitizers: address and undefined
# behaviour, then threads.
#
#     scripts/test-sanitized.sh [FOLDER]
#
# The builds stay in FOLDER-address and FOLDER-thread; without FOLDER it is build.

set -eu

cd "$(dirname -- "$0")/.."
. scripts/build-common.sh
folder=${1:-build}

# run KIND SANITIZERS [TEST...]: those tests, else all that need no other compiler.
run()
{
	build=$folder-$1
	sanitizers=$2
	shift 2
	set_up "$build" -Db_sanitize="$sanitizers" -Db_lundef=false
	# This builds what the tests need, which is a quarter of everything where few are named.
	meson test -C "$build" --print-errorlogs --timeout-multiplier 5 "$@"
}

export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1
# The cuts are the same ones many times over: fewer of them show as much here.
export CUTS=2000
run address address,undefined --suite unit
run thread thread copy late-drive queue store store-moves store-sharing store-turns view-errors stream \
	stream-buffer stream-durable stream-trouble
