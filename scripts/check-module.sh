#!/bin/sh
# SPDX-License-Identifier: MIT
# The module builds for the oldest and the newest kernel of the house without a
# warning of the compiler (W=1) or of sparse.

. "$(dirname "$0")/check-common.sh"

need sparse sparse
need make make
find_python

copy=$(mktemp -d) || exit 1
trap 'rm -rf "$copy"' EXIT
status=0

# build KERNEL: builds a copy of the tracked files, so that the checkout stays clean.
build()
{
	described=$("$python" -m chario_lab.kernel "$1" 2>&3) || missing "the kernel $1" "the reason is above"
	headers=$(printf '%s' "$described" |
		"$python" -c 'import json, sys; print(json.load(sys.stdin)["build"])')
	rm -rf "$copy/kernel"
	git ls-files -z kernel | xargs -0 cp --parents -t "$copy" || exit 1
	# A make around this one would share its job slots, with a warning.
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$headers" M="$copy/kernel" -j"$(nproc)" \
		W=1 C=2 CF=-D__CHECK_ENDIAN__ modules >"$copy/log" 2>&1
	built=$?
	# The host's compiler may be newer than that of the kernel's package.
	findings=$(grep -E 'warning:|error:' "$copy/log" | grep -v 'the compiler differs')
	if [ $built != 0 ] || [ -n "$findings" ]; then
		: "${findings:=$(tail "$copy/log")}"
		printf 'Linux %s:\n%s\n' "$1" "$findings" | sed "s,$copy/,,"
		status=1
	fi
}

build 6.1
build 6.12

exit $status
