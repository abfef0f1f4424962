#!/bin/sh
# SPDX-License-Identifier: MIT
# Tries the first hour of a user: makes a bare Debian in a folder, puts a copy of
# the tracked files there, and runs scripts/setup.sh, make and tests in it.
#
#     scripts/test-fresh.sh [--cache FOLDER] [12 | 13]...
#
# Without a number it does both, one after the other.  FRESH_COMMAND is the last
# command; by default it is make check-quick, which has guests too.
# --cache saves downloads: the new Debian finds that cache in its place and can
# write to it, but its changes go to the scratch folder.
#
# It needs root, 15 GB in TMPDIR (without it in /var/tmp), and for each Debian half
# an hour to two hours.  Mounts and processes are in namespaces of their own, which
# end first, also after ctrl-c; so no mount is left when the folder is removed.

set -eu

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
self=$top/scripts/test-fresh.sh
usage='usage: scripts/test-fresh.sh [--cache FOLDER] [12 | 13]...'
room_gb=15
# Folder of the copy in the new Debian.
tree=/srv/chario
default_command='make check-quick'
# A machine's way to the registry of Python's packages.
passed_on='PIP_CERT PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST PIP_DEFAULT_TIMEOUT
http_proxy https_proxy no_proxy'
log_lines=40

say()
{
	echo "fresh: $*" >&2
}

die()
{
	say "$@"
	exit 1
}

# timed TITLE COMMAND...: says what runs, and how long it took.
timed()
{
	title=$1
	shift
	say "Debian $release: $title"
	begin=$(date +%s)
	"$@" || die "Debian $release: $title FAILED after $(($(date +%s) - begin)) s"
	say "Debian $release: $title took $(($(date +%s) - begin)) s"
}

# quietly COMMAND...: shows the last words of a command that fails, and of no other.
quietly()
{
	"$@" >"$scratch/log" 2>&1 && return
	tail -n $log_lines "$scratch/log" >&2
	return 1
}

# suite_of RELEASE: its name in Debian's archive.
suite_of()
{
	case $1 in
	12) echo bookworm ;;
	13) echo trixie ;;
	*) die "$usage" ;;
	esac
}

# ask_lab EXPRESSION: what the lab reads of this machine's apt about Debian's $suite.
ask_lab()
{
	PYTHONPATH=$top/lab /usr/bin/python3 -c "import sys
from chario_lab.packages import find_mirror, source_lines
suite = sys.argv[1]
print($1, end='')" "$suite"
}

# bootstrap: a bare Debian in $root.
bootstrap()
{
	archive=$(ask_lab 'find_mirror().archive') && keyring=$(ask_lab 'find_mirror().signed_by') &&
		quietly debootstrap --variant=minbase --keyring="$keyring" "$suite" "$root" "$archive" &&
		ask_lab 'source_lines(find_mirror(), suite)' >"$root/etc/apt/sources.list"
}

# copy_network: this machine's proxies, names and certificates, without which some
# machines reach no archive; ca-certificates takes the certificates when it is installed.
copy_network()
{
	apt-config dump | grep -iE '^Acquire::https?::Proxy' >"$root/etc/apt/apt.conf.d/90machine" || true
	for file in /etc/resolv.conf /etc/hosts /etc/pip.conf; do
		[ ! -e "$file" ] || cp -L "$file" "$root$file"
	done
	certificates=/usr/local/share/ca-certificates
	[ ! -d $certificates ] || cp -RL "$certificates" "$root/usr/local/share/"
}

# copy_tree: the tracked files that exist, as they are now, as a git checkout.
copy_tree()
{
	mkdir -p "$root$tree"
	git -C "$top" ls-files -z |
		tar -C "$top" --null --files-from=- --ignore-failed-read -cf - |
		tar -C "$root$tree" --no-same-owner -xf - &&
		git -C "$root$tree" init --quiet && git -C "$root$tree" add --force --all &&
		git -C "$root$tree" -c user.name=fresh -c user.email=fresh@localhost commit --quiet --message=fresh
}

# mount_system: what programs expect of a system that runs, and the given cache.
mount_system()
{
	mount -t proc proc "$root/proc"
	mount -t sysfs -o ro sysfs "$root/sys"
	mount -t tmpfs -o mode=755 tmpfs "$root/dev"
	for node in null zero full random urandom tty kvm; do
		[ -e "/dev/$node" ] || continue
		: >"$root/dev/$node"
		mount --bind "/dev/$node" "$root/dev/$node"
	done
	ln -s /proc/self/fd "$root/dev/fd"
	ln -s /proc/self/fd/0 "$root/dev/stdin"
	ln -s /proc/self/fd/1 "$root/dev/stdout"
	ln -s /proc/self/fd/2 "$root/dev/stderr"
	ln -s pts/ptmx "$root/dev/ptmx"
	mkdir "$root/dev/pts" "$root/dev/shm"
	mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts "$root/dev/pts"
	mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
	[ -n "$given" ] || return 0
	# Files in a cache name its path, so it has the same one there.
	mkdir -p "$root$given" "$scratch/changes" "$scratch/work"
	mount -t overlay -o "lowerdir=$given,upperdir=$scratch/changes,workdir=$scratch/work" overlay "$root$given"
}

# inside COMMAND: runs it in the new Debian, at the top of the copy.
inside()
{
	words="set -e; cd $tree; $1"
	shift
	for name in $passed_on; do
		eval "value=\${$name-}"
		[ -z "$value" ] || set -- "$@" "$name=$value"
	done
	chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM=dumb CHARIO_CACHE="${given:-/var/cache/chario}" \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@" sh -c "$words"
}

# try_debian: all of it, as process 1 of a namespace, with which all others end.
try_debian()
{
	# Process 1 would not be ended by these otherwise.
	trap 'exit 130' INT
	trap 'exit 143' TERM
	timed "bare system" bootstrap
	copy_network
	copy_tree
	mount_system
	# README.md asks a user for these.
	timed "git and make" quietly inside 'apt-get -qq update
		DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install git make'
	timed "scripts/setup.sh" inside 'scripts/setup.sh'
	timed "make user" quietly inside 'make user'
	timed "the tests" inside "${FRESH_COMMAND:-$default_command}"
}

# clean_up: ends what still runs and removes the scratch folder.
clean_up()
{
	trap '' INT TERM HUP
	[ -z "$child" ] || kill -KILL "$child" 2>/dev/null || true
	wait
	# The last processes of the namespace may still be ending.
	for _ in 1 2 3 4 5; do
		rm -rf --one-file-system -- "$scratch" 2>/dev/null && return
		sleep 1
	done
	say "cannot remove $scratch: remove it by hand, with rm -rf --one-file-system"
}

# fresh RELEASE: one Debian in a scratch folder, which is removed whatever happens.
fresh()
{
	release=$1
	suite=$(suite_of "$release")
	child=
	scratch=$(mktemp -d "$place/chario-fresh-$release.XXXXXX")
	trap clean_up EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	root=$scratch/root
	mkdir "$root"
	export release suite scratch root given
	# A shell has its background processes ignore ctrl-c, which some tests send to theirs.
	env --default-signal=INT,QUIT unshare --mount --pid --fork --kill-child sh "$self" --inside </dev/null &
	child=$!
	status=0
	wait "$child" || status=$?
	child=
	clean_up
	trap - EXIT INT TERM HUP
	[ "$status" = 0 ] || exit "$status"
	say "Debian $release: all passed"
}

if [ "${1-}" = --inside ]; then
	try_debian
	exit
fi

given=
if [ "${1-}" = --cache ]; then
	given=$(CDPATH='' cd -- "${2:?$usage}" && pwd -P)
	shift 2
fi
[ $# -gt 0 ] || set -- 12 13
for release; do
	suite_of "$release" >/dev/null
done

# A shell started by su may lack these folders.
PATH=$PATH:/usr/sbin:/sbin
[ "$(id -u)" = 0 ] || die "it needs root: run sudo scripts/test-fresh.sh"
command -v debootstrap >/dev/null || die "debootstrap is missing: apt install debootstrap, or run scripts/setup.sh"
place=$(CDPATH='' cd -- "${TMPDIR:-/var/tmp}" && pwd -P)
[ "$(stat -f -c %T "$place")" != tmpfs ] || die "$place is in memory: set TMPDIR to a folder of a disk"
[ "$(df --output=avail -k "$place" | tail -n 1)" -gt $((room_gb * 1000000)) ] ||
	die "$place has less than $room_gb GB left: set TMPDIR to a folder with more"
case $place/ in
"${given:-/nonexistent}"/*) die "$place is in the cache that is given: set TMPDIR to a folder outside" ;;
esac

for release; do
	fresh "$release"
done
