# SPDX-License-Identifier: MIT
"""The load of the block side: fio on a partition, like a file system that is written to, while another program runs."""

import json
from dataclasses import dataclass

from chario_lab.target.need import Need

DEPTH, BLOCK_KIB, READ_PERCENT = 32, 16, 30
OUTPUT = "{work}/load.json"
HAS_FIO = Need("command -v fio", "fio")
# Nobody waits for a load whose caller has been killed.
LIMIT_S = 1800
# Times, ten a second, that it is looked whether the load has begun.
START_TRIES = 600
FIO = (
    f"fio --name=load --rw=randrw --rwmixread={READ_PERCENT} --bs={BLOCK_KIB}k --norandommap --direct=1 "
    f"--ioengine=libaio --iodepth={DEPTH} --thread --time_based --runtime={LIMIT_S} --output-format=json"
)
# The program begins when as many requests have ended as are in flight; its exit code is that of the whole.
BESIDE = f"""\
name=$1; tries=$2; shift 2
ended() {{ awk '{{ print $1 + $5 }}' "/sys/class/block/$name/stat"; }}
first=$(ended)
rm -f {OUTPUT}
{FIO} --filename="/dev/$name" --output={OUTPUT} </dev/null >&2 &
load=$!
trap 'kill $load; wait $load' EXIT
until [ "$(ended)" -ge $((first + {DEPTH})) ]; do
	kill -0 $load || exit 1
	tries=$((tries - 1))
	[ $tries -gt 0 ] || {{ echo "the kernel counts no requests of fio on $name" >&2; exit 1; }}
	sleep 0.1
done
"$@\""""
REPORT = f"cat {OUTPUT}; rm -f {OUTPUT}"


def beside(name: str, tries: int = START_TRIES) -> tuple[str, ...]:
    """The words of a program that runs another one, and meanwhile the load on a block device."""
    return ("/bin/sh", "-c", BESIDE, "sh", name, str(tries))


@dataclass(frozen=True)
class Waits:
    """How long requests of the load have waited, from its first to its last."""

    p99_us: float
    longest_us: float


def digest_waits(report: str) -> str:
    """What records keep of fio's report: the slower of reads and writes; raises ValueError where requests failed."""
    (job,) = json.loads(report[report.index("{") :])["jobs"]
    if job["error"]:
        raise ValueError(f"fio has ended with error {job['error']}")
    waits = [job[direction]["clat_ns"] for direction in ("read", "write")]
    p99_ns = max(wait["percentile"]["99.000000"] for wait in waits)
    return json.dumps({"p99_us": p99_ns / 1000, "longest_us": max(wait["max"] for wait in waits) / 1000})


def read_waits(report: str) -> Waits:
    """The same from a record."""
    return Waits(**json.loads(report))
