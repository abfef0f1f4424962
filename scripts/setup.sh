#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a Debian 12 or 13 machine ready: installs the packages of packages.txt
# that are missing, and prepares a Python environment for the lab in the cache.
# Prints the environment's folder; everything else goes to stderr.
#
#     scripts/setup.sh           packages and environment
#     scripts/setup.sh --venv    the environment only

set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
lab=$(dirname -- "$here")/lab
python=/usr/bin/python3

say()
{
	echo "setup: $*" >&2
}

die()
{
	say "$@"
	exit 1
}

# wanted_packages: the names in packages.txt.
wanted_packages()
{
	sed 's/#.*//; s/[[:space:]]//g; /^$/d' "$here/packages.txt"
}

# missing_packages: those of them that are not installed.
missing_packages()
{
	# dpkg-query complains of packages it has never heard of: they are missing.
	# shellcheck disable=SC2046 # names of packages have no blanks
	installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $(wanted_packages) 2>/dev/null |
		sed -n 's/^installed //p')
	wanted_packages | while IFS= read -r name; do
		echo "$installed" | grep -qxF -e "$name" || echo "$name"
	done
}

# as_root COMMAND...: runs it, through sudo where that is needed.
as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@" >&2
	else
		sudo -- "$@" >&2
	fi
}

install_packages()
{
	command -v dpkg-query >/dev/null ||
		die "this machine is no Debian: the lab needs Debian 12 or 13 (scripts/packages.txt lists what it uses)"
	missing=$(missing_packages | tr '\n' ' ')
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
		die "no root and no sudo. As root, run: apt-get install --no-install-recommends $missing"
	fi
	say "installing $missing"
	as_root apt-get -qq update || die "apt-get update failed: check the network and /etc/apt"
	# shellcheck disable=SC2086 # names of packages have no blanks
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $missing ||
		die "apt-get install failed: its message is above"
}

# venv_folder: named by all that decides its content, so it is never stale.
venv_folder()
{
	hash=$({
		"$python" --version
		echo "$lab"
		cat "$lab/pyproject.toml"
	} | sha256sum | cut -c1-12)
	echo "${CHARIO_CACHE:-$HOME/.cache/chario}/venv-$hash"
}

make_venv()
{
	[ -x "$python" ] || die "$python is missing: run scripts/setup.sh as root"
	"$python" -c 'import ensurepip' 2>/dev/null || die "python3-venv is missing: run scripts/setup.sh as root"
	mkdir -p "$(dirname "$1")"
	(
		# Two runs at a time make it once; the mark is written last.
		flock 9
		[ -e "$1/ready" ] && exit 0
		say "preparing Python for the lab in $1"
		rm -rf "$1"
		"$python" -m venv "$1" >&2 &&
			"$1/bin/python" -m pip install --quiet --disable-pip-version-check --editable "$lab" >&2 &&
			touch "$1/ready" || exit 1
		# Those of other checkouts and versions that nobody used for a month.
		find "$(dirname "$1")" -maxdepth 2 -path '*/venv-*/ready' -mtime +30 \
			-execdir sh -c 'rm -rf -- "$PWD"' ';'
	) 9>"$1.lock" || die "cannot install the lab's Python libraries: pip's message is above; check the network"
}

case ${1-} in
'') install_packages ;;
--venv) ;;
*) die "usage: scripts/setup.sh [--venv]" ;;
esac

venv=$(venv_folder)
[ -e "$venv/ready" ] || make_venv "$venv"
touch -c "$venv/ready"
echo "$venv"
