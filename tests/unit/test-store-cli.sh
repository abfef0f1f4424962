#!/bin/sh
# SPDX-License-Identifier: MIT
# What a user sees of a store: making one, finding it, its areas, on plain files.
#
#     test-store-cli.sh CHARIO

. "$(dirname "$0")/store-cli.sh"

gives 1 format nosuch :: 'there is no disk and no file "nosuch"' '--size SIZE' 'truncate -s'
gives 0 format --size 1M store :: 'areas          0 of 10' 'largest hole'
gives 1 format --size 2M store :: 'is there already: leave --size away'
gives 1 format :: 'there is a store on "store", with 0 areas' '--force'
gives 0 create a 4k
gives 2 format --force=1
gives 0 format -f --areas 1000 --align 8k --json
says '"max_areas": 1000' '"alignment_bytes": 8192' '"nr_areas": 0'
gives 1 format --size 16k small :: 'too small'
[ -e small ] && note "a file that cannot hold a store was left"
claim "format makes a store, once, and says how to create its file"

printf 'LUKS\272\276\000\001' >disk
truncate -s 1M disk
gives 1 format disk :: '"disk" holds an encrypted volume (crypto_LUKS)' '--force'
gives 0 format --force disk
truncate -s 4M swap
printf '\125\252' | dd of=swap bs=1 seek=510 conv=notrunc status=none
printf '\000\000\000\000\203\000\000\000\001\000\000\000\000\020\000\000' |
	dd of=swap bs=1 seek=446 conv=notrunc status=none
gives 1 format swap :: 'a partition table (dos)'
gives 1 format . :: 'neither a disk of CharIO nor a block device nor a plain file'
claim "format names what a disk holds, and refuses"

# mark FILE OFFSET BYTES: as printf(1) takes them.
mark()
{
	# shellcheck disable=SC2059
	printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
# Behind the table of a small store: what lies around the marks is not theirs.
yes 'old data' | head -c 8M >disk
mark disk $((65536 + 64)) '_BHRfS_M'
mark disk 32768 '\001CD001'
cp disk before
wipefs --no-act before >marks
for what in btrfs iso9660; do
	grep -q "$what" marks || note "no mark of $what: $(cat marks)"
done
gives 0 format --force --areas 10 disk
wipefs --no-act disk >marks
[ -s marks ] && note "marks are left: $(cat marks)"
# Two headers, two copies of one block of the table, the note; and the marks.
[ "$(cmp -l before disk | wc -l)" -le $((5 * 4096 + 8 + 5)) ] || note "more was written than marks"
gives 0 check disk
gives 0 format --force disk
gives 0 check disk
claim "format --force takes away the marks of what was there, and no more"

format 1M
for arguments in 'format --areas 0 x' 'format --areas 2000000 x' 'format --align 5000 x' \
	'format --align 2k x' 'format --size 0 x' 'format --size 1M' 'format a b' 'check --forget' \
	'create a' 'create a 0' 'create a 1x' 'create a -1' 'resize a' 'resize a 0' rm 'rename a' \
	'put a' 'put a b c' 'put --bytes 0 a b' 'get a' cat 'cat --json a' 'get --json a -' 'df a b' 'df -s a b' \
	'defrag -s a b' 'stat --store store a --interval 1' 'ls --all'; do
	# shellcheck disable=SC2086
	gives 2 $arguments
done
claim "wrong usage ends with 2"

gives 1 ls --store nosuch :: 'no such file' 'chario format'
gives 1 ls --store '' :: 'the name of the store is empty'
truncate -s 1M empty
gives 1 df empty :: 'there is no store on it (ENOMEDIUM)' 'chario format makes one'
format 1M
truncate -s 900K store
gives 1 create a 4k :: 'smaller than the store on it (ESTALE)'
claim "a store that cannot be opened says why and what to do"

format 8M
gives 0 create first 1M
gives 0 create second 100
gives 0 ls :: 'NAME    SIZE     STATE  PLACE' 'first   1.0 MiB  -' 'second  100 B    -'
gives 1 ls 'sec*' nosuch :: 'no area is called like "nosuch"' 'second  100 B'
grep -q first said && note "a pattern does not choose"
gives 1 ls 'x*' :: 'no area is called like "x*"'
gives 0 ls --json 's*'
has bytes 100 allocated_bytes 4096
gives 0 stat second :: 'state            whole' 'size             100 bytes'
gives 0 stat --store store second --json
has filled_bytes 100
gives 1 stat third :: 'there is no such area'
gives 0 df --json
has nr_areas 2 used_bytes 1052672
claim "ls, stat and df show what there is"

format 8M
gives 0 create a 1M
gives 0 create b 1M
gives 1 create a 1M :: 'there is an area of this name already (EEXIST)' 'chario rm or chario rename'
gives 1 rename a b :: 'there is an area "b" already' '--force replaces it, --exchange'
gives 1 rename x y :: 'cannot find "x": there is no such area'
gives 1 rename --exchange a y :: 'cannot find "y": there is no such area'
gives 0 rename a c
gives 0 resize c 2M --json
has bytes 2097152
gives 1 resize c 100M :: 'no hole of the store is long enough (ENOSPC)' 'chario df' 'chario defrag'
gives 1 rm nosuch c :: 'there is no such area'
gives 0 rm -f nosuch b --json :: '"b"'
gives 0 df --json
has nr_areas 0
claim "areas are renamed, resized, removed"

format 8M
long=$(printf 'n%.0s' $(seq 255))
gives 0 create "$long" 4k
gives 0 stat "$long"
gives 1 create "n$long" 4k :: 'a name has 255 bytes at most'
gives 0 create 'Kamera Süd 日本' 4k
gives 0 ls '*日*' :: 'Kamera Süd 日本'
gives 1 create a/b 4k :: "has no '/'"
gives 1 create .. 4k
gives 1 create '' 4k
gives 0 create "$(printf 'tab\there')" 4k
gives 0 create "$(printf 'not\377utf')" 4k
gives 0 ls --json :: '"name": "tab\there"' '"name": "not\\xffutf"' '"name_hex": "6e6f74ff757466"'
gives 0 rm "$(printf 'not\377utf')"
script -qec "'$chario' ls 'tab*'" /dev/null >said
says 'tab\x09here'
claim "names are any bytes, escaped where they do not print"

# What a terminal would obey: titles, colours, the end of a line.  Nothing of it gets there.
evil=$(printf 'a\033]0;b\007\033[31mc\rd\ne\177')
shown='a\x1b]0;b\x07\x1b[31mc\x0dd\x0ae\x7f'
# is_shown TEXT: it was said, and no byte that a terminal obeys.
is_shown()
{
	says "$1"
	LC_ALL=C grep -q "$(printf '[\001-\011\013-\037\177]')" said && note "raw: $(cat -v said)"
}
format 8M
gives 0 create "$evil" 4k
gives 1 create "$evil" 4k
is_shown "cannot create \"$shown\""
gives 1 rename "$evil" "$evil/"
is_shown "$shown"
gives 1 get "$evil" "$evil/x"
is_shown "cannot create \"$shown/x.part\""
gives 1 put "$evil" x
is_shown "cannot open \"$shown\""
gives 1 ls -s "$evil"
is_shown "$shown"
gives 2 "$evil"
is_shown "there is no verb \"$shown\""
gives 2 create "$evil" "$evil"
is_shown "\"$shown\" is not a size"
gives 2 ls "--$evil"
is_shown "$shown"
gives 1 record "$evil" --from "unix:$evil/x"
is_shown "$shown"
for verb in ls 'stat --store store' 'check -s'; do
	# shellcheck disable=SC2086
	script -qec "LC_ALL=C '$chario' $verb '$evil'" /dev/null >said
	tr -d '\r' <said >plain && mv plain said
	is_shown 'a\x1b]0;b\x07'
done
gives 1 rm 'Süd\n' :: 'cannot remove "Süd\x5cn"'
export LC_ALL=C
gives 1 rm 'Süd' :: 'cannot remove "S\xc3\xbcd"'
export LC_ALL=C.UTF-8
claim "what a terminal would obey is shown instead"

format 1M
gives 0 create most 900k
gives 1 put "$chario" more :: 'no hole of the store is long enough'
gives 0 rm most
for i in $(seq 10); do
	"$chario" create "a$i" 4k || note "a$i was refused"
done
gives 1 create one-more 4k :: 'the table of the store is full' 'chario format --areas'
# shellcheck disable=SC2016
sh -c 'ulimit -n 5; exec "$0" rm a1' "$chario" >said 2>&1 && note "rm without files passes"
says 'cannot remove "a1": too many files are open (EMFILE)' 'ulimit -n'
claim "a full store and a full table say so"


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
	gives 1 ls :: 'which store?' '--store STORE' CHARIO_STORE 'only disk'
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

CHARIO_STORE=store
format 32M
bytes 3000000 >source
gives 0 put source first
gives 0 put source last
truncate -s 4M store
gives 0 ls
says '"store" has 4 MiB, and the store on it 32 MiB: what lies behind the end is missing' 'first' 'last'
gives 0 get first copy
cmp -s source copy || note "what lies before the end differs"
gives 1 get last copy
gives 1 create other 4k :: 'the disk is smaller than the store on it' 'chario get copies away'
truncate -s 32M store
gives 0 create other 4k
claim "a store that was cut off is read"

end
