# SPDX-License-Identifier: MIT
"""The disk's folder in sysfs: complete, true, and refusing nonsense."""

from errno import EINVAL, ERANGE

import pytest
from disks import MIB, attributes, counters, folder

from chario_lab.guest.session import Guest

pytestmark = [pytest.mark.area("kernel/front/char", "kernel/disk/"), pytest.mark.cpus(2)]

FIXED = {
    "backend": "nvme",
    "model": "QEMU NVMe Ctrl",
    "size": str(256 * MIB),
    "dma_alignment": "4",
    "boundary_bytes": "0",
    "state": "live",
    "max_command_bytes": str(512 << 10),
    "command_limit": "drive",
    "nsid": "1",
}
SETTABLE = {
    "any_size",
    "block",
    "command_bytes",
    "chunk_bytes",
    "completion",
    "deadline_ms",
    "isolation_depth",
    "isolation_ms",
    "isolation_worst",
    "recovery_age_ms",
    "spin_us",
}
OTHERS = {
    "firmware", "last_error", "logical_block_size", "physical_block_size", "poll_queue_count",
    "queue_count", "queue_depth", "recovery_bound_ms", "serial", "wwid",
}  # fmt: skip
COUNTERS = {
    "aborts", "cq_doorbells", "discard_bytes", "discard_commands", "errors", "flush_commands", "interrupted",
    "interrupts", "late_reaps", "read_bytes", "read_commands", "resets", "sq_doorbells", "timeouts", "write_bytes",
    "write_commands", "write_zeroes_bytes", "write_zeroes_commands",
}  # fmt: skip
KERNEL_OWN = {"dev", "uevent"}


def test_every_attribute_is_there(guest: Guest, disk: str) -> None:
    """The folder has what the documentation lists, no more and no less."""
    names = set(guest.must(f"cd {folder(disk)} && find . -maxdepth 1 -type f -printf '%f\\n'").split())
    assert names == set(FIXED) | SETTABLE | OTHERS | KERNEL_OWN
    assert set(counters(guest, disk)) == COUNTERS


@pytest.mark.parametrize("block", [512, 4096])
def test_attributes_are_true(guest: Guest, request: pytest.FixtureRequest, block: int) -> None:
    """What the lab gave the drive is what the disk says."""
    shown = attributes(guest, request.getfixturevalue(f"disk{block}"))
    assert {name: shown[name] for name in FIXED} == FIXED
    assert shown["queue_count"] == shown["poll_queue_count"] == str(guest.spec.cpus)
    assert shown["serial"] == f"chario-{block}"
    assert shown["logical_block_size"] == shown["physical_block_size"] == str(block)
    assert shown["command_bytes"] == str(128 << 10)
    assert shown["chunk_bytes"] == str(4 * MIB)


def test_namespaces_have_disks_of_their_own(guest: Guest, disk4096: str, disk_second: str) -> None:
    """Same drive, another namespace."""
    first, second = attributes(guest, disk4096), attributes(guest, disk_second)
    assert first["serial"] == second["serial"]
    assert (second["nsid"], second["size"]) == ("2", str(64 * MIB))


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("command_bytes", "4096 524288 0x2000", "0 512 4097 528384 -4096 x 4294971392"),
        ("chunk_bytes", "4096 1073741824", "0 512 4097 1073745920 -1 x"),
        ("any_size", "1 0", "2 x -1"),
        ("completion", "poll spin irq", "default interrupt 1 polling"),
        ("spin_us", "1 1000000", "0 1000001 -1 x"),
        ("deadline_ms", "20 3600000", "0 3600001 -1 x"),
        ("recovery_age_ms", "0 3600000", "3600001 -1 x"),
    ],
)
def test_settings_are_checked(guest: Guest, disk4096: str, name: str, good: str, bad: str) -> None:
    """What is in range is kept, what is not is EINVAL (ERANGE for what is no 32-bit number) and changes nothing."""
    path = f"{folder(disk4096)}/{name}"
    before = guest.files.value(path)
    for value in good.split():
        guest.files.write(path, f"{value}\n")
        assert guest.files.value(path) == (str(int(value, 0)) if value[0].isdigit() else value)
    guest.files.write(path, before)
    for value in [*bad.split(), ""]:
        with pytest.raises(OSError) as refused:
            guest.files.write(path, f"{value}\n")
        assert refused.value.errno in (EINVAL, ERANGE), value
    assert guest.files.value(path) == before


def test_nothing_else_can_be_written(guest: Guest, disk512: str) -> None:
    """Only the settings have a mode that lets root write."""
    listing = guest.must(f"cd {folder(disk512)} && find . -maxdepth 1 -type f -perm /222 -printf '%f %m\\n'")
    assert set(listing.splitlines()) == {f"{name} 644" for name in SETTABLE | {"uevent"}}
    assert guest.must(f"find {folder(disk512)}/counters -type f -perm /222") == ""
