# SPDX-License-Identifier: MIT
"""Process 1 of a guest: runs commands for the host and reports how they ended.

The host writes one JSON object a line to the virtio-serial port, the agent
answers with one a line, in the order in which things end:

    {"id": 1, "op": "run", "argv": [...], "timeout_s": 60, "cwd": "/", "env": {},
     "stdin": "", "tty": null}
        -> {"id": 1, "rc": 0, "stdout": ..., "stderr": ..., "timed_out": false}
    {"id": 2, "op": "kill", "job": 1, "signal": 9}     -> {"id": 2, "killed": true}
    {"id": 3, "op": "kmsg", "after": 41}               -> {"id": 3, "records": [...]}
    {"id": 4, "op": "read", "path": "/proc/cmdline"}   -> {"id": 4, "value": ...} or {"id": 4, "errno": 2}
        likewise read_folder, list, resolve, touch, remove, and write with "text"
    {"id": 5, "op": "exit", "code": 0}                 -> nothing: the machine ends

One loop serves everything, so no command can hold up another; a file is read
or written by the loop itself, so it has to be one that answers at once.  A command is
a process group of its own; at its time limit the whole group is killed.  A
process that SIGKILL does not end within GRACE_S is reported as stuck, with its
kernel stack.  Output goes to files in memory, never to a pipe, so that a
daemon which keeps its descriptors open holds up nobody.

The agent needs nothing but the standard library and imports little of it:
each import costs a tenth of a second on a slow guest.
"""

from __future__ import annotations

import binascii
import json
import os
import select
import signal
import time

TYPE_CHECKING = False  # as typing's, without the import
if TYPE_CHECKING:
    from typing import Any

PORT_NAME = "chario.agent"
SPOOL = "/run/lab"
EXIT_PORT = 0xF4
GRACE_S = 10
OUTPUT_LIMIT_BYTES = 32 << 20
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "TERM": "linux",
}


class Job:
    """One command: from its request to the report of its end."""

    def __init__(self, request: dict[str, Any]) -> None:
        self.id = request["id"]
        self.deadline = time.monotonic() + request["timeout_s"]
        self.timed_out = False
        self.out, self.err = (f"{SPOOL}/{self.id}.{name}" for name in ("out", "err"))
        self.pid = os.fork()
        if self.pid == 0:
            run_child(self, request)

    def expire(self) -> dict[str, Any] | None:
        """Time is up: kill first; when that did not help, give up."""
        if self.timed_out:
            return self.report(None, stuck=kernel_stack(self.pid))
        self.timed_out = True
        self.deadline = time.monotonic() + GRACE_S
        self.kill(signal.SIGKILL)
        return None

    def kill(self, number: int) -> bool:
        """Signal the whole process group."""
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return False
        return True

    def report(self, status: int | None, stuck: str | None = None) -> dict[str, Any]:
        """What the host is told.  A signal is a negative rc, as in Python."""
        reply: dict[str, Any] = {"id": self.id, "timed_out": self.timed_out, "stuck": stuck}
        reply["rc"] = None if status is None else os.waitstatus_to_exitcode(status)
        for key, path in (("stdout", self.out), ("stderr", self.err)):
            add_bytes(reply, key, read_output(path))
            os.unlink(path)
        return reply


def run_child(job: Job, request: dict[str, Any]) -> None:
    """In the new process: become the command, or say why not."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC
        descriptors = [os.open(path, flags, 0o600) for path in (f"{SPOOL}/{job.id}.in", job.out, job.err)]
        os.unlink(f"{SPOOL}/{job.id}.in")
        os.write(descriptors[0], request["stdin"].encode())
        os.lseek(descriptors[0], 0, os.SEEK_SET)
        if request["tty"]:
            # The first terminal a session leader opens becomes its own.
            descriptors = [os.open(request["tty"], os.O_RDWR)] * 3
        for target, descriptor in enumerate(descriptors):
            os.dup2(descriptor, target)
        os.chdir(request["cwd"])
        os.execvpe(request["argv"][0], request["argv"], ENVIRONMENT | request["env"])
    except BaseException as error:
        os.write(2, f"agent: cannot run {request['argv'][0]}: {error}\n".encode())
    os._exit(127)


def read_output(path: str) -> bytes:
    """A command's output, cut at a limit that is far above any sane test."""
    with open(path, "rb") as file:
        data = file.read(OUTPUT_LIMIT_BYTES)
        if file.read(1):
            data += b"\n[agent: output cut here]\n"
    return data


def add_bytes(reply: dict[str, Any], key: str, data: bytes) -> None:
    """Text as text; anything else in base64 under another name."""
    try:
        reply[key] = data.decode()
    except UnicodeDecodeError:
        reply[key + "_base64"] = binascii.b2a_base64(data, newline=False).decode()


def kernel_stack(pid: int) -> str:
    """Where a process sits that cannot be killed."""
    try:
        with open(f"/proc/{pid}/stack") as file:
            return file.read()
    except OSError as error:
        return f"stack of {pid} not readable: {error}"


def read_kmsg(after: int) -> list[str]:
    """Kernel log records with a sequence number above the given one, raw."""
    records: list[str] = []
    descriptor = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    try:
        while True:
            try:
                record = os.read(descriptor, 8192).decode(errors="replace")
            except BlockingIOError:
                return records
            except BrokenPipeError:  # overwritten while we read: go on behind
                continue
            if int(record.split(",", 2)[1]) > after:
                records.append(record.rstrip("\n"))
    finally:
        os.close(descriptor)


def read_file(request: dict[str, Any]) -> str:
    """The content of a file."""
    with open(request["path"], "rb") as file:
        return file.read().decode(errors="surrogateescape")


def read_folder(request: dict[str, Any]) -> dict[str, str]:
    """Contents of the files in a folder; what cannot be read is left out."""
    contents = {}
    for name in sorted(os.listdir(request["path"])):
        try:
            contents[name] = read_file({"path": f"{request['path']}/{name}"})
        except OSError:
            continue
    return contents


def write_file(request: dict[str, Any]) -> None:
    """Write a text with one call, as files of the kernel want it."""
    descriptor = os.open(request["path"], os.O_WRONLY | os.O_TRUNC)
    try:
        os.write(descriptor, request["text"].encode())
    finally:
        os.close(descriptor)


def touch_file(request: dict[str, Any]) -> None:
    """Have a file of this name."""
    os.close(os.open(request["path"], os.O_WRONLY | os.O_CREAT, 0o600))


def remove_file(request: dict[str, Any]) -> None:
    """Remove a file."""
    os.unlink(request["path"])


def list_folder(request: dict[str, Any]) -> list[str]:
    """Names in a folder, in order."""
    return sorted(os.listdir(request["path"]))


def resolve(request: dict[str, Any]) -> str:
    """A path without symbolic links."""
    return str(os.path.realpath(request["path"], strict=True))


FILES = {
    "read": read_file,
    "read_folder": read_folder,
    "write": write_file,
    "touch": touch_file,
    "remove": remove_file,
    "list": list_folder,
    "resolve": resolve,
}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """What a file says, or why it does not."""
    try:
        return {"id": request["id"], "value": FILES[request["op"]](request)}
    except OSError as error:
        return {"id": request["id"], "errno": error.errno}


def end_machine(code: int) -> None:
    """Leave QEMU with exit status (code << 1) | 1, or else by power off."""
    try:
        descriptor = os.open("/dev/port", os.O_WRONLY)
        os.lseek(descriptor, EXIT_PORT, os.SEEK_SET)
        os.write(descriptor, bytes([code]))
    except OSError:
        with open("/proc/sysrq-trigger", "w") as trigger:
            trigger.write("o")


class Agent:
    """The loop between the port and the processes."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.jobs: dict[int, Job] = {}
        self.pending = b""

    def send(self, reply: dict[str, Any]) -> None:
        """Write one line; the host always reads, so this may block."""
        data = json.dumps(reply).encode() + b"\n"
        while data:
            data = data[os.write(self.port, data) :]

    def serve(self, request: dict[str, Any]) -> None:
        """Carry out one request."""
        kind = request["op"]
        if kind == "run":
            job = Job(request)
            self.jobs[job.pid] = job
        elif kind == "kill":
            killed = [job.kill(request["signal"]) for job in self.jobs.values() if job.id == request["job"]]
            self.send({"id": request["id"], "killed": any(killed)})
        elif kind == "kmsg":
            self.send({"id": request["id"], "records": read_kmsg(request["after"])})
        elif kind in FILES:
            self.send(answer(request))
        elif kind == "exit":
            end_machine(request["code"])

    def receive(self) -> None:
        """Take what the host wrote and serve every complete line of it."""
        data = os.read(self.port, 1 << 16)
        if not data:  # the host has closed its end: nobody needs this guest
            end_machine(0)
        *lines, self.pending = (self.pending + data).split(b"\n")
        for line in lines:
            self.serve(json.loads(line))

    def reap(self) -> None:
        """Collect dead children, ours and those that init inherits."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            job = self.jobs.pop(pid, None)
            if job:
                self.send(job.report(status))

    def expire(self) -> float | None:
        """Act on every job whose time is up; return the time to the next."""
        for job in [job for job in self.jobs.values() if job.deadline <= time.monotonic()]:
            reply = job.expire()
            if reply:
                del self.jobs[job.pid]
                self.send(reply)
        deadlines = [job.deadline for job in self.jobs.values()]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def loop(self, wakeup: int) -> None:
        """For ever: children, deadlines, requests."""
        while True:
            self.reap()
            ready, _, _ = select.select([self.port, wakeup], [], [], self.expire())
            if wakeup in ready:
                os.read(wakeup, 512)
            if self.port in ready:
                self.receive()


def find_port() -> str:
    """The device node of our port, which appears when its driver has probed."""
    folder = "/sys/class/virtio-ports"
    while True:
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            with open(f"{folder}/{name}/name") as file:
                if file.read().strip() == PORT_NAME:
                    return f"/dev/{name}"
        time.sleep(0.05)


def main() -> None:
    """Take the port, tell the host that we are here, serve."""
    reader, writer = os.pipe()
    for descriptor in (reader, writer):
        os.set_blocking(descriptor, False)
    signal.set_wakeup_fd(writer)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    agent = Agent(os.open(find_port(), os.O_RDWR))
    agent.send({"id": 0, "release": os.uname().release, "uptime_s": time.monotonic()})
    agent.loop(reader)


main()
