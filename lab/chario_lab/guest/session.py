# SPDX-License-Identifier: MIT
"""A running guest, as tests and commands see it."""

import concurrent.futures
import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from qemu.qmp import ExecuteError, QMPError
from qemu.qmp.legacy import QEMUMonitorProtocol

from chario_lab import kmsg
from chario_lab.guest.channel import Channel, ChannelClosed, Record
from chario_lab.guest.files import Files, answer_of
from chario_lab.guest.job import Job, Result
from chario_lab.guest.plan import Host
from chario_lab.guest.qtest import QTest
from chario_lab.guest.spec import GuestSpec

ANSWER_LIMIT_S = 60.0
BOOT_POLL_S = 2.0
# What a kernel says that cannot go on.  It looks for stalls of 40 s while it boots, see plan.boot_args(), and of
# BUSY_HOST_STALL_S afterwards.
LOST_TIMER = "kthread timer wakeup didn't happen"
BUSY_HOST_STALL_S = 120
STALL_LIMIT = "/sys/module/rcupdate/parameters/rcu_cpu_stall_timeout"
CONSOLE_LINES = 30
BEYOND_ALL = 1 << 62  # no record of the kernel log has this number


class GuestFailed(Exception):
    """The guest can be used no more; `run_dir` is the folder with what it has said, where that is known."""

    def __init__(self, text: str, run_dir: Path | None = None) -> None:
        super().__init__(text)
        self.run_dir = run_dir


class GuestDied(GuestFailed):
    """The guest ended by itself; the message shows the end of its console."""


class QemuCrashed(GuestDied):
    """The guest died because a signal ended QEMU: a defect of QEMU, or somebody who killed it."""


class GuestSilent(GuestFailed):
    """The guest runs but its agent does not answer in time."""


class Guest:
    """Commands, files, kernel log and QMP of one guest.  Made by launch()."""

    def __init__(
        self,
        spec: GuestSpec,
        host: Host,
        process: subprocess.Popen[bytes],
        agent: socket.socket,
        qmp: socket.socket,
        qtest: socket.socket | None,
    ) -> None:
        self.spec = spec
        self.host = host
        self.process = process
        self.release = ""
        self._channel = Channel(agent)
        self._qmp_line = qmp
        self._qmp: QEMUMonitorProtocol | None = None
        self._qtest = QTest(qtest) if qtest else None
        self.files = Files(self._ask_for_file)
        self.first_drive = 0

    def place(self, drive: int) -> int:
        """Where a drive is in the machine, whose first drives may be somebody else's (`first_drive`)."""
        return self.first_drive + drive

    def wait_ready(self, limit_s: float) -> None:
        """Return when the agent has said that it is there; raise soon when a CPU has lost its timer."""
        ready, end = self._channel.ready, time.monotonic() + limit_s
        while not ready.done() and time.monotonic() < end:
            concurrent.futures.wait([ready], BOOT_POLL_S)
            if LOST_TIMER in self.console():
                raise self.silence("an emulated CPU has lost its timer")
        if not ready.done():
            raise self.silence(f"the guest has not come up after {limit_s:.0f} s")
        record = self._answer(ready, 0)
        self.release = record["release"]
        # An emulated CPU on a loaded host stands still for seconds: that is not the guest's fault.
        self.files.write(STALL_LIMIT, BUSY_HOST_STALL_S)

    # Commands

    def start(
        self,
        command: str | Sequence[str],
        timeout_s: float = 60,
        cwd: str = "/",
        env: Mapping[str, str] | None = None,
        stdin: str = "",
        tty: str | None = None,
    ) -> Job:
        """Start a command in the background; a string goes to /bin/sh."""
        argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        text = command if isinstance(command, str) else " ".join(argv)
        number, reply = self._channel.request(
            "run", argv=argv, timeout_s=timeout_s, cwd=cwd, env=dict(env or {}), stdin=stdin, tty=tty
        )
        return Job(text, number, reply, timeout_s + ANSWER_LIMIT_S, self._answer, self._kill)

    def run(self, command: str | Sequence[str], timeout_s: float = 60, **options: Any) -> Result:
        """Run a command to its end, whatever that is."""
        return self.start(command, timeout_s, **options).wait()

    def must(self, command: str | Sequence[str], timeout_s: float = 60, **options: Any) -> str:
        """Run a command that has to succeed; its output without the last newline."""
        return self.run(command, timeout_s, **options).check().stdout.rstrip("\n")

    def _kill(self, number: int, signal_number: int) -> bool:
        _, reply = self._channel.request("kill", job=number, signal=signal_number)
        return bool(self._answer(reply, ANSWER_LIMIT_S)["killed"])

    def _answer(self, reply: Future[Record], limit_s: float) -> Record:
        try:
            return reply.result(limit_s)
        except ChannelClosed:
            raise self.death() from None
        except concurrent.futures.TimeoutError:
            raise self.silence(f"the guest has not answered for {limit_s:.0f} s") from None

    # Files

    def _ask_for_file(self, operation: str, fields: Mapping[str, str]) -> object:
        _, reply = self._channel.request(operation, **fields)
        return answer_of(fields["path"], self._answer(reply, ANSWER_LIMIT_S))

    def push(self, source: Path) -> str:
        """Copy a file of the host into the guest; its path there."""
        shutil.copy2(source, self.host.share / source.name)
        return f"/share/{source.name}"

    def pull(self, path: str, target: Path) -> Path:
        """Copy a file of the guest to the host."""
        name = f"pulled-{Path(path).name}"
        self.must(["cp", "--", path, f"/share/{name}"])
        shutil.move(self.host.share / name, target)
        return target

    # Kernel log

    def kernel_records(self, since: int = -1) -> list[kmsg.LogRecord]:
        """Records of the kernel log that are newer than a mark."""
        _, reply = self._channel.request("kmsg", after=since)
        return [kmsg.parse_record(raw) for raw in self._answer(reply, ANSWER_LIMIT_S)["records"]]

    def kernel_log(self, since: int = -1) -> list[str]:
        """The same as lines of text."""
        return [str(record) for record in self.kernel_records(since)]

    def log_mark(self) -> int:
        """A mark: all that the kernel says from now on is newer."""
        _, reply = self._channel.request("kmsg", after=BEYOND_ALL)
        return int(self._answer(reply, ANSWER_LIMIT_S)["last"])

    def check_log(self, since: int = -1, allowed: Iterable[str] = ()) -> None:
        """Raise KernelComplaint when the kernel has complained, or said more than its log can hold."""
        kmsg.check(self.kernel_records(since), allowed, since)

    # The machine

    def qmp(self, command: str, **arguments: object) -> Any:
        """One QMP command; raises qemu.qmp's ExecuteError when it is refused."""
        try:
            if self._qmp is None:
                self._qmp = QEMUMonitorProtocol(self._qmp_line)
                self._qmp.settimeout(ANSWER_LIMIT_S)
                self._qmp.connect()
            return self._qmp.cmd(command, **arguments)
        except ExecuteError:
            raise
        except TimeoutError:
            raise self.silence(f"QEMU has not answered {command} for {ANSWER_LIMIT_S:.0f} s") from None
        except (QMPError, OSError, EOFError):
            raise self.death() from None

    def hmp(self, line: str) -> str:
        """One command of QEMU's human monitor; its output."""
        return str(self.qmp("human-monitor-command", **{"command-line": line}))

    def wait_event(self, name: str, limit_s: float = 60, match: Callable[[Any], bool] = lambda data: True) -> None:
        """Return when QEMU has sent this event; QMP must be in use already."""
        assert self._qmp is not None, "no QMP command has been sent yet"
        while True:
            # A number without a fraction would be taken for "for ever".
            event = self._qmp.pull_event(wait=float(limit_s))
            if event and event["event"] == name and match(event.get("data", {})):
                return

    @property
    def qtest(self) -> QTest:
        """Register access; needs GuestSpec(qtest=True)."""
        if self._qtest is None:
            raise RuntimeError("this guest was launched without GuestSpec(qtest=True)")
        return self._qtest

    # The end

    def death(self) -> GuestDied:
        """What to raise for a guest that has died."""
        text = self.obituary()
        # A kernel that has complained first has failed by itself, whatever QEMU did then.
        crashed = (self.process.poll() or 0) < 0 and not kmsg.forbidden_lines(self.console())
        return (QemuCrashed if crashed else GuestDied)(text, self.host.run_dir)

    def silence(self, what: str) -> GuestSilent:
        """What to raise for a guest that does not answer."""
        return GuestSilent(f"{what}\n{self.console_tail()}", self.host.run_dir)

    def obituary(self) -> str:
        """How the guest died, for a human."""
        try:
            end = f"QEMU ended with {self.process.wait(timeout=5)}"
        except subprocess.TimeoutExpired:
            end = "QEMU still runs, but the agent's line is cut"
        said = (self.host.run_dir / "qemu.log").read_text(errors="replace").strip()
        return "\n".join(part for part in (f"the guest died: {end}", said, self.console_tail()) if part)

    def console(self) -> str:
        """What the kernel has written to the console."""
        try:
            return self.host.console.read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def console_tail(self) -> str:
        """The last lines of the console."""
        lines = self.console().splitlines()
        # A panic is told by its first lines, not by the end of its register dump.
        panic = [place for place, line in enumerate(lines) if "Kernel panic" in line or "Oops" in line]
        start = panic[0] if panic else max(0, len(lines) - CONSOLE_LINES)
        shown = lines[start : start + CONSOLE_LINES]
        return "\n".join([f"from the console, {self.host.console}:", *shown])

    def kill(self) -> None:
        """End the machine at any moment, as a power cut does."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """End the machine: by its agent if it can, by its process if it must."""
        try:
            self._channel.request("exit", code=0)
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.kill()
        self._channel.close()
        if self._qmp is not None:
            with contextlib.suppress(QMPError, OSError, EOFError):  # QEMU was first
                self._qmp.close()
        self._qmp_line.close()
        if self._qtest is not None:
            self._qtest.close()
