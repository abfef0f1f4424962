#!/bin/sh
# SPDX-License-Identifier: MIT
# What a user sees of recordings: record, replay and tail, on plain files.
#
#     test-record-cli.sh CHARIO

. "$(dirname "$0")/store-cli.sh"

# records STATUS ARGUMENT...: as "gives", of record, from the file "source".
records()
{
	status=$1
	shift
	input=source
	# How busy the machine is is none of a test: nothing is late, unless it is asked for.
	gives "$status" record --late-ms 600000 "$@"
	input=/dev/null
}

# replays FILE ARGUMENT...: what is replayed is what the file holds.
replays()
{
	file=$1
	shift
	"$chario" replay "$@" 2>said | cmp -s - "$file" || note "replay $* differs: $(cat said)"
}

# wait_for_socket PORT: until a socket of UDP has it.
wait_for_socket()
{
	until grep -qi ":$(printf '%04X' "$1") " /proc/net/udp; do sleep 0.01; done
}

format 8M
gives 0 create area 4M
for arguments in '' 'a b' '--seconds 0 a' '--seconds x a' '--bytes 0 a' '--record 0 a' \
	'--record 100M a' '--durability often a' '--flush-ms 0 a' '--late-ms x a' \
	'--segment 5000 a' '--segment 256M a' '--buffers 1 a' '--buffers 65 a'; do
	# shellcheck disable=SC2086
	gives 2 record $arguments
done
for arguments in '' 'a b' '--first 0 a' '--json -o x a' '--frobnicate'; do
	# shellcheck disable=SC2086
	gives 2 replay $arguments
done
gives 2 tail
gives 2 tail -n -1 area
claim "wrong usage ends with 2"

format 64M
bytes 10000001 >source
records 1 cam :: 'there is no area "cam"' '--size SIZE creates it'
records 0 cam --size 32M :: 'ended          the source has ended' 'records        153' '10000001 bytes' \
	'lost           0 records, 0 bytes, in 0 gaps'
replays source cam
gives 0 ls :: 'stream'
gives 0 replay cam -o copy
cmp -s source copy || note "replay -o differs"
gives 1 replay cam -o copy :: 'is there already: remove it, or name another file'
replays source cam -o -
replays source cam -o /dev/stdout
gives 0 replay cam -o /dev/null
[ -e - ] && note "replay -o - makes a file"
gives 2 replay cam -o new --from-time x
gives 1 replay cam -o no/folder :: 'No such file or directory'
[ -e new ] || [ -e copy.part ] || [ -e new.part ] && note "left: $(ls)"
mkfifo pipe
"$chario" replay cam >pipe 2>said &
player=$!
exec 3<pipe
head -c 1 <&3 >one
kill -s TERM $player
cat <&3 >/dev/null &
exec 3<&-
wait $player
[ $? = 1 ] || note "an interrupted replay does not fail: $(cat said)"
says 'stopped after'
gives 1 replay cam -o /dev/chardisk98765 :: 'there is no such disk (ENODEV)'
claim "what comes from a pipe is recorded and replayed"

format 64M
bytes 1000000 >source
records 0 cam --size 32M --from source --json
has bytes 1000000 durable_bytes 1000000 lost_records 0 late 0
records 1 cam :: 'holds a recording already' '--append' '--force'
records 0 cam --append
cat source source >both
replays both cam
records 0 cam --force --record 1000 --json
has records 1000
replays source cam
records 1 cam --append --ring :: 'is no ring' 'leave --ring away' '--force instead of --append'
records 1 cam --append --segment 8k :: 'has segments of another length' 'leave --segment away'
records 1 cam --size 8M --append :: 'has 32 MiB, not 8 MiB'
records 0 new --append --size 4M
replays source new
records 2 new --force --record 1M --segment 64k
says 'does not fit into a segment of 64 KiB' '--segment makes them longer'
replays source new
records 2 new --append --record 10M
says 'does not fit into a segment of this recording' '--record makes records shorter' '--force begins'
replays source new
records 2 other --size 4M --record 1M --segment 64k
gives 1 stat --store store other
claim "a recording goes on, or goes, when that is said"

format 64M
bytes 1000000 >source
records 0 cam --size 4M --segment 64k --record 10k --from source
gives 0 stat --store store cam
says 'recorded         98 records, 1000000 bytes' 'first record     number 0, 20' \
	'last record      number 97, 20' 'segment          64 KiB' 'end              closed' 'closed last      20'
gives 0 create plain 64k
gives 0 ls -l :: 'RECORDS' '98       976.6 KiB' '64 KiB   closed' 'plain'
gives 0 ls --long --json cam
has records 98 segment_bytes 65536 missing_records 0
says '"state": "closed"'
# The last segments are overwritten, and with them the word that the recording has ended.
offset=$("$chario" ls --json cam | sed -n 's/.*"disk_offset": *\([0-9]*\).*/\1/p')
dd if=/dev/zero of=store bs=4k seek=$((offset / 4096 + 13 * 16)) count=320 conv=notrunc 2>/dev/null
"$chario" replay cam >there 2>said
[ $? = 3 ] || note "an end that is damaged is not told: $(cat said)"
head -c "$(wc -c <there)" source | cmp -s - there || note "what is left differs"
says '20 records missing beside the 78 that were read'
gives 0 stat --store store cam
says 'missing          20 records' 'end              damaged' 'closed last      20'
gives 0 ls -l cam :: 'damaged'
dd if=/dev/zero of=store bs=4k seek=$((offset / 4096)) count=1024 conv=notrunc 2>/dev/null
gives 0 ls -l cam :: 'damaged'
grep -q 1970 said && note "a time of no record: $(cat said)"
claim "it is told what a recording holds, and what is missing at its end"

format 400M
gives 0 create frames 150M --record 2100000
says '74 of 2052 KiB; memory for 8 (16.0 MiB)' 'records        74 records of 2100000 bytes fit' \
	'98.8 % of the area'
gives 0 record frames --dry-run --record 3110400 --json
has records 50 segment_bytes 3112960 bytes 155520000
gives 0 record other --size 100M --dry-run --record 8294400
says 'records        12 records of 8294400 bytes fit'
gives 1 record other --dry-run :: 'there is no area "other"' '--size SIZE'
gives 2 record frames --dry-run --append :: 'leave --append away'
gives 2 record frames --append --force :: 'give one of them'
gives 1 create short 100k --record 64k :: 'no recording fits into 100 KiB'
gives 2 create other 1M --record 0 :: '"0" is not a size from 1 to 64M'
gives 1 rm short
bytes 42000000 >source
records 0 frames --record 2100000 --json
has records 20 segment_bytes 2101248
replays source frames
claim "segments are as long as records, and it is told how many fit"

format 64M
bytes 10000000 >source
records 1 cam --size 4M :: 'the area is full' 'a larger area (--size), or --ring'
"$chario" replay cam >there || note "replay of a full area failed"
head -c "$(stat -c %s there)" source | cmp -s - there || note "a full area differs"
records 0 cam --ring --force --json
has bytes 10000000 lost_records 0
"$chario" replay cam >there 2>said || note "replay of a ring failed"
size=$(stat -c %s there)
[ "$size" -ge 2000000 ] || note "a ring of 4 MiB has $size bytes"
tail -c "$size" source | cmp -s - there || note "a ring differs"
claim "a full area ends the recording, and a ring does not"

format 64M
bytes 1000000 >source
records 0 cam --size 8M --bytes 12345 :: 'ended          as asked'
head -c 12345 source >part
replays part cam
mkfifo pipe
# Two programs that listen have no room for one more connection.
python3 -c '
import signal, socket
full = socket.create_server(("127.0.0.1", 0), backlog=0), socket.socket(socket.AF_UNIX)
full[1].bind("full")
full[1].listen(0)
peers = [socket.socket(listener.family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) for listener in full * 4]
for peer, listener in zip(peers, full * 4):
    peer.connect_ex(listener.getsockname())
print(full[0].getsockname()[1], flush=True)
signal.pause()' >full-port &
listener=$!
until [ -s full-port ]; do kill -0 $listener || break; done
# The recording begins with the connection that is asked for, or before the first that comes.
for from in "tcp:127.0.0.1:$(cat full-port)" unix:full "tcp::$(free_port)" pipe; do
	for signal in TERM HUP; do
		env --default-signal=HUP "$chario" record --late-ms 600000 cam --force --from "$from" >said 2>&1 &
		until grep -qs '^SigCgt:.*[4-7c-f]...$' /proc/$!/status; do kill -0 $! || break; done
		kill -s $signal $!
		wait $! || note "$from $signal: $(cat said)"
		says 'ended          interrupted' 'records        0'
	done
	gives 0 record --late-ms 600000 cam --force --from "$from" --seconds 0.05 :: 'as asked' 'records        0'
	case $from in unix* | *127*) replays part cam ;; *) replays /dev/null cam ;; esac
done
kill $listener
claim "a recording ends at its limits and at an interrupt"

format 64M
port=$(free_port)
"$chario" record --late-ms 600000 cam --size 4M --from "udp:127.0.0.1:$port" --bytes 12 >said 2>&1 &
wait_for_socket "$port"
send udp "$port" one three five
wait $! || note "udp: $(cat said)"
printf onethreefive >expected
replays expected cam
gives 0 replay cam --json
[ "$(grep -c '"sequence":' said)" = 3 ] || note "not 3 records: $(cat said)"
"$chario" record --late-ms 600000 cam --force --record 4 --from "udp:127.0.0.1:$port" --bytes 12 --json >said 2>&1 &
wait_for_socket "$port"
send udp "$port" one three five
wait $!
[ $? = 3 ] || note "a datagram that is too long is no loss"
has records 2 lost_records 1 lost_bytes 5
"$chario" replay cam >there 2>said
[ $? = 3 ] || note "replay does not end with 3"
says '1 record missing beside the 2 that were read'
printf more | "$chario" record --late-ms 600000 cam --append --json >said 2>&1 || note "append ends with the losses before"
has records 3 lost_records 0
claim "datagrams are records, and what is lost is counted"

# The descriptor decides what a record is, also at standard input; one that listens gets a connection.
format 64M
while read -r expected records kind verb; do
	# shellcheck disable=SC2086
	python3 - "$kind" "$chario" $verb >said 2>&1 <<'PYTHON'
import socket
import subprocess
import sys

kind, *command = sys.argv[1:]
if kind == "pair":
    ours, others = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
else:
    ours = socket.socket(socket.AF_INET if kind == "STREAM" else socket.AF_UNIX, getattr(socket, f"SOCK_{kind}"))
    ours.bind(("127.0.0.1", 0) if kind == "STREAM" else kind)
    ours.listen()
    others = socket.socket(ours.family, ours.type)
    others.connect(ours.getsockname())
for _ in range(10):
    others.send(bytes(1000))
others.close()
sys.exit(subprocess.run(command, stdin=ours).returncode)
PYTHON
	status=$?
	[ $status = "$expected" ] || note "$kind $verb: $status, not $expected: $(cat said)"
	[ "$records" = 0 ] || has records "$records" bytes 10000 lost_records 0
	case $verb in put*) says 'chario record ' ;; esac
done <<'TABLE'
0 10 pair record a --size 4M --record 1500 --json
0 10 SEQPACKET record b --size 4M --record 1500 --seconds 60 --json
0 7 STREAM record c --size 4M --record 1500 --seconds 60 --json
1 0 pair put - a --bytes 1500
1 0 STREAM put - z --bytes 1500
3 0 pair record d --size 4M --record 500
TABLE
says 'data           0 bytes (0 B, 0 B/s)' 'lost           10 records, 10000 bytes'
# Not everybody may read the log of the kernel.
if head -c 0 </dev/kmsg 2>/dev/null; then
	gives 0 record log --size 4M --late-ms 600000 --from /dev/kmsg --record 8k --seconds 0.05
fi
claim "datagrams at standard input are records, and nothing to put"

format 64M
mkfifo pipe
bytes 900000 >source
for signals in TERM HUP 'TERM INT'; do
	# A shell has its background programs ignore SIGINT, nohup all programs SIGHUP.
	env --default-signal=INT,HUP "$chario" record --late-ms 600000 cam --force --size 4M \
		--from pipe --json >said 2>&1 &
	recorder=$!
	exec 3>pipe
	wait_for cam $recorder
	kill -s STOP $recorder
	until grep -q '^State:.[TZ]' /proc/$recorder/status; do :; done
	cat source >&3
	for signal in $signals CONT; do kill -s "$signal" $recorder; done
	wait $recorder
	status=$?
	exec 3>&-
	says '"ended": "interrupted"'
	case $signals in
	'TERM INT')
		[ $status = 3 ] || note "lost, but $status"
		[ $(($(member bytes) + $(member lost_bytes))) = 900000 ] || note "$(cat said)"
		;;
	*)
		[ $status = 0 ] || note "$signals: $status"
		replays source cam
		;;
	esac
	gives 0 rm cam
done
claim "what waits in the kernel at a signal is taken, at a second one counted as lost"

format 64M
"$chario" record --late-ms 600000 cam --size 4M --from unix:socket --bytes 6 >said 2>&1 &
send unix socket abc def
wait $! || note "unix: $(cat said)"
printf abcdef >expected
replays expected cam
[ -e socket ] && note "the socket is left"
gives 1 record cam --force --from unix:no/folder :: 'cannot make the socket'
port=$(free_port)
"$chario" record --late-ms 600000 cam --force --from "tcp::$port" >said 2>&1 &
send tcp "$port" abcdef
wait $! || note "tcp: $(cat said)"
replays expected cam
gives 1 record cam --force --from "tcp:127.0.0.1:$port" :: 'cannot use' 'Connection refused'
gives 1 record cam --force --from nosuch :: 'No such file or directory'
claim "sockets of all kinds are sources"

format 64M
bytes 1000 >source
for kind in none flush fua auto; do
	records 0 "cam$kind" --size 4M --durability $kind --segment 64k --buffers 2 --flush-ms 10 --json
	has durable_bytes 1000 nr_buffers 2 segment_bytes 65536
	replays source "cam$kind"
done
claim "every durability ends durable"

# A disk that stands still while the recorder cannot write: the pool is 2 segments.
format 300M
truncate -s 50M source
records 3 cam --size 64M --segment 8k --buffers 2 --record 4k --drop --json
lost=$(member lost_records)
there=$(member records)
[ "$lost" -gt 0 ] || note "nothing was lost"
[ $((lost + there)) = 12800 ] || note "$lost lost and $there recorded are not 12800"
[ "$(member gaps)" -gt 0 ] || note "no gaps: $(cat said)"
[ "$(member gap_ns)" -gt 0 ] || note "gaps without time: $(cat said)"
"$chario" replay cam >there 2>said
[ $? = 3 ] || note "replay of a recording with gaps does not end with 3"
says 'records missing'
claim "what is dropped is counted, and seen in the recording"

format 64M
bytes 5000000 >source
records 0 cam --size 32M --segment 8k --buffers 2 --record 4k --json
has lost_records 0 bytes 5000000
replays source cam
claim "without --drop the source waits, and nothing is lost"

format 64M
# What comes at once has one time.
from_pipe record-said record --late-ms 600000 cam --size 4M --from pipe --flush-ms 10
for i in 1 2 3 4 5; do
	echo "line $i" >&3
	until "$chario" tail cam 2>/dev/null | grep -q "line $i"; do kill -0 $! || break; done
done
exec 3>&-
wait $! || note "record: $(cat record-said)"
"$chario" replay cam >whole
"$chario" replay --paced cam >paced || note "replay --paced failed"
cmp -s whole paced || note "replay --paced differs"
gives 0 replay cam --first 1
gives 0 replay cam --json --first 2
time=$(sed -n 's/.*"sequence":1,"time_ns":\([0-9]*\),.*/\1/p' said)
seconds=@$((time / 1000000000)).$(printf '%09d' $((time % 1000000000)))
"$chario" replay cam --from-time "$seconds" >later
"$chario" replay cam --to-time "$seconds" >earlier
"$chario" replay cam --first 1 >first
"$chario" replay cam --first 2 | cmp -s - earlier || note "--to-time differs: $(cat earlier)"
cat first later | cmp -s - whole || note "--from-time differs: $(cat later)"
gives 0 replay cam --from-time '2000-01-01 00:00:00' --to-time '2000-01-01T00:00:01.5'
[ -s said ] && note "a time before the recording: $(cat said)"
gives 2 replay cam --from-time @5 --to-time @3 :: '--to-time "@3" is before --from-time "@5"'
for time in yesterday @ + 12 2026-11-22 @5x @5. '+1.x' '2026-02-30 00:00:00' '1960-01-01 00:00:00'; do
	gives 2 replay cam --from-time "$time" :: 'is not a time'
done
# No record is that late, nor so early.
for time in '2555-01-01 00:00:00' '2600-01-01 00:00:00' '9999-12-31 23:59:60.9' @16700000000 \
	@18446744073.9 @99999999999999999999 +16700000000 +18446744073709551615.9; do
	replays whole cam --to-time "$time"
	replays /dev/null cam --from-time "$time"
done
for time in @0 '1970-01-01 00:00:00'; do
	TZ=UTC replays /dev/null cam --to-time "$time"
	TZ=UTC replays whole cam --from-time "$time"
done
# A clock that was set between two parts: CLOCK_BOOTTIME is a second ahead here.
if unshare -rT --boottime 1 true 2>/dev/null; then
	echo more | unshare -rT --boottime 1 "$chario" record --late-ms 600000 cam --append >said 2>&1 ||
		note "record --append ends with $?: $(cat said)"
	gives 0 replay --paced cam :: 'line 1' 'more' \
		'the clock seems to have been set back by' 's before record 5, to 20'
	gives 0 replay --paced --json cam :: 'seems to have been set back by' '"sequence":5'
	gives 0 replay cam
	grep -q clock said && note "a guess is told: $(cat said)"
	# Most of an hour is to pass before the last record: what is there does not pass for all.
	echo late | unshare -rT --boottime 3000 "$chario" record --late-ms 600000 cam --append >said 2>&1
	"$chario" replay cam --paced --output file 2>player-said &
	until grep -q more file.part 2>/dev/null; do kill -0 $! || break; done
	gives 1 replay cam -o file :: '"file.part" is there already'
	kill -s TERM $!
	wait $!
	[ $? = 1 ] || note "an interrupted replay passes"
	mv player-said said
	says 'stopped after 6 records' '"file.part" has what was read'
	[ -e file ] && note "a part has the name of the whole"
fi
claim "replay chooses by time and number, and tells where the clock was set"

format 64M
for i in 1 2 3; do echo "line $i"; done >source
records 0 cam --size 4M --record 7
"$chario" tail cam -n 2 >last
printf 'line 2\nline 3\n' | cmp -s - last || note "tail -n 2: $(cat last)"
"$chario" tail cam | cmp -s - source || note "tail differs"
gives 0 tail cam -n 0
[ -s said ] && note "tail -n 0: $(cat said)"
gives 0 tail cam --json -n 1 :: '"sequence":2'
claim "tail prints the newest records"

format 64M
from_pipe record-said record --late-ms 600000 cam --size 4M --from pipe --flush-ms 10
recorder=$!
wait_for cam $recorder
echo 'line 1' >&3
until "$chario" tail cam 2>/dev/null | grep -q 'line 1'; do kill -0 $recorder || break; done
"$chario" tail --follow cam >followed 2>follow-said 3>&- &
follower=$!
gives 1 rm cam :: 'the area is open elsewhere'
gives 1 record cam --append </dev/null :: EBUSY
echo 'line 2' >&3
until grep -q 'line 2' followed; do kill -0 $follower || break; done
exec 3>&-
wait $recorder || note "record: $(cat record-said)"
wait $follower || note "tail --follow: $(cat follow-said)"
printf 'line 1\nline 2\n' | cmp -s - followed || note "followed: $(cat followed)"
claim "tail follows a recording until it ends"

# Killed, it is there up to where it was durable, and goes on.
format 64M
from_pipe said record --late-ms 600000 cam --size 16M --from pipe --flush-ms 10
recorder=$!
wait_for cam $recorder
bytes 100000 >source
cat source >&3
until [ "$("$chario" replay cam 2>/dev/null | wc -c)" = 100000 ]; do
	kill -0 $recorder || break
done
kill -s KILL $recorder
wait $recorder
exec 3>&-
replays source cam
# Who waits for it to go on is told that another one has begun.
cp store copy
"$chario" tail --follow --store copy cam >followed 2>said &
until [ -s followed ]; do kill -0 $! || break; done
"$chario" record --late-ms 600000 --store copy cam --force </dev/null >record-said 2>&1 ||
	note "record --force: $(cat record-said)"
wait $! && note "tail --follow passes over to another recording"
says 'another recording has begun in the area' ESTALE 'open the area again to read the new one'
bytes 5000 >rest
"$chario" record --late-ms 600000 cam --append <rest >said 2>&1 || note "append: $(cat said)"
cat source rest >both
replays both cam
gives 0 check
claim "a recording that was killed is there, and goes on"

format 64M
gives 0 create plain 1M
gives 1 replay plain :: 'holds no recording'
gives 1 tail nosuch :: 'no such area'
bytes 3000000 >source
records 0 cam --size 16M
for verb in 'get cam file' 'cat cam'; do
	# shellcheck disable=SC2086
	gives 0 $verb
	grep -aq '"cam" is a recording, .* chario replay gives what was recorded' said ||
		note "$verb does not say that it is a recording"
done
gives 1 put source cam
says '"cam" holds a recording' '--force replaces it' 'chario record --append goes on with it'
gives 0 put --force source cam :: 'the recording in "cam" is replaced'
gives 0 rm cam
records 0 cam --size 16M :: 'lost           0 records, 0 bytes, in 0 gaps'
gives 2 replay -n 0 cam :: '"0" is not a number of records from 1'
gives 1 resize cam 32M :: 'holds a recording'
"$chario" replay cam >/dev/full 2>said && note "replay to a full disk passes"
says 'no room is left for "standard output"'
[ "$(wc -l <said)" = 1 ] || note "said more than once: $(cat said)"
"$chario" replay cam 2>said | head -c 1 >one
[ -s said ] && note "a reader that leaves: $(cat said)"
gives 1 record cam --force --from . :: 'Is a directory'
"$chario" record cam --force <&- >said 2>&1 && note "a closed input is recorded"
says 'cannot read "standard input"'
"$chario" record cam --force 0>other >said 2>&1 && note "an output is recorded"
head -c 5 source | "$chario" put - half --bytes 10000000 2>/dev/null
for append in '' --append; do
	gives 1 record half $append :: 'holds a file of chario put, or a part of one' '--force records over it'
	! grep -e --append said || note "--append is advised"
done
# A source that cannot be read leaves no new area behind.
for family in INET UNIX; do
	python3 -c "import socket, subprocess, sys
sys.exit(subprocess.run(sys.argv[1:], stdin=socket.socket(socket.AF_$family)).returncode)" \
		"$chario" record new --size 4M --seconds 60 >said 2>&1
	[ $? = 1 ] || note "an unconnected socket: $(cat said)"
	says 'is a socket without a connection' 'or have it listen'
done
gives 1 record new --size 4M --from /proc/self/mem :: 'cannot read "/proc/self/mem"' 'the source failed'
for number in 4 5 6 7 8; do
	prlimit --nofile=$number "$chario" record new --size 4M --from other >/dev/null 2>&1 && "$chario" rm new
	gives 1 stat new
done
mkfifo unread
exec 4<>unread
exec 5>unread 4<&-
"$chario" record new --size 4k --from expected 2>&5
exec 5>&-
"$chario" put - new --bytes 5 <&- 2>said && note "a closed input is put"
gives 1 stat --store store new
replays source cam
claim "errors of recordings say what to do"

end
