#!/bin/sh
# SPDX-License-Identifier: MIT
# What a user sees of files that become areas, and areas that become files.
#
#     test-put-cli.sh CHARIO

. "$(dirname "$0")/store-cli.sh"

# limited ARGUMENT...: chario ends with 1 where no file may have more than some 500 KiB; not by a signal.
limited()
{
	(ulimit -f 1000 && exec "$chario" "$@") >said 2>&1 </dev/null
	status=$?
	[ $status = 1 ] || note "chario $* with a limit: $status: $(cat said)"
}

format 32M
for size in 1 4095 4096 4097 4194304 4194305 17000003; do
	bytes $size >source
	gives 0 put source area --json
	has bytes $size
	same source area
	gives 0 get area copy
	cmp -s source copy || note "get of $size bytes differs"
	gives 0 stat area :: 'state            whole'
	gives 0 rm area
	rm copy
done
claim "put, get and cat of any length"

format 32M
bytes 100000 >source
bytes 3000000 >other
gives 0 put source area
gives 1 put other area :: '"area" is there already' '--force replaces it'
same source area
gives 0 put --force other area
same other area
truncate -s 33M large
gives 1 put --force large area :: 'no hole of the store is long enough'
same other area
gives 0 put --bytes 5000 other short
head -c 5000 other >source
same source short
gives 1 put --bytes 4M other x :: 'has 3000000 bytes, fewer'
: >source
gives 0 put source x
same source x
gives 0 get x copy
cmp -s source copy || note "an empty file differs"
gives 0 put --force other x
same other x
gives 0 put --force source x
same source x
gives 0 put --changed source x
gives 0 put --changed --force other x
same other x
gives 0 put --changed --force source x
same source x
gives 0 check --data
gives 1 put source x --bytes 1 --force :: 'has 0 bytes, fewer'
gives 2 put /proc/version y :: 'the length of "/proc/version" is not known'
gives 1 put . x :: 'is a directory'
gives 1 put nosuch x :: 'No such file or directory'
claim "put replaces only by force, and what fits"

format 32M
bytes 3000000 >old
bytes 5000000 >new
gives 0 put old area
# Ended in the middle, by whatever: the old one is there, and the same command goes on.
head -c 2000000 new | "$chario" put - area --force --bytes 5000000 >said 2>&1 &&
	note "a short put replaces"
same old area
gives 0 ls :: 'area.part' 'filling'
gives 0 put --force new area
same new area
gives 0 ls
[ "$(grep -c area said)" = 1 ] || note "something is left: $(cat said)"
# Who reads it keeps it from going; what has been written beside it stays.
"$chario" cat area >/dev/null || note "cat failed"
gives 0 rename area area.part
gives 0 put old area
gives 1 put --force new area :: '"area.part"' 'rename or remove it'
same old area
gives 0 check
claim "put writes what replaces an area beside it"

format 32M
bytes 20000000 >old
bytes 21000000 >new
gives 0 put old area
gives 1 put --force new area :: 'beside the old one' '--remove-first'
same old area
gives 0 put --force --remove-first new area
same new area
gives 2 put --remove-first new area
claim "put removes first only when told to"

format 32M
bytes 3000000 >one
bytes 2000000 >two
gives 0 put one a
gives 0 put two b
gives 1 rename a b
gives 0 rename --exchange a b
same one b
same two a
gives 0 rename --force a b
same two b
gives 1 cat a
gives 0 rename --force b b
gives 1 rename --force nosuch b
gives 1 rename --exchange nosuch b
gives 2 rename --force --exchange a b
gives 2 format --upgrade --force :: '--upgrade keeps the store'
gives 0 format --upgrade
gives 0 check
claim "rename replaces by force, and exchanges"

format 32M
bytes 20000000 >one
bytes 11000000 >two
gives 0 put one a
gives 0 set a lens=35mm operator=kim 'note=two words' empty=
gives 0 stat a :: 'attribute        lens=35mm' 'attribute        note=two words'
gives 0 set a "lines=$(printf 'x\nsize             5 bytes')"
gives 0 stat a :: 'lines=x\x0asize             5 bytes'
gives 0 set a -u lines
gives 0 set a --unset operator -u nosuch lens=50mm
gives 0 ls --json :: '"lens": "50mm"' '"empty": ""'
! grep -q operator said || note "operator is still there"
gives 0 put --force two a
gives 0 stat a :: 'lens=50mm' 'note=two words'
gives 0 put --force --remove-first one a
gives 0 stat a :: 'lens=50mm' 'note=two words'
same one a
gives 1 set a "k=$(printf '%0255d' 0)" :: '255 bytes' '--unset'
gives 1 set nosuch k=v
gives 2 set
gives 2 set a
gives 2 set a k
gives 2 set a =v
gives 2 set a -u k=v
gives 2 set a -u
gives 0 set a -j "$(printf 'k\377=\376')" :: '_hex": "fe"'
gives 0 check
claim "areas have attributes, which stay when their content is replaced"

format 32M
bytes 5000000 >source
"$chario" put - area --bytes 5000000 <source || note "put of a file as standard input failed"
same source area
# A pipe that gives its bytes in small pieces.
(head -c 100000 source && tail -c +100001 source) | "$chario" put - piped --bytes 5000000 ||
	note "put of a pipe failed"
same source piped
head -c 1000 source | "$chario" put - cut --bytes 2000 >said 2>&1 && note "a short pipe passes"
says '"standard input" ended after 1000 of 2000 bytes'
gives 1 cat cut :: 'of "cut" 0 of 2000 bytes are there' '--force takes it as it is'
gives 1 get cut file
gives 0 get --force cut file
gives 2 put - area2 </dev/null :: '--bytes SIZE'
head -c 2000 source | "$chario" put - cut --bytes 2000 || note "a short put does not begin anew"
gives 0 cat cut
{ dd bs=1000 count=1 status=none >first && "$chario" put --bytes 5000 - second && "$chario" put - third; } <source ||
	note "put of a part of standard input failed"
{ cat first && "$chario" cat second && "$chario" cat third; } | cmp - source || note "parts of standard input differ"
claim "put takes standard input"

# Ended somewhere, most likely in the middle; what matters holds wherever it was.
format 300M
truncate -s 256M source
bytes 1000000 | dd of=source bs=1M seek=200 conv=notrunc status=none
for signal in TERM KILL; do
	"$chario" put source $signal >said 2>&1 &
	wait_for $signal $!
	kill -s $signal $!
	wait $!
	status=$?
	if [ $status != 0 ]; then
		gives 1 cat $signal :: 'chario put has not finished'
		gives 0 put source $signal
	fi
	same source $signal
	gives 0 rm $signal
done
claim "a put that was ended goes on with the same command"

format 300M
truncate -s 256M source
filled=0
for attempt in 0 1 2 3 4 5 6 7 8 9; do
	"$chario" put source area >said 2>&1 &
	wait_for area $!
	sleep "0.0$attempt"
	kill -s TERM $!
	if ! wait $!; then
		filled=$("$chario" stat area | sed -n 's/^filled *\([0-9]*\) .*/\1/p')
		[ "$filled" = 0 ] || break
	fi
	gives 0 rm area
done
if [ "$filled" = 0 ]; then
	note "no put could be ended in the middle"
else
	gives 0 put source area --json :: 'goes on after'
	has resumed_at_bytes "$filled"
	same source area
fi
claim "a put goes on where it was"

format 300M
truncate -s 256M source
for change in 'truncate -s 300M' 'truncate -s 1M' touch; do
	"$chario" rm -f area
	truncate -s 256M source
	"$chario" put source area >said 2>&1 &
	wait_for area $!
	$change source
	if wait $!; then
		continue
	fi
	grep -qE 'was changed while it was read|became shorter while' said || note "$change: $(cat said)"
	gives 1 put --bytes 1M source area :: 'its source has changed since' '--force'
done
claim "a source that changes under put is noticed"

format 32M
bytes 5000000 >source
gives 0 put source area
echo mine >file
gives 1 get area file :: '"file" is there already; --force replaces it'
[ "$(cat file)" = mine ] || note "get has touched a file"
gives 0 get area file --force
cmp -s source file || note "get --force differs"
[ -e file.part ] && note "file.part is left"
gives 1 get area . :: 'is a directory'
for verb in 'get area /dev/chardisk98765' 'put /dev/../dev/chardisk98765 other' \
	'record area --from /dev/chardisk98765' 'format --size 1M /dev/chardisk98765'; do
	# shellcheck disable=SC2086
	gives 1 $verb
	says 'there is no such disk (ENODEV)' 'chario list shows the disks that are there'
done
[ -e /dev/chardisk98765 ] && note "a plain file takes the place of a disk"
gives 1 get area /dev/full :: 'no room is left for "/dev/full"'
gives 0 get area /dev/null
gives 1 get nosuch new
[ -e new ] || [ -e new.part ] && note "a file for nothing"
gives 1 get area no/folder :: 'No such file or directory'
"$chario" cat area >/dev/full 2>said && note "cat to a full disk passes"
says 'no room is left for "standard output"'
"$chario" get area - >/dev/full 2>said && note "get to a full disk passes"
says 'no room is left for "standard output"'
"$chario" cat area 2>said | head -c 1 >one
[ -s said ] && note "a reader that leaves: $(cat said)"
head -c 1 source | cmp -s - one || note "cat of one byte differs"
"$chario" get area - | cmp -s - source || note "get to standard output differs"
limited get area limited
says 'raise the limit (ulimit -f)'
(ulimit -f 1000 && "$chario" cat area >half 2>said) && note "cat into a file that may not grow passes"
says 'raise the limit (ulimit -f)'
[ -e limited ] || [ -e limited.part ] && note "half a file is left"
claim "get never leaves half a file, nor overwrites one unasked"

# A store is no file to replace, under whatever name, damaged, cut off, or as the part of another.
format 8M
bytes 5000 >source
gives 0 put source area
cp store 0
cp store damaged
dd if=/dev/zero of=damaged bs=4k count=1 conv=notrunc status=none
cp store cut
truncate -s 1M cut
cp store file.part
ln store hard
ln -s store soft
for name in store 0 damaged cut hard soft file; do
	content=$name
	[ $name != file ] || content=file.part
	cp "$content" before
	gives 1 get area $name --force
	says "there is a store on" 'name another file, or remove this one first'
	cmp -s "$content" before || note "get over $name: $content differs"
done
gives 0 cat --store file.part area
rm file.part
for content in '' x "$(base64 source)"; do
	printf %s "$content" >file
	printf %s "$content" >file.part
	gives 0 get area file --force
	cmp -s source file || note "get over ${#content} bytes differs"
done
gives 0 check
claim "get overwrites no store"

format 64M
limited create x 4k
says 'may not be written so far (EFBIG)' 'raise the limit of the length of files (ulimit -f)'
limited format --size 2M small
says 'ulimit -f'
[ -e small ] && note "a file that cannot hold a store was left"
claim "a limit of the length of files is said, and not a signal"

# The file system of a store with holes is full in the middle of a put that has several pieces under way.
if unshare -rm sh -c 'mkdir full && mount -t tmpfs none full' 2>/dev/null; then
	bytes 30000000 >source
	cat >script <<'SCRIPT'
	mount -t tmpfs -o size=20M none full && truncate -s 64M full/store && cd full || exit 99
	"$1" format store >/dev/null || exit 98
	"$1" put ../source area 2>../said && exit 97
	mount -o remount,size=80M . && "$1" put ../source area 2>../resumed || exit 96
	"$1" cat area | cmp - ../source
SCRIPT
	unshare -rm sh script "$chario" || note "script ends with $?: $(cat said resumed)"
	says 'cannot write "area": the file system that the file of the store lies on is full' \
		'chario format --size takes it beforehand'
	[ "$(wc -l <said)" = 2 ] || note "said more than once: $(cat said)"
	grep -q 'goes on after' resumed || note "the same command begins anew: $(cat resumed)"
	claim "a full file system is said once, and the put goes on"
	format 64M
	bytes 30000000 >source
	gives 0 put source area
	cat >script <<'SCRIPT'
	mkdir full && mount -t tmpfs -o size=20M none full || exit 99
	"$1" get -s "$2" area full/area 2>said && exit 97
	[ -z "$(ls full)" ] || exit 96
	mount -o remount,size=40M full && "$1" get -s "$2" area full/area && cmp full/area source
SCRIPT
	unshare -rm sh script "$chario" "$CHARIO_STORE" || note "script ends with $?: $(cat said)"
	says '"full/area" needs 28.6 MiB, and its file system does not have that; see df'
	claim "a file that will not fit is not begun"
else
	echo "ok $((nr = nr + 1)) - a full file system is said once # SKIP no file system can be mounted here"
	echo "ok $((nr = nr + 1)) - a file that will not fit is not begun # SKIP no file system can be mounted here"
fi

format 32M
bytes 1 >source
gives 0 put source one
gives 0 stat one :: 'size             1 byte (1 B)'
gives 1 record one --append </dev/null :: 'holds a file of chario put' '--force records over it'
gives 1 put --bytes 2 source more :: '"source" has 1 byte, fewer than --bytes says'
"$chario" put - cut --bytes 1 </dev/null >said 2>&1 && note "an empty pipe passes"
claim "one byte is one byte"

# A store that is cut while something is put into it does not become a file with a hole.
format 8M
bytes 3000000 >source
from_pipe put-said put pipe area --bytes 3000000
wait_for area $!
until "$chario" stat --store store area | grep -q filling; do kill -0 $! || break; done
truncate -s 500K store
cat source >&3
exec 3>&-
wait $! && note "put into a store that was cut passes"
mv put-said said
says 'ESTALE' 'the file was cut: restore its size'
[ "$(stat -c %s store)" = 512000 ] || note "the file has grown to $(stat -c %s store) bytes"
claim "a store that was cut does not grow again"

format 32M
bytes 2000000 >source
from_pipe put-said put pipe area --bytes 2000000
put=$!
wait_for area $put
# The area is there before it is locked.
until "$chario" stat --store store area | grep -q filling; do kill -0 $put || break; done
gives 1 rm area :: 'the area is open elsewhere'
gives 1 resize area 1M
gives 1 put --bytes 2000000 source area :: 'cannot write "area"' EBUSY
gives 1 format --force :: 'is open in another process'
! grep any_size said || note "a file has no any_size"
gives 0 ls :: 'filling 0 %'
gives 0 create another 1M
gives 0 rename area renamed
cat source >&3
exec 3>&-
wait $put || note "put failed: $(cat put-said)"
same source renamed
claim "an area has one writer, and stays while it is open"

format 32M
bytes 1000000 >old
bytes 2000000 >new
gives 0 put old area
mkfifo pipe
"$chario" cat area >pipe &
exec 3<pipe
head -c 1 <&3 >first
gives 1 put --force new area :: 'the same command goes on with it'
exec 3<&-
wait $!
gives 0 put --force new area --json :: '"resumed_at_bytes": 1998848'
same new area
claim "what a reader has kept from being replaced is replaced later"

end
