# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What the shell checks share.  They run in the top folder of the checkout;
# exit status 1 is a finding, 2 a tool that is missing.

# Checks report fetching and building on descriptor 3.  check.sh connects it to
# the terminal; a check that is run alone writes to its standard error.
{ true >&3; } 2>/dev/null || exec 3>&2

top=$(git -C "$(dirname "$0")" rev-parse --show-toplevel) && cd "$top" || exit 2

# missing WHAT HOW: ends the check with a line that says how to get a tool.
missing()
{
	echo "$1 is missing: $2"
	exit 2
}

# need TOOL PACKAGE: ends the check where the tool is not there.
need()
{
	command -v "$1" >/dev/null || missing "$1" "apt install $2, or run scripts/setup.sh"
}

# tracked PATTERN...: the tracked files that still exist, one a line.
tracked()
{
	git ls-files -- "$@" | while IFS= read -r file; do
		if [ -f "$file" ] && [ ! -L "$file" ]; then
			printf '%s\n' "$file"
		fi
	done
}

# find_python: sets $python to the interpreter with the pinned tools, which finds
# the lab of this checkout.
find_python()
{
	[ -x scripts/setup.sh ] || missing scripts/setup.sh "restore it from git"
	venv=$(scripts/setup.sh --venv 2>&3) || missing "the lab's Python" "the reason is above"
	python=$venv/bin/python
	export PYTHONPATH="$PWD/lab${PYTHONPATH:+:$PYTHONPATH}"
}

# find_kernel_scripts: sets $kernel_scripts to a folder with checkpatch.pl and kernel-doc.
find_kernel_scripts()
{
	need perl perl
	find_python
	# shellcheck disable=SC2034 # used by the check that asked
	kernel_scripts=$("$python" -m chario_lab.kernel_scripts 2>&3) ||
		missing checkpatch.pl "the reason is above"
}
