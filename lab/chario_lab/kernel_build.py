# SPDX-License-Identifier: MIT
"""The kernels that the lab builds itself, from Debian's source.

"debug" has every checker that fits, "kcsan" looks for data races, "gcov" counts
which lines of the module run.  lab/kernels/base.config says what a guest needs,
NAME.config what each kernel adds; they go on top of tinyconfig, so that the
build takes 25 minutes of processor time with the checkers and 10 without,
instead of hours.  It happens once for a source, a configuration and a
compiler; ccache keeps the objects, so that a change of the configuration
compiles only what it touches.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from chario_lab.cache import cache_dir, keep, say
from chario_lab.packages import unpack_first

SOURCE = "linux-source-6.12"
SUITES = ("bookworm", "bookworm-backports", "trixie")
FRAGMENTS = Path(__file__).resolve().parents[1] / "kernels"
REPORT_EVERY_S = 30
NICENESS = 15
CCACHE_LIMIT = "2G"
ERROR_LINES = 15


class BuildError(Exception):
    """The kernel cannot be built; the message says why."""


@dataclass(frozen=True)
class Recipe:
    """A kernel to build: its name, its fragments, and about how many files it compiles (for the progress bar)."""

    name: str
    files: tuple[str, ...]
    steps: int

    @property
    def title(self) -> str:
        """The kernel's name in messages."""
        return f"the {self.name} kernel"

    @property
    def fragments(self) -> tuple[Path, ...]:
        """The configuration's files; an option of a later file replaces that of an earlier one."""
        return tuple(FRAGMENTS / name for name in self.files)


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("debug", ("base.config", "debug.config"), 1550),
        Recipe("kcsan", ("base.config", "kcsan.config"), 1450),
        Recipe("gcov", ("base.config", "gcov.config"), 1450),
    )
}


@dataclass(frozen=True)
class Tree:
    """A kernel's source, where it is built, and the log of that."""

    recipe: Recipe
    folder: Path
    log: Path

    def make(self, *words: str) -> None:
        """Run make for something quick."""
        self.run(["make", *words])

    def run(self, command: Sequence[str], on_line: Callable[[str], None] = lambda line: None) -> None:
        """Run a command in the tree; its last words become the error."""
        tail: list[str] = []
        with self.log.open("a") as log, start(command, self.folder) as process:
            for line in process.stdout or ():
                log.write(line)
                tail = [*tail[-ERROR_LINES:], line.rstrip()]
                on_line(line)
        if process.returncode:
            words = "\n".join(tail)
            raise BuildError(f"{self.recipe.title}: {' '.join(command)} failed (all of it is in {self.log}):\n{words}")


def get_source() -> Path:
    """The package with the kernel's source, fetched unless the cache has it."""
    return unpack_first([SOURCE], SUITES)


def build_kernel(recipe: Recipe) -> tuple[Path, str]:
    """The kernel's folder, with boot/, lib/modules/ and build/, and its release."""
    source = get_source()
    target = cache_dir() / "kernels" / f"{recipe.name}-{digest(recipe, source)}"
    keep(target, recipe.title, lambda folder: build(recipe, folder, source))
    return target, (target / "build/include/config/kernel.release").read_text().strip()


def is_built(recipe: Recipe) -> bool:
    """Whether the cache has a kernel of this recipe; it may be of an older one."""
    return any((cache_dir() / "kernels").glob(f"{recipe.name}-*/boot"))


def digest(recipe: Recipe, source: Path) -> str:
    """Hash of all that decides what comes out."""
    state = hashlib.sha256()
    for path in (source / "usr/share/doc" / SOURCE / "changelog.Debian.gz", *recipe.fragments):
        state.update(path.read_bytes())
    compiler = shutil.which("gcc")
    if compiler is None:
        raise BuildError("gcc is missing: run scripts/setup.sh as root")
    state.update(subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout)
    return state.hexdigest()[:12]


def build(recipe: Recipe, folder: Path, source: Path) -> None:
    """Fill a folder with the kernel; the tree it is built in is left out."""
    log = cache_dir() / "kernels" / f"{recipe.name}-build.log"
    log.write_text("")
    say(f"building {recipe.title}, once; its log is {log}")
    scratch = folder / "tree"
    scratch.mkdir()
    archive = source / "usr/src" / f"{SOURCE}.tar.xz"
    tree = Tree(recipe, scratch, log)
    tree.run(["tar", "-xJf", str(archive), "--strip-components=1"])
    configure(tree)
    compile_kernel(tree)
    install(tree, folder)
    shutil.rmtree(scratch)


def configure(tree: Tree) -> None:
    """tinyconfig and the fragments; each of their lines must have its way."""
    tree.make("tinyconfig")
    fragments = tree.recipe.fragments
    tree.run(["scripts/kconfig/merge_config.sh", "-m", ".config", *map(str, fragments)])
    tree.make("olddefconfig")
    wanted = {key: value for path in fragments for key, value in parse_config(path.read_text()).items()}
    refused = refused_options(wanted, parse_config((tree.folder / ".config").read_text()))
    if refused:
        raise BuildError(f"{tree.recipe.title}: these options of lab/kernels did not take: " + ", ".join(refused))


def parse_config(text: str) -> dict[str, str]:
    """Options and their values; those that are not set are left out."""
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition("=") for line in lines if line.startswith("CONFIG_"))
    return {key: value for key, _, value in pairs}


def refused_options(wanted: dict[str, str], got: dict[str, str]) -> list[str]:
    """Lines of a fragment that the configuration does not honour."""
    return [f"{key}={value}" for key, value in wanted.items() if got.get(key, "n") != value]


def compile_kernel(tree: Tree) -> None:
    """Compile image and modules, and show how far it is."""
    with show_progress(tree.recipe) as step:
        jobs = f"-j{os.cpu_count() or 1}"
        tree.run(
            ["nice", "-n", str(NICENESS), "make", jobs, "bzImage", "modules"],
            lambda line: step() if line.startswith("  CC ") else None,
        )


@contextmanager
def show_progress(recipe: Recipe) -> Iterator[Callable[[], None]]:
    """One updated line on a terminal, else a line every half minute."""
    if sys.stderr.isatty():
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:.0f} %"))
        with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as progress:
            task = progress.add_task(f"{recipe.name} kernel", total=recipe.steps)
            yield lambda: progress.advance(task)
        return
    begin = said = time.monotonic()
    done = 0

    def step() -> None:
        nonlocal done, said
        done += 1
        now = time.monotonic()
        if now - said >= REPORT_EVERY_S:
            said = now
            say(f"{recipe.name} kernel: {done} of about {recipe.steps} files after {now - begin:.0f} s")

    yield step


def install(tree: Tree, folder: Path) -> None:
    """What is needed to boot the kernel, and to build modules for it."""
    release = (tree.folder / "include/config/kernel.release").read_text().strip()
    (folder / "boot").mkdir()
    shutil.copy2(tree.folder / "arch/x86/boot/bzImage", folder / f"boot/vmlinuz-{release}")
    shutil.copy2(tree.folder / "System.map", folder / f"boot/System.map-{release}")
    shutil.copy2(tree.folder / ".config", folder / f"boot/config-{release}")
    tree.make("modules_install", f"INSTALL_MOD_PATH={folder}")
    script = f"$(srctree)/scripts/package/install-extmod-build {folder / 'build'}"
    tree.make("run-command", f"KBUILD_RUN_COMMAND=+{script}")
    link = folder / "lib/modules" / release / "build"
    link.unlink(missing_ok=True)
    link.symlink_to("../../../build")


@contextmanager
def start(command: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that does not outlive the block."""
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except FileNotFoundError:
        raise BuildError(f"{command[0]} is missing: run scripts/setup.sh as root") from None
    with process:
        try:
            yield process
        except BaseException:
            process.terminate()
            raise


def environment() -> dict[str, str]:
    """The same for every build, so that ccache finds what an earlier one made."""
    kept = {key: value for key, value in os.environ.items() if key not in {"MAKEFLAGS", "MFLAGS", "MAKELEVEL"}}
    return kept | {
        "PATH": f"/usr/lib/ccache:{os.environ.get('PATH', os.defpath)}",
        "CCACHE_DIR": str(cache_dir() / "ccache"),
        "CCACHE_MAXSIZE": CCACHE_LIMIT,
        "KBUILD_BUILD_TIMESTAMP": "1970-01-01",
        "KBUILD_BUILD_USER": "chario",
        "KBUILD_BUILD_HOST": "lab",
        "KBUILD_BUILD_VERSION": "1",
        "LC_ALL": "C",
    }
