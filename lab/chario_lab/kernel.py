# SPDX-License-Identifier: MIT
"""Kernels for guests, and chario.ko built for them.

    get_kernel("6.1")  ->  Kernel: image, modules, and the folder to build against
    build_module(kernel, Path("kernel"))  ->  chario.ko

"6.1", "6.12" and "6.12-rt" are Debian's own, unpacked; "debug", "kcsan" and
"gcov" are built here from Debian's source (see kernel_build.py).  A kernel that is in the
cache stays the same until it is asked for afresh:

    PYTHONPATH=lab python -m chario_lab.kernel --all            fetch or build, print as JSON
    PYTHONPATH=lab python -m chario_lab.kernel --refresh 6.1    look for a newer one
    PYTHONPATH=lab python -m chario_lab.kernel --build kernel 6.1    build the module, and say what was found in it
"""

import argparse
import dataclasses
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chario_lab.cache import cache_dir, drop_unused, guarded, keep, locked, say, use
from chario_lab.kernel_build import RECIPES, build_kernel
from chario_lab.packages import AptRoot, PackageError, run, unpack


class KernelError(Exception):
    """No such kernel, or a build that failed; the message says what to do."""


@dataclass(frozen=True)
class Kernel:
    """A kernel that a guest can boot and a module can be built for."""

    name: str
    release: str
    vmlinuz: Path
    modules: Path
    build: Path
    debug: bool


@dataclass(frozen=True)
class Series:
    """Where the newest kernel of a series is looked for, best suite first."""

    pattern: str
    flavour: str
    suites: tuple[str, ...]


# Debian 12 has 6.12 in its security archive, and had it in its backports before.
# Debian 13's own 6.12 needs the compiler of Debian 13, so it comes last.
NEWER = ("bookworm", "bookworm-backports", "trixie")
SERIES = {
    "6.1": Series(r"6\.1\.0-\d+", "amd64", ("bookworm",)),
    "6.12": Series(r"6\.12\.\d+\+deb\d+(?:\.\d+)?", "amd64", NEWER),
    "6.12-rt": Series(r"6\.12\.\d+\+deb\d+(?:\.\d+)?", "rt-amd64", NEWER),
}
DEBUG = "debug"
KCSAN = "kcsan"
GCOV = "gcov"
NAMES = (*SERIES, *RECIPES)
MODULES_KEPT_DAYS = 7
# Of the compiler and of sparse; each is a finding of scripts/check.sh.
CHECKS = ("W=1", "C=2", "CF=-D__CHECK_ENDIAN__")
FINDING = re.compile(r"\b(?:warning|error):")
FINDINGS = "findings"
# Of a surrounding make, or set by a user: they would change what make, compilers and pytest do.
CHANGING = {
    "MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "MAKELEVEL", "KCFLAGS", "KCPPFLAGS", "CFLAGS", "CPPFLAGS", "LDFLAGS",
    "PYTEST_ADDOPTS",
}  # fmt: skip


def get_kernel(name: str) -> Kernel:
    """A kernel by name, fetched or built unless the cache has it."""
    if name not in NAMES:
        raise KernelError(f"no kernel is called {name!r}: the lab has {', '.join(NAMES)}")
    if name in RECIPES:
        return get_built_kernel(name)
    record = cache_dir() / "kernels" / f"{name}.json"
    with locked(record, f"kernel {name}"):
        kernel = read_record(record)
        if kernel is None:
            kernel = fetch(name, SERIES[name])
            write_record(record, kernel)
    return kernel


def get_built_kernel(name: str) -> Kernel:
    """A kernel that is built here, unless the cache has it."""
    folder, release = build_kernel(RECIPES[name])
    return Kernel(
        name=name,
        release=release,
        vmlinuz=folder / f"boot/vmlinuz-{release}",
        modules=folder / "lib/modules" / release,
        build=folder / "build",
        debug=name == DEBUG,
    )


def read_record(record: Path) -> Kernel | None:
    """The kernel that was chosen earlier, if it is still there."""
    try:
        fields = json.loads(record.read_text())
        kernel = Kernel(**{**fields, **{key: Path(fields[key]) for key in ("vmlinuz", "modules", "build")}})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return kernel if kernel.vmlinuz.exists() and kernel.build.is_dir() else None


def write_record(record: Path, kernel: Kernel) -> None:
    """Remember the choice; the file appears whole."""
    partial = record.with_suffix(f".{os.getpid()}")
    partial.write_text(to_json(kernel))
    partial.replace(record)


def to_json(kernel: Kernel) -> str:
    """A kernel for other programs to read."""
    return json.dumps(dataclasses.asdict(kernel), default=str, indent=2) + "\n"


def fetch(name: str, series: Series) -> Kernel:
    """The newest kernel of a series that has both an image and headers."""
    complaints = []
    for suite in series.suites:
        try:
            apt = AptRoot(suite)
            apt.refresh()
            release = newest(series, apt.names("linux-image-6"), apt.names("linux-headers-6"))
        except PackageError as error:
            complaints.append(str(error))
            continue
        if release is None:
            complaints.append(f"Debian {suite} has no {series.flavour} image of {name} with headers")
            continue
        if suite != series.suites[0]:
            say(f"kernel {name}: taking {release} of Debian {suite}, because " + "; ".join(complaints))
        headers = f"linux-headers-{release}"
        parts = [part for part in apt.depends(headers) if re.match(r"linux-(headers|kbuild)-", part)]
        folder = unpack([f"linux-image-{release}", headers, *parts], suite)
        return assemble(name, release, folder)
    raise KernelError(f"kernel {name} cannot be had:\n" + "\n".join(complaints))


def newest(series: Series, images: Sequence[str], headers: Sequence[str]) -> str | None:
    """The highest release that is in both lists."""
    form = re.compile(rf"(?:linux-(?:image|headers)-)({series.pattern}-{series.flavour})")
    found = [{match[1] for package in packages if (match := form.fullmatch(package))} for packages in (images, headers)]
    # By its numbers 6.1.0-9 is older than 6.1.0-50.
    return max(found[0] & found[1], key=lambda release: list(map(int, re.findall(r"\d+", release))), default=None)


def assemble(name: str, release: str, packages: Path) -> Kernel:
    """A folder that works as if the packages were installed.

    The packages' own makefiles name /usr/src, so they are pointed to where
    they are now; the files are linked, not copied.
    """
    target = cache_dir() / "kernels" / release

    def make(folder: Path) -> None:
        shutil.copytree(packages, folder, symlinks=True, copy_function=os.link, dirs_exist_ok=True)
        relocate(folder / "usr/src", target / "usr/src")
        modules = folder / "lib/modules" / release
        for link in ("build", "source"):
            (modules / link).unlink(missing_ok=True)
        (modules / "build").symlink_to(Path("../../../usr/src") / f"linux-headers-{release}")
        # Without root, /usr/sbin may not be searched.
        depmod = shutil.which("depmod", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin")
        if depmod is None:
            raise KernelError("depmod is missing: run scripts/setup.sh as root")
        run([depmod, "-b", str(folder), release], f"cannot list the modules of {release}")

    keep(target, f"kernel {release}", make)
    return Kernel(
        name=name,
        release=release,
        vmlinuz=target / f"boot/vmlinuz-{release}",
        modules=target / "lib/modules" / release,
        build=target / f"usr/src/linux-headers-{release}",
        debug=False,
    )


def relocate(sources: Path, target: Path) -> None:
    """Replace /usr/src in the header packages' makefiles by where they will be."""
    for makefile in sources.glob("linux-headers-*/Makefile"):
        text = makefile.read_text()
        moved = re.sub(r"(include |KBUILD_OUTPUT=)/usr/src(?=/)", lambda match: f"{match[1]}{target}", text)
        if moved != text:
            makefile.unlink()
            makefile.write_text(moved)


def build_module(
    kernel: Kernel, source: Path, name: str = "chario", again: bool = False, workshop: Path | None = None
) -> Path:
    """NAME.ko of a source folder for a kernel, built with all warnings and with sparse.

    The folder is copied to the cache first, so neither the checkout nor another
    kernel's build gets in the way; what was built from the same source for the
    same kernel by the same compiler is used again, unless it is to be built
    `again`.  What compiler and sparse found stands beside it, see findings().
    A caller that builds many sources which differ little gives a folder, the
    `workshop`: what has not changed there is not compiled again, and nothing is
    looked for.
    """
    if not (source / "Kbuild").is_file():
        raise KernelError(f"{source} has no Kbuild file: it is not the folder of a module")
    # Read once: what is built is what the name of the result says, whatever is edited meanwhile.
    files = {path.relative_to(source): path.read_bytes() for path in source_files(source)}
    tools = f"{compiler_of(kernel)}\n{version_of_sparse()}"
    digest = hashlib.sha256(f"{kernel.build}\n{tools}\n{CHECKS}\n{workshop is None}\n".encode())
    for path, content in files.items():
        digest.update(f"{path}\n".encode() + hashlib.sha256(content).digest())
    target = cache_dir() / "modules" / f"{kernel.release}-{digest.hexdigest()[:16]}"
    module = f"{name}.ko"

    def make(folder: Path) -> None:
        for path, content in files.items():
            write_changed((workshop or folder) / path, content)
        options = [*(() if workshop else CHECKS), *(profiling(folder, target) if kernel.name == GCOV else ())]
        found = run_make(kernel, workshop or folder, source.name, module, options)
        if workshop:
            shutil.copyfile(workshop / module, folder / module)
        (folder / FINDINGS).write_text(found)

    keep(target, f"{module} for {kernel.release}", make, again)
    use(target)
    drop_unused(target.parent, MODULES_KEPT_DAYS)
    return target / module


def profiling(folder: Path, target: Path) -> list[str]:
    """Options of make for a module that counts, and whose notes name the sources where they will be."""
    return ["GCOV_PROFILE=y", f"KCFLAGS=-fprofile-prefix-map={folder}={target}"]


def update(source: Path, target: Path) -> None:
    """Make a copy of a file, unless it is one already."""
    write_changed(target, source.read_bytes())
    shutil.copymode(source, target)


def write_changed(target: Path, content: bytes) -> None:
    """Write a file unless it has this content: what is built of it is then still good."""
    if target.is_file() and target.read_bytes() == content:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def source_files(source: Path) -> list[Path]:
    """What the build reads: not the remains of a build in place."""
    kinds = {".c", ".h", ".S"}
    names = {"Kbuild", "Makefile", "Kconfig"}
    found = (path for path in source.rglob("*") if path.suffix in kinds or path.name in names)
    return sorted(path for path in found if path.is_file() and not path.name.endswith(".mod.c"))


def findings(module: Path) -> str:
    """What compiler and sparse said of a module that was built; empty where they had nothing to say."""
    return (module.parent / FINDINGS).read_text()


def run_make(kernel: Kernel, folder: Path, label: str, module: str, options: Sequence[str]) -> str:
    """Build the module in its folder; what was found in it. The compiler's errors become ours."""
    command = ["make", "-C", str(kernel.build), f"M={folder}", f"-j{os.cpu_count() or 1}", *options, "modules"]
    say(f"building {module} for {kernel.release}")
    try:
        done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise KernelError("make is missing: run scripts/setup.sh as root") from None
    if done.returncode or not (folder / module).exists():
        words = done.stderr.strip().replace(f"{folder}/", f"{label}/") or done.stdout.strip()[-2000:]
        raise KernelError(f"{module} does not build for {kernel.release}:\n{words}")
    lines = (line.replace(f"{folder}/", f"{label}/") for line in f"{done.stdout}\n{done.stderr}".splitlines())
    # The host's compiler may be newer than that of the kernel's package.
    found = [line for line in lines if FINDING.search(line) and "the compiler differs" not in line]
    return "".join(f"{line}\n" for line in found)


def clean_environment() -> dict[str, str]:
    """The environment without what would change what make and the compiler do."""
    return {key: value for key, value in os.environ.items() if key not in CHANGING}


def compiler_of(kernel: Kernel) -> str:
    """First line of the version of the compiler that this kernel is built with."""
    variables = kernel.build / ".kernelvariables"
    match = re.search(r"gcc-\d+", variables.read_text()) if variables.exists() else None
    program = match[0] if match else "gcc"
    if shutil.which(program) is None:
        raise KernelError(f"modules for {kernel.release} need {program}: apt-get install {program}")
    return run([program, "--version"], f"{program} does not run").splitlines()[0]


def version_of_sparse() -> str:
    """What sparse calls itself."""
    if shutil.which("sparse") is None:
        raise KernelError("sparse is missing, which looks at modules as they are built: run scripts/setup.sh as root")
    return run(["sparse", "--version"], "sparse does not run").strip()


def main() -> int:
    """Print kernels as JSON, one after the other, or build a module for them."""
    parser = argparse.ArgumentParser(prog="chario_lab.kernel", description="Fetch or build kernels for guests.")
    parser.add_argument("name", nargs="*", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--all", action="store_true", help="every kernel of the lab")
    parser.add_argument("--refresh", action="store_true", help="look for a newer one first")
    parser.add_argument("--build", metavar="FOLDER", type=Path, help="build the module of this folder instead")
    parser.add_argument("--again", action="store_true", help="with --build: also where it is built already")
    options = parser.parse_args()
    if not options.all and not options.name:
        parser.error("name a kernel, or say --all")
    return guarded(lambda: handle(options))


def handle(options: argparse.Namespace) -> int:
    """Do what the options say with each kernel; 1 where something was found in a module."""
    sound = True
    for name in NAMES if options.all else options.name:
        if options.refresh:
            forget(name)
        kernel = get_kernel(name)
        if options.build is None:
            sys.stdout.write(to_json(kernel))
            continue
        found = findings(build_module(kernel, options.build.resolve(), again=options.again))
        sys.stdout.write(f"Linux {kernel.release}:\n{found}" if found else "")
        sound = sound and not found
    return 0 if sound else 1


def forget(name: str) -> None:
    """Let the next look-up choose anew."""
    (cache_dir() / "kernels" / f"{name}.json").unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
