#!/bin/sh
# SPDX-License-Identifier: MIT
# What the program does about faults that do not come by themselves; see fault-cli.c.
#
#     test-fault-cli.sh CHARIO-FAULTY

. "$(dirname "$0")/store-cli.sh"

# faulty FAULT=VALUE STATUS ARGUMENT...: as "gives", with this fault.
faulty()
{
	fault=$1
	shift
	export "${fault?}"
	gives "$@"
	unset "${fault%%=*}"
}

# A slot of the copy: see lib/src/copy/slots.h.
slot=4194304

# The flushes are: of nothing, to begin with, and one behind each slot but the last.
format 32M
bytes $((5 * slot)) >source
export FAULT_CLOCK=1
faulty FAULT_FLUSH=3 1 put source area
says 'cannot write down how much of "area" is there'
gives 0 stat area --json
has filled_bytes $slot
gives 0 put source area :: "goes on after $slot bytes"
same source area
gives 0 rm area
faulty FAULT_FLUSH=6 1 put source area
gives 0 stat area --json
has filled_bytes $((4 * slot))
gives 0 put source area
same source area
# Nothing tells whether a disk has the same content.
if disk=$(losetup -f --show source 2>/dev/null); then
	gives 0 rm area
	faulty FAULT_FLUSH=4 1 put "$disk" area
	gives 1 put "$disk" area :: 'an unfinished copy of something else'
	gives 0 put --changed "$disk" area
	same source area
	losetup -d "$disk"
fi
unset FAULT_CLOCK
claim "what a failed flush was for does not count as there"

format 32M
bytes 10000000 >source
printf 'ab' | dd of=source bs=1 seek=8191 conv=notrunc status=none
gives 0 put source area
cp store before
printf 'XY' | dd of=source bs=1 seek=8191 conv=notrunc status=none
export FAULT_DISK=before
faulty FAULT_FLUSH=1 1 put --changed source area
says 'cannot flush "area"' 'may not be on the disk' 'put --force without --changed'
gives 0 put --changed source area --json
has written_blocks 2
same source area
claim "put --changed does not take a cache for the disk after a failed flush"

# Begun, and nothing of it there.
format 32M
bytes 10000000 >source
head -c 5 source | "$chario" put - area --bytes 10000000 >said 2>&1 && note "a short pipe passes"
cp store before
faulty FAULT_FLUSH=1 1 put --changed source area
says 'cannot flush "area"'
gives 0 stat area --json
has filled_bytes 0
export FAULT_CLOCK=1
faulty FAULT_FLUSH=2 1 put source area
unset FAULT_CLOCK
gives 0 stat area --json
has filled_bytes 0
gives 0 put --changed source area --json
has written_blocks 2442
same source area
claim "an area that could not be flushed does not become whole"
unset FAULT_DISK

# The store is made by then, and others may use it.
bytes 1000000 >source
yes 'old data' | head -c 8M >store
printf '_BHRfS_M' | dd of=store bs=1 seek=65600 conv=notrunc status=none
faulty FAULT_WIPE="'$chario' put source area --quiet" 0 format --force --areas 10 store
same source area
gives 0 check
wipefs --no-act store >marks
[ -s marks ] && note "marks are left: $(cat marks)"
claim "format --force leaves alone what another process has changed meanwhile"

# Another get ends between the open and the lock of this one.
format 8M
bytes 1000000 >source
gives 0 put source area
echo mine >mine
: >file.part
faulty FAULT_LOCK='cp mine file.part && mv file.part file' 1 get area file
says '"file" is there already; --force replaces it'
cmp -s mine file || note "a file that another get has finished was touched: $(head -c 9 file)"
[ -e file.part ] && note "file.part is left"
rm file
faulty FAULT_LOCK='cp mine file' 1 get area file
says '"file" is there already; --force replaces it'
cmp -s mine file || note "a file that came meanwhile was replaced"
[ -e file.part ] && note "file.part is left"
: >file.part
faulty FAULT_LOCK='cp mine file.part && mv file.part file' 0 get --force area file
cmp -s source file || note "get --force differs"
: >file.part
faulty FAULT_LOCK='rm file.part' 0 get --force area file
cmp -s source file || note "get --force differs when the part goes"
claim "get does not touch what another get has finished"

# place AREA: where it is on the disk.
place()
{
	"$chario" ls --json "$1" | sed -n 's/.*"disk_offset": *\([0-9]*\).*/\1/p'
}

format 32M
bytes 3000000 >source
gives 0 create first 1M
gives 0 put source area
gives 0 record --late-ms 600000 cam --size 1M --segment 64k --from source --bytes 500k --record 1000
gives 0 check --data :: 'no damage'
faulty FAULT_READ=$(($(place area) + 1228800)) 4 check --data
says 'loss: 1 block cannot be read, the first at 1200 KiB: "area"' '1 found, 0 repaired, 1 lost'
faulty FAULT_READ=$(($(place area) + 1228800)) 4 check --data --json
has unreadable_blocks 1 first_unreadable 1228800 missing_records 0
faulty FAULT_READ="$(place cam)" 4 check --data
says 'missing or damaged: "cam"' 'chario replay gives all other records'
faulty FAULT_READ=$(($(place cam) + 9 * 65536)) 4 check --data
says '1 segment behind the newest record cannot be read'
gives 0 rename area other
# One byte of a random source may be the same.
printf XXXXXXXX | dd of=store bs=1 seek=$(($(place cam) + 1000)) conv=notrunc 2>/dev/null
gives 4 check --data :: 'loss: 1 record missing or damaged: "cam"'
gives 0 check
gives 0 rm first
bad=$(($(place other) + 1228800))
faulty FAULT_READ=$bad 1 defrag :: '"other" stays in its place: a block of it cannot be read' 'copy away what can be'
faulty FAULT_READ=$bad 1 defrag --json :: '"unmoved"' '"other"'
gives 0 defrag
same source other
claim "data that cannot be read or are damaged are told, and areas that cannot be moved"

# The note of the last changes is the second block.
format 8M
gives 0 create other 1M
faulty FAULT_READ=4096 1 create more 1M :: 'cannot open the store' 'chario check says'
faulty FAULT_READ=4096 0 ls :: other
faulty FAULT_READ=4096 3 check :: 'chario check --repair gives it up' '1 found, 0 repaired'
faulty FAULT_READ=4096 0 check --repair
gives 0 create more 1M
claim "a note that cannot be read keeps a store from being changed, and says what to do"

format 8M
gives 0 create cam 4M
export FAULT_MEMORY=1
while IFS='|' read -r arguments text advice; do
	# shellcheck disable=SC2086
	gives 1 record cam $arguments :: "there is no memory for $text" "raise the limit of locked memory (ulimit -l)$advice"
	[ "$advice" ] || ! grep -e '--' said || note "said in vain: $(cat said)"
done <<'TABLE'
|2 buffers of a segment each, which is|, or make segments (--segment) or records (--record) shorter
--buffers 8|8 buffers of a segment each, as --buffers asks|, or ask for fewer buffers (--buffers), or make segments (--segment)
--append|2 buffers of a segment each, which is|
--append --buffers 8|8 buffers of a segment each, as --buffers asks|, or ask for fewer buffers (--buffers)
TABLE
unset FAULT_MEMORY
dead socket
faulty FAULT_MOVE='rm socket && echo mine >socket' 1 record --late-ms 600000 --force cam --from unix:socket
says 'another program has the socket'
[ "$(cat socket)" = mine ] || note "what came in the place of a dead socket is gone"
[ "$(ls socket*)" = socket ] || note "left: $(ls socket*)"
rm socket
dead socket
faulty FAULT_MOVE='rm socket' 0 record --late-ms 600000 --force cam --from unix:socket --seconds 0.01
dead socket
# shellcheck disable=SC2016
faulty FAULT_MOVE='mv socket "socket.$PPID"; ln "socket.$PPID" socket' 1 record --late-ms 600000 --force cam --from unix:socket
says 'is left of a program that has ended, and cannot be removed'
rm socket socket.*
# A file that is moved aside by mistake cannot be moved back.
dead socket
export FAULT_MOVED='echo other >socket'
faulty FAULT_MOVE='rm socket && echo mine >socket' 1 record --late-ms 600000 --force cam --from unix:socket
unset FAULT_MOVED
says 'is now at "socket.' 'cannot be moved back: File exists' 'move the file back: mv socket.'
[ "$(cat socket socket.*)" = "$(printf 'other\nmine')" ] || note "$(head socket*)"
faulty FAULT_IPV6=1 0 record --late-ms 600000 --force cam --from "udp::$(free_port)" --seconds 0.01
claim "a recording has its source in spite of others, and without IPv6"

# Several programs want one area that is missing: whoever makes it, each uses it as if it had been there.
printf first >source
while IFS='|' read -r other wanted arguments text content; do
	format 32M
	# shellcheck disable=SC2086
	faulty FAULT_CREATE="'$chario' $other <source >other 2>&1" "$wanted" record --late-ms 600000 cam --size 4M $arguments
	says "$text"
	"$chario" replay cam 2>/dev/null >there
	[ "$(cat there)" = "$content" ] || note "$other, $arguments: $(cat there)"
	rm store
done <<'TABLE'
record --late-ms 600000 cam --size 4M|0|--append --from source|records        1 |firstfirst
record --late-ms 600000 cam --size 4M|1|--from source|--append goes on with it, --force begins|first
record --late-ms 600000 cam --size 4M|0|--force --from /dev/null|records        0|
create cam 4M|0|--from source|records        1 |first
create cam 8M|1|--append --from source|"cam" has 8 MiB, not 4 MiB|
TABLE
claim "several programs may begin a series of recordings at once"

# A clock that nobody sets tells how long after the first one a record comes: parts, or one recording, with a record
# (a, b, ...) at each "CLOCK_REALTIME,CLOCK_BOOTTIME"; what is replayed of +SECONDS.
set_times()
{
	echo "$1" | tr , ' ' >new
	mv new times
}
ago=946684800
now=1795000000
ahead=2051222400
export FAULT_TIMES=times
while IFS='|' read -r at queries; do
	for way in parts one; do
		[ "$way" != one ] || [ "${at%again}" = "$at" ] || continue
		format 32M
		# shellcheck disable=SC2086
		set -- ${at% again}
		set_times "$1"
		if [ "$way" = one ]; then
			from_pipe record-said record --late-ms 600000 cam --size 4M --from pipe --flush-ms 10
			recorder=$!
		fi
		letter=a
		for time; do
			set_times "$time"
			if [ "$way" = parts ]; then
				printf %s "$letter" | "$chario" record cam --size 4M --append --late-ms 600000 >said 2>&1 ||
					note "record: $(cat said)"
			else
				printf %s "$letter" >&3
				until "$chario" tail cam 2>/dev/null | grep -q "$letter"; do kill -0 "$recorder" || break; done
			fi
			letter=$(echo "$letter" | tr a-y b-z)
		done
		exec 3>&-
		[ "$way" = parts ] || wait "$recorder" || note "record: $(cat record-said)"
		for query in $queries; do
			options=$(echo "${query%=*}" | sed 's/[><]/ &/g; s/>/--from-time +/g; s/</--to-time +/g')
			# shellcheck disable=SC2086
			[ "$("$chario" replay cam $options 2>said)" = "${query#*=}" ] ||
				note "$at, $way, $options: $("$chario" replay cam $options 2>&1)"
		done
		rm -f store pipe
	done
done <<TABLE
$ahead,100 $((ahead + 1)),101 $now,102 $((now + 1)),103|>1.5=cd <1.5=ab >2=cd >3=d >3.5= <0=a >1<2=bc <99999999999=abcd
$ago,10 $((ago + 1)),11 $now,12 $((now + 1)),13|>1.5=cd <1.5=ab <100=abcd >100=
$now,100 $ahead,101 $((now + 2)),102|>1<1=b >2=c <1.9=ab
$now,100 $((now + 1)),101 $((now + 2)),102|>1<1=b >2=c <1.9=ab
$now,5000 $((now + 1)),5001 $((now + 7200)),10 $((now + 7201)),11 again|>7200=cd <7199=ab >7201=d
TABLE
unset FAULT_TIMES
claim "a time after the first record is none of a clock that was set"

end
