# SPDX-License-Identifier: MIT
"""What is measured, and what is asked of it."""

from dataclasses import dataclass, replace

from chario_lab.counting.stats import Events
from chario_lab.experiment.plan import Case
from chario_lab.target.need import Need

KIB = 1 << 10
MIB = 1 << 20

NULL = "/dev/null"
BLOCK = CHARDISK = "{node}"
GENERIC = "{generic}"
# The block disk of the first namespace.
SIDE = "{node}b"
# Has a medium, for what is read back.
RECORDED = "{second}"
# A region of it, as long as the part that calls use.
REGION = "{second}p1"
REGION_MIB = 64

UDMABUF = Need("test -e /dev/udmabuf", "/dev/udmabuf")

FREE, LATE, STALL = "free", "late", "stall"
IRQ, POLL = "irq", "poll"
SCATTERED, JOINED, HUGE = "scattered", "joined", "huge"


def call(
    key: str,
    title: str,
    device: str,
    name: str,
    size_bytes: int = 4 * KIB,
    pages: str = SCATTERED,
    speed: str = FREE,
    operations: int = 300,
    completion: str = "",
    command_kib: int = 128,
    needs: Need | None = None,
) -> Case:
    """One call, repeated; the words are those of lab/bench/bench.c.

    `completion` and `command_kib` are what the disk's attributes of about these names are set to before.
    """
    attributes = "/sys/class/chario/{second_name}" if device == RECORDED else "/sys/class/chario/{name}"
    settings = ((f"{attributes}/completion", completion), (f"{attributes}/command_bytes", str(command_kib * KIB)))
    return Case(
        key,
        title,
        (name, device, str(size_bytes), pages, speed, str(operations)),
        operations=operations,
        call_bytes=size_bytes,
        settings=settings if completion else (),
        needs=(needs,) if needs else (),
    )


@dataclass(frozen=True)
class Goal:
    """What is asked of a case: a count, and a share of another case of the same run."""

    key: str
    reference: str
    ratio: float
    instructions: int | None = None
    events: Events | None = None


LARGE_OPERATIONS = 60
MANY_OPERATIONS = 10_000

FLOORS = (
    call("getppid", "getppid()", NULL, "getppid"),
    call("pread-null", "pread() of /dev/null", NULL, "pread-null"),
    call("preadv-null", "preadv2() of /dev/null, RWF_HIPRI", NULL, "preadv-null"),
)

STOCK = (
    call("stock-read-sleep", "O_DIRECT pread 4 KiB, sleeps", BLOCK, "pread", speed=LATE),
    call("stock-read", "O_DIRECT pread 4 KiB, answered before the sleep", BLOCK, "pread", speed=STALL),
    call("stock-write-sleep", "O_DIRECT pwrite 4 KiB, sleeps", BLOCK, "pwrite", speed=LATE),
    call("stock-write", "O_DIRECT pwrite 4 KiB, device answers at once", BLOCK, "pwrite", speed=STALL),
    call("stock-uring-read", "io_uring IOPOLL read 4 KiB, registered buffer", BLOCK, "uring-read-poll", speed=STALL),
    call("stock-uring-write", "io_uring IOPOLL write 4 KiB, registered buffer", BLOCK, "uring-write-poll", speed=STALL),
    call("stock-pass-read", "io_uring passthrough read 4 KiB, IOPOLL, registered buffer", GENERIC, "uring-pass-poll",
         speed=STALL),
    call("stock-pass-batch", "io_uring passthrough, 32 reads of 4 KiB at once, IOPOLL", GENERIC, "uring-pass-batch",
         speed=STALL, operations=LARGE_OPERATIONS),
    call("stock-128k", "O_DIRECT pread 128 KiB, 4 KiB pages scattered, answered before the sleep", BLOCK, "pread",
         128 * KIB, SCATTERED, STALL, LARGE_OPERATIONS),
    call("stock-128k-sleep", "O_DIRECT pread 128 KiB, 4 KiB pages scattered, sleeps", BLOCK, "pread",
         128 * KIB, SCATTERED, LATE, LARGE_OPERATIONS),
    call("stock-1m", "O_DIRECT pread 1 MiB, 4 KiB pages scattered, answered before the sleep", BLOCK, "pread",
         MIB, SCATTERED, STALL, LARGE_OPERATIONS),
    call("stock-1m-scattered", "O_DIRECT pread 1 MiB, 4 KiB pages scattered", BLOCK, "pread",
         MIB, SCATTERED, LATE, LARGE_OPERATIONS),
    call("stock-1m-joined", "O_DIRECT pread 1 MiB, 4 KiB pages in a row", BLOCK, "pread",
         MIB, JOINED, LATE, LARGE_OPERATIONS),
    call("stock-1m-huge", "O_DIRECT pread 1 MiB, huge pages", BLOCK, "pread",
         MIB, HUGE, LATE, LARGE_OPERATIONS),
)  # fmt: skip

CHARIO = (
    call("read-poll", "pread 4 KiB, polled", CHARDISK, "pread", speed=STALL, completion=POLL),
    call("read", "pread 4 KiB, answered before the sleep", CHARDISK, "pread", speed=STALL, completion=IRQ),
    call("read-sleep", "pread 4 KiB, sleeps, one interrupt", CHARDISK, "pread", speed=LATE, completion=IRQ),
    call("read-hipri", "preadv2 4 KiB, polled by RWF_HIPRI", CHARDISK, "pread-poll", speed=STALL, completion=IRQ),
    call("write-poll", "pwrite 4 KiB, polled", CHARDISK, "pwrite", speed=STALL, completion=POLL),
    call("write", "pwrite 4 KiB, answered before the sleep", CHARDISK, "pwrite", speed=STALL, completion=IRQ),
    call("write-sleep", "pwrite 4 KiB, sleeps, one interrupt", CHARDISK, "pwrite", speed=LATE, completion=IRQ),
    call("write-hipri", "pwritev2 4 KiB, polled by RWF_HIPRI", CHARDISK, "pwrite-poll", speed=STALL, completion=IRQ),
    call("128k-poll", "pread 128 KiB, polled, 4 KiB pages scattered", CHARDISK, "pread",
         128 * KIB, SCATTERED, STALL, LARGE_OPERATIONS, POLL),
    call("128k-sleep", "pread 128 KiB, sleeps, 4 KiB pages scattered", CHARDISK, "pread",
         128 * KIB, SCATTERED, LATE, LARGE_OPERATIONS, IRQ),
    call("1m-poll-scattered", "pread 1 MiB, polled, 4 KiB pages scattered", CHARDISK, "pread",
         MIB, SCATTERED, STALL, LARGE_OPERATIONS, POLL),
    call("1m-sleep-scattered", "pread 1 MiB, sleeps, 4 KiB pages scattered", CHARDISK, "pread",
         MIB, SCATTERED, LATE, LARGE_OPERATIONS, IRQ),
    call("1m-poll-large", "pread 1 MiB, polled, 4 KiB pages scattered, commands of 512 KiB", CHARDISK, "pread",
         MIB, SCATTERED, STALL, LARGE_OPERATIONS, POLL, 512),
    call("1m-sleep-large", "pread 1 MiB, sleeps, 4 KiB pages scattered, commands of 512 KiB", CHARDISK, "pread",
         MIB, SCATTERED, LATE, LARGE_OPERATIONS, IRQ, 512),
    call("1m-poll-joined", "pread 1 MiB, polled, 4 KiB pages in a row", CHARDISK, "pread",
         MIB, JOINED, STALL, LARGE_OPERATIONS, POLL),
    call("1m-poll-huge", "pread 1 MiB, polled, huge pages", CHARDISK, "pread",
         MIB, HUGE, STALL, LARGE_OPERATIONS, POLL),
    call("1m-sleep-joined", "pread 1 MiB, sleeps, 4 KiB pages in a row", CHARDISK, "pread",
         MIB, JOINED, LATE, LARGE_OPERATIONS, IRQ),
    call("1m-sleep-huge", "pread 1 MiB, sleeps, huge pages", CHARDISK, "pread",
         MIB, HUGE, LATE, LARGE_OPERATIONS, IRQ),
    call("uring-read", "io_uring IOPOLL read 4 KiB, registered buffer", CHARDISK, "uring-read-poll", speed=STALL,
         completion=IRQ),
    call("uring-write", "io_uring IOPOLL write 4 KiB, registered buffer", CHARDISK, "uring-write-poll", speed=STALL,
         completion=IRQ),
    call("transfer-poll", "transfer 4 KiB, registered buffer, polled", CHARDISK, "transfer", speed=STALL,
         completion=POLL),
    call("uring-transfer", "io_uring transfer 4 KiB, registered buffer, IOPOLL", CHARDISK, "uring-transfer-poll",
         speed=STALL, completion=IRQ),
    call("uring-transfer-batch", "io_uring transfer, 32 of 4 KiB at once, IOPOLL", CHARDISK, "uring-transfer-batch",
         speed=STALL, operations=LARGE_OPERATIONS, completion=IRQ),
    call("transfer-1m-poll", "transfer 1 MiB, registered buffer, polled", CHARDISK, "transfer",
         MIB, SCATTERED, STALL, LARGE_OPERATIONS, POLL),
    call("transfer-pool", "transfer 4 KiB, pool buffer, polled", CHARDISK, "transfer-pool", speed=STALL,
         completion=POLL),
    call("transfer-window", "transfer 4 KiB, physical window, polled", CHARDISK, "transfer-window", speed=STALL,
         completion=POLL),
    call("transfer-dmabuf", "transfer 4 KiB, imported dma-buf, polled", CHARDISK, "transfer-dmabuf", speed=STALL,
         completion=POLL, needs=UDMABUF),
    call("transfer-own", "transfer 4 KiB, registered buffer, a queue of its own, polled", CHARDISK, "transfer-own",
         speed=STALL, completion=POLL),
    call("transfer-own-rival", "transfer 4 KiB beside 16 reads of another file, each file on its own queue", CHARDISK,
         "transfer-own-rival", speed=STALL, completion=POLL),
    call("transfer-rival", "transfer 4 KiB beside 16 reads of another file, both on one queue", CHARDISK,
         "transfer-rival", speed=STALL, completion=POLL),
    call("read-timeline", "pread 4 KiB, polled, with a timeline", CHARDISK, "pread-timeline", speed=STALL,
         completion=POLL),
    call("transfer-timeline", "transfer 4 KiB, registered buffer, polled, with a timeline", CHARDISK,
         "transfer-timeline", speed=STALL, completion=POLL),
    call("write-1m-poll", "transfer 1 MiB to the drive, registered buffer, polled", RECORDED, "transfer-write",
         MIB, SCATTERED, STALL, LARGE_OPERATIONS, POLL),
    call("write-1m", "transfer 1 MiB to the drive, registered buffer, answered before the sleep", RECORDED,
         "transfer-write", MIB, SCATTERED, STALL, LARGE_OPERATIONS, IRQ),
    call("record-1m", "write a segment of 1 MiB of a recording, without the checksum of its data and a flush", RECORDED,
         "record", MIB, SCATTERED, STALL, LARGE_OPERATIONS, IRQ),
    call("write-4m", "transfer 4 MiB to the drive, registered buffer, answered before the sleep", RECORDED,
         "transfer-write", 4 * MIB, SCATTERED, STALL, LARGE_OPERATIONS, IRQ),
    call("record-4m", "write a segment of 4 MiB of a recording, without the checksum of its data and a flush", RECORDED,
         "record", 4 * MIB, SCATTERED, STALL, LARGE_OPERATIONS, IRQ),
    call("record-4m-durable", "write a segment of 4 MiB of a recording, and wait until it is durable (flush)", RECORDED,
         "record-durable", 4 * MIB, SCATTERED, STALL, LARGE_OPERATIONS, IRQ),
    call("steady", "pread 4 KiB, polled, 10,000 calls", CHARDISK, "pread",
         speed=STALL, operations=MANY_OPERATIONS, completion=POLL),
)  # fmt: skip

# Linux's paths, through the block side, and the ratio to Linux's own driver that is asked for.
SIDE_RATIOS = {
    "read-sleep": 1.0,
    "read": 1.0,
    "write-sleep": 1.0,
    "write": 1.0,
    "uring-read": 1.0,
    "uring-write": 1.0,
    "128k": 0.97,
    "128k-sleep": 0.97,
}
SIDE_CASES = tuple(
    replace(case, key=f"block-{key}", title=f"{case.title}, block side", words=(case.words[0], SIDE, *case.words[2:]))
    for key in SIDE_RATIOS
    for case in STOCK
    if case.key == f"stock-{key}"
)

# CharIO's own paths beside a block disk: the whole disk, and a region of it.
REGION_KEYS = ("read-poll", "read", "read-sleep", "write-poll", "write", "write-sleep", "transfer-poll",
               "uring-transfer", "128k-poll")  # fmt: skip
REGION_CASES = tuple(
    replace(
        case,
        key=f"{prefix}-{key}",
        title=f"{case.title}, {where}",
        words=(case.words[0], device, *case.words[2:]),
        settings=tuple((file.replace("{name}", "{second_name}"), value) for file, value in case.settings),
    )
    for prefix, device, where in (("beside", RECORDED, "beside a block disk"), ("region", REGION, "region"))
    for key in REGION_KEYS
    for case in CHARIO
    if case.key == key
)

POLLED = Events(1, 1, 0, 0)
ANSWERED = Events(1, 1, 1, 0)
SLEPT = Events(1, 1, 1, 2)

GOALS = (
    Goal("read-poll", "stock-uring-read", 0.38, 1_900, POLLED),
    Goal("read", "stock-uring-read", 0.38, 1_900, ANSWERED),
    Goal("read-sleep", "stock-read-sleep", 0.70, 7_000, SLEPT),
    Goal("write-poll", "read-poll", 1.02, None, POLLED),
    Goal("write", "read", 1.02, None, ANSWERED),
    Goal("write-sleep", "read-sleep", 1.02, None, SLEPT),
    Goal("transfer-poll", "stock-pass-read", 0.17, 800, POLLED),
    Goal("uring-transfer", "stock-pass-read", 0.28, 1_400, POLLED),
    Goal("uring-transfer-batch", "stock-pass-batch", 0.15, None, POLLED),
    Goal("1m-poll-scattered", "stock-1m-scattered", 0.6, None, POLLED),
    Goal("1m-poll-joined", "stock-1m-joined", 0.6, None, POLLED),
    Goal("1m-poll-huge", "stock-1m-joined", 0.1, None, POLLED),
    *(Goal(f"block-{key}", f"stock-{key}", ratio) for key, ratio in SIDE_RATIOS.items()),
)

# What a timeline costs: with it, and without.
TIMELINE_PAIRS = (("read-timeline", "read-poll"), ("transfer-timeline", "transfer-poll"))

# What a block disk, and a region beside it, cost a call: with it, and without; and what a region may cost more.
SIDE_PAIRS = tuple((f"beside-{key}", key) for key in REGION_KEYS)
REGION_PAIRS = tuple((f"region-{key}", key) for key in REGION_KEYS)
REGION_LIMIT = 10

# What memory of the other kinds costs more than registered memory.
KIND_PAIRS = tuple((f"transfer-{kind}", "transfer-poll") for kind in ("pool", "window", "dmabuf"))

# What 16 reads of another file cost a call: with them, and without.
RIVAL_PAIRS = (("transfer-own-rival", "transfer-own"), ("transfer-rival", "transfer-poll"))

# What a MiB of a recording costs beside a MiB of the raw path: the cases, and what is asked of the ratio.
RECORD_PAIRS = (
    ("record-4m", "write-1m-poll", 1.1),
    ("record-4m", "write-1m", 1.1),
    ("record-4m", "write-4m", None),
    ("record-1m", "write-1m", None),
)

# What a flag of preadv2() costs beside the disk's own setting; and how much of it the kernel takes on its way.
HIPRI_PAIRS = (("read-hipri", "read-poll"), ("write-hipri", "write-poll"), ("preadv-null", "pread-null"))

# How the IOMMU forgets what is unmapped, each in a guest of its own: what the kernel is told.
IOMMU_MODES = {"strict": "iommu.strict=1", "lazy": "iommu.strict=0"}

# Large calls behind it beside O_DIRECT's, and what is asked of the ratio.
IOMMU_PAIRS = (
    ("128k-poll", "stock-128k"),
    ("128k-sleep", "stock-128k-sleep"),
    ("1m-poll-scattered", "stock-1m"),
    ("1m-sleep-scattered", "stock-1m-scattered"),
    ("1m-poll-large", "stock-1m"),
    ("1m-sleep-large", "stock-1m-scattered"),
    ("1m-sleep-joined", "stock-1m-joined"),
    ("1m-sleep-huge", "stock-1m-huge"),
)
IOMMU_RATIO = 0.8

# What an IOMMU costs other calls: one call a row, and whether it maps memory.
IOMMU_CALLS = {
    "stock-pass-read": True,
    "read-poll": True,
    "transfer-poll": False,
    "transfer-1m-poll": False,
    "uring-transfer": False,
}
# All that is counted there.
IOMMU_KEYS = frozenset({*IOMMU_CALLS, *(key for pair in IOMMU_PAIRS for key in pair)})

STEADY_KEY = "steady"
STEADY_SHARE = 0.98

# What an independent rig counted for the same calls, by the kernel's series: the check that
# this one counts rightly. The margin leaves room for another C library and another build.
KNOWN_MARGIN = 0.02
KNOWN: dict[str, dict[str, int]] = {
    "6.1": {
        "getppid": 337,
        "pread-null": 573,
        "stock-read-sleep": 10_242,
        "stock-read": 5_279,
        "stock-write-sleep": 15_244,
        "stock-uring-read": 4_926,
    },
    "6.12": {
        "getppid": 336,
        "pread-null": 554,
        "stock-read-sleep": 11_283,
        "stock-read": 5_838,
        "stock-write-sleep": 11_308,
        "stock-uring-read": 5_304,
    },
}

CASES = {case.key: case for case in (*FLOORS, *STOCK, *CHARIO, *SIDE_CASES, *REGION_CASES)}
