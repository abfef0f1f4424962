# SPDX-License-Identifier: MIT
"""An abort that comes too late reaches the next command that has its target's identifier.

Recovery looks for an expired command, and then has the drive abort what has its identifier.  In
between the command may have come back by itself and the identifier may have been given to another
one, which the drive then ends as aborted.  What must hold:

- its caller has not given up, and learns nothing: the command is sent again as it was, FUA included;
- the abort is not sent again, for its target has ended.

No test can meet that moment.  All that the module sees of it is a completion that says "aborted", so
a completion is made to say that, in the guest's memory, while its processors stand still.
"""

import re
import time
from collections import Counter
from errno import ETIMEDOUT

import pytest
from entries import FLUSH, READ, WRITE, Entry, Submissions
from qemu_log import QemuLog
from rig import Rig, results, uring_results
from shared_guest import Setup

from chario_lab.guest.job import Job
from chario_lab.guest.spec import Namespace, NullCo, Nvme
from chario_lab.waiting import until

pytestmark = [pytest.mark.area("kernel/drive/", "kernel/back/nvme/"), pytest.mark.slow]

PAGE, MIB = 4096, 1 << 20
FUA = 2
# Longer than it takes to stop the processors.
DRIVES = (Nvme("slow", (Namespace(64, backing=NullCo(latency_us=1_500_000)),)),)
ENTRY_BYTES, PHASE = 16, 1 << 16
ABORT_REQUESTED, UNRECOVERED_READ = 0x007, 0x281
LIMIT_S = 120.0
ATTEMPTS = 8
TRACED = ("pci_nvme_create_cq", "pci_nvme_enqueue_req_completion")
MADE = re.compile(r"pci_nvme_create_cq .*addr=(0x[0-9a-f]+), cqid=(\d+), .*qsize=(\d+)")
SENT = re.compile(r"pci_nvme_io_cmd ")
ENDED = re.compile(r"pci_nvme_enqueue_req_completion cid \d+ cqid ([1-9]\d*) ")
SETUP = Setup(drives=DRIVES, qtest=True)


class SlowDisk:
    """The disk, bound afresh; what its drive answers can be changed before anybody reads it."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.submissions = Submissions(rig.guest)
        self._log = QemuLog(rig.guest, TRACED)
        self.node = rig.disk(0)

    def wait_sent(self, count: int = 1) -> None:
        """Return when the drive has had so many commands."""
        until(lambda: len(SENT.findall(self._log.all())) >= count, "nothing was sent")

    def answer(self, status: int) -> None:
        """Have the drive end all that it has; the last completion gets another status."""
        guest = self.rig.guest
        # The processors stop first; then QEMU waits for the media.
        guest.qmp("stop")
        try:
            address = self._wait_ended() + ENTRY_BYTES - 4
            word = guest.qtest.readl(address)
            assert word >> 17 == 0, f"the command has failed by itself: {word:#x}"
            guest.qtest.writel(address, word | status << 17)
        finally:
            guest.qmp("cont")

    def hasten_once_given_up(self, job: Job) -> None:
        """When a job's call has passed its deadline, have the drive end all while no time passes in the guest."""
        until(lambda: self.rig.counters(self.node)["timeouts"] == 1 or job.poll() is not None, "nobody gives up")
        self.rig.guest.qmp("stop")
        self.rig.guest.qmp("cont")

    def entries(self) -> list[Entry]:
        """The commands that the drive was sent since the last call."""
        return self.submissions.fetched()

    def _wait_ended(self) -> int:
        """Where the newest completion stands, when there is one for each command."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            said = self._log.all()
            queues = ENDED.findall(said)
            if queues and len(queues) == len(SENT.findall(said)):
                place, phase = self._place(said, queues)
                if self.rig.guest.qtest.readl(place + ENTRY_BYTES - 4) & PHASE == phase:
                    return place
            time.sleep(0.05)
        raise AssertionError("the drive has not answered")

    @staticmethod
    def _place(said: str, queues: list[str]) -> tuple[int, int]:
        """The newest entry of the queue that was written to last, and the phase that it has."""
        size, address = next((int(m[3]) + 1, int(m[1], 16)) for m in MADE.finditer(said) if m[2] == queues[-1])
        turn, index = divmod(queues.count(queues[-1]) - 1, size)
        return address + index * ENTRY_BYTES, 0 if turn % 2 else PHASE


@pytest.fixture
def slow(rig: Rig) -> SlowDisk:
    """A disk whose commands take their time."""
    return SlowDisk(rig)


def start(slow: SlowDisk, way: str) -> Job:
    """Begin one call."""
    if way == "io_uring":
        return slow.rig.start_uring(slow.node, 1, PAGE)
    if way.startswith("transfer"):
        line = f"write 0 0 {PAGE} 0 {FUA}" if "durable" in way else f"read 0 0 {PAGE} 0"
        return slow.rig.start_buffers(slow.node, f"heap 0 {PAGE}", "register 0", line)
    write = f"write,0,{PAGE}"
    # QEMU flushes nothing where nothing was written.
    steps = {"many": [f"read,0,{MIB}"], "polled": [f"hipri,0,{PAGE}"], "write": [write], "flush": [write, "sync"]}
    return slow.rig.start(slow.node, *steps.get(way, [f"read,0,{PAGE}"]))


def ended(job: Job, way: str) -> int:
    """What the call returned."""
    if way == "io_uring":
        return next(iter(uring_results(job.wait())))
    if way.startswith("transfer"):
        return int(job.wait().check().stdout.split()[-1])
    *_, last, _close = results(job.wait())
    return last[1]


# What each call returns, the commands that the drive has had by then, and how the one looks that is sent twice.
WAYS = {
    "read": (PAGE, 1, (READ, False)),
    "polled": (PAGE, 1, (READ, False)),
    "many": (MIB, 8, (READ, False)),
    "io_uring": (PAGE, 1, (READ, False)),
    "transfer": (PAGE, 1, (READ, False)),
    "write": (PAGE, 1, (WRITE, False)),
    "transfer, durable": (PAGE, 1, (WRITE, True)),
    "flush": (0, 2, (FLUSH, False)),
}


@pytest.mark.parametrize("way", WAYS)
def test_whom_an_abort_was_not_meant_for_is_sent_again(slow: SlowDisk, way: str) -> None:
    """The caller gets what it asked for; one command was sent twice, alike; nothing else was done about it."""
    result, sent, looks = WAYS[way]
    job = start(slow, way)
    slow.wait_sent(sent)
    slow.answer(ABORT_REQUESTED)
    assert ended(job, way) == result
    counts = Counter(slow.entries())
    assert sorted(counts.values()) == [1] * (sent - 1) + [2]
    assert [(entry.opcode, entry.fua) for entry, count in counts.items() if count == 2] == [looks]
    counters = slow.rig.counters(slow.node)
    assert [counters[name] for name in ("aborts", "errors", "resets", "timeouts")] == [0] * 4
    assert slow.rig.show(slow.node, "last_error") == "0"


def test_another_status_is_an_error(slow: SlowDisk) -> None:
    """The same completion with another status ends the call: what is changed here is what the module reads."""
    job = start(slow, "read")
    slow.wait_sent()
    slow.answer(UNRECOVERED_READ)
    assert ended(job, "read") < 0
    assert len(slow.entries()) == 1 and slow.rig.counters(slow.node)["errors"] == 1


def test_whom_the_abort_was_meant_for_is_not_sent_again(rig: Rig) -> None:
    """A command whose caller has given up ends as aborted: its memory is let go, and the drive is not reset."""
    mark = rig.guest.log_mark()
    for _ in range(ATTEMPTS):  # on a busy host the command can come back too early or too late
        slow = SlowDisk(rig)
        job = rig.start(slow.node, "deadline,1000", f"read,0,{PAGE}")
        slow.hasten_once_given_up(job)
        result = results(job.wait())[1][1]
        rig.wait_unpinned()
        counters = rig.counters(slow.node)
        if (result, counters["resets"], counters["aborts"]) == (-ETIMEDOUT, 0, 1):
            break
    assert (result, counters["resets"], counters["aborts"], counters["timeouts"]) == (-ETIMEDOUT, 0, 1, 1)
    rig.wait_said(mark, "status 0x007, aborted by request")
    rig.wait_said(mark, "expired commands have been aborted")
    assert len(slow.entries()) == 1
    assert rig.call(slow.node, f"read,0,{PAGE}") == PAGE
