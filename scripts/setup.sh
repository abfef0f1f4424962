#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a Debian 12 or 13 machine ready: installs the packages of packages.txt
# that are missing, and prepares a Python environment for the lab in the cache.
# The environment has the libraries that lab/pyproject.toml pins, and nothing of
# a checkout: checkouts that pin the same share it, and each brings its own lab
# (pytest finds it by pytest.ini, other programs by PYTHONPATH).
# Prints the environment's folder; everything else goes to stderr.
#
#     scripts/setup.sh           packages and environment
#     scripts/setup.sh --build   the packages that `make` needs, no environment
#     scripts/setup.sh --venv    the environment only
#     scripts/setup.sh --report  another environment, with what draws the report too

set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
lab=$(dirname -- "$here")/lab
python=/usr/bin/python3
# While another program has apt's lock: how often to try again, and how soon.
lock_attempts=120
lock_pause_s=5

say()
{
	echo "setup: $*" >&2
}

die()
{
	say "$@"
	exit 1
}

# wanted_packages [SECTION]: the names in packages.txt, or those below one heading.
wanted_packages()
{
	awk -v only="${1-}" '
		/^# / { section = substr($0, 3) }
		/^[^#]/ && (only == "" || section == only) { print $1 }
	' "$here/packages.txt"
}

# not_installed NAME...: those of the packages that are not installed.  A word of
# several names with bars between them is printed if none of them is installed.
not_installed()
{
	# dpkg-query complains of packages it has never heard of: they are missing.
	# shellcheck disable=SC2046 # names of packages have no blanks
	installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $(echo "$@" | tr '|' ' ') 2>/dev/null |
		sed -n 's/^installed //p')
	for names in "$@"; do
		echo "$installed" | grep -qxF -e "$(echo "$names" | tr '|' '\n')" || echo "$names"
	done
}

# choose NAME...: one name for each word: of several with bars between them the
# first that apt knows.  Where it knows none of them, its lists are missing.
choose()
{
	for names in "$@"; do
		known=
		# shellcheck disable=SC2046 # names of packages have no blanks
		[ "$names" = "${names%|*}" ] || known=$(apt-cache show $(echo "$names" | tr '|' ' ') 2>/dev/null |
			awk '/^Package: / { print $2; exit }')
		echo "${known:-${names%%|*}}"
	done | tr '\n' ' '
}

# as_root COMMAND...: runs it, through sudo where that is needed.
as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo -- "$@"
	fi
}

# show_progress TITLE: apt's status lines become one line of a terminal, or a
# few of a log; fails on the line that stands for a command that has failed.
show_progress()
{
	shown=
	while IFS=: read -r kind _ percent _; do
		case $kind in
		failed) break ;;
		dlstatus) now="$1: downloading, ${percent%%.*} %" ;;
		pmstatus) now="$1: unpacking, ${percent%%.*} %" ;;
		*) continue ;;
		esac
		# Each step of a terminal's line, each tenth of a log's.
		[ -t 2 ] || now="${now%[0-9] %}0 %"
		[ "$now" != "$shown" ] || continue
		shown=$now
		if [ -t 2 ]; then printf '\r\033[Ksetup: %s' "$now" >&2; else say "$now"; fi
	done
	[ -z "$shown" ] || [ ! -t 2 ] || printf '\r\033[K' >&2
	[ "$kind" != failed ]
}

# new_log: sets $log to a file for the words of a program, which are shown when
# it fails.  After ctrl-c they are not: Python's are a traceback.
new_log()
{
	log=$(mktemp) || die "no temporary file: is /tmp full?"
	trap 'rm -f "$log"' EXIT
	trap 'exit 130' INT
}

# apt_get TITLE WORDS...: apt-get as root; its words become the error.
apt_get()
{
	title=$1
	shift
	new_log
	attempt=0
	# The inner shell: sudo passes on no descriptor but the first three.
	# shellcheck disable=SC2016 # that shell's own words
	until { as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive sh -c \
		'exec apt-get -qq -o APT::Status-Fd=3 "$@" 3>&1 >&2' apt-get "$@" 2>"$log" || echo failed:; } |
		show_progress "$title"; do
		attempt=$((attempt + 1))
		if [ $attempt = $lock_attempts ] || ! grep -q '^E: .*[Cc]ould not get lock' "$log"; then
			tail -n 6 "$log" >&2
			return 1
		fi
		[ $attempt -gt 1 ] || say "waiting for another program that installs packages"
		sleep $lock_pause_s
	done
	rm -f "$log"
}

# install_packages [SECTION]: what is missing of packages.txt.
install_packages()
{
	command -v dpkg-query >/dev/null ||
		die "this machine is no Debian: the lab needs Debian 12 or 13 (scripts/packages.txt lists what it uses)"
	# shellcheck disable=SC2046 # names of packages have no blanks
	missing=$(not_installed $(wanted_packages "$@"))
	[ -n "$missing" ] || return 0
	# shellcheck disable=SC2086 # likewise
	by_hand="As root, run: apt-get install --no-install-recommends $(choose $missing)"
	if [ "$(id -u)" != 0 ]; then
		command -v sudo >/dev/null || die "packages are missing, and there is no root and no sudo. $by_hand"
		say "packages are missing; sudo is asked to install them"
		sudo -- true || die "packages are missing, and sudo does not let you install them. $by_hand"
	fi
	retries=
	# A machine can have one source that is down and still get all it needs;
	# but where there is no network, apt would try each package for seconds.
	apt_get "package lists" --error-on=any update || {
		say "apt-get update failed, its message is above; going on with the lists that are there"
		retries='-o Acquire::Retries=0'
	}
	# shellcheck disable=SC2086 # likewise
	missing=$(choose $missing)
	# shellcheck disable=SC2086 # likewise
	set -- $retries --no-install-recommends install $missing
	size_mb=$(download_size "$@")
	say "installing ${missing% }${size_mb:+ ($size_mb MB to download)}"
	apt_get "packages" -y "$@" ||
		die "apt-get install failed, its message is above. Check the network, and that apt-get update works here"
}

# download_size WORDS...: how many MB apt-get is going to download for them.
download_size()
{
	apt-get -qq --print-uris "$@" 2>/dev/null |
		awk '{ bytes += $3 } END { if (bytes) printf "%d", bytes / 1000000 + 1 }'
}

# find_cache: sets $cache to the folder for all that is expensive, which then exists.
find_cache()
{
	home=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
	cache=${CHARIO_CACHE:-$home/.cache/chario}
	if reason=$(mkdir -p "$cache" 2>&1); then
		[ -w "$cache" ] && return
		reason="it cannot be written to"
	fi
	die "the cache $cache cannot be used (${reason#mkdir: }): set CHARIO_CACHE to a folder with 2 GB to spare"
}

# pinned_libraries [GROUP]: what lab/pyproject.toml pins, one a line, with an
# optional group or without.
pinned_libraries()
{
	"$python" -c 'import sys, tomllib
project = tomllib.load(sys.stdin.buffer)["project"]
wanted = project["dependencies"] + sum((project["optional-dependencies"][name] for name in sys.argv[1:]), [])
print(*sorted(wanted), sep="\n")' "$@" <"$lab/pyproject.toml"
}

# venv_folder LIBRARIES: named by all that decides its content, so it is never stale.
venv_folder()
{
	hash=$({
		"$python" --version
		echo "$1"
	} | sha256sum | cut -c1-12)
	echo "$cache/venv-$hash"
}

# use_venv [GROUP]: prints the environment's folder, made unless it is there.
use_venv()
{
	[ -x "$python" ] || die "$python is missing: run scripts/setup.sh as root"
	libraries=$(pinned_libraries "$@") || die "$lab/pyproject.toml cannot be read, Python's message is above"
	venv=$(venv_folder "$libraries")
	[ -e "$venv/ready" ] || make_venv "$venv" "$libraries"
	touch -c "$venv/ready"
	echo "$venv"
}

# make_venv FOLDER LIBRARIES: fills the folder, unless another run does.
make_venv()
{
	"$python" -c 'import ensurepip' 2>/dev/null || die "python3-venv is missing: run scripts/setup.sh as root"
	(
		# Two runs at a time make it once; the mark is written last.
		flock --nonblock 9 || { say "waiting for another run that prepares Python" && flock 9; }
		[ -e "$1/ready" ] && exit 0
		say "preparing Python for the lab in $1"
		rm -rf "$1"
		new_log
		{
			"$python" -m venv "$1" &&
				echo "$2" >"$1/libraries" &&
				"$1/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$1/libraries" &&
				touch "$1/ready"
		} >"$log" 2>&1 || {
			cat "$log" >&2
			exit 1
		}
		# Remove sets of other libraries that were unused for a month.
		find "$(dirname "$1")" -maxdepth 2 -path '*/venv-*/ready' -mtime +30 \
			-execdir sh -c 'rm -rf -- "$PWD"' ';'
	) 9>"$1.lock" || die "cannot install the lab's Python libraries, pip's message is above." \
		"Check the network, and that $cache is not full"
}

case ${1-} in
'')
	find_cache
	install_packages
	use_venv
	;;
--build)
	# Elsewhere the compiler says what it lacks.
	! command -v dpkg-query >/dev/null || install_packages building
	;;
--venv)
	find_cache
	use_venv
	;;
--report)
	find_cache
	use_venv report
	;;
*) die "usage: scripts/setup.sh [--build | --venv | --report]" ;;
esac
