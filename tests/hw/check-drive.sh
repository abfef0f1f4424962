#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks a real drive with what is installed: binds it to CharIO, writes, reads
# and compares with everyday tools, holds commands against the plan, and gives
# it back, also when it is stopped.  What is on the drive is lost.
#
#     tests/hw/check-drive.sh --destroy-data 0000:01:00.0
#
# Prints TAP; `prove tests/hw/check-drive.sh :: --destroy-data ADDRESS` reads it.

set -u

SIZE_MIB=${CHECK_SIZE_MIB:-64}
FIO_SECONDS=${CHECK_FIO_SECONDS:-30}
TESTS=10

count=0
failed=0

# check TEXT COMMAND...: one line of TAP; the output of a failed one as comment.
check()
{
	text=$1
	shift
	count=$((count + 1))
	if "$@" >"$work/log" 2>&1; then
		echo "ok $count - $text"
	else
		failed=$((failed + 1))
		echo "not ok $count - $text"
		sed 's/^/# /' "$work/log"
	fi
}

# skip TEXT REASON
skip()
{
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

bail()
{
	echo "Bail out! $*"
	exit 1
}

driver_of()
{
	basename "$(readlink "/sys/bus/pci/devices/$1/driver")"
}

# However this ends, the drive goes back.
leave()
{
	trap '' HUP INT TERM
	rm -rf "$work"
	[ "$(driver_of "$drive")" = "$driver" ] || chario unbind "$drive" 2>&1 | sed 's/^/# /'
}

usage()
{
	echo "usage: $0 --destroy-data PCI-ADDRESS, of an NVMe drive whose content may be lost" >&2
	exit 2
}

first_disk()
{
	for entry in "/sys/bus/pci/devices/$drive"/chario/chardisk*; do
		[ -e "$entry" ] && echo "/dev/${entry##*/}" && return
	done
	return 1
}

show()
{
	cat "/sys/class/chario/${disk##*/}/$1"
}

# write_read OFFSET_MIB: a file to the disk and back.
write_read()
{
	dd if="$work/file" of="$disk" bs=1M seek="$1" oflag=direct conv=fsync status=none &&
		dd if="$disk" bs=1M skip="$1" count="$SIZE_MIB" iflag=direct status=none | cmp - "$work/file"
}

write_read_polled()
{
	before=$(show completion)
	echo poll >"/sys/class/chario/${disk##*/}/completion" && write_read 0
	result=$?
	echo "$before" >"/sys/class/chario/${disk##*/}/completion"
	return $result
}

# Reading ends by itself; the first byte behind the end cannot be written.
end_of_disk()
{
	read_bytes=$(dd if="$disk" bs=1M skip=$((mib - 1)) count=3 status=none | wc -c)
	[ "$read_bytes" = $((size - (mib - 1) * 1048576)) ] || return 1
	! dd if=/dev/zero of="$disk" bs=4096 seek=$((size / 4096)) count=1 conv=notrunc status=none
}

# verify ENGINE DEPTH
verify()
{
	fio --name=check --filename="$disk" --size="${SIZE_MIB}m" --rw=randrw --bsrange=4k-1m --direct=1 \
		--ioengine="$1" --iodepth="$2" --verify=crc32c --verify_fatal=1 --time_based \
		--runtime="$FIO_SECONDS"
}

planned()
{
	commands=$(show counters/read_commands)
	dd if="$disk" of=/dev/null bs=1M count=8 status=none || return 1
	plan=$(chario plan --json "$disk" 0 1M | sed -n 's/.*"commands": *\([0-9]*\).*/\1/p' | head -n 1)
	[ $(($(show counters/read_commands) - commands)) = $((8 * plan)) ]
}

no_errors()
{
	for name in errors timeouts resets; do
		[ "$(show "counters/$name")" = 0 ] || { echo "$name: $(show "counters/$name")"; return 1; }
	done
}

given_back()
{
	chario unbind "$drive" || return 1
	[ "$(driver_of "$drive")" = "$driver" ]
}

if [ $# != 2 ] || [ "$1" != --destroy-data ]; then
	usage
fi
drive=$2
[ "$(id -u)" = 0 ] || bail "run it as root"
[ -e "/sys/bus/pci/devices/$drive" ] || bail "there is no PCI device $drive; chario list --all shows the NVMe drives"
command -v chario >/dev/null || bail "chario is not installed: make && make install"
driver=$(driver_of "$drive")
[ "$driver" = nvme ] || bail "$drive is driven by ${driver:-nobody}, not by nvme: chario unbind $drive"

work=$(mktemp -d) || bail "no room for temporary files in ${TMPDIR:-/tmp}"
trap leave EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

echo "1..$TESTS"
check "bind $drive" chario bind "$drive"
[ $failed = 0 ] || bail "the drive cannot be bound, the reason is above"
disk=$(first_disk) || bail "no disk has appeared; the kernel log says why"
size=$(show size)
mib=$((size / 1048576))
[ "$mib" -gt "$SIZE_MIB" ] || bail "$disk has $mib MiB: set CHECK_SIZE_MIB below that"
dd if=/dev/urandom of="$work/file" bs=1M count="$SIZE_MIB" status=none || bail "no room for $SIZE_MIB MiB in $work"

check "write and read $SIZE_MIB MiB at the start" write_read 0
check "write and read $SIZE_MIB MiB at the end" write_read $((mib - SIZE_MIB))
check "write and read $SIZE_MIB MiB, polled" write_read_polled
check "the end of the disk" end_of_disk
if command -v fio >/dev/null; then
	check "fio verify, psync" verify psync 1
	check "fio verify, io_uring at depth 16" verify io_uring 16
else
	skip "fio verify, psync" "fio is not installed"
	skip "fio verify, io_uring at depth 16" "fio is not installed"
fi
check "commands as planned" planned
check "no errors, timeouts or resets" no_errors
check "unbind gives it back to $driver" given_back
[ $failed = 0 ]
