# SPDX-License-Identifier: MIT
"""Every static check fails on a planted mistake and passes the same tree without it."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"

MIT = "SPDX-License-Identifier: MIT"
STAGES = ["enter", "split", "map", "queue", "post", "doorbell", "irq", "reap", "unmap", "finish"]

UAPI = (
    "/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR MIT */\n"
    "enum chario_stage {\n" + "".join(f"\tCHARIO_STAGE_{stage.upper()},\n" for stage in STAGES) + "};\n"
)
TRACE = "/* SPDX-License-Identifier: GPL-2.0-only */\n" + "".join(
    f"DEFINE_EVENT(chario_command, {stage}, TP_PROTO(int x), TP_ARGS(x));\n" for stage in STAGES
)
KBUILD = """\
# SPDX-License-Identifier: GPL-2.0-only
obj-m := chario.o
chario-y := main.o
"""
MODULE = """\
// SPDX-License-Identifier: GPL-2.0-only
/*
 * The smallest module.
 */
#include <linux/module.h>

MODULE_LICENSE("GPL");
"""
HEADER = """\
/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/**
 * chario_nop() - do nothing
 */
void chario_nop(void);
"""
MAP = """\
/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
CHARIO_0.1 {
global:
	chario_nop;
local:
	*;
};
"""
PROGRAM = f"""\
// {MIT}
#include <chario.h>

int main(void)
{{
	return 0;
}}
"""
PAGE = f"""\
.\\" {MIT}
.TH CHARIO 1 2026-01-01 chario
.SH NAME
chario \\- character disks
"""
SETUP = f"""\
#!/bin/sh
# {MIT}
echo "$PYTHON_OF_THE_LAB"
"""
AREAS = f'''\
# {MIT}
"""Nothing."""

import pytest

pytestmark = pytest.mark.area("kernel/main", "kernel/trace", "kernel/uapi/", "kernel/types/", "kernel/disk/",
                              "kernel/front/", "kernel/back/", "kernel/Kbuild", "lib/src/", "cli/")  # fmt: skip
'''

# A tree in which every check passes.
HOUSE = {
    "scripts/setup.sh": SETUP,
    "kernel/Kbuild": KBUILD,
    "kernel/main.c": MODULE,
    "kernel/trace.h": TRACE,
    "kernel/uapi/chario/uapi.h": UAPI,
    "kernel/types/split.h": "/* SPDX-License-Identifier: GPL-2.0-only OR MIT */\n",
    "kernel/disk/disk.h": "/* SPDX-License-Identifier: GPL-2.0-only */\n",
    "kernel/front/front.h": "/* SPDX-License-Identifier: GPL-2.0-only */\n",
    "kernel/back/back.h": "/* SPDX-License-Identifier: GPL-2.0-only */\n",
    "kernel/back/loopback/loopback.h": "/* SPDX-License-Identifier: GPL-2.0-only */\n",
    "kernel/disk/health.h": "/* SPDX-License-Identifier: GPL-2.0-only */\n",
    "kernel/disk/health.c": '// SPDX-License-Identifier: GPL-2.0-only\n#include "disk/disk.h"\n',
    "lib/include/chario.h": HEADER,
    "lib/src/view/list.h": "/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */\n",
    "lib/libchario.map": MAP,
    "cli/main.c": PROGRAM,
    "lab/one.py": f'# {MIT}\n"""Nothing."""\n',
    "docs/architecture.md": f"<!-- {MIT} -->\n\nA request goes {' → '.join(STAGES)}.\n",
    "man/chario.1": PAGE,
    "tests/guest/calls/test_all.py": AREAS,
}


@dataclass(frozen=True)
class House:
    """A checkout in miniature, with the real scripts."""

    root: Path

    def plant(self, path: str, text: str) -> None:
        """Puts a tracked file into the tree, over what is there."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        if text.startswith("#!"):
            target.chmod(0o755)
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


GPL = "// SPDX-License-Identifier: GPL-2.0-only\n"
LGPL = "// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT\n"
WITHOUT_IRQ = [stage for stage in STAGES if stage != "irq"]

MISTAKES = {
    "a kernel version outside compat": ("compat", "kernel/memory/map.c", f"{GPL}#if LINUX_VERSION_CODE < 1\n#endif\n"),
    "a front end that knows a back end": ("layers", "kernel/front/char.c", f'{GPL}#include "back/back.h"\n'),
    "a back end that knows a front end": (
        "layers",
        "kernel/back/loopback/queue.c",
        f'{GPL}#include "../../front/front.h"\n',
    ),
    "a queue that knows one back end": (
        "layers",
        "kernel/queue/queue.c",
        f'{GPL}#include "back/loopback/loopback.h"\n',
    ),
    "a queue that knows the contract of a front end": (
        "layers",
        "kernel/queue/queue.c",
        f'{GPL}#include "front/front.h"\n',
    ),
    "a folder of the module that knows one above it": (
        "layers",
        "kernel/memory/buffer.c",
        f'{GPL}#include "disk/disk.h"\n',
    ),
    "a folder that has no place in the order": ("layers", "kernel/core/queue.c", f'{GPL}#include "disk/disk.h"\n'),
    "a back end that knows another": (
        "layers",
        "kernel/back/nvme/pci.c",
        f'{GPL}#include "back/loopback/loopback.h"\n',
    ),
    "nouns of the module that include each other": (
        "layers",
        "kernel/disk/disk.h",
        f'/* {GPL[3:-1]} */\n#include "disk/health.h"\n',
    ),
    "a module that is not self-contained": (
        "layers",
        "kernel/queue/queue.c",
        f'{GPL}#include "../../lib/include/chario.h"\n',
    ),
    "a library that looks into the module": ("layers", "lib/src/device/device.c", f'{LGPL}#include "disk/disk.h"\n'),
    "a folder of the library that knows one above it": (
        "layers",
        "lib/src/store/lock.c",
        f'{LGPL}#include "view/list.h"\n',
    ),
    "a test that looks into the module by a search path": (
        "layers",
        "tests/unit/device.c",
        f'// {MIT}\n#include "disk.h"\n',
    ),
    "a program that knows the ABI": ("layers", "cli/cmd-list.c", f"// {MIT}\n#include <chario/uapi.h>\n"),
    "a program that knows ioctls": ("layers", "cli/cmd-list.c", f"// {MIT}\n#include <sys/ioctl.h>\n"),
    "a program that looks into the library": (
        "layers",
        "cli/cmd-list.c",
        f'// {MIT}\n#include "../lib/include/chario.h"\n',
    ),
    "a test that knows the ABI": ("layers", "tests/unit/test-info.c", f"// {MIT}\n#include <chario/uapi.h>\n"),
    "a stage that is missing in the ABI": (
        "stages",
        "kernel/uapi/chario/uapi.h",
        UAPI.replace("\tCHARIO_STAGE_IRQ,\n", ""),
    ),
    "stages of the ABI in another order": (
        "stages",
        "kernel/uapi/chario/uapi.h",
        UAPI.replace("_ENTER", "_X").replace("_SPLIT", "_ENTER").replace("_X", "_SPLIT"),
    ),
    "a stage without a tracepoint": ("stages", "kernel/trace.h", TRACE.replace("doorbell", "kick")),
    "a stage that is missing in a page": (
        "stages",
        "README.md",
        f"<!-- {MIT} -->\nThe stages are `{' '.join(WITHOUT_IRQ)}`.\n",
    ),
    "a page on a request without its stages": ("stages", "docs/architecture.md", f"<!-- {MIT} -->\n"),
    "an exported function without documentation": ("exports", "lib/include/chario.h", HEADER.replace("/**", "/*")),
    "a public function that is not exported": (
        "exports",
        "lib/include/chario.h",
        f"{HEADER}/**\n * chario_add() - add\n */\nint chario_add(int x);\n",
    ),
    "an export that no header declares": (
        "exports",
        "lib/libchario.map",
        MAP.replace("\tchario_nop;", "\tchario_nop;\n\tchario_sub;"),
    ),
    "a source in no area": ("areas", "kernel/queue/new.c", f"{GPL}int f(void);\n"),
    "a file of tests without an area": ("areas", "tests/guest/calls/test_new.py", f'# {MIT}\n"""Nothing."""\n'),
    "an area without a source": (
        "areas",
        "tests/guest/calls/test_all.py",
        AREAS.replace("cli/", "cli/", 1) + 'X = pytest.mark.area("none/")\n',
    ),
    "no licence": ("spdx", "docs/index.md", "# CharIO\n"),
    "a licence of another folder": ("spdx", "lib/src/device/device.c", f"// {MIT}\n"),
    "an endless file": ("house", "lib/src/device/device.c", LGPL + "\n" * 600),
    "an endless function": ("house", "lib/src/device/device.c", LGPL + "int f(void)\n{\n" + "\tg();\n" * 79 + "}\n"),
    "an endless Python function": ("house", "lab/two.py", f"# {MIT}\ndef f() -> None:\n" + "    print()\n" * 80),
    "work left for later": ("house", "lib/src/device/device.c", f"{LGPL}// TO" + "DO: write it\n"),
    "a path of one machine": ("house", "Makefile", f"# {MIT}\ndir := /home" + "/me/chario\n"),
    "a path that may become the controlling terminal": (
        "house",
        "lib/src/device/device.c",
        f"{LGPL}int f(const char *path)\n{{\n\treturn open(path, O_RDWR | O_CLOEXEC);\n}}\n",
    ),
    "C that is not formatted": ("format", "cli/cmd-list.c", f"// {MIT}\nint f(void) {{ return  0; }}\n"),
    "Python that is not formatted": ("python", "lab/two.py", f"# {MIT}\nx = ( 1 )\n"),
    "Python that is not used": ("python", "lab/two.py", f"# {MIT}\nimport os\n"),
    "Python without types": ("python", "lab/two.py", f"# {MIT}\n\n\ndef f(x):\n    return x\n"),
    "a shell script with a trap": ("shell", "scripts/x.sh", f"#!/bin/sh\n# {MIT}\nrm $1\n"),
    "a shell script without a suffix": ("shell", ".ci/run", f"#!/bin/sh\n# {MIT}\nrm $1\n"),
    "a misspelling": ("spelling", "docs/index.md", f"<!-- {MIT} -->\nIt is suc" + "cesful.\n"),
    "a broken manual page": ("man", "man/chario.1", PAGE + ".SH\n.nonsense\n"),
    "a module not in the kernel's style": ("checkpatch", "kernel/main.c", MODULE + "\nint  f( void );\n"),
    "an argument without a description": (
        "kernel-doc",
        "kernel/disk/disk.h",
        f"/* {GPL[3:-1]} */\n/**\n * f - does it\n */\nint f(int x);\n",
    ),
    "a warning of the compiler": ("module", "kernel/main.c", MODULE + "\nstatic int unused(void)\n{\n\treturn 0;\n}\n"),
    "a warning of sparse": ("module", "kernel/main.c", MODULE + "\nint chario_leaks_into_the_kernel;\n"),
}


# Comments and documentation that a reader must decode: file, text, line of the finding.
DECODED = {
    "a clause in C": ("lib/src/store/a.c", "/* What is left of a block. */", 2),
    "a predicate without a verb": ("lib/src/store/a.c", "/* Whether a block is good. */", 2),
    "a clause that asks nothing": ("lib/src/store/a.c", "/* Who finds the array finds it full. */", 2),
    "a clause in a later sentence": (
        "lib/src/store/a.c",
        "/*\n * The array grows.\n * Whoever finds it\n * finds it full.\n */",
        4,
    ),
    "a clause without a main clause": ("lib/src/store/a.c", "/* Where blocks of an area are. */", 2),
    "a pronoun": ("lib/src/store/a.c", "/* They stand between and have none. */", 2),
    "a possessive": ("lib/src/store/a.c", "// Its blocks have been written.", 2),
    "something that was said elsewhere": ("lib/src/store/a.c", "/* The same for the first time. */", 2),
    "the others": ("lib/src/store/a.c", "/* The others wait. */", 2),
    "one of something": ("lib/src/store/a.c", "/* One that is damaged begins alike. */", 2),
    "a continuation": ("lib/src/store/a.c", "/* Or it would be taken for the next failure. */", 2),
    "a genitive": ("lib/src/store/a.c", "/* Of the same kind. */", 2),
    "a result": ("lib/src/store/a.c", "/* 0 when all is launched, or what kept it. */", 2),
    "a result behind a sentence": ("lib/src/store/a.c", "/* Open it.  NULL where it is not. */", 2),
    "an errno": ("lib/src/store/a.c", "/* -ENOMEM without memory. */", 2),
    "a second paragraph": ("lib/src/store/a.c", "/*\n * The array grows.\n *\n * Who finds it finds it full.\n */", 5),
    "a member without a noun": ("lib/src/store/a.h", "/**\n * struct a - an a\n * @b: of the area\n */", 4),
    "a member that is a sentence's rest": ("lib/src/store/a.h", "/**\n * f() - add\n * @b: is filled in\n */", 4),
    "a summary without a noun": ("lib/src/store/a.h", "/**\n * f() - what is there\n */", 3),
    "prose of documentation": ("lib/src/store/a.h", "/**\n * f() - add\n *\n * Who adds waits.\n */", 5),
    "a comment of Python": ("scripts/a.py", "# Those with a name.", 2),
    "a documentation string": ("scripts/a.py", 'def f():\n    """What is wrong."""\n', 3),
    "a comment of a shell script": ("scripts/a.sh", "# So it stays.", 2),
}
CLEAR = {
    "lib/src/store/a.c": (
        "/* Returns 0 if all is launched, or a negative errno. */\n"
        "/* The same number means another thing of a store. */\n"
        "/* Where the drive has no cache, a flush does nothing. */\n"
        "/*\n * The array grows.  It is full when a reader finds it.  Those of a ring wrap around.\n */\n"
        'const char *text = "/* What is in a string. */";\n'
        "/* Who may write? */\n"
        "/* One writer has the lock; 0 means none. */\n"
        "/*\n * Layers:\n *\n *\twhat.c\twho knows what\n */\n"
    ),
    "lib/src/store/a.h": (
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
    house.plant(path, f"{'//' if path.endswith(('.c', '.h')) else '#'} {MIT}\n{text}\n")
    result = house.check("words")
    assert result.returncode == 1, result.stdout
    assert result.stdout.count(f"{path}:") == 1
    assert f"{path}:{line}: " in result.stdout


def test_a_comment_with_a_subject_passes(house: House) -> None:
    """Sentences, questions, lists, strings and noun phrases are not taken for fragments."""
    for path, text in CLEAR.items():
        house.plant(path, f"{'//' if path.endswith(('.c', '.h')) else '#'} {MIT}\n{text}")
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
    house.plant("kernel/main.c", f'{GPL}#include "back/back.h"\n#include "types/split.h"\n')
    house.plant("lib/src/device/plan.c", f'{LGPL}#include <chario/uapi.h>\n#include "types/split.h"\n')
    house.plant("tests/unit/split.c", f'// {MIT}\n#include "split.h"\n')
    house.plant("tests/abi/layout.c", f"// {MIT}\n#include <chario/uapi.h>\n")
    result = house.check("layers")
    assert result.returncode == 0, result.stdout


def test_sources_of_the_module_that_need_each_other(house: House) -> None:
    """A circle of two is found, with the symbol by which each needs the other."""
    house.plant("kernel/Kbuild", KBUILD + "chario-y += other.o\n")
    calls = "\nvoid here(void);\nvoid there(void);\n\nvoid {}(void)\n{{\n\t{}();\n}}\n"
    house.plant("kernel/main.c", MODULE + calls.format("here", "there"))
    house.plant("kernel/other.c", GPL + calls.format("there", "here"))
    result = house.check("circles")
    assert result.returncode == 1
    assert "kernel/main.c: uses other.c (there)" in result.stdout
    assert "kernel/other.c: uses main.c (here)" in result.stdout


def test_folders_of_the_module_that_need_each_other(house: House) -> None:
    """A circle of folders is found, although none of their sources is in a circle."""
    house.plant("kernel/Kbuild", KBUILD + "chario-y += disk/up.o disk/down.o queue/up.o queue/down.o\n")
    for folder, other in (("disk", "queue"), ("queue", "disk")):
        house.plant(f"kernel/{folder}/down.c", f"{GPL}void {folder}_down(void);\n\nvoid {folder}_down(void)\n{{\n}}\n")
        declared = f"void {folder}_up(void);\nvoid {other}_down(void);\n"
        house.plant(f"kernel/{folder}/up.c", f"{GPL}{declared}\nvoid {folder}_up(void)\n{{\n\t{other}_down();\n}}\n")
    result = house.check("circles")
    assert result.returncode == 1
    assert "kernel/disk: uses queue (queue_down in disk/up.c)" in result.stdout
    assert "kernel/queue: uses disk (disk_down in queue/up.c)" in result.stdout


def test_a_long_file_is_listed(house: House) -> None:
    """A file over the aim, under the limit, passes and is named."""
    house.plant("lib/src/device/device.c", LGPL + "\n" * 500)
    result = house.check("house")
    assert result.returncode == 0
    assert "lib/src/device/device.c has 501 lines" in result.stdout


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
