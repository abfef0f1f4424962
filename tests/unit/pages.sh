#!/bin/sh
# SPDX-License-Identifier: MIT
# What is written for users knows everything that there is: verbs, options,
# functions, errnos, attributes and parameters.
#
#     pages.sh CHARIO SOURCE

set -u

chario=$(realpath "$1") || exit 1
cd "$2" || exit 1
nr=0
failed=0

# claim TEXT MISSING: passes when nothing is missing.
claim()
{
	nr=$((nr + 1))
	if [ -z "$2" ]; then
		echo "ok $nr - $1"
	else
		echo "not ok $nr - $1"
		echo "$2" | sed 's/^/# missing: /'
		failed=1
	fi
}

# Without the words in a file: prints each word of stdin that it lacks.
lacks()
{
	while read -r word; do
		grep -qwF -e "$word" "$1" || echo "$word in $1"
	done
}

words=$("$chario" help --json | sed -n 's/^ *"name": *"\(.*\)",$/\1/p' | sort -u)
functions=$(sed -n 's/^\t\(chario_[a-z_]*\);$/\1/p' lib/libchario.map)
errnos=$(sed -n 's/^\.It Bq Er \([A-Z0-9]*\).*/\1/p' man/chario.4 | sort -u)
known=$(sed -n 's/^\tERROR(\(E[A-Z0-9]*\),.*/\1/p' lib/src/system/error.c)
attributes=$(sed -n 's/^\t&dev_attr_\([a-z_]*\)\.attr,$/\1/p' kernel/disk/sysfs.c)
parameters=$(grep -rhoE '^module_param\([a-z_]+' kernel | sed 's/.*(//')

echo 1..9
for list in "$words" "$functions" "$errnos" "$known" "$attributes" "$parameters"; do
	[ -n "$list" ] || { echo "Bail out! a list is empty: a file has changed its form"; exit 1; }
done
for file in chario.bash _chario chario.fish; do
	claim "cli/completion/$file knows every verb and option" \
		"$(echo "$words" | lacks "cli/completion/$file")"
done
claim "chario(1) describes every verb and option" "$(echo "$words" | lacks man/chario.1)"
claim "every function has a manual page" "$(echo "$functions" | while read -r name; do
	grep -qE "^\.Nm $name( ,)?$" man/chario_*.3 || echo "$name in man/"
done)"
claim "every function's page is found by its name" "$(echo "$functions" | lacks man/meson.build)"
claim "chario_error_meaning(3) knows every errno of chario(4)" "$(echo "$errnos" | lacks lib/src/system/error.c)"
claim "chario(4) describes every attribute" "$(echo "$attributes" | lacks man/chario.4)"
claim "chario(4) describes every module parameter" "$(echo "$parameters" | lacks man/chario.4)"
exit $failed
