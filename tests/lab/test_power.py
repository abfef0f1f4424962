# SPDX-License-Identifier: MIT
"""What QEMU's trace of a controller says, and the guest that is fit to sleep."""

import pytest

from chario_lab.guest.power import Event, parse_event


@pytest.mark.parametrize(("line", "event"), [
    ("pci_nvme_mmio_cfg wrote MMIO, config controller config=0x460001", Event("config", 0x460001)),
    ("pci_nvme_mmio_doorbell_sq sqid 2 new_tail 17", Event("doorbell", 2)),
    ("pci_nvme_del_sq deleting submission queue sqid=4", Event("delete", 4)),
    ("pci_nvme_mmio_start_success setting controller enable bit succeeded", Event("ready", 0)),
    ("qemu-system-x86_64: warning: something else", None),
])  # fmt: skip
def test_a_line_of_the_trace(line: str, event: Event | None) -> None:
    """Each kind of line gives its event; others give none."""
    assert parse_event(line) == event


@pytest.mark.parametrize(
    ("config", "is_shutdown"),
    [(0x464001, True), (0x460001, False), (0x460000, False), (0x468001, False), (0x464000, False)],
    ids=["normal", "none", "disabled", "abrupt", "too-late"],
)
def test_what_is_a_shutdown(config: int, is_shutdown: bool) -> None:
    """Only a normal notification, and only to a controller that is enabled."""
    assert Event("config", config).is_shutdown == is_shutdown
    assert not Event("doorbell", config).is_shutdown
