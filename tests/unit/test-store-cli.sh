#!/bin/sh
# SPDX-License-Identifier: MIT
# What a user sees of a store: the verbs for areas, on plain files.
#
#     test-store-cli.sh CHARIO

. "$(dirname "$0")/store-cli.sh"

# damage BLOCK...: overwrite blocks of 4096 bytes of the store.
damage()
{
	for block; do
		head -c 4096 /dev/zero | tr '\0' x |
			dd of=store bs=4096 seek="$block" conv=notrunc status=none
	done
}

# The block where the second copy of the table begins.
second_copy()
{
	gives 0 df --json
	echo $(($(member capacity_bytes) / 4096 - 1 - $(member table_bytes) / 8192))
}

echo 1..26

gives 1 format nosuch
says 'there is no disk and no file "nosuch"' '--size SIZE' 'truncate -s'
gives 0 format --size 1M store
says 'areas          0 of 10' 'largest hole'
gives 1 format --size 2M store
says 'is there already: leave --size away'
gives 1 format
says 'there is a store on "store", with 0 areas' '--force'
gives 0 create a 4k
gives 2 format --force=1
gives 0 format -f --areas 1000 --align 8k --json
says '"max_areas": 1000' '"alignment_bytes": 8192' '"nr_areas": 0'
gives 1 format --size 16k small
says 'too small'
[ -e small ] && note "a file that cannot hold a store was left"
claim "format makes a store, once, and says how to create its file"

printf 'LUKS\272\276\000\001' >disk
truncate -s 1M disk
gives 1 format disk
says '"disk" holds an encrypted volume (crypto_LUKS)' '--force'
gives 0 format --force disk
truncate -s 4M swap
printf '\125\252' | dd of=swap bs=1 seek=510 conv=notrunc status=none
printf '\000\000\000\000\203\000\000\000\001\000\000\000\000\020\000\000' |
	dd of=swap bs=1 seek=446 conv=notrunc status=none
gives 1 format swap
says 'a partition table (dos)'
gives 1 format .
says 'neither a disk of CharIO nor a block device nor a plain file'
claim "format names what a disk holds, and refuses"

format 1M
for arguments in 'format --areas 0 x' 'format --areas 2000000 x' 'format --align 5000 x' \
	'format --align 2k x' 'format --size 0 x' 'format --size 1M' 'format a b' 'check --forget' \
	'create a' 'create a 0' 'create a 1x' 'create a -1' 'resize a' 'resize a 0' rm 'rename a' \
	'put a' 'put a b c' 'put --bytes 0 a b' 'get a' cat 'cat --json a' 'df a b' 'df -s a b' \
	'defrag -s a b' 'stat --store store a --interval 1' 'ls --all'; do
	# shellcheck disable=SC2086
	gives 2 $arguments
done
claim "wrong usage ends with 2"

gives 1 ls --store nosuch
says 'there is no such file' 'chario format'
gives 1 ls --store ''
says 'the name of the store is empty'
truncate -s 1M empty
gives 1 df empty
says 'there is no store on it (ENOMEDIUM)' 'chario format makes one'
format 1M
truncate -s 900K store
gives 1 ls
says 'smaller than the store on it (ESTALE)'
claim "a store that cannot be opened says why and what to do"

format 8M
gives 0 create first 1M
gives 0 create second 100
gives 0 ls
says 'NAME    SIZE     STATE  PLACE' 'first   1.0 MiB  -' 'second  100 B    -'
gives 0 ls 'sec*' nosuch
grep -q first said && note "a pattern does not choose"
gives 1 ls 'x*'
says 'no area is called like this'
gives 0 ls --json 's*'
has bytes 100 allocated_bytes 4096
gives 0 stat second
says 'state            whole' 'size             100 bytes'
gives 0 stat --store store second --json
has filled_bytes 100
gives 1 stat third
says 'there is no area of this name'
gives 0 df --json
has nr_areas 2 used_bytes 1052672
claim "ls, stat and df show what there is"

format 8M
gives 0 create a 1M
gives 0 create b 1M
gives 1 create a 1M
says 'there is an area of this name already (EEXIST)' 'chario rm or chario rename'
gives 1 rename a b
says EEXIST
gives 1 rename x y
says 'no area of this name'
gives 0 rename a c
gives 0 resize c 2M --json
has bytes 2097152
gives 1 resize c 100M
says 'no hole of the store is long enough (ENOSPC)' 'chario df' 'chario defrag'
gives 1 rm nosuch c
says 'there is no area of this name'
gives 0 rm -f nosuch b --json
says '"b"'
gives 0 df --json
has nr_areas 0
claim "areas are renamed, resized, removed"

format 8M
long=$(printf 'n%.0s' $(seq 255))
gives 0 create "$long" 4k
gives 0 stat "$long"
gives 1 create "n$long" 4k
says 'a name has 255 bytes at most'
gives 0 create 'Kamera Süd 日本' 4k
gives 0 ls '*日*'
says 'Kamera Süd 日本'
gives 1 create a/b 4k
says "has no '/'"
gives 1 create .. 4k
gives 1 create '' 4k
gives 0 create "$(printf 'tab\there')" 4k
gives 0 create "$(printf 'not\377utf')" 4k
gives 0 ls --json
says '"name": "tab\there"' '"name": "not\\xffutf"' '"name_hex": "6e6f74ff757466"'
gives 0 rm "$(printf 'not\377utf')"
script -qec "$chario ls 'tab*'" /dev/null >said
says 'tab\x09here'
claim "names are any bytes, escaped where they do not print"

format 1M
gives 0 create most 900k
gives 1 put "$chario" more
says 'no hole of the store is long enough'
gives 0 rm most
for i in $(seq 10); do
	"$chario" create "a$i" 4k || note "a$i was refused"
done
gives 1 create one-more 4k
says 'the table of the store is full' 'chario format --areas'
claim "a full store and a full table say so"

format 32M
for size in 1 4095 4096 4097 4194304 4194305 17000003; do
	bytes $size >source
	gives 0 put source area --json
	has bytes $size
	same source area
	gives 0 get area copy
	cmp -s source copy || note "get of $size bytes differs"
	gives 0 stat area
	says 'state            whole'
	gives 0 rm area
	rm copy
done
claim "put, get and cat of any length"

format 32M
bytes 100000 >source
bytes 3000000 >other
gives 0 put source area
gives 1 put other area
says '"area" is there already' '--force replaces it'
same source area
gives 0 put --force other area
same other area
truncate -s 33M large
gives 1 put --force large area
says 'no hole of the store is long enough'
same other area
gives 0 put --bytes 5000 other short
head -c 5000 other >source
same source short
gives 1 put --bytes 4M other x
says 'has 3000000 bytes, fewer'
: >source
gives 1 put source x
says 'is empty; an area has one byte at least'
gives 1 put . x
says 'is a directory'
gives 1 put nosuch x
says 'No such file or directory'
claim "put replaces only by force, and what fits"

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
gives 1 cat cut
says 'of "cut" 0 of 2000 bytes are there' '--force takes it as it is'
gives 1 get cut file
gives 0 get --force cut file
gives 2 put - area2 </dev/null
says '--bytes SIZE'
head -c 2000 source | "$chario" put - cut --bytes 2000 || note "a short put does not begin anew"
gives 0 cat cut
claim "put takes standard input"

# Ended somewhere, most likely in the middle; what matters holds wherever it was.
format 300M
truncate -s 256M source
bytes 1000000 | dd of=source bs=1M seek=200 conv=notrunc status=none
for signal in TERM KILL; do
	"$chario" put source $signal >said 2>&1 &
	put=$!
	wait_for $signal $put
	kill -s $signal $put
	wait $put
	status=$?
	if [ $status != 0 ]; then
		gives 1 cat $signal
		says 'chario put has not finished'
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
	put=$!
	wait_for area $put
	sleep "0.0$attempt"
	kill -s TERM $put
	if ! wait $put; then
		filled=$("$chario" stat area | sed -n 's/^filled *\([0-9]*\) .*/\1/p')
		[ "$filled" = 0 ] || break
	fi
	gives 0 rm area
done
if [ "$filled" = 0 ]; then
	note "no put could be ended in the middle"
else
	gives 0 put source area --json
	says 'goes on after'
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
	put=$!
	wait_for area $put
	$change source
	if wait $put; then
		continue
	fi
	grep -qE 'was changed while it was read|became shorter while' said || note "$change: $(cat said)"
	gives 1 put --bytes 1M source area
	says 'its source has changed since' '--force'
done
claim "a source that changes under put is noticed"

format 32M
bytes 5000000 >source
gives 0 put source area
echo mine >file
gives 1 get area file
says '"file" is there already; --force replaces it'
[ "$(cat file)" = mine ] || note "get has touched a file"
gives 0 get area file --force
cmp -s source file || note "get --force differs"
[ -e file.part ] && note "file.part is left"
gives 1 get area .
says 'is a directory'
gives 1 get area /dev/full
says 'no room is left for "/dev/full"'
gives 0 get area /dev/null
gives 1 get nosuch new
[ -e new ] || [ -e new.part ] && note "a file for nothing"
gives 1 get area no/folder
says 'No such file or directory'
"$chario" cat area >/dev/full 2>said && note "cat to a full disk passes"
says 'no room is left for "standard output"'
"$chario" cat area 2>said | head -c 1 >one
[ -s said ] && note "a reader that leaves: $(cat said)"
head -c 1 source | cmp -s - one || note "cat of one byte differs"
"$chario" get area - | cmp -s - source || note "get to standard output differs"
(ulimit -f 1000 && trap '' XFSZ && "$chario" get area limited >said 2>&1) &&
	note "get into a file that may not grow passes"
[ -e limited ] || [ -e limited.part ] && note "half a file is left"
claim "get never leaves half a file, nor overwrites one unasked"

format 32M
bytes 2000000 >source
mkfifo pipe
"$chario" put pipe area --bytes 2000000 >put-said 2>&1 &
put=$!
exec 3>pipe
wait_for area $put
gives 1 rm area
says 'another process has the area open'
gives 1 resize area 1M
gives 1 put --bytes 2000000 source area
says 'cannot write "area"' EBUSY
gives 1 format --force
says 'is open in another process'
gives 0 ls
says 'filling 0 %'
gives 0 create another 1M
gives 0 rename area renamed
cat source >&3
exec 3>&-
wait $put || note "put failed: $(cat put-said)"
same source renamed
claim "an area has one writer, and stays while it is open"

format 32M
for group in a b c; do
	for i in $(seq 20); do
		"$chario" create "$group$i" 4k || echo "$group$i" >>refused
	done &
done
wait
[ -e refused ] && note "refused: $(cat refused)"
gives 0 df --json
has nr_areas 60
gives 0 check
claim "several processes change the table at once"

format 32M
for i in 1 2 3 4 5 6; do
	bytes 3000000 >source$i
	gives 0 put source$i area$i
done
gives 0 rm area1 area3 area5
gives 0 df --json
has nr_holes 4
gives 0 defrag --quiet --json
has nr_holes 1 largest_hole_bytes "$(member free_bytes)"
for i in 2 4 6; do
	same source$i area$i
done
gives 0 defrag
says 'moved 0 B'
gives 0 check
claim "defrag makes one hole, and areas keep their content"

format 32M
gives 0 create a 4k
gives 0 check
says 'store: no damage'
damage 2
gives 3 check
says 'repairable: the first copy of block 0 of the table is damaged' 'chario check --repair' \
	'1 found, 0 repaired, 0 lost'
gives 3 check --json
says '"damage": "block"' '"severity": "repairable"' '"repaired": false'
gives 0 ls
says a
gives 0 check --repair
says 'repaired: the first copy'
gives 0 check
damage "$(second_copy)"
gives 3 check
says 'the second copy of block 0 of the table is damaged'
gives 0 check -r store
gives 0 check --store store
claim "check finds and repairs one damaged copy of a block"

format 32M
gives 0 create a 4k
damage 0
gives 3 check
says 'the first copy of the header is damaged'
gives 0 ls
gives 0 check --repair
gives 0 check
claim "check finds and repairs a damaged header"

format 32M
for i in $(seq 15); do
	gives 0 create "area$i" 4k
done
damage 2 "$(second_copy)"
gives 4 check
says 'both copies are damaged, its areas are lost' '--repair --forget' '1 lost'
gives 1 create more 4k
says 'the table of the store is damaged (EUCLEAN)' 'chario check says what'
gives 0 ls
says area15
gives 4 check --repair
gives 0 check --repair --forget
says 'are given up for good' 'repaired: block 0'
gives 0 create more 4k
claim "check names areas that are lost, and gives them up when told to"

format 32M
gives 0 create a 4k
damage 0 $(($(stat -c %s store) / 4096 - 1))
gives 1 check
says ENOMEDIUM
gives 1 ls
claim "a store without any header is none"

format 32M
bytes 3000000 >source
gives 0 put source a
cp store copy
printf 'x' | dd of=copy bs=1 seek=9000 conv=notrunc status=none
gives 3 check copy
gives 3 check -s copy
gives 0 check
claim "the store is an operand or --store, which goes before CHARIO_STORE"

unset CHARIO_STORE
"$chario" list --json >said
if [ "$(grep -c '"path"' said)" = 1 ]; then
	echo "ok $((nr = nr + 1)) - without a store all three ways are said # SKIP a disk is there"
else
	gives 1 ls
	says 'which store?' '--store STORE' CHARIO_STORE 'only disk'
	claim "without a store all three ways are said"
fi

export CHARIO_STORE=store
format 32M
gives 0 create a 4k
for verb in ls df 'ls --json'; do
	# shellcheck disable=SC2086
	"$chario" $verb >/dev/full 2>said && note "$verb to a full disk passes"
	says 'cannot write the output'
done
claim "output that cannot be written is a failure"

# A file of tmpfs takes a write of any length, of a message too.
mkdir "/dev/shm/chario-$$" && trap 'rm -rf "$folder" "/dev/shm/chario-$$"' EXIT
CHARIO_STORE=/dev/shm/chario-$$/store
gives 0 format --size 8M "$CHARIO_STORE"
gives 0 create a 4k
"$chario" rm nosuch 2>&- && note "rm of what is not there passes"
"$chario" rm nosuch >&- 2>&- && note "rm of what is not there passes"
"$chario" create b 4k <&- >&- 2>&- || note "create without files fails"
"$chario" ls >&- 2>said && note "ls to a closed output passes"
says 'cannot write the output'
gives 0 check
claim "what is said where nobody hears does not go into the store"

end
