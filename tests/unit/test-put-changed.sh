#!/bin/sh
# SPDX-License-Identifier: MIT
# chario put --changed: what it writes, what it leaves alone, and where it stops.
#
#     test-put-changed.sh CHARIO

. "$(dirname "$0")/store-cli.sh"

# A part, as lib/src/copy/update.c loads it.
part=4194304

# numbers SIZE: so many bytes, no block like another one, and no letters.
numbers()
{
	seq 1000000 9999999 | head -c "$1"
}

# change FILE OFFSET...: letters there, two at each.
change()
{
	file=$1
	shift
	for offset; do
		printf 'XY' | dd of="$file" bs=1 seek="$offset" conv=notrunc status=none
	done
}

# writes NUMBER ARGUMENT...: a put --changed that writes so many blocks.
writes()
{
	number=$1
	shift
	gives 0 put --changed "$@" --json
	has written_blocks "$number"
}

# letters LETTER NUMBER: so many of it.
letters()
{
	head -c "$2" /dev/zero | tr '\0' "$1"
}

# How many runs of blocks of one kind an area has.
kinds()
{
	"$chario" cat "$1" | od -An -v -c -w4096 | uniq | wc -l
}

format 32M
numbers 10000000 >source
gives 0 put source area
writes 0 source area
has blocks 2442 bytes 10000000
touch -d 2000-01-01 store
gives 0 put --changed source area :: '0 of 2442 blocks written'
[ "$(stat -c %Y store)" = "$(date -d 2000-01-01 +%s)" ] || note "the store was written to"
claim "what is the same is not written"

format 32M
numbers 10000000 >source
gives 0 put source area
change source 0 4095 20000 9999998
gives 0 put --changed source area :: '4 of 2442 blocks written'
same source area
for at in 0 1; do
	change source $((part - 2 + at)) $((2 * part - 1 + at))
done
letters z 12288 | dd of=source bs=4096 seek=100 conv=notrunc status=none
writes 7 source area
same source area
claim "blocks that differ are written, at the edges of parts too"

format 32M
for size in 1 4095 4096 4097 "$part" $((part + 1)); do
	letters a "$size" >source
	gives 0 put source area
	change source 0
	head -c "$size" source >shorter && mv shorter source
	writes 1 source area
	same source area
	letters b "$size" >source
	writes $(((size + 4095) / 4096)) source area
	same source area
	gives 0 rm area
done
claim "an area of any length"

format 32M
numbers 9000000 >source
writes 2198 source area
same source area
gives 0 put --changed source new :: '2198 of 2198 blocks written'
gives 0 put source plain
[ -s said ] && note "put without --changed says: $(cat said)"
gives 0 put --changed --bytes 4096 source first --json
has blocks 1 written_blocks 1
claim "an area that is not there is made"

format 32M
letters a 20000 >source
letters a 10000 >short
gives 0 put source area
gives 1 put --changed short area
says '"area" has 20000 bytes, "short" has 10000' '--force makes the area as long first'
same source area
writes 0 short area --force
same short area
gives 0 stat area --json
has bytes 10000
gives 0 create behind 1M
letters a 3000000 >source
gives 0 put --changed --force source area
same source area
writes 0 source area
truncate -s 100M source
gives 1 put --changed --force source area
says 'cannot resize "area"' 'no hole of the store is long enough'
writes 0 --bytes 3000000 source area
claim "another length needs --force, which changes it and nothing else"

format 32M
bytes 100000 | "$chario" record --late-ms 600000 camera --size 1M >said 2>&1 || note "record: $(cat said)"
gives 0 replay camera --output before
bytes 1048576 >source
gives 1 put --changed source camera :: '"camera" holds a recording'
gives 1 put --changed --force source camera :: '"camera" holds a recording'
gives 0 replay camera --output after
cmp -s before after || note "the recording was spoilt"
claim "a recording is left alone"

format 32M
letters a 10000000 >source
gives 0 put source area
change source 5 9000000
"$chario" put --changed --bytes 10000000 - area <source >said || note "$(cat said)"
says '2 of 2442 blocks written'
change source 6000000
(head -c 100 source && tail -c +101 source) |
	"$chario" put --changed --bytes 10000000 - area >said || note "$(cat said)"
says '1 of 2442 blocks written'
same source area
gives 2 put --changed - area :: '--bytes SIZE'
letters b 5000000 | "$chario" put --changed --bytes 10000000 - area >said 2>&1 &&
	note "a pipe that is too short passes"
says '"standard input" ended after 5000000 of 10000000 bytes' "$part of 10000000 bytes" \
	'1024 blocks written' 'put all of it again, with --changed'
writes 1024 source area
same source area
claim "a pipe, as far as it goes"

# The first part has been read when the pipe has taken more than that and its own length.
format 32M
letters a 10000000 >old
letters b 10000000 >source
for signal in TERM INT KILL; do
	gives 0 put old $signal
	mkfifo pipe
	# An interrupt is ignored in the background, unless somebody says otherwise.
	env --default-signal=INT "$chario" put --changed --bytes 10000000 pipe $signal >said 2>&1 &
	exec 3>pipe
	head -c 5000000 source >&3
	kill -s $signal $!
	wait $! && note "a put that was ended by $signal passes"
	exec 3>&-
	rm pipe
	[ "$(kinds $signal)" -le 3 ] || note "after $signal there are torn blocks"
	[ $signal = KILL ] && break
	says "stopped: $part of 10000000 bytes" 'each block is the old or the new one' \
		'1024 blocks written'
	"$chario" cat $signal >now
	cmp -s -n $part now source || note "the first part is not new"
	tail -c +$((part + 1)) old >rest
	tail -c +$((part + 1)) now | cmp -s - rest || note "the rest is not old"
	writes $((2442 - 1024)) source $signal
	same source $signal
	gives 0 rm $signal
done
gives 0 put --changed source KILL
same source KILL
claim "ended, each block is old or new, and the next one brings the rest"

format 32M
letters a 10000000 >source
letters a 5000000 | "$chario" put - area --bytes 10000000 >said 2>&1 && note "a short pipe passes"
gives 1 cat area
writes $((2442 - 1024)) source area
same source area
gives 0 stat area :: 'state            whole'
claim "an area that is not all there is completed"

format 300M
truncate -s 256M source
gives 0 put source area
"$chario" put --changed source area >said 2>&1 &
while kill -0 $! 2>/dev/null; do
	touch source
done
wait $! && note "a source that changes passes"
says '"source" was changed while it was read: "area" is a mixture'
claim "a source that changes meanwhile is noticed"

format 32M
bytes 2000000 >source
gives 0 put source area
from_pipe put-said put --changed pipe area --bytes 2000000
head -c 100000 source >&3
gives 1 put --changed source area :: 'cannot write "area": the area is open elsewhere'
gives 0 cat area
tail -c +100001 source >&3
exec 3>&-
wait $! || note "put failed: $(cat put-said)"
same source area
claim "one at a time"

end
