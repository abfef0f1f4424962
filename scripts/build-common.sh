# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# What the scripts that build with Meson share.

# set_up FOLDER OPTION...: has Meson prepare a build with these options in FOLDER,
# unless it has before; ends the script where that cannot be.
set_up()
{
	command -v meson >/dev/null || {
		echo 'meson is missing: run scripts/setup.sh as root' >&2
		exit 1
	}
	# Meson itself would show a traceback.
	{ mkdir -p -- "$1" 2>/dev/null && [ -w "$1" ]; } || {
		echo "the folder $1 cannot be written to: give make BUILD=FOLDER/build, with a FOLDER that can" >&2
		exit 1
	}
	[ -e "$1/build.ninja" ] || meson setup "$@" >&2
}
