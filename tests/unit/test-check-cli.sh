#!/bin/sh
# SPDX-License-Identifier: MIT
# What a user sees of damage, of holes, and of others who change the table.
#
#     test-check-cli.sh CHARIO

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
gives 0 defrag :: 'moved 0 B'
gives 0 check
claim "defrag makes one hole, and areas keep their content"

format 32M
gives 0 create a 4k
gives 0 check :: 'store: no damage'
damage 2
gives 3 check
says 'repairable: the first copy of block 0 of the table is damaged' 'chario check --repair' \
	'1 found, 0 repaired, 0 lost'
gives 3 check --json :: '"damage": "block"' '"severity": "repairable"' '"repaired": false'
gives 0 ls :: a
gives 0 check --repair :: 'repaired: the first copy'
gives 0 check
damage "$(second_copy)"
gives 3 check :: 'the second copy of block 0 of the table is damaged'
gives 0 check -r store
gives 0 check --store store
claim "check finds and repairs one damaged copy of a block"

format 32M
gives 0 create a 4k
damage 0
gives 3 check :: 'the first copy of the header is damaged'
gives 0 ls
gives 0 check --repair
gives 0 check
claim "check finds and repairs a damaged header"

format 32M
for i in $(seq 15); do
	gives 0 create "area$i" 4k
done
damage 2 "$(second_copy)"
gives 4 check :: 'both copies are damaged, the areas there are lost' '--repair --forget' '1 lost'
gives 1 create more 4k :: 'the table of the store is damaged (EUCLEAN)' 'chario check says what'
gives 0 ls :: area15
gives 4 check --repair
gives 0 check --repair --forget :: 'are given up for good' 'repaired: block 0'
gives 0 create more 4k
claim "check names areas that are lost, and gives them up when told to"

format 32M
gives 0 create a 4k
damage 1
gives 0 check
says 'note: the note of the last changes is damaged' 'nothing is to be done' '1 found, 0 repaired, 0 lost'
gives 0 check --json :: '"severity": "note"'
damage 2
gives 3 check
gives 0 check --repair
claim "where only a note is left, check ends with 0"

# Blocks are numbered from the table's first, the third of the disk.
gives 0 format --size 32M --areas 1000 store
# shellcheck disable=SC2046
damage $(seq 14 42) 50 60 61 $(($(second_copy) + 59))
gives 4 check
says 'repairable: the first copy of blocks 12 to 40 of the table is damaged (at 56 KiB)' \
	'repairable: the first copy of block 48 of the table is damaged' \
	'repairable: the first copy of block 58 of the table is damaged' \
	'loss: block 59 of the table: both copies are damaged, the areas there are lost' \
	'32 found, 0 repaired, 1 lost'
[ "$(grep -c ': .*block' said)" = 4 ] || note "more than a line each: $(cat said)"
gives 4 check --json
[ "$(grep -c '"damage": "block' said)" = 32 ] || note "not all findings are JSON"
gives 4 check --repair
says 'repaired: the first copy of blocks 12 to 40' '32 found, 31 repaired, 1 lost'
# shellcheck disable=SC2046
damage $(seq 2 101) $(seq "$(second_copy)" $(($(second_copy) + 99)))
gives 4 check
says 'loss: blocks 0 to 99 of the table: both copies are damaged' '100 found, 0 repaired, 100 lost'
claim "a run of damaged blocks is one line, and each is counted"

format 32M
gives 0 create a 4k
last=$(($(stat -c %s store) / 4096 - 1))
damage 0 "$last"
gives 0 ls :: a
gives 3 check
says 'repairable: the first copy of the header is damaged' \
	'repairable: the second copy of the header is damaged' '2 found, 0 repaired, 0 lost'
gives 1 format :: 'there is a store on "store", with 1 area'
gives 0 check --repair :: '2 found, 2 repaired, 0 lost'
gives 0 check
claim "headers are made again from the table"

format 32M
last=$(($(stat -c %s store) / 4096 - 1))
second=$(second_copy)
# shellcheck disable=SC2046
damage 0 1 $(seq 2 101) $(seq "$second" "$last")
gives 1 check :: ENOMEDIUM
gives 1 ls
gives 0 format
claim "a store without header and table is none"

# 16 records of 4 KiB, which nothing makes durable before the end.
format 32M
from_pipe recorded record --late-ms 600000 cam --size 1M --record 4k --segment 8k --durability none --flush-ms 1 --from pipe
bytes 65536 >&3
until "$chario" stat cam --json >said 2>&1 && [ "$(member records)" = 16 ]; do
	kill -0 $! || break
done
kill -s KILL $!
wait $!
exec 3>&-
# Its last writes end, and with them its lock, after the program.
while "$chario" stat cam >said && grep -q 'being made' said; do
	:
done
"$chario" stat cam --json >said
segment=$(($(member disk_offset) / 4096 + 6))
damage $segment
gives 0 check --data --quiet
says 'missing that had not become durable' '"cam"' 'nothing is to be done'
gives 0 check --data --quiet --json :: '"severity": "note"'
undurable=$(member undurable_records)
[ "$undurable" -gt 0 ] || note "nothing is missing: $(cat said)"
bytes 65536 | "$chario" record --late-ms 600000 cam --append >recorded 2>&1
gives 0 check --data --quiet --json
has undurable_records "$undurable"
damage $((segment + 40))
from_pipe recorded record --late-ms 600000 cam --append --from pipe
recorder=$!
for state in closed 'being made'; do
	until "$chario" stat cam | grep -q "$state"; do
		kill -0 $recorder || break
	done
	gives 4 check --data --quiet --json
	has undurable_records "$undurable"
	says '"severity": "loss"' '"missing_records": '
	bytes 65536 >&3
done
exec 3>&-
wait $recorder
claim "check tells what was not durable from what is lost"

# Several batches in the only segment, the second of which is bad.
format 32M
from_pipe recorded record --late-ms 600000 cam --size 1M --record 512 --segment 64k --flush-ms 1 --from pipe
until "$chario" stat cam --json >said 2>&1 && [ "$(member durable_records)" -ge 3 ]; do
	kill -0 $! || break
	bytes 512 >&3
done
kill -s KILL $!
wait $!
exec 3>&-
gives 0 check --data --quiet
gives 0 stat cam --json
damage $(($(member disk_offset) / 4096 + 1))
gives 4 check --data --quiet :: 'missing or damaged: "cam"'
bytes 512 | "$chario" record --late-ms 600000 cam --append >recorded 2>&1
gives 4 check --data --quiet :: 'missing or damaged: "cam"'
claim "check finds a bad batch of the newest segment"
end
