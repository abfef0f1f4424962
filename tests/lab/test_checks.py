# SPDX-License-Identifier: MIT
"""Every static check fails on a planted mistake and passes the same tree without it."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from chario_lab.testing.files import plant

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

MIT = "SPDX-License-Identifier: MIT"
STAGES = ["enter", "split", "map", "queue", "post", "doorbell", "irq", "reap", "unmap", "finish"]

GPL = "SPDX-License-Identifier: GPL-2.0-only"
# Files of the tree in which mistakes are planted.
ABI, PUBLIC, EXPORTED = "kernel/uapi/chario/uapi.h", "lib/include/chario.h", "lib/libchario.map"
DEVICE, SOURCE, PRIVATE = "lib/src/device/device.c", "lib/src/store/a.c", "lib/src/store/a.h"
TESTS = "tests/guest/calls/test_all.py"
LICENCES = {"kernel": GPL, "lib": "SPDX-License-Identifier: LGPL-2.1-or-later OR MIT"}
MARKS = {".c": "// {}\n", ".h": "/* {} */\n", ".map": "/* {} */\n", ".md": "<!-- {} -->\n", ".1": '.\\" {}\n'}


def licensed(path: str, text: str = "") -> str:
    """Returns the text behind the line with the licence of its folder."""
    return MARKS.get(Path(path).suffix, "# {}\n").format(LICENCES.get(path.partition("/")[0], MIT)) + text


UAPI = (
    "/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */\n"
    "enum chario_stage {\n" + "".join(f"\tCHARIO_STAGE_{stage.upper()},\n" for stage in STAGES) + "};\n"
)
TRACE = licensed("kernel/trace.h") + "".join(
    f"DEFINE_EVENT(chario_command, {stage}, TP_PROTO(int x), TP_ARGS(x));\n" for stage in STAGES
)
KBUILD = licensed("kernel/Kbuild", "obj-m := chario.o\nchario-y := main.o\n")
MODULE = f"""\
// {GPL}
/*
 * The smallest module.
 */
#include <linux/module.h>

MODULE_LICENSE("GPL");
"""
HEADER = licensed(PUBLIC, "/**\n * chario_nop() - do nothing\n */\nvoid chario_nop(void);\n")
MAP = licensed(EXPORTED, "CHARIO_0.1 {\nglobal:\n\tchario_nop;\nlocal:\n\t*;\n};\n")
PAGE = licensed("man/chario.1", ".TH CHARIO 1 2026-01-01 chario\n.SH NAME\nchario \\- character disks\n")
AREAS = f'''\
# {MIT}
"""Nothing."""

import pytest

pytestmark = pytest.mark.area("kernel/main", "kernel/trace", "kernel/uapi/", "kernel/types/", "kernel/disk/",
                              "kernel/front/", "kernel/back/", "kernel/Kbuild", "lib/src/", "cli/")  # fmt: skip
'''
EMPTY = (
    "kernel/disk/disk.h",
    "kernel/front/front.h",
    "kernel/back/back.h",
    "kernel/back/loopback/loopback.h",
    "kernel/disk/health.h",
    "lib/src/view/list.h",
)

# A tree in which every check passes.
HOUSE = {path: licensed(path) for path in EMPTY} | {
    "scripts/setup.sh": f'#!/bin/sh\n# {MIT}\necho "$PYTHON_OF_THE_LAB"\n',
    "kernel/Kbuild": KBUILD,
    "kernel/main.c": MODULE,
    "kernel/trace.h": TRACE,
    ABI: UAPI,
    "kernel/types/split.h": "/* SPDX-License-Identifier: GPL-2.0-only OR MIT */\n",
    "kernel/disk/health.c": licensed("kernel/disk/health.c", '#include "disk/disk.h"\n'),
    PUBLIC: HEADER,
    EXPORTED: MAP,
    "cli/main.c": licensed("cli/main.c", "#include <chario.h>\n\nint main(void)\n{\n\treturn 0;\n}\n"),
    "lab/one.py": licensed("lab/one.py", '"""Nothing."""\n'),
    "docs/architecture.md": licensed("docs/architecture.md", f"\nA request goes {' → '.join(STAGES)}.\n"),
    "man/chario.1": PAGE,
    TESTS: AREAS,
}


@dataclass(frozen=True)
class House:
    """A checkout in miniature, with the real scripts."""

    root: Path

    def plant(self, path: str, text: str) -> None:
        """Puts a tracked file into the tree, over what is there."""
        plant(self.root / path, text)
        subprocess.run(["git", "-C", str(self.root), "add", path], check=True)

    def check(self, *names: str) -> subprocess.CompletedProcess[str]:
        """Runs scripts/check.sh of the tree."""
        command = [str(self.root / "scripts/check.sh"), *names]
        return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    """A tree without mistakes."""
    monkeypatch.setenv("PYTHON_OF_THE_LAB", sys.prefix)
    # The tree has no lab of its own.
    monkeypatch.setenv("PYTHONPATH", str(SCRIPTS.parent / "lab"))
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    tree = House(tmp_path)
    for script in SCRIPTS.glob("check*"):
        tree.plant(f"scripts/{script.name}", script.read_text())
    for name in (".clang-format", ".checkpatch.conf", "lab/pyproject.toml"):
        tree.plant(name, (SCRIPTS.parent / name).read_text())
    for path, text in HOUSE.items():
        tree.plant(path, text)
    return tree


WITHOUT_IRQ = [stage for stage in STAGES if stage != "irq"]

# A file that includes one that it must not know: file, what it includes.
INCLUDES = {
    "a front end that knows a back end": ("kernel/front/char.c", '"back/back.h"'),
    "a back end that knows a front end": ("kernel/back/loopback/queue.c", '"../../front/front.h"'),
    "a queue that knows one back end": ("kernel/queue/queue.c", '"back/loopback/loopback.h"'),
    "a queue that knows the contract of a front end": ("kernel/queue/queue.c", '"front/front.h"'),
    "a folder of the module that knows one above it": ("kernel/memory/buffer.c", '"disk/disk.h"'),
    "a folder that has no place in the order": ("kernel/core/queue.c", '"disk/disk.h"'),
    "a back end that knows another": ("kernel/back/nvme/pci.c", '"back/loopback/loopback.h"'),
    "nouns of the module that include each other": ("kernel/disk/disk.h", '"disk/health.h"'),
    "a module that is not self-contained": ("kernel/queue/queue.c", '"../../lib/include/chario.h"'),
    "a library that looks into the module": (DEVICE, '"disk/disk.h"'),
    "a folder of the library that knows one above it": ("lib/src/store/lock.c", '"view/list.h"'),
    "a test that looks into the module by a search path": ("tests/unit/device.c", '"disk.h"'),
    "a program that knows the ABI": ("cli/cmd-list.c", "<chario/uapi.h>"),
    "a program that knows ioctls": ("cli/cmd-list.c", "<sys/ioctl.h>"),
    "a program that looks into the library": ("cli/cmd-list.c", '"../lib/include/chario.h"'),
    "a test that knows the ABI": ("tests/unit/test-info.c", "<chario/uapi.h>"),
}
# A file with a mistake behind the line of its licence: check, file, text.
LICENSED = {
    "a kernel version outside compat": ("compat", "kernel/memory/map.c", "#if LINUX_VERSION_CODE < 1\n#endif\n"),
    "a stage that is missing in a page": ("stages", "README.md", f"The stages are `{' '.join(WITHOUT_IRQ)}`.\n"),
    "a page on a request without its stages": ("stages", "docs/architecture.md", ""),
    "a source in no area": ("areas", "kernel/queue/new.c", "int f(void);\n"),
    "a file of tests without an area": ("areas", "tests/guest/calls/test_new.py", '"""Nothing."""\n'),
    "an endless file": ("house", DEVICE, "\n" * 600),
    "an endless function": ("house", DEVICE, "int f(void)\n{\n" + "\tg();\n" * 79 + "}\n"),
    "an endless Python function": ("house", "lab/two.py", "def f() -> None:\n" + "    print()\n" * 80),
    "work left for later": ("house", DEVICE, "// TO" + "DO: write it\n"),
    "a path of one machine": ("house", "Makefile", "dir := /home" + "/me/chario\n"),
    "a path that may become the controlling terminal": (
        "house",
        DEVICE,
        "int f(const char *path)\n{\n\treturn open(path, O_RDWR | O_CLOEXEC);\n}\n",
    ),
    "C that is not formatted": ("format", "cli/cmd-list.c", "int f(void) { return  0; }\n"),
    "Python that is not formatted": ("python", "lab/two.py", "x = ( 1 )\n"),
    "Python that is not used": ("python", "lab/two.py", "import os\n"),
    "Python without types": ("python", "lab/two.py", "\n\ndef f(x):\n    return x\n"),
    "a misspelling": ("spelling", "docs/index.md", "It is suc" + "cesful.\n"),
    "an argument without a description": (
        "kernel-doc",
        "kernel/disk/disk.h",
        "/**\n * f - does it\n */\nint f(int x);\n",
    ),
}
MISTAKES = {
    **{name: ("layers", path, licensed(path, f"#include {header}\n")) for name, (path, header) in INCLUDES.items()},
    **{name: (check, path, licensed(path, text)) for name, (check, path, text) in LICENSED.items()},
    "a stage that is missing in the ABI": ("stages", ABI, UAPI.replace("\tCHARIO_STAGE_IRQ,\n", "")),
    "stages of the ABI in another order": (
        "stages",
        ABI,
        UAPI.replace("_ENTER", "_X").replace("_SPLIT", "_ENTER").replace("_X", "_SPLIT"),
    ),
    "a stage without a tracepoint": ("stages", "kernel/trace.h", TRACE.replace("doorbell", "kick")),
    "an exported function without documentation": ("exports", PUBLIC, HEADER.replace("/**", "/*")),
    "a public function that is not exported": (
        "exports",
        PUBLIC,
        f"{HEADER}/**\n * chario_add() - add\n */\nint chario_add(int x);\n",
    ),
    "an export that no header declares": (
        "exports",
        EXPORTED,
        MAP.replace("\tchario_nop;", "\tchario_nop;\n\tchario_sub;"),
    ),
    "an area without a source": ("areas", TESTS, AREAS + 'X = pytest.mark.area("none/")\n'),
    "no licence": ("spdx", "docs/index.md", "# CharIO\n"),
    "a licence of another folder": ("spdx", DEVICE, f"// {MIT}\n"),
    "a shell script with a trap": ("shell", "scripts/x.sh", f"#!/bin/sh\n# {MIT}\nrm $1\n"),
    "a shell script without a suffix": ("shell", ".ci/run", f"#!/bin/sh\n# {MIT}\nrm $1\n"),
    "a broken manual page": ("man", "man/chario.1", PAGE + ".SH\n.nonsense\n"),
    "a module not in the kernel's style": ("checkpatch", "kernel/main.c", MODULE + "\nint  f( void );\n"),
    "a warning of the compiler": ("module", "kernel/main.c", MODULE + "\nstatic int unused(void)\n{\n\treturn 0;\n}\n"),
    "a warning of sparse": ("module", "kernel/main.c", MODULE + "\nint chario_leaks_into_the_kernel;\n"),
}


# Comments and documentation that a reader must decode: file, text, line of the finding.
DECODED = {
    "a clause in C": (SOURCE, "/* What is left of a block. */", 2),
    "a predicate without a verb": (SOURCE, "/* Whether a block is good. */", 2),
    "a clause that asks nothing": (SOURCE, "/* Who finds the array finds it full. */", 2),
    "a later sentence": (SOURCE, "/*\n * The array grows.\n * Whoever finds it\n * finds it full.\n */", 4),
    "a clause without a main clause": (SOURCE, "/* Where blocks of an area are. */", 2),
    "a pronoun": (SOURCE, "/* They stand between and have none. */", 2),
    "a possessive": (SOURCE, "// Its blocks have been written.", 2),
    "something that was said elsewhere": (SOURCE, "/* The same for the first time. */", 2),
    "the others": (SOURCE, "/* The others wait. */", 2),
    "one of something": (SOURCE, "/* One that is damaged begins alike. */", 2),
    "a continuation": (SOURCE, "/* Or it would be taken for the next failure. */", 2),
    "a genitive": (SOURCE, "/* Of the same kind. */", 2),
    "a result": (SOURCE, "/* 0 when all is launched, or what kept it. */", 2),
    "a result behind a sentence": (SOURCE, "/* Open it.  NULL where it is not. */", 2),
    "an errno": (SOURCE, "/* -ENOMEM without memory. */", 2),
    "a second paragraph": (SOURCE, "/*\n * The array grows.\n *\n * Who finds it finds it full.\n */", 5),
    "a member without a noun": (PRIVATE, "/**\n * struct a - an a\n * @b: of the area\n */", 4),
    "a member that is a sentence's rest": (PRIVATE, "/**\n * f() - add\n * @b: is filled in\n */", 4),
    "a summary without a noun": (PRIVATE, "/**\n * f() - what is there\n */", 3),
    "prose of documentation": (PRIVATE, "/**\n * f() - add\n *\n * Who adds waits.\n */", 5),
    "a comment of Python": ("scripts/a.py", "# Those with a name.", 2),
    "a documentation string": ("scripts/a.py", 'def f():\n    """What is wrong."""\n', 3),
    "a comment of a shell script": ("scripts/a.sh", "# So it stays.", 2),
}
CLEAR = {
    SOURCE: (
        "/* Returns 0 if all is launched, or a negative errno. */\n"
        "/* The same number means another thing of a store. */\n"
        "/* Where the drive has no cache, a flush does nothing. */\n"
        "/*\n * The array grows.  It is full when a reader finds it.  Those of a ring wrap around.\n */\n"
        'const char *text = "/* What is in a string. */";\n'
        "/* Who may write? */\n"
        "/* One writer has the lock; 0 means none. */\n"
        "/*\n * Layers:\n *\n *\twhat.c\twho knows what\n */\n"
    ),
    PRIVATE: (
        "/**\n * f() - add\n * @b: length in bytes; 0 if it is unknown\n * @c: 1 if it is a ring\n"
        " *\n * The call waits.\n *\n * Return: 0, or a negative errno.\n */\n"
    ),
    "scripts/a.py": '"""Returns what is wrong."""\n# Each line has a mark.\n',
    "scripts/a.sh": "# The lock is held.\n",
    # Folders that the check does not cover.
    "docs/a.c": "/* What is left. */\n",
}


@pytest.mark.parametrize("mistake", DECODED)
def test_a_comment_that_must_be_decoded_is_found(house: House, mistake: str) -> None:
    """Each form of a comment without a subject is rejected, at the line where it stands."""
    path, text, line = DECODED[mistake]
    house.plant(path, licensed(path, f"{text}\n"))
    result = house.check("words")
    assert result.returncode == 1, result.stdout
    assert result.stdout.count(f"{path}:") == 1
    assert f"{path}:{line}: " in result.stdout


def test_a_comment_with_a_subject_passes(house: House) -> None:
    """Sentences, questions, lists, strings and noun phrases are not taken for fragments."""
    for path, text in CLEAR.items():
        house.plant(path, licensed(path, text))
    result = house.check("words")
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("mistake", MISTAKES)
def test_planted_mistake_is_found(house: House, mistake: str) -> None:
    """A check fails on the mistake it is there for, and says where it is."""
    name, path, text = MISTAKES[mistake]
    house.plant(path, text)
    result = house.check(name)
    assert result.returncode == 1, result.stdout
    assert result.stdout.endswith("0 passed, 1 failed\n")
    assert f"{path}:" in result.stdout or Path(path).name in result.stdout


def test_a_tree_without_mistakes_passes(house: House) -> None:
    """What the planted mistakes are told from: no check fails for another reason."""
    result = house.check()
    assert "FAILED" not in result.stdout
    assert result.stdout.endswith(" passed, 0 failed\n")
    assert result.returncode == 0


def test_the_house_lets_through_what_it_allows(house: House) -> None:
    """The exceptions of the layer rule hold."""
    house.plant("kernel/main.c", f'// {GPL}\n#include "back/back.h"\n#include "types/split.h"\n')
    plan = "lib/src/device/plan.c"
    house.plant(plan, licensed(plan, '#include <chario/uapi.h>\n#include "types/split.h"\n'))
    house.plant("tests/unit/split.c", f'// {MIT}\n#include "split.h"\n')
    house.plant("tests/abi/layout.c", f"// {MIT}\n#include <chario/uapi.h>\n")
    result = house.check("layers")
    assert result.returncode == 0, result.stdout


def test_sources_of_the_module_that_need_each_other(house: House) -> None:
    """A circle of two is found, with the symbol by which each needs the other."""
    house.plant("kernel/Kbuild", KBUILD + "chario-y += other.o\n")
    calls = "\nvoid here(void);\nvoid there(void);\n\nvoid {}(void)\n{{\n\t{}();\n}}\n"
    house.plant("kernel/main.c", MODULE + calls.format("here", "there"))
    house.plant("kernel/other.c", f"// {GPL}\n" + calls.format("there", "here"))
    result = house.check("circles")
    assert result.returncode == 1
    assert "kernel/main.c: uses other.c (there)" in result.stdout
    assert "kernel/other.c: uses main.c (here)" in result.stdout


def test_folders_of_the_module_that_need_each_other(house: House) -> None:
    """A circle of folders is found, although none of their sources is in a circle."""
    house.plant("kernel/Kbuild", KBUILD + "chario-y += disk/up.o disk/down.o queue/up.o queue/down.o\n")
    gpl = f"// {GPL}\n"
    for folder, other in (("disk", "queue"), ("queue", "disk")):
        house.plant(f"kernel/{folder}/down.c", gpl + f"void {folder}_down(void);\n\nvoid {folder}_down(void)\n{{\n}}\n")
        declared = f"void {folder}_up(void);\nvoid {other}_down(void);\n"
        house.plant(f"kernel/{folder}/up.c", gpl + f"{declared}\nvoid {folder}_up(void)\n{{\n\t{other}_down();\n}}\n")
    result = house.check("circles")
    assert result.returncode == 1
    assert "kernel/disk: uses queue (queue_down in disk/up.c)" in result.stdout
    assert "kernel/queue: uses disk (disk_down in queue/up.c)" in result.stdout


def test_a_long_file_is_listed(house: House) -> None:
    """A file over the aim, under the limit, passes and is named."""
    house.plant(DEVICE, licensed(DEVICE, "\n" * 500))
    result = house.check("house")
    assert result.returncode == 0
    assert f"{DEVICE} has 501 lines" in result.stdout


def test_a_missing_tool_is_a_failure(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that cannot run fails and names the package."""
    tools = house.root / "bin"
    tools.mkdir()
    for tool in ("sh", "git", "dirname", "sed", "tail", "env"):
        (tools / tool).symlink_to(shutil.which(tool) or "/nonexistent")
    monkeypatch.setenv("PATH", str(tools))
    result = house.check("spelling")
    assert result.returncode == 1
    assert "codespell is missing: apt install codespell" in result.stdout


def test_an_unknown_name_is_refused(house: House) -> None:
    """A check that does not exist is not taken for one that passed."""
    result = house.check("laeyrs")
    assert result.returncode == 2
    assert "no check is called 'laeyrs'" in result.stderr


def test_every_script_is_in_the_list(house: House) -> None:
    """A check that nobody runs is worthless."""
    listed = {line.split()[0] for line in house.check("--list").stdout.splitlines()}
    scripts = {script.stem.removeprefix("check-") for script in SCRIPTS.glob("check-*")}
    assert listed == scripts - {"common"}
