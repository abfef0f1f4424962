# SPDX-License-Identifier: MIT
"""The QEMU command line of a guest, without QEMU."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chario_lab.guest.plan import Host, argv
from chario_lab.guest.spec import (
    MIB,
    MOST_DRIVES,
    AhciDisk,
    Blkdebug,
    ErrorRule,
    GuestSpec,
    Namespace,
    NullCo,
    Nvme,
    RawFile,
    RegisterFile,
    SdCard,
    SpecError,
    Throttle,
    VirtioDisk,
    WriteLog,
    files,
    root_port_bdf,
)

HOST = Host(
    qemu=Path("/q/qemu"),
    data_dirs=(Path("/q/data"),),
    kvm=False,
    kernel=Path("/k/vmlinuz"),
    modules=Path("/k/modules"),
    initrd=Path("/c/initrd"),
    run_dir=Path("/run/x"),
    agent_fd=5,
    qmp_fd=6,
)


def values(words: list[str], option: str) -> list[str]:
    """Everything given to one option."""
    return [words[place + 1] for place, word in enumerate(words) if word == option]


def objects(words: list[str], option: str) -> list[dict[str, Any]]:
    """The JSON values given to one option."""
    return [json.loads(text) for text in values(words, option) if text.startswith("{")]


def test_same_spec_same_command_line() -> None:
    """Planning is a pure function."""
    spec = GuestSpec(drives=(Nvme("a"), Nvme("b")))
    assert argv(spec, HOST) == argv(replace(spec), HOST)


def test_software_emulation_is_never_mixed_with_kvm() -> None:
    """The accelerator follows the host and nothing else."""
    assert values(argv(GuestSpec(), HOST), "-accel") == ["tcg,thread=multi"]
    words = argv(GuestSpec(), replace(HOST, kvm=True))
    assert (values(words, "-accel"), values(words, "-cpu")) == (["kvm"], ["host"])


def test_kernel_command_line_names_the_modules() -> None:
    """The guest finds its modules by a word that no module takes for its own."""
    (line,) = values(argv(GuestSpec(append="extra=1"), HOST), "-append")
    assert "lab_modules=/k/modules" in line.split()
    assert line.split()[-1] == "extra=1"
    assert "pci=nomsi" in values(argv(GuestSpec(interrupts="intx"), HOST), "-append")[0].split()


def test_the_iommu_comes_before_what_it_translates() -> None:
    """QEMU gives a device the address space that its bus has when it is made."""
    plain, behind = GuestSpec(drives=(Nvme("a"),)), GuestSpec(drives=(Nvme("a"),), iommu=True)
    assert not any("iommu" in word for word in argv(plain, HOST))
    words = argv(behind, HOST)
    names = [text.split(",")[0] for text in values(words, "-device")]
    assert names.index("intel-iommu") < min(names.index("virtio-9p-pci"), names.index("pcie-root-port"))
    (line,) = values(words, "-append")
    assert {"intel_iommu=on", "iommu.strict=1"} < set(line.split())


def test_every_drive_has_a_root_port_of_its_own() -> None:
    """Only then can one be removed without the others."""
    words = argv(GuestSpec(drives=(Nvme("a"), RegisterFile(), Nvme("b"))), HOST)
    ports = [text for text in values(words, "-device") if text.startswith("pcie-root-port")]
    assert [port.split(",")[1] for port in ports] == ["id=rp0", "id=rp1", "id=rp2"]
    controllers = [device for device in objects(words, "-device") if device["driver"] == "nvme"]
    assert [(device["id"], device["bus"]) for device in controllers] == [("nv0", "rp0"), ("nv2", "rp2")]
    assert root_port_bdf(2) == "0000:00:08.0"


def test_controller_options_are_left_out_unless_given() -> None:
    """QEMU's defaults stay QEMU's."""
    plain, small = (
        device
        for device in objects(
            argv(GuestSpec(drives=(Nvme("a"), Nvme("b", msix_vectors=2, mdts=0, mqes=15, cmb_mib=1))), HOST), "-device"
        )
        if device["driver"] == "nvme"
    )
    assert set(plain) == {"driver", "id", "bus", "subsys", "serial", "dbcs"}
    assert (small["msix_qsize"], small["mdts"], small["mqes"], small["cmb_size_mb"]) == (2, 0, 15, 1)


def test_namespaces_are_numbered_and_formatted() -> None:
    """Ids count from 1 unless given; format and metadata are passed on."""
    drive = Nvme("a", (Namespace(1), Namespace(1, 4096, 8, nsid=7)))
    first, second = (d for d in objects(argv(GuestSpec(drives=(drive,)), HOST), "-device") if d["driver"] == "nvme-ns")
    assert (first["nsid"], first["logical_block_size"], first["ms"], first["drive"]) == (1, 512, 0, "nv0n1")
    assert (second["nsid"], second["logical_block_size"], second["ms"], second["drive"]) == (7, 4096, 8, "nv0n7")


def test_each_backing_builds_its_node() -> None:
    """One block node a namespace, with the file at the bottom."""
    kinds = (RawFile(), NullCo(20), Blkdebug((ErrorRule("read", 16, once=True),)), Throttle(4096), WriteLog())
    drive = Nvme("a", tuple(Namespace(1, backing=kind) for kind in kinds))
    words = argv(GuestSpec(drives=(drive,)), HOST)
    raw, null, debug, throttle, log = objects(words, "-blockdev")
    assert (raw["driver"], raw["file"]["filename"]) == ("raw", "/run/x/nv0n1.img")
    assert (null["size"], null["latency-ns"]) == (1 << 20, 20000)
    (rule,) = debug["file"]["inject-error"]
    assert (rule["iotype"], rule["sector"], rule["errno"], rule["once"]) == ("read", 16, 5, True)
    assert throttle["throttle-group"] == "nv0n4-limits"
    (group,) = objects(words, "-object")
    assert (group["id"], group["limits"]) == ("nv0n4-limits", {"bps-total": 4096, "iops-total": 0})
    assert log["log"]["filename"] == "/run/x/nv0n5.writes"


def test_whole_blocks_are_smaller_than_what_their_node_aligns() -> None:
    """Each block of either size is then unaligned, and that is what makes QEMU keep a read and its write apart."""
    whole = RawFile(whole_blocks=True)
    drive = Nvme("a", (Namespace(1, backing=whole), Namespace(1, 4096, backing=whole), Namespace(1, 4096)))
    *nodes, plain = objects(argv(GuestSpec(drives=(drive,)), HOST), "-blockdev")
    for node, namespace in zip(nodes, drive.namespaces, strict=False):
        assert node["driver"] == "raw" and node["file"]["driver"] == "blkdebug"
        assert node["file"]["align"] > namespace.lba_bytes and not MIB % node["file"]["align"]
        assert node["file"]["image"]["node-name"] == f"{node['node-name']}-file"
    assert plain["file"]["driver"] == "file"


def test_a_disk_is_behind_a_root_port_of_its_own() -> None:
    """Each has its controller there; a virtio disk is one itself."""
    drives = (AhciDisk("a"), VirtioDisk("v", lba_bytes=4096, write_cache=False), SdCard("c"))
    words = argv(GuestSpec(drives=drives), HOST)
    ahci, disk, virtio, sdhci, card = objects(words, "-device")
    assert ahci == {"driver": "ich9-ahci", "id": "nv0", "bus": "rp0"}
    assert (disk["driver"], disk["id"], disk["bus"], disk["drive"]) == ("ide-hd", "nv0n1", "nv0.0", "nv0n1")
    assert (disk["serial"], disk["write-cache"]) == ("a", "on")
    assert (virtio["driver"], virtio["id"], virtio["bus"]) == ("virtio-blk-pci", "nv1", "rp1")
    assert (virtio["drive"], virtio["serial"]) == ("nv1n1", "v")
    assert (virtio["logical_block_size"], virtio["write-cache"]) == (4096, "off")
    assert sdhci == {"driver": "sdhci-pci", "id": "nv2", "bus": "rp2"}
    assert card == {"driver": "sd-card", "id": "nv2n1", "bus": "rp2/nv2/sd-bus", "drive": "nv2n1"}
    assert [node["node-name"] for node in objects(words, "-blockdev")] == ["nv0n1", "nv1n1", "nv2n1"]


def test_a_virtio_disk_goes_through_the_iommu_there_is() -> None:
    """The lab's own virtio devices go around it."""
    for iommu in (False, True):
        (disk,) = objects(argv(GuestSpec(drives=(VirtioDisk("v"),), iommu=iommu), HOST), "-device")
        assert disk["iommu_platform"] is iommu


def test_a_latency_delays_the_file_and_nothing_else() -> None:
    """The first child of the quorum waits and then fails, whatever the request: the result is the file's."""
    backing = Throttle(iops=125, latency_ms=8)
    words = argv(GuestSpec(drives=(AhciDisk("a", 1, backing=backing),)), HOST)
    (group,) = objects(words, "-object")
    assert (group["id"], group["limits"]) == ("nv0n1-limits", {"bps-total": 0, "iops-total": 125})
    (throttle,) = objects(words, "-blockdev")
    slow = throttle["file"]
    assert (throttle["node-name"], slow["driver"], slow["vote-threshold"]) == ("nv0n1", "quorum", 1)
    wait, file = slow["children"]
    assert (file["node-name"], file["filename"]) == ("nv0n1-file", "/run/x/nv0n1.img")
    assert (wait["driver"], wait["vote-threshold"]) == ("quorum", 2)
    null, fails = wait["children"]
    assert (null["driver"], null["size"], null["latency-ns"]) == ("null-co", 1 << 20, 8_000_000)
    assert fails["inject-error"] == [{"event": "none", "errno": 5, "immediately": True}]


def test_files_are_those_qemu_opens() -> None:
    """A file for each medium, none for null-co, an empty one for a log."""
    drive = Nvme("a", (Namespace(2), Namespace(1, backing=NullCo()), Namespace(1, backing=WriteLog())))
    made = dict(files(GuestSpec(drives=(drive, RegisterFile(), SdCard("c", 4))), HOST.run_dir))
    assert made == {
        Path("/run/x/nv0n1.img"): 2 << 20,
        Path("/run/x/nv0n3.img"): 1 << 20,
        Path("/run/x/nv0n3.writes"): 0,
        Path("/run/x/nv2n1.img"): 4 << 20,
    }


@pytest.mark.parametrize(("spec", "words"), [
    (GuestSpec(interrupts="msi"), "interrupts must be"),
    (GuestSpec(drives=(Nvme("a"), Nvme("a"))), "one serial"),
    (GuestSpec(drives=(Nvme(""),)), "1 to 20 characters"),
    (GuestSpec(drives=(Nvme("a", (Namespace(1, 520),)),)), "LBA of 520 bytes"),
    (GuestSpec(drives=(Nvme("a", (Namespace(0),)),)), "at least 1 MiB"),
    (GuestSpec(drives=(Nvme("a", (Namespace(1, nsid=2), Namespace(1))),)), "repeat"),
    (GuestSpec(drives=(AhciDisk("d" * 21),)), "1 to 20 characters"),
    (GuestSpec(drives=(VirtioDisk("d", 0),)), "at least 1 MiB"),
    (GuestSpec(drives=(VirtioDisk("d", lba_bytes=520),)), "LBA of 520 bytes"),
    (GuestSpec(drives=(SdCard("d", 48),)), "power of two, not 48 MiB"),
    (GuestSpec(drives=(SdCard("d", backing=Blkdebug()),)), "must be RawFile or WriteLog"),  # type: ignore[arg-type]
    (GuestSpec(drives=tuple(Nvme(f"d{n}") for n in range(MOST_DRIVES + 1))), "too many drives"),
])  # fmt: skip
def test_an_impossible_spec_is_refused(spec: GuestSpec, words: str) -> None:
    """The lab says what is wrong before QEMU does."""
    with pytest.raises(SpecError, match=words):
        argv(spec, HOST)


def test_terminal_guest_keeps_a_console_log() -> None:
    """A guest on a terminal writes its console to the file all the same."""
    (console, *_) = values(argv(GuestSpec(), replace(HOST, terminal=True)), "-chardev")
    assert console.startswith("stdio,") and "logfile=/run/x/console.log" in console
