#!/bin/sh
# SPDX-License-Identifier: MIT
# What a user sees of the names of sources: addresses, sockets and terminals.
#
#     test-address-cli.sh CHARIO

# Where the kernel allows it, the test has a network of its own, with a second interface that
# multicasts go to unless another is named.
if [ -z "${CHARIO_TEST_RMEM_MAX:-}" ]; then
	CHARIO_TEST_RMEM_MAX=$(cat /proc/sys/net/core/rmem_max)
	CHARIO_TEST_UID=$(id -u)
	export CHARIO_TEST_RMEM_MAX CHARIO_TEST_UID
	new='-nm'
	[ "$CHARIO_TEST_UID" = 0 ] || new='-rnm'
	if unshare $new ip link add other type veth 2>/dev/null; then exec unshare $new "$0" "$@"; fi
	own=''
else
	own=yes
	ip link set lo up
	ip address add fd00::2 dev lo
	ip link add other type veth peer name end
	ip address add 192.0.2.1/24 dev other
	ip link set end up
	ip link set other up
	ip route add 224.0.0.0/4 dev other
	ip -6 route add local ff00::/8 dev lo table local
fi

. "$(dirname "$0")/store-cli.sh"

# hears FROM TEXT WHERE=TEXT...: a recording of FROM holds TEXT, its records in any order.
# Each WHERE, HOST or SOURCE>HOST, is sent its text again and again until the recording ends;
# +GROUP is a group that another program has joined.
hears()
{
	python3 - "$chario" "$@" <<'PYTHON' >heard 2>&1 || note "$*: $(cat heard)"
import socket
import subprocess
import sys
import time

chario, origin, wanted, *words = sys.argv[1:]
offers = [word for word in words if word[0] != "+"]
kind, port = origin.partition(":")[0], int(origin.rpartition(":")[2])


def offer(where: str, text: str) -> None:
    """Send a text to HOST%INTERFACE, from SOURCE if one stands before."""
    source, _, target = where.rpartition(">")
    host, _, interface = target.partition("%")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM) as sender:
        index = socket.if_nametoindex(interface) if interface else 0
        if source:
            sender.bind((source, 0))
        if index and family == socket.AF_INET6:
            sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
        elif index:
            sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, bytes(8) + index.to_bytes(4, sys.byteorder))
        try:
            sender.connect((host, port) if family == socket.AF_INET else (host, port, 0, index))
            sender.send(text.encode())
        except OSError:
            pass


def join(group: str) -> socket.socket:
    """Join GROUP%INTERFACE."""
    host, _, interface = group.partition("%")
    index = socket.if_nametoindex(interface)
    other = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    if other.family == socket.AF_INET6:
        member = socket.inet_pton(other.family, host) + index.to_bytes(4, sys.byteorder)
        other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, member)
    else:
        member = socket.inet_aton(host) + bytes(4) + index.to_bytes(4, sys.byteorder)
        other.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
    return other


others = [join(word[1:]) for word in words if word[0] == "+"]
command = [chario, "record", "--late-ms", "600000", "--force", "a", "--bytes", str(len(wanted)), "--from", origin]
with subprocess.Popen(command, stdin=subprocess.DEVNULL) as recorder:
    for _ in range(3000):
        if recorder.poll() is not None:
            break
        for where, _, text in (one.rpartition("=") for one in offers):
            offer(where, text)
        time.sleep(0.01)
    recorder.terminate()
got = subprocess.run([chario, "replay", "a"], stdout=subprocess.PIPE, check=False).stdout.decode()
print(f"recorded: {got!r}")
sys.exit(recorder.returncode or sorted(got) != sorted(wanted))
PYTHON
}

# has_ipv6: whether this machine has IPv6.
has_ipv6()
{
	grep -qs ' lo$' /proc/net/if_inet6
}

format 64M
gives 0 create a 4M
ln -s nothing dangling
while IFS='|' read -r expected from text; do
	case $from in *LONG) from=${from%LONG}$(printf '%0108d' 0) ;; esac
	gives "$expected" record --force a --from "$from" :: "$text"
done <<'TABLE'
2|udp:x|"x" is not HOST:PORT
2|udp://127.0.0.1:5000|a source is no URL, and has no slashes
1|UDP:127.0.0.1:5000|there is no file "UDP:127.0.0.1:5000"
2|udp:[::1]|"[::1]" is not HOST:PORT; an IPv6 address stands in brackets
2|udp:[::1:5000|is not HOST:PORT
2|udp:[::1]x:5000|is not HOST:PORT
2|udp:[::1@[ff05::1]:5000|is not HOST:PORT
2|udp:[::1]x@[ff05::1]:5000|is not HOST:PORT
2|udp:[]@[ff05::1]:5000|is not HOST:PORT
2|tcp:x:|is not HOST:PORT
2|udp::0|"0" is not a port from 1 to 65535
2|tcp:127.0.0.1:65536|"65536" is not a port from 1 to 65535
2|udp:127.0.0.1:-1|"-1" is not a port from 1 to 65535
2|udp:127.0.0.1:nosuch|"nosuch" is not a port from 1 to 65535, and no name of one
2|udp:127.0.0.1@127.0.0.2:5000|names a source, "127.0.0.1", but no multicast group
2|tcp:127.0.0.1@232.1.1.1:5000|names a source
1|udp:239.1.1.1%nosuch:5000|there is no interface "nosuch"; ip link shows them
1|udp:[ff02::1%9999999]:5000|there is no interface "9999999"
1|udp:239.1.1.1%:5000|there is no interface ""
1|udp:no.such.invalid:5000|cannot find "no.such.invalid"
1|udp:192.0.2.77:5000|does not have the address
2|unix:|"" is not the path of a socket
2|unix:@|"@" is not the path of a socket
1|unix:no/folder|cannot make the socket
1|unix:store|"store" is no socket
1|unix:dangling|"dangling" is a symbolic link
2|unix:@LONG|is too long for the path of a socket, which has at most 107 bytes
2|unix:LONG|is too long for the path of a socket, which has at most 107 bytes
TABLE
if has_ipv6; then
	for from in 'udp:[ff02::5678]:5000' 'tcp:[fe80::1]:5000'; do
		gives 1 record --force a --from "$from"
		says 'this address needs an interface' 'name it, as in [ff02::5678%eth0]:5000; ip link shows'
	done
fi
claim "what is wrong with an address is told"

format 64M
gives 0 create a 4M
port=$(free_port)
hears "udp:127.0.0.1:$port" a 127.0.0.1=a
hears "udp:127.0.0.1%lo:$port" a 127.0.0.1=a
hears "udp:%lo:$port" a 127.0.0.1=a
hears "udp:239.1.2.3%lo:$port" a 239.1.2.3%lo=a
if [ $own ]; then
	printf '127.0.0.1 two.test\n::1 two.test\n' >hosts
	mount --bind hosts /etc/hosts
	hears "udp:two.test:$port" a 127.0.0.1=a ::1=a
	grep -q '"two.test" has several addresses, and datagrams are taken at' heard || note "$(cat heard)"
	umount /etc/hosts
	hears "udp:239.1.2.3:$port" a 239.1.2.3%other=a
	hears "udp:239.1.2.3%other:$port" a 239.1.2.3%lo=b 239.1.2.3%other=a
	# Other programs have joined groups, or the group on another interface, or without a sender.
	hears "udp:239.1.2.3:$port" a +239.1.2.3%lo 239.1.2.3%lo=b 239.1.2.3%other=a
	hears "udp:192.0.2.1@232.1.2.3:$port" a +232.1.2.3%lo +232.1.2.3%other \
		'127.0.0.2>232.1.2.3%lo=b' '127.0.0.2>232.1.2.3%other=c' '192.0.2.1>232.1.2.3%other=a'
	hears "udp::$port" a +239.7.7.7%lo 239.7.7.7%lo=b 127.0.0.1=a
	hears "udp:0.0.0.0:$port" a +239.7.7.7%lo 239.7.7.7%lo=b 127.0.0.1=a
	hears "udp::$port" a +ff05::77%lo ff05::77%lo=b ::1=a
	for source in fd00::2 '[fd00::2]'; do
		hears "udp:$source@[ff05::5678%lo]:$port" a '::1>ff05::5678%lo=b' 'fd00::2>ff05::5678%lo=a'
	done
	for group in '[ff02::5678%lo]' '[ff02::5678%1]' '[ff02::5678]%lo' '[ff05::5678%lo]'; do
		hears "udp:$group:$port" a ff02::5678%other=b ff02::5678%lo=a ff05::5678%other=b ff05::5678%lo=a
	done
fi
hears "udp:@239.1.2.3%lo:$port" a 239.1.2.3%lo=a
hears "udp:127.0.0.3@232.1.2.3%lo:$port" a '127.0.0.2>232.1.2.3%lo=b' '127.0.0.3>232.1.2.3%lo=a'
hears "tcp:%lo:$port" a 127.0.0.1=a
if has_ipv6; then
	hears "udp::$port" ab 127.0.0.1=a ::1=b
	hears "udp:%lo:$port" ab 127.0.0.1=a ::1=b
	hears "tcp::$port" a ::1=a
fi
hears "tcp::$port" a 127.0.0.1=a
claim "an address is heard on its interface, and no host means both families"

# The limit of a socket's buffer, for users without and with the capability.
format 64M
gives 0 create a 4M
without='setpriv --bounding-set -net_admin'
[ "$CHARIO_TEST_UID" = 0 ] || without=''
if [ "$CHARIO_TEST_RMEM_MAX" -lt 8388608 ]; then
	$without "$chario" record --force a --from "udp::$port" --seconds 0.01 >said 2>&1
	says 'has a buffer of' 'not 8 MiB' 'sysctl net.core.rmem_max=8388608'
	if [ "$without" ]; then
		gives 0 record --late-ms 600000 --force a --from "udp::$port" --seconds 0.01
		! grep 'buffer of' said || note "root does not get the buffer"
	fi
fi
# as_input BYTES ARGUMENT...: record from a socket at standard input whose buffer is that long.
as_input()
{
	python3 - "$chario" "$@" <<'PYTHON' >said 2>&1 || note "as input: $(cat said)"
import socket
import subprocess
import sys

chario, bytes_, *words = sys.argv[1:]
command = [*words, chario, "record", "--force", "a", "--seconds", "0.01"]
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
    before = ours.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
    if int(bytes_):
        ours.setsockopt(socket.SOL_SOCKET, 33, int(bytes_))  # SO_RCVBUFFORCE
    subprocess.run(command, stdin=ours, check=True)
    print("buffer", ours.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2)
PYTHON
}

if [ "$CHARIO_TEST_UID" = 0 ]; then
	as_input 0
	says 'buffer 8388608'
	as_input 16777216
	says 'buffer 16777216'
fi
if [ "$CHARIO_TEST_RMEM_MAX" -lt 8388608 ]; then
	# shellcheck disable=SC2086
	as_input 0 $without
	says 'the socket of "standard input" has a buffer of' 'not 8 MiB'
fi
gives 0 record --late-ms 600000 --force a --seconds 0.01 --from unix:socket
! grep 'buffer of' said || note "a buffer that a local socket does not use is told of"
claim "it is told when a socket's buffer is shorter than asked"

# beside TYPE: a program has the socket of this type, and does not listen.
beside()
{
	python3 - "$chario" "$@" <<'PYTHON' >said 2>&1 || note "beside $*: $(cat said)"
import socket
import subprocess
import sys

chario, kind = sys.argv[1:]
with socket.socket(socket.AF_UNIX, getattr(socket, f"SOCK_{kind}")) as there:
    there.bind("socket")
    sys.exit(subprocess.run([chario, "record", "--force", "a", "--from", "unix:socket"], check=False).returncode != 1)
PYTHON
	says 'another program has the socket "unix:socket"'
	[ -S socket ] || note "the socket of another program is removed"
	rm socket
}

format 64M
gives 0 create a 4M
"$chario" record a --from unix:socket >said 2>&1 &
until [ -S socket ]; do kill -0 $! || break; done
kill -s KILL $!
wait $!
for path in socket "@chario-test-$$"; do
	"$chario" record --late-ms 600000 --force a --from "unix:$path" --bytes 3 >said 2>&1 &
	send unix "$path" abc
	wait $! || note "$path: $(cat said)"
	[ "$("$chario" replay a)" = abc ] || note "$path: not recorded"
	[ -e "$path" ] && note "$path is left"
done
for kind in STREAM SEQPACKET DGRAM; do beside $kind; done
dead elsewhere
ln -s elsewhere socket
gives 1 record --force a --from unix:socket :: '"socket" is a symbolic link, and no program has a socket'
[ -L socket ] || note "a link is removed"
gives 1 record a --force --from elsewhere :: '"elsewhere" is a socket: unix:PATH connects'
gives 1 put --force --bytes 1 elsewhere a :: 'chario record takes data from sockets'
rm socket
# A socket that another program has put in the place of the recorder's own stays.
"$chario" record --force a --from unix:socket --seconds 600 >said 2>&1 &
until [ -S socket ]; do kill -0 $! || break; done
rm socket
dead socket
kill -s TERM $!
wait $!
[ -S socket ] || note "a socket of another program is removed at the end"
ls socket.* 2>/dev/null && note "something is left"
claim "a socket that was left is made anew, and no other is taken away"

# Many find the same dead socket: one gets it.
format 64M
dead socket
for i in 1 2 3 4 5 6 7 8; do
	gives 0 create "a$i" 4M
	"$chario" record --late-ms 600000 --force "a$i" --from unix:socket --bytes 3 >"said$i" 2>&1 &
	eval "recorder$i=$!"
done
send unix socket abc
ended=0
for i in 1 2 3 4 5 6 7 8; do
	eval "wait \$recorder$i" && ended=$((ended + 1))
done
[ $ended = 1 ] || note "$ended recorders of 8 have the socket: $(cat said?)"
ls socket* 2>/dev/null && note "something is left"
claim "of many recorders that find a dead socket one gets it"

# A session leader without a terminal would get the first one that it opens without O_NOCTTY; at
# its end the kernel would hang up the other programs of its session.
format 64M
bytes 100 >source
gives 0 put source area
python3 - "$chario" <<'PYTHON' >said 2>&1 || note "$(cat said)"
import os
import pty
import sys

CALLS = (
    ("record --late-ms 600000 --size 4M --bytes 5 cam --from TTY", b"\x03line\n"),
    ("record --late-ms 600000 --size 4M --bytes 5 in", b"\x03line\n"),
    ("put --bytes 4 TTY new", b"abc\n"),
    ("get area TTY", b""),
    ("replay -o TTY cam", b""),
    ("ls --store TTY", b""),
    ("format --force TTY", b""),
    ("check TTY", b""),
)


def lead(words: list[str], asked: int, answer: int, terminal: int) -> None:
    """Lead a session in which one more program answers as long as it lives."""
    os.setsid()
    os.dup2(terminal, 0)
    if not os.fork():
        os.read(asked, 1)
        os.write(answer, b"alive")
        os._exit(0)
    os.execv(words[0], words)


wrong = 0
for words, typed in CALLS:
    master, slave = pty.openpty()
    os.write(master, typed)
    asked, ask = os.pipe()
    answered, answer = os.pipe()
    leader = os.fork()
    if not leader:
        lead([sys.argv[1], *words.replace("TTY", os.ttyname(slave)).split()], asked, answer, slave)
    os.waitpid(leader, 0)
    os.close(answer)
    os.write(ask, b"x")
    if not os.read(answered, 9):
        wrong += 1
        print(f"it has become the controlling terminal: {words}")
sys.exit(wrong)
PYTHON
says '"standard input" is a terminal that takes out or changes some bytes'
[ "$(grep -c 'stty -F /dev/pts/[0-9]* raw' said)" = 2 ] || note "$(cat said)"
gives 0 replay cam :: line
claim "no terminal becomes the controlling terminal of a verb"

end
