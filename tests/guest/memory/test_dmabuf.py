# SPDX-License-Identifier: MIT
"""Memory of other drivers: imported, taken back; and a drive's own, which another drive reaches without main memory."""

import pytest
from disks import MIB, Programs, counters, grown, limited
from rig import Rig
from shared_guest import Setup
from test_buffers import BLOCK, run
from test_pool import SIZES, STREAMING, round_trip
from traces import trace

from chario_lab.guest.devices import bar_address
from chario_lab.guest.job import Job
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import Namespace, Nvme

pytestmark = [
    pytest.mark.area("kernel/memory/dmabuf", "kernel/memory/cmb", "kernel/back/nvme/cmb"),
    pytest.mark.kernels("6.12", "debug"), pytest.mark.cpus(2),
]  # fmt: skip

CMB, CMB_MIB = 5, 16
# The drive with controller memory, one without, and what tests that pull a drive spoil.
INSIDE, PLAIN, PULLED_EXPORTER, PULLED_IMPORTER = range(4)
DRIVES = (
    Nvme("inside", (Namespace(64),), cmb_mib=CMB_MIB),
    Nvme("plain", (Namespace(64),)),
    Nvme("pulled-exporter", (Namespace(64),), cmb_mib=CMB_MIB),
    Nvme("pulled-importer", (Namespace(64),)),
)
EXPORTERS = {"heapbuf": "/dev/dma_heap/system", "udmabuf": "/dev/udmabuf"}
SETUP = Setup(drives=DRIVES, parameters="peer_to_peer=1")


def need(guest: Guest, exporter: str) -> None:
    """Debian's 6.1 has no driver that makes dma-bufs of memory."""
    if guest.run(f"test -e {EXPORTERS[exporter]}").rc != 0:
        pytest.skip(f"this kernel has no {EXPORTERS[exporter]}: 6.12 and the debug kernel have")


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_memory_of_another_driver(guest: Guest, guest_program: Programs, disk: str, exporter: str) -> None:
    """Slices of many sizes, both ways; its descriptor may be closed, and the buffer keeps the memory."""
    need(guest, exporter)
    script, expect = round_trip(SIZES)
    begin = [f"{exporter} 0 {8 * MIB}", f"import 0 0 {8 * MIB}", "close 0"]
    assert run(guest, guest_program, disk, [*begin, *script, "free 0", "locked"]) == ["0"] * 3 + [*expect, "0", "0"]


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_imports_that_are_refused(guest: Guest, guest_program: Programs, disk: str, exporter: str) -> None:
    """Longer than it is, misaligned, no dma-buf, no descriptor; a mapping of it is the exporter's business."""
    need(guest, exporter)
    script = [f"{exporter} 0 {MIB}", f"import 1 0 {MIB + BLOCK}", "import 1 0 0", "import 1 0 2", f"import 1 0 {MIB} 4",
              f"import 1 5 {MIB}", f"import 1 0 {MIB}", f"map 2 4096 {MIB}", "export 1", "close 0",
              f"import 3 0 {MIB}", f"write 1 0 {MIB} 0"]  # fmt: skip
    expect = ["0", *["EINVAL"] * 5, "0", "EINVAL", "EOPNOTSUPP", "0", "EBADF", str(MIB)]
    assert run(guest, guest_program, disk, script) == expect


def test_controller_memory_that_is_refused(guest: Guest, guest_program: Programs, disk: str) -> None:
    """A drive without; buffers of other kinds do not go out; and no name, no export."""
    script = [f"inside 0 {MIB}", f"pool 1 {MIB}", "export 1", "destroy 1", "export 1"]
    assert run(guest, guest_program, disk, script) == ["EOPNOTSUPP", "0", "EOPNOTSUPP", "0", "ENOENT"]


@pytest.mark.smoke
def test_inside_a_drive(rig: Rig, guest_program: Programs) -> None:
    """The drive reads into its own memory, zeroed before, and writes from it; it is finite, and given back.

    Who has it next finds zeros, and nothing of the one before.
    """
    disk = rig.disk(INSIDE)
    script = [f"heap 0 {4 * MIB}", "fill 0 5", f"pwrite 0 0 {4 * MIB} 0", f"inside 1 {4 * MIB}",
              f"write 1 0 {MIB} {16 * MIB}", f"heap 2 {4 * MIB}", "fill 2 1", f"pread 2 0 {MIB} {16 * MIB}",
              f"all 2 0 {MIB} 0", f"read 1 0 {4 * MIB} 0", f"write 1 0 {4 * MIB} {8 * MIB}",
              f"pread 2 0 {4 * MIB} {8 * MIB}", f"match 2 5 0 {4 * MIB} 0", f"inside 3 {13 * MIB}",
              f"inside 3 {12 * MIB}", f"inside 4 {BLOCK}", "free 1", f"inside 4 {4 * MIB}",
              f"write 4 0 {4 * MIB} {24 * MIB}", f"pread 2 0 {4 * MIB} {24 * MIB}", f"all 2 0 {4 * MIB} 0",
              f"create {CMB} 0 4096 {BLOCK}", f"create {CMB} 4 0 {BLOCK}"]  # fmt: skip
    expect = ["0", "0", str(4 * MIB), "0", str(MIB), "0", "0", str(MIB), "1", str(4 * MIB), str(4 * MIB), str(4 * MIB),
              "1", "ENOMEM", "0", "ENOMEM", "0", "0", str(4 * MIB), str(4 * MIB), "1", "EINVAL", "EINVAL"]  # fmt: skip
    assert run(rig.guest, guest_program, disk, script) == expect


def test_memory_that_may_be_synced(rig: Rig, guest_program: Programs) -> None:
    """An import, and memory inside a drive, that are made to be synced are like any other."""
    script = [f"inside 0 {MIB}", "export 0", f"import 1 0 {MIB} {STREAMING}", f"sync 1 0 {MIB} 1", f"write 1 0 {MIB} 0",
              f"read 1 0 {MIB} 0", f"sync 1 0 {MIB} 2", f"create {CMB} {STREAMING} 0 {BLOCK}"]  # fmt: skip
    expect = ["0", "0", "0", "0", str(MIB), str(MIB), "0", "3"]
    assert run(rig.guest, guest_program, rig.disk(INSIDE), script) == expect


def test_a_descriptor_that_is_one_too_many(rig: Rig) -> None:
    """EMFILE, and the buffer is as before: freed, it leaves all of the drive's memory to the next."""
    script = f"inside 0 {MIB}\nexport 0\nfree 0\ninside 0 {CMB_MIB * MIB}\n"
    answers = rig.guest.must(f"ulimit -n 4; exec {rig.buffers} {rig.disk(INSIDE)}", stdin=script).split()
    assert answers == ["0", "EMFILE", "0", "0"]


def test_imports_and_memory_of_a_drive_count_as_locked(rig: Rig) -> None:
    """An import counts as all that its dma-buf keeps, however short it is, each time that it is made; until it goes.

    Memory of a drive counts once, as long as a buffer or a dma-buf has it.
    """
    script = [f"inside 0 {MIB // 2}", "export 0", f"import 1 0 {BLOCK}", "locked", f"import 2 0 {BLOCK}",
              f"inside 2 {BLOCK}", "free 1", f"inside 2 {BLOCK}", "locked", "free 2", f"import 1 0 {MIB}",
              f"import 1 0 {MIB // 2}", "free 1", "free 0", "locked", "close 0", "locked"]  # fmt: skip
    expect = ["0", "0", "0", "1024", "ENOMEM", "ENOMEM", "0", "0", "516", "0", "EINVAL", "0", "0", "0", "512", "0", "0"]
    disk = rig.disk(INSIDE)
    assert limited(rig.guest, disk, f"{rig.buffers} {disk} rdonly", "\n".join(script) + "\n") == expect


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_imports_of_other_drivers_count_as_locked(rig: Rig, exporter: str) -> None:
    """The same where the memory is main memory, which the import keeps when its descriptor has been closed."""
    need(rig.guest, exporter)
    node = EXPORTERS[exporter]
    rig.guest.must(f"chmod 666 {node}")
    script = [f"{exporter} 0 {MIB}", f"import 0 0 {BLOCK}", "locked", "close 0", f"{exporter} 1 {BLOCK}",
              f"import 1 1 {BLOCK}", "free 0", f"import 1 1 {BLOCK}", "locked"]  # fmt: skip
    expect = ["0", "0", "1024", "0", "0", "ENOMEM", "0", "0", "4"]
    disk = rig.disk(PLAIN)
    assert limited(rig.guest, disk, f"{rig.buffers} {disk} rdonly", "\n".join(script) + "\n") == expect
    rig.guest.must(f"chmod 600 {node}")


def test_memory_of_a_drive_that_has_gone(rig: Rig) -> None:
    """Its dma-buf is there as long as somebody has it, but nobody can import it any more."""
    inside, plain = rig.disk(INSIDE), rig.disk(PLAIN)
    job = rig.play_buffers(inside, f"inside 0 {MIB}", "export 0", f"other {plain}", f"import 1 0 {MIB}", "free 1",
                           "wait /run/gone", f"import 1 0 {MIB}")  # fmt: skip
    rig.unbind(INSIDE)
    assert ended(rig, job) == ["0", "0", "0", "0", "0", "0", "EOPNOTSUPP"]


def test_from_drive_to_drive(rig: Rig, guest_program: Programs) -> None:
    """A reads into its own memory, B writes from there, and back: all that the drives were told are addresses of A.

    Nothing is pinned meanwhile, and the bytes stand in the BAR of A.
    """
    inside, plain = rig.disk(INSIDE), rig.disk(PLAIN)
    size = 2 * MIB
    fill = [f"heap 0 {size}", "fill 0 9", f"pwrite 0 0 {size} 0"]
    assert run(rig.guest, guest_program, inside, fill)[-1] == str(size)
    script = [f"inside 1 {size}", f"read 1 0 {size} 0", "export 1", f"other {plain}", f"import 2 1 {size}", "close 1",
              f"write 2 0 {size} 0", f"read 2 0 {size} {8 * MIB}", f"write 2 0 {size} {16 * MIB}"]  # fmt: skip
    rig.guest.must("cat >/run/script", stdin="\n".join(script) + "\n")
    rig.guest.must(f"echo '{rig.buffers} {inside} </run/script >/run/answers' >/run/copy")
    # What a processor has counted is added up now and then, or now.
    pinned = "echo 1 >/proc/sys/vm/stat_refresh && grep nr_foll_pin_acquired /proc/vmstat"
    pins, before = rig.guest.must(pinned), counters(rig.guest, plain)
    events = trace(rig.guest, "sh /run/copy", ["chario/buffer"], everybody=True)
    assert rig.guest.must(pinned) == pins
    assert rig.guest.must("cat /run/answers").split() == ["0", str(size), "0", "0", "0", "0", *[str(size)] * 3]
    change = grown(rig.guest, plain, before)
    assert (change["write_bytes"], change["read_bytes"]) == (2 * size, size)
    bar = bar_address(rig.guest, rig.address(INSIDE), 2)
    assert len(events) == 2
    for event in events:
        assert event.fields["extents"] == "1"
        assert bar <= int(event.fields["address"], 16) <= bar + CMB_MIB * MIB - size
    check = [f"heap 0 {size}", f"pread 0 0 {size} 0", f"match 0 9 0 {size} 0"]
    assert run(rig.guest, guest_program, plain, check)[1:] == [str(size), "1"]


def script_of_two(plain: str, *after: str) -> list[str]:
    """Memory of a drive in use by another, until a drive goes; and what happens afterwards."""
    return [f"inside 1 {MIB}", f"pool 3 {MIB}", "fill 3 7", "export 1", f"other {plain}", f"import 2 1 {MIB}",
            f"pool 4 {MIB}", "fill 4 8", f"write 2 0 {MIB} 0", "wait /run/gone", *after]  # fmt: skip


def ended(rig: Rig, job: Job) -> list[str]:
    """Let a script go on, to its end."""
    rig.touch("/run/gone")
    job.wait().check()
    return rig.answers()


def let_go(rig: Rig, drive: int) -> None:
    """Take a drive from its driver: nothing of its binding is left."""
    left = rig.release(rig.address(drive))
    assert rig.address(drive) not in left
    assert not {"driver", "chario"} & set(left.splitlines())


EXPECT = ["0", "0", "0", "0", "0", "0", "0", "0", str(MIB), "0"]


@pytest.mark.parametrize("pull", [False, True], ids=["unbound", "pulled"])
def test_the_exporter_goes(rig: Rig, pull: bool) -> None:
    """It is let go although its memory is in use: the import has no bytes then, mappings stay what they were."""
    drive = PULLED_EXPORTER if pull else INSIDE
    exporter, plain = rig.disk(drive), rig.disk(PLAIN)
    after = [f"write 2 0 {BLOCK} 0", "free 2", f"match 3 7 0 {MIB} 0", f"read 3 0 {BLOCK} 0", f"write 4 0 {MIB} 0",
             "free 4", "free 1", "close 1", "free 3"]  # fmt: skip
    job = rig.play_buffers(exporter, *script_of_two(plain, *after))
    if pull:
        rig.pull(drive)
    let_go(rig, drive)
    answers = ended(rig, job)
    assert answers[:10] == EXPECT
    assert answers[10:12] == ["EINVAL", "0"] and answers[12] == "1"
    assert answers[14:] == [str(MIB), "0", "0", "0", "0"]
    rig.wait_unpinned()


@pytest.mark.parametrize("pull", [False, True], ids=["unbound", "pulled"])
def test_the_importer_goes(rig: Rig, pull: bool) -> None:
    """It lets go of the other's memory, which stays the other's."""
    drive = PULLED_IMPORTER if pull else PLAIN
    exporter, plain = rig.disk(INSIDE), rig.disk(drive)
    after = [f"write 2 0 {BLOCK} 0", f"match 4 8 0 {MIB} 0", f"read 1 0 {MIB} 0", "free 2", "free 1", "free 4"]
    job = rig.play_buffers(exporter, *script_of_two(plain, *after))
    if pull:
        rig.pull(drive)
    let_go(rig, drive)
    answers = ended(rig, job)
    assert answers == [*EXPECT, "ENODEV", "1", str(MIB), "0", "0", "0"]
    rig.wait_unpinned()


def test_a_drive_that_is_reset_keeps_its_memory_in_place(rig: Rig, guest_program: Programs) -> None:
    """After a function reset and a new binding it is told its address again."""
    disk = rig.disk(INSIDE)
    script = [f"inside 1 {MIB}", f"write 1 0 {MIB} 0", f"read 1 0 {MIB} 0"]
    for _ in range(2):
        assert run(rig.guest, guest_program, disk, script) == ["0", str(MIB), str(MIB)]
        disk = rig.disk(INSIDE)


def test_traffic_between_slots_must_be_allowed(fresh_guest: object, guest_program: Programs) -> None:
    """Without the administrator's word the import is refused, and the log says what to do; a drive's own is not."""
    guest = fresh_guest(drives=DRIVES[:2])  # type: ignore[operator]
    rig = Rig(guest)
    inside, plain = rig.disk(INSIDE), rig.disk(PLAIN)
    script = [f"inside 1 {MIB}", "export 1", f"import 2 1 {MIB}", f"write 2 0 {MIB} 0", f"other {plain}",
              f"import 3 1 {MIB}", f"read 1 0 {MIB} 0"]  # fmt: skip
    assert run(guest, guest_program, inside, script) == ["0", "0", "0", str(MIB), "0", "EOPNOTSUPP", str(MIB)]
    assert "load chario with peer_to_peer=1" in "\n".join(guest.kernel_log(-1))
