# SPDX-License-Identifier: MIT
"""Random ioctls, commands of io_uring and calls, see src/fuzz.c: nothing is reported, and the disks still work.

A short run each time, half of it as an ordinary user and half as root.  `make
fuzz` has a million commands of the debug kernel: FUZZ_COMMANDS says how many.
Each run draws its own seed, and a failure shows it: FUZZ_SEED=N repeats a run.
"""

import json
import os
import random
from collections import Counter

import pytest
from disks import HIDDEN
from programs import compile_program
from rig import Rig
from shared_guest import Setup

from chario_lab.guest.spec import Namespace, Nvme

pytestmark = [
    pytest.mark.area("kernel/front/", "kernel/uapi/"), pytest.mark.kernels("debug", "kcsan"), pytest.mark.cpus(2),
]  # fmt: skip

COMMANDS = int(os.environ.get("FUZZ_COMMANDS", "12000")) // 2
SEED = int(os.environ.get("FUZZ_SEED") or random.getrandbits(32))
ROUND = 25_000
ROUND_LIMIT_S = 1800
LOCKED_KIB = 8192
INSIDE, PLAIN = range(2)
DRIVES = (Nvme("inside", (Namespace(64, 4096),), cmb_mib=16), Nvme("plain", (Namespace(64, 512),)))

Kinds = dict[str, Counter[str]]

# What <chario/uapi.h> says that each ioctl can give, besides what all of them can.
ALWAYS = {"ok", "E2BIG", "EINVAL", "EFAULT", "EOPNOTSUPP", "ENOTTY"}
MOVES = {"EIO", "EAGAIN", "EBADF", "ENOSPC", "ETIMEDOUT", "EINTR"}
DOCUMENTED: dict[str, set[str]] = {
    "info": set(),
    "stats": set(),
    "get-file": set(),
    "set-file": {"EBUSY", "ENOMEM", "EPERM"},
    "buffer-create": {"EBUSY", "ENOMEM", "ENOSPC", "EPERM", "ENXIO", "EBADF", "EIO", "EINTR"},
    "buffer-destroy": {"ENOENT", "EINTR"},
    "buffer-sync": {"ENOENT", "EBUSY"},
    "buffer-export": {"ENOENT", "EMFILE", "ENOMEM"},
    "transfer": {"ENOENT", "EPERM", *MOVES},
    "queue-create": {"EBUSY", "ENOSPC", "EAGAIN", "ENOMEM", "EPERM"},
    "get-pin": {"ENOMEM"},
    "set-pin": {"ENOMEM", "EPERM"},
    "health": {"EAGAIN", "EIO", "ETIMEDOUT", "EBUSY", "EINTR"},
    "timeline-open": {"EBUSY", "ENOMEM", "EMFILE", "ENFILE", "EPERM"},
    "timeline-control": set(),
    "set-regions": {"EPERM", "EBUSY", "ENOSPC", "ENOMEM"},
    "confine": {"EMFILE", "ENFILE", "ENOMEM"},
    "block": {"EACCES", "EIO", "ETIMEDOUT"},
    "uring-64": {"ENOENT", "EPERM", "ECANCELED", *MOVES},
    "uring-128": {"ENOENT", "EPERM", "ECANCELED", *MOVES},
    "uring-polled-64": {"ENOENT", "EPERM", "ECANCELED", *MOVES},
    "uring-polled-128": {"ENOENT", "EPERM", "ECANCELED", *MOVES},
}
# Random numbers as commands: all of these may be refused.
GARBAGE = {"garbage", "uring-garbage"}
# What only root may do.
PRIVILEGED = {"set-regions"}
# Of these, one in 500 has to do something; of the others one in 20. Of fewer tries than this no share follows.
OFTEN = 1000
SELDOM = {"buffer-export", "queue-create", "timeline-open", "timeline-control"}
SETUP = Setup(
    drives=DRIVES,
    parameters=f"peer_to_peer=1 loopback_mib=16 windows={HIDDEN:#x}+4M",
    append=f"memmap=16M${HIDDEN:#x}",
)


def fuzz(rig: Rig, become: str, disks: list[str]) -> Kinds:
    """Run the fuzzer as somebody; of each kind, how many came to which result."""
    program = rig.guest.push(compile_program("fuzz"))
    kinds: Kinds = {}
    done, seed = 0, SEED
    print(f"FUZZ_SEED={SEED} repeats this run", flush=True)
    while done < COMMANDS:
        count = min(ROUND, COMMANDS - done)
        command = f"ulimit -l {LOCKED_KIB}; exec {become} {program} {seed} {count} 3 4 {HIDDEN} {' '.join(disks)}"
        said = rig.guest.must(command, timeout_s=ROUND_LIMIT_S)
        print(f"{command}\n{said}", flush=True)
        report = json.loads(said)
        for kind, results in report["kinds"].items():
            kinds[kind] = kinds.get(kind, Counter()) + Counter(results)
        done += count
        seed += 1
    return kinds


def judge(kinds: Kinds, refused: set[str]) -> None:
    """Each kind has worked at least once, and often where it was tried often; all errors are documented.

    The fuzzer begins with commands that are not spoilt, until each kind has worked or 500 rounds have passed.
    Of kinds that are `refused` none has worked.
    """
    assert {kind for kind, results in kinds.items() if not results["ok"]} - GARBAGE == refused
    for kind, documented in DOCUMENTED.items():
        results = kinds[kind]
        share = results["ok"] / max(1, results.total())
        few = results.total() < OFTEN or kind in refused
        assert few or share > (0.002 if kind in SELDOM else 0.05), f"{kind}: {results}"
        assert set(results) <= ALWAYS | documented, f"{kind}: {results}"
    assert set(kinds["garbage"]) <= {"ENOTTY", "EFAULT", "EINVAL", "E2BIG", "ok"}, kinds["garbage"]
    assert "unknown" not in {error for results in kinds.values() for error in results}


def still_works(rig: Rig, disks: list[str]) -> None:
    """Each disk moves data, and no page is pinned."""
    for disk in disks:
        calls = rig.calls(disk, "fill,3,0,65536", "write,0,65536", "read,0,65536", "match,3,0,65536")
        assert calls[1:4] == [("write", 65536), ("read", 65536), ("match", 1)], disk
    rig.wait_unpinned()


@pytest.mark.timeout((1 + COMMANDS // ROUND) * ROUND_LIMIT_S)
@pytest.mark.parametrize("who", ["user", "root"])
def test_random_commands(rig: Rig, who: str) -> None:
    """Several processes at once, whatever they may open; root's may use windows, and lock no more than a user."""
    become = {"user": "setpriv --reuid=65534 --regid=65534 --clear-groups", "root": "setpriv --bounding-set=-ipc_lock"}
    disks = [*rig.disks(INSIDE), *rig.disks(PLAIN), "/dev/chardisk0"]
    rig.guest.must(f"chmod 666 {' '.join(disks)}")
    kinds = fuzz(rig, become[who], disks)
    judge(kinds, PRIVILEGED if who == "user" else set())
    still_works(rig, disks)
