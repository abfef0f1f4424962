# SPDX-License-Identifier: MIT
"""Debian packages of any suite, unpacked into the cache and not installed.

    unpack(["qemu-system-x86"], "bookworm-backports") -> folder with usr/, ...

apt does the work, in a state folder of its own, so the machine's package lists
and its dpkg database stay as they are.  Where the archive is, which keys sign
it and which proxy leads to it is taken from the machine's own apt
configuration; apt checks signatures and hashes as it always does.
"""

import hashlib
import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from chario_lab.cache import cache_dir, keep, locked, say

SOURCES_DIR = Path("/etc/apt")
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
CODENAMES = ("bullseye", "bookworm", "trixie", "forky")
ALIASES = ("oldoldstable", "oldstable", "stable", "testing", "unstable", "sid")
ATTEMPTS = 3
# tar has a line for each of thousands of files that do not fit.
COMPLAINT_LINES = 8


class PackageError(Exception):
    """Packages cannot be had; the message says why and what to do."""


@dataclass(frozen=True)
class Source:
    """One line or stanza of apt's configuration."""

    uri: str
    suites: tuple[str, ...]
    components: tuple[str, ...]
    signed_by: str


@dataclass(frozen=True)
class Mirror:
    """Where this machine gets Debian from; no security archive is an empty name."""

    archive: str
    security: str
    signed_by: str


def unpack(names: Sequence[str], suite: str) -> Path:
    """A folder with the content of these packages, newest version of the suite.

    A name may pin a version: "linux-source-6.12=6.12.95-1~bpo12+1".  What was
    unpacked once is used again; remove the folder to get newer versions.
    """
    wanted = sorted(set(names))
    target = folder_of(wanted, suite)
    return keep(target, f"{wanted[0]} of Debian {suite}", lambda folder: fill(folder, wanted, suite))


def unpack_first(names: Sequence[str], suites: Sequence[str]) -> Path:
    """The same from the first suite that has the packages, or that was used before."""
    for suite in suites:
        if (folder := folder_of(sorted(set(names)), suite)).is_dir():
            return folder
    complaints = []
    for suite in suites:
        try:
            return unpack(names, suite)
        except PackageError as error:
            complaints.append(str(error))
    raise PackageError("\n".join(complaints))


def folder_of(names: Sequence[str], suite: str) -> Path:
    """Where packages are unpacked, named by what was asked for."""
    digest = hashlib.sha256("\n".join([suite, *names]).encode()).hexdigest()[:12]
    return cache_dir() / "packages" / f"{re.sub(r'[^a-z0-9.+-]', '-', names[0])}-{digest}"


def fill(folder: Path, names: Sequence[str], suite: str) -> None:
    """Download the packages and unpack them into a folder."""
    apt = AptRoot(suite)
    apt.refresh()
    with tempfile.TemporaryDirectory(dir=folder.parent) as downloads:
        apt.download(names, Path(downloads))
        for package in sorted(Path(downloads).glob("*.deb")):
            run(["dpkg-deb", "-x", str(package), str(folder)], f"cannot unpack {package.name}")


class AptRoot:
    """apt with a state folder of its own for one suite, for packages or, with "deb-src", for their sources.

    A release ("bookworm") includes its updates and its security archive; any
    other suite ("bookworm-backports") stands for itself.
    """

    def __init__(self, suite: str, kind: str = "deb") -> None:
        self.suite = suite
        self.root = cache_dir() / "apt" / (suite if kind == "deb" else f"{suite}-source")
        for name in ("lists/partial", "cache/archives/partial", "empty"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        (self.root / "status").touch()
        (self.root / "sources.list").write_text(source_lines(find_mirror(), suite, kind))
        (self.root / "apt.conf").write_text(settings(self.root))

    def command(self, program: str, *words: str) -> list[str]:
        """A call of one of apt's programs; our settings come after the machine's."""
        return [program, "-c", str(self.root / "apt.conf"), *words]

    def refresh(self) -> None:
        """Fetch the suite's package lists, once in a run."""
        complaint = f"cannot get the package lists of Debian {self.suite}"
        with locked(self.root, f"the package lists of Debian {self.suite}"):
            if self.root not in _refreshed:
                retry(self.command("apt-get", "-qq", "--error-on=any", "update"), complaint)
                _refreshed.add(self.root)

    def names(self, prefix: str) -> list[str]:
        """Names of all packages that begin with this."""
        complaint = f"cannot read the package lists of Debian {self.suite}"
        return run(self.command("apt-cache", "pkgnames", prefix), complaint).split()

    def show(self, names: Sequence[str]) -> str:
        """What the lists say of packages."""
        complaint = f"Debian {self.suite} has no {' or no '.join(names)}"
        return run(self.command("apt-cache", "show", "--no-all-versions", *names), complaint)

    def depends(self, name: str) -> list[str]:
        """Names of the packages that a package needs directly."""
        line = next((line for line in self.show([name]).splitlines() if line.startswith("Depends:")), "Depends:")
        return [item.split()[0] for item in line.removeprefix("Depends:").split(",") if item.strip()]

    def download(self, names: Sequence[str], folder: Path) -> None:
        """Fetch the .deb files into a folder, checked by apt."""
        size = sum(int(number) for number in re.findall(r"^Size: (\d+)$", self.show(names), re.MULTILINE))
        say(f"downloading {', '.join(names)} of Debian {self.suite}, {size / 1e6:.1f} MB")
        complaint = f"cannot download {', '.join(names)} of Debian {self.suite}"
        retry(self.command("apt-get", "-qq", "download", *names), complaint, cwd=folder)

    def download_source(self, name: str, folder: Path) -> None:
        """Fetch the files of a source package into a folder, checked by apt."""
        say(f"downloading the source of {name} of Debian {self.suite}")
        complaint = f"cannot download the source of {name} of Debian {self.suite}"
        retry(self.command("apt-get", "-qq", "source", "--download-only", name), complaint, cwd=folder)


_refreshed: set[Path] = set()


def settings(root: Path) -> str:
    """What points apt to a folder; all else stays as the machine has it."""
    values = {
        "Dir::State": root,
        "Dir::State::Lists": root / "lists",
        "Dir::State::status": root / "status",
        "Dir::Cache": root / "cache",
        "Dir::Etc::sourcelist": root / "sources.list",
        "Dir::Etc::sourceparts": root / "empty",
        "Dir::Etc::preferences": root / "none",
        "Dir::Etc::preferencesparts": root / "empty",
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
        "Acquire::Retries": "3",
    }
    # What the machine does after an update is for its own lists.
    hooks = "".join(f"#clear APT::Update::{name};\n" for name in ("Pre-Invoke", "Post-Invoke", "Post-Invoke-Success"))
    return "".join(f'{key} "{value}";\n' for key, value in values.items()) + hooks


@cache
def find_mirror() -> Mirror:
    """The Debian archive that this machine is set up for."""
    files = [SOURCES_DIR / "sources.list", *sorted((SOURCES_DIR / "sources.list.d").glob("*"))]
    sources: list[Source] = []
    for path in files:
        if path.suffix == ".sources" and path.is_file():
            sources += parse_deb822(path.read_text())
        elif path.suffix == ".list" and path.is_file():
            sources += parse_lines(path.read_text())
    return choose_mirror(sources)


def choose_mirror(sources: Iterable[Source]) -> Mirror:
    """The archives among all sources; other publishers' are passed over."""
    archive = security = signed_by = ""
    for source in sources:
        if "main" not in source.components or (source.signed_by and "debian-archive" not in source.signed_by):
            continue
        releases = {suite.split("-")[0].split("/")[0] for suite in source.suites}
        if not releases & {*CODENAMES, *ALIASES}:
            continue
        if any(re.search(r"-security$|/updates$", suite) for suite in source.suites):
            security = security or source.uri
        else:
            archive = archive or source.uri
        signed_by = signed_by or source.signed_by
    if not archive:
        raise PackageError(
            "no Debian archive in /etc/apt/sources.list or /etc/apt/sources.list.d: "
            "the lab takes kernels and QEMU from Debian, so it needs a source line for it"
        )
    return Mirror(archive, security, signed_by or (str(KEYRING) if KEYRING.exists() else ""))


def parse_lines(text: str) -> list[Source]:
    """Sources of a .list file: deb [options] uri suite component..."""
    sources = []
    for line in text.splitlines():
        match = re.match(r"\s*deb\s+(?:\[([^]]*)\]\s*)?(\S+)\s+(\S+)([^#]*)", line)
        if match:
            options = dict(item.partition("=")[::2] for item in (match[1] or "").split())
            signed_by = options.get("signed-by", "").split(",")[0]
            sources.append(Source(match[2], (match[3],), tuple(match[4].split()), signed_by))
    return sources


def parse_deb822(text: str) -> list[Source]:
    """Sources of a .sources file: stanzas of fields."""
    sources = []
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for stanza in re.split(r"\n\s*\n", "\n".join(lines)):
        pairs = re.findall(r"^([A-Za-z-]+):[ \t]*(.*(?:\n[ \t]+.*)*)", stanza, re.MULTILINE)
        fields = {key.lower(): value.split() for key, value in pairs}
        if "deb" not in fields.get("types", []) or fields.get("enabled") == ["no"]:
            continue
        signed_by = next(iter(fields.get("signed-by", [])), "")
        for uri in fields.get("uris", []):
            suites, components = fields.get("suites", []), fields.get("components", [])
            sources.append(Source(uri, tuple(suites), tuple(components), signed_by))
    return sources


def source_lines(mirror: Mirror, suite: str, kind: str = "deb") -> str:
    """The sources.list for one suite, of packages or with "deb-src" of their sources."""
    suites = [(mirror.archive, suite)]
    if suite in CODENAMES:
        suites.append((mirror.archive, f"{suite}-updates"))
        if mirror.security:
            suites.append((mirror.security, f"{suite}-security"))
    signed_by = f"[signed-by={mirror.signed_by}] " if mirror.signed_by.startswith("/") else ""
    return "".join(f"{kind} {signed_by}{uri} {name} main\n" for uri, name in suites)


def retry(command: Sequence[str], complaint: str, cwd: Path | None = None) -> None:
    """Run a command that needs the network, more than once if need be."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            run(command, complaint, cwd)
            return
        except PackageError as error:
            if attempt == ATTEMPTS:
                raise PackageError(f"{error}\nCheck the network, and that apt-get update works here.") from None


def run(command: Sequence[str], complaint: str, cwd: Path | None = None) -> str:
    """The output of a command; its own words become the error."""
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise PackageError(f"{complaint}: {command[0]} is missing, and the lab needs a Debian host") from None
    if done.returncode:
        detail = done.stderr.strip() or done.stdout.strip() or f"{command[0]} ended with {done.returncode}"
        raise PackageError(f"{complaint}:\n" + "\n".join(detail.splitlines()[-COMPLAINT_LINES:]))
    return done.stdout
