# SPDX-License-Identifier: MIT
"""What the package says of libchario is what the headers say, as the C compiler reads them."""

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import pytest
from package_lab import TOP

from chario import _abi
from chario._library import function

INCLUDES = [f"-I{TOP / 'lib/include'}", f"-I{TOP / 'kernel/uapi'}"]
HEADERS = "".join(
    f"#include <{path.relative_to(TOP / 'lib/include')}>\n" for path in sorted((TOP / "lib/include/chario").glob("*.h"))
)
KINDS = {
    None: "void",
    ctypes.c_int: "int",
    ctypes.c_uint32: "unsigned int",
    ctypes.c_int64: "long",
    ctypes.c_uint64: "unsigned long",
}


def compile_c(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Compile a program of assertions."""
    source = folder / "test.c"
    source.write_text(HEADERS + "#include <stddef.h>\n" + text)
    command = ["cc", "-std=gnu11", "-fsyntax-only", *INCLUDES, str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def layout_of(name: str, struct: type[ctypes.Structure]) -> list[str]:
    """Assertions that say where each member is."""
    lines = [f'_Static_assert(sizeof(struct {name}) == {ctypes.sizeof(struct)}, "{name}");']
    for member, *_ in struct._fields_:
        at: Any = getattr(struct, member)
        place = f"offsetof(struct {name}, {member}) == {at.offset}"
        size = f"sizeof(((struct {name} *)0)->{member}) == {at.size}"
        lines.append(f'_Static_assert({place} && {size}, "{name}.{member}");')
    return lines


def assertions() -> list[str]:
    """Everything that is compared."""
    lines = [line for name, struct in _abi.STRUCTS.items() for line in layout_of(name, struct)]
    for name, value in vars(_abi).items():
        if name.isupper() and isinstance(value, int):
            lines.append(f'_Static_assert(CHARIO_{name} == {value}, "{name}");')
    lines += [prototype(name, types) for name, types in _abi.FUNCTIONS.items()]
    return lines


def prototype(name: str, types: tuple[Any, ...]) -> str:
    """An assertion on what a function returns; the call in it, on how many arguments of which kind."""
    arguments = ", ".join(f"({kind_of(each)})0" for each in types[1:])
    call = f"__typeof__({name}({arguments}))"
    if kind_of(types[0]) == "void *":
        return f'_Static_assert(__builtin_classify_type(({call})0) == 5, "{name}");'
    return f'_Static_assert(__builtin_types_compatible_p({call}, {kind_of(types[0])}), "{name}");'


def kind_of(kind: Any) -> str:
    """What C calls a kind of argument; pointers are all alike."""
    return KINDS.get(kind, "void *")


def test_the_layout_is_that_of_the_headers(tmp_path: Path) -> None:
    """Structs, numbers, results and the number of arguments agree."""
    result = compile_c(tmp_path, "\n".join(assertions()))
    assert result.returncode == 0, result.stderr


def test_a_difference_is_found(tmp_path: Path) -> None:
    """A member of another size does not pass."""

    class Wrong(_abi.Struct):
        _fields_ = (("user", ctypes.c_uint64), ("result", ctypes.c_int32))

    result = compile_c(tmp_path, "\n".join(layout_of("chario_queue_result", Wrong)))
    assert "chario_queue_result" in result.stderr


@pytest.mark.parametrize("name", sorted(_abi.FUNCTIONS))
def test_the_library_has_it(name: str) -> None:
    """Every function that the package calls is there."""
    assert callable(function(name))
