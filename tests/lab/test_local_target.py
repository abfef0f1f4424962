# SPDX-License-Identifier: MIT
"""A drive of this machine on loan: which are refused, and what is undone, in which order, however a run ends."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chario_lab.cache import WrongUse
from chario_lab.experiment.command import main_run
from chario_lab.guest.job import Result
from chario_lab.target import loan as loan_module
from chario_lab.target.claim import Claim
from chario_lab.target.drive import Refused, find_drive, full_address
from chario_lab.target.energy import Energy, read_energy
from chario_lab.target.loan import Loan, is_mounted
from chario_lab.target.local import describe_processor, read_counts
from chario_lab.target.process import Processes, Stopped
from chario_lab.target.target import TargetError
from chario_lab.target.turn import NotGivenBack

ADDRESS = "0000:01:00.0"
SCHEDULERS = {"nvme0n1": "none [mq-deadline] kyber", "nvme0n2": "[none] mq-deadline"}
LIMIT_S = 60.0


class Tree:
    """A machine's sysfs with one NVMe drive, and a shell that moves it from driver to driver."""

    def __init__(self, top: Path) -> None:
        self.sysfs = top / "sys"
        self.notes = top / "run"
        self.mounts = top / "mounts"
        self.asked: list[str] = []
        self.failing: set[str] = set()
        self.mounts.write_text("")
        self.device = self.sysfs / "bus/pci/devices" / ADDRESS
        self.write("bus/pci/devices/0000:02:00.0/class", "0x020000")
        self.write(f"bus/pci/devices/{ADDRESS}/class", "0x010802")
        for name, text in (("model", "Good Drive "), ("serial", "S1"), ("firmware_rev", "1.0")):
            self.write(f"bus/pci/devices/{ADDRESS}/nvme/nvme0/{name}", text)
        for name, schedulers in SCHEDULERS.items():
            (self.device / f"nvme/nvme0/{name.replace('nvme0', 'nvme0c3')}").mkdir()
            self.write(f"class/block/{name}/size", "2000000")
            self.write(f"class/block/{name}/queue/scheduler", schedulers)
        self.use_driver("nvme")

    def write(self, path: str, text: str) -> None:
        """A file of sysfs."""
        (self.sysfs / path).parent.mkdir(parents=True, exist_ok=True)
        (self.sysfs / path).write_text(f"{text}\n")

    def use_driver(self, name: str) -> None:
        """Give the drive to a driver; none where the name is empty."""
        (self.device / "driver").unlink(missing_ok=True)
        if name:
            (self.sysfs / "bus/pci/drivers" / name).mkdir(parents=True, exist_ok=True)
            (self.device / "driver").symlink_to(self.sysfs / "bus/pci/drivers" / name)

    def run(self, words: list[str], limit_s: float) -> Result:
        """A shell that knows umount and chario unbind."""
        self.asked.append(" ".join(words))
        if words[0] in self.failing:
            return Result(words[0], 1, "", f"{words[0]}: target is busy")
        if words[0] == "umount":
            self.mounts.write_text("")
        else:
            self.use_driver("nvme")
            for name in SCHEDULERS:
                self.write(f"class/block/{name}/queue/scheduler", "[none] mq-deadline kyber")
        return Result(words[0], 0, "", "")

    def loan(self) -> Loan:
        """The drive on loan."""
        return Loan(ADDRESS, "chario", self.run, self.sysfs, self.notes)

    def begin(self, loan: Loan) -> None:
        """A run that has given the drive to CharIO."""
        loan.begin(find_drive(ADDRESS, self.sysfs))
        self.use_driver("chario")

    def scheduler(self, name: str) -> str:
        """What was written last."""
        return (self.sysfs / "class/block" / name / "queue/scheduler").read_text()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """A machine in which nothing is waited for."""
    made = Tree(tmp_path)
    monkeypatch.setattr(loan_module, "PAUSE_S", 0)
    monkeypatch.setattr(loan_module, "is_mounted", lambda folder: is_mounted(folder, made.mounts))
    return made


def test_a_drive_is_named(tree: Tree) -> None:
    """By all that tells it from others; a path to a namespace is not its disk."""
    drive = find_drive(ADDRESS, tree.sysfs)
    assert drive.namespaces == ("nvme0n1", "nvme0n2")
    assert str(drive) == f"Good Drive, serial S1, firmware 1.0, 2.0 GB ({ADDRESS}, nvme0n1, nvme0n2)"
    assert (full_address("01:00.0"), full_address("0000:0A:00.0")) == (ADDRESS, "0000:0a:00.0")


@pytest.mark.parametrize(("address", "driver", "words"), [
    ("0000:7f:00.0", "nvme", "there is no PCI device"),
    ("0000:02:00.0", "nvme", "is no NVMe drive"),
    (ADDRESS, "chario", f"is with chario, give it to nvme first: chario unbind {ADDRESS}"),
    (ADDRESS, "vfio-pci", "is with vfio-pci"),
    (ADDRESS, "", "is with no driver"),
])  # fmt: skip
def test_a_drive_that_cannot_be_lent_is_refused(tree: Tree, address: str, driver: str, words: str) -> None:
    """With the reason."""
    tree.use_driver(driver)
    with pytest.raises(Refused, match=words):
        find_drive(address, tree.sysfs)


@pytest.mark.parametrize("text", ["nvme0", "/dev/nvme0n1", "../0000:01:00.0", "0000:01:00.0; reboot", ""])
def test_an_address_is_an_address(text: str) -> None:
    """Anything else is refused before it gets near a shell."""
    with pytest.raises(WrongUse, match="is no PCI address"):
        full_address(text)


@pytest.mark.parametrize(("words", "reason"), [
    (["--target", "local", "--device", ADDRESS], "add --destroy-data"),
    (["--target", "local", "--destroy-data"], "name the drive by --device"),
    (["--target", "local", "--device", ADDRESS, "--destroy-data", "--kernel", "6.1"], "leave --kernel out"),
    (["--device", ADDRESS, "--destroy-data"], "are for --target local"),
])  # fmt: skip
def test_nothing_begins_without_the_words(words: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is missing is said."""
    with pytest.raises(SystemExit, match="2"):
        main_run(["table1", *words])
    assert reason in " ".join(capsys.readouterr().err.split())


def test_cases_that_there_are_not_are_refused() -> None:
    """With those that there are."""
    with pytest.raises(WrongUse, match=r"table1 has no case nothing\*; it has 136, such as CharIO, any size/read"):
        main_run(["table1", "--target", "local", "--device", ADDRESS, "--destroy-data", "--case", "nothing*"])


def test_all_is_undone_in_order(tree: Tree) -> None:
    """The file system first, then the driver, then the schedulers; the note goes when all is done."""
    with tree.loan() as loan:
        tree.begin(loan)
        tree.mounts.write_text(f"/dev/nvme0n1 {loan.folder} ext4 rw 0 0\n")
        loan.give_back()
        assert tree.asked == [f"umount {loan.folder}", f"chario unbind {ADDRESS}"]
        assert (tree.scheduler("nvme0n1"), tree.scheduler("nvme0n2")) == ("mq-deadline", "[none] mq-deadline kyber\n")
        assert loan.note is None
        loan.give_back()
        assert len(tree.asked) == 2


def test_a_buffer_of_trace_events_goes(tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tracer that was killed has left it; no other run is kept from its own."""
    buffer = tmp_path / "chario-lab"
    monkeypatch.setattr(loan_module, "TRACE_BUFFER", buffer)
    buffer.mkdir()
    with tree.loan() as loan:
        tree.begin(loan)
        tree.failing = {"rmdir"}
        loan.give_back()
        assert tree.asked[-1] == f"rmdir {buffer}" and loan.note is None


def test_settings_are_set_back(tree: Tree, tmp_path: Path) -> None:
    """To what they were before the first write of any run; one that has gone with its disk is passed over."""
    limit, gone, size, functions = (tmp_path / name for name in ("limit", "gone", "buffer_size_kb", "functions"))
    limit.write_text("950000\n")
    gone.write_text("irq\n")
    size.write_text("7 (expanded: 1408)\n")
    functions.write_text("#### all functions enabled ####\n")
    with tree.loan() as loan:
        tree.begin(loan)
        for path in (limit, gone, limit, size, functions):
            loan.begin_setting(str(path))
            path.write_text("-1")
    gone.unlink()
    with tree.loan() as loan:
        loan.give_back()
        assert loan.settings == {}
    assert limit.read_text() == "950000\n"
    assert size.read_text() == "1408"
    assert functions.read_text() == ""
    assert not gone.exists()


def test_settings_of_disks_go_with_them(tree: Tree) -> None:
    """Another disk may have the name when they would be set back."""
    with tree.loan() as loan:
        loan.begin_setting("/sys/class/chario/chardisk0/completion")
        assert loan.settings == {}


def test_one_setting_that_stays_keeps_no_other_from_being_set_back(tree: Tree, tmp_path: Path) -> None:
    """Nor the drive; it is told, and tried again by the next run, whichever drive that has."""
    first, stubborn, last = (tmp_path / name for name in ("first", "stubborn", "last"))
    with tree.loan() as loan:
        tree.begin(loan)
        for path in (first, stubborn, last):
            path.write_text("old")
            loan.begin_setting(str(path))
            path.write_text("new")
        stubborn.unlink()
        stubborn.mkdir()
        with pytest.raises(NotGivenBack, match="stubborn is not set back to old: Is a directory"):
            loan.give_back()
        assert loan.note is None and loan.settings == {str(stubborn): "old"}
    assert (first.read_text(), last.read_text()) == ("old", "old")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schedulers": 3}', "\0\0"])
def test_a_note_that_cannot_be_read_is_named(tree: Tree, text: str) -> None:
    """With the way by hand."""
    with tree.loan() as loan:
        (tree.notes / ADDRESS).write_text(text)
        with pytest.raises(NotGivenBack, match=f"{ADDRESS} cannot be read.*chario unbind {ADDRESS}; then remove"):
            loan.give_back()


def test_what_a_killed_run_has_left_running_is_ended_first(tree: Tree) -> None:
    """All that it has started inherits a file, by which it is found."""
    with tree.loan() as loan:
        fd = os.dup(loan.inherited)
    orphan = subprocess.Popen(["sh", "-c", "sleep 1000; :"], pass_fds=(fd,))
    os.close(fd)
    with tree.loan():
        assert orphan.wait() == -signal.SIGKILL


@pytest.mark.parametrize("program", ["umount", "chario"])
def test_what_cannot_be_undone_is_kept_in_mind(tree: Tree, program: str) -> None:
    """The message names the reason and the way; the next run has the note, and undoes it all."""
    with tree.loan() as loan:
        tree.begin(loan)
        tree.mounts.write_text(f"/dev/nvme0n1 {loan.folder} ext4 rw 0 0\n")
        tree.failing = {program}
        with pytest.raises(NotGivenBack, match=f"(?s){program}: target is busy.*umount .*; chario unbind {ADDRESS}"):
            loan.give_back()
    tree.failing = set()
    with tree.loan() as again:
        assert again.note is not None
        again.give_back()
        assert again.note is None and tree.scheduler("nvme0n1") == "mq-deadline"


def test_a_drive_is_lent_to_one_run_at_a_time(tree: Tree) -> None:
    """The second is refused, whatever it wants."""
    with tree.loan(), pytest.raises(Refused, match="another run of chario-lab goes on, process"):
        tree.loan()
    with tree.loan():
        pass


def test_a_disk_that_cannot_be_claimed_is_not_written_to(tmp_path: Path) -> None:
    """Those that were claimed before are let go."""
    (tmp_path / "disk").touch()
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(Refused, match="none is in use, and nothing more is written to it: No such file"):
        Claim().take([str(tmp_path / "disk"), str(tmp_path / "none")])
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_command_is_run_to_its_end() -> None:
    """With its exit code and both outputs; one that is not there is told like one that fails."""
    processes = Processes()
    done = processes.run("echo out; echo err >&2; exit 3", LIMIT_S)
    assert (done.rc, done.stdout, done.stderr) == (3, "out\n", "err\n")
    assert "no-such-program: No such file" in processes.run(["no-such-program"], LIMIT_S).describe()


def test_a_time_limit_ends_all_that_a_command_has_started(tmp_path: Path) -> None:
    """The whole group is killed."""
    done = Processes().run(f"sleep 1000 & echo $! >{tmp_path}/pid; wait", 0.1)
    assert done.timed_out
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/exe").exists()


def raise_soon(number: signal.Signals, started: Path) -> None:
    """Send this process a signal as soon as a command has made a file."""

    def wait_and_raise() -> None:
        while not started.exists():
            time.sleep(0.01)
        os.kill(os.getpid(), number)

    threading.Thread(target=wait_and_raise).start()


@contextmanager
def handled(number: signal.Signals, handler: signal.Handlers) -> Iterator[None]:
    """What a signal does while the block lasts, whether or not the tests run under nohup."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_command_and_the_run(tmp_path: Path, number: signal.Signals) -> None:
    """The exit code is that of a shell; further commands are not run, except for those that undo."""
    processes = Processes()
    with handled(number, signal.SIG_DFL), pytest.raises(Stopped), processes.catching():
        raise_soon(number, tmp_path / "started")
        with pytest.raises(Stopped) as stopped:
            processes.run(f"touch {tmp_path}/started; sleep 1000", LIMIT_S)
        assert stopped.value.code == 128 + number
        with pytest.raises(Stopped):
            processes.run("true", LIMIT_S)
        with processes.undisturbed():
            assert processes.run("echo undone", LIMIT_S).stdout == "undone\n"


def test_a_move_of_the_drive_is_not_interrupted(tmp_path: Path) -> None:
    """The signal is obeyed by the next command that may be, and where there is none, at the end."""
    processes = Processes()
    with pytest.raises(Stopped), processes.catching():
        raise_soon(signal.SIGTERM, tmp_path / "started")
        with processes.undisturbed():
            done = processes.run(f"touch {tmp_path}/started; sleep 1.5; echo moved", LIMIT_S)
        assert done.stdout == "moved\n"
        with pytest.raises(Stopped):
            processes.run("true", LIMIT_S)


def test_a_signal_that_is_ignored_stays_so() -> None:
    """As under nohup."""
    with handled(signal.SIGHUP, signal.SIG_IGN), Processes().catching():
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


@pytest.mark.parametrize("text", ["", "null", "{}", '{"reads": null, "writes": 1}', "NVMe status: invalid"])
def test_a_smart_log_that_cannot_be_read_is_shown(text: str) -> None:
    """It is no zero."""
    with pytest.raises(TargetError, match="SMART log has no reads"):
        read_counts(text, "reads", "writes")


def test_the_counters_of_a_smart_log() -> None:
    """Of 128 bits in the drive, however they are written."""
    assert read_counts(f'{{"reads": {2**70}, "writes": "12"}}', "reads", "writes") == [2**70, 12]


def zone(sysfs: Path, folder: str, name: str, value: int) -> None:
    """A zone of powercap, which counts to 1000."""
    path = sysfs / "class/powercap" / folder
    path.mkdir(parents=True, exist_ok=True)
    for file, text in (("name", name), ("energy_uj", value), ("max_energy_range_uj", 1000)):
        (path / file).write_text(f"{text}\n")


def test_energy_is_that_of_each_package_once(tmp_path: Path) -> None:
    """Without their parts, the board, and another driver's view of the same; a counter may begin again."""
    assert read_energy(tmp_path) is None
    zone(tmp_path, "intel-rapl:0", "package-0", 900)
    zone(tmp_path, "intel-rapl:1", "package-1", 100)
    zone(tmp_path, "intel-rapl:0:0", "core", 500)
    zone(tmp_path, "intel-rapl:2", "psys", 500)
    zone(tmp_path, "intel-rapl-mmio:0", "package-0", 900)
    before = read_energy(tmp_path)
    assert before == Energy({"package-0": (900, 1000), "package-1": (100, 1000)})
    zone(tmp_path, "intel-rapl:0", "package-0", 49)
    zone(tmp_path, "intel-rapl:1", "package-1", 350)
    after = read_energy(tmp_path)
    assert after is not None and after.since(before) == 150 + 250


def test_processors_are_named() -> None:
    """On a PC by their model, on a board by the board's."""
    assert describe_processor("processor\t: 0\nmodel name\t: Fast CPU\n").startswith("Fast CPU")
    assert describe_processor("processor\t: 0\nModel\t\t: Small Board Rev 1\n").startswith("Small Board Rev 1")
    assert describe_processor("").startswith(os.uname().machine)
