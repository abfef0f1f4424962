# SPDX-License-Identifier: MIT
"""The plugin that counts, held against code whose instructions are known, in a guest with two processors."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from programs import compile_program
from shared_guest import watch

from chario_lab.counting import layers
from chario_lab.counting.build import build_tools
from chario_lab.counting.series import Operation, Reader
from chario_lab.guest.launch import Plugin, launch
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import GuestSpec
from chario_lab.kernel import Kernel, build_module

KNOWN = Path(__file__).resolve().parent / "src/known"
CALL = "/sys/module/known/parameters/call"
USER = layers.LAYERS.index(layers.USER)
LOOPS = 1_000_000
LOOP_LIMIT_S = 300
QUIET_TRIES = 50
PAGE = 4096
# QEMU takes a string instruction up again after so many iterations.
ITERATIONS = 65536


@dataclass
class Counted:
    """A guest with the plugin, where the module `known` is loaded."""

    guest: Guest
    program: str
    symbols: list[layers.Symbol]
    reader: Reader

    def run(self, *words: object) -> list[Operation]:
        """What was counted while the program did what the words say."""
        self.guest.must([self.program, *map(str, words)], LOOP_LIMIT_S)
        (series,) = self.reader.new_segments()
        return series

    def run_quietly(self, *words: object) -> Operation:
        """The same for one operation that no interrupt fell into."""
        for _ in range(QUIET_TRIES):
            (operation,) = self.run(*words)
            if not operation.ticks and not operation.irqs:
                return operation
        raise AssertionError(f"an interrupt fell into each of {QUIET_TRIES} operations")

    def executed(self, operation: Operation) -> dict[str, int]:
        """Instructions by the name of the function."""
        return {self.symbols[index].name: count for index, count in operation.symbols}


def watch_known(symbol: layers.Symbol) -> layers.Symbol:
    """A function of the kernel as it is; of the module, as one that copies where it does."""
    return replace(symbol, watch=layers.WATCH_COPY) if symbol.name == "known_copy" else symbol


@pytest.fixture(scope="module")
def booted(kernel: Kernel, cpus: int) -> Iterator[Counted]:
    """One guest for all tests of this file."""
    with tempfile.TemporaryDirectory(prefix="chario-counter-") as folder:
        map_path, out_path = Path(folder) / "map", Path(folder) / "counts"
        plugin = Plugin(build_tools().plugin, f"map={map_path},out={out_path}")
        with launch(GuestSpec(kernel=kernel.name, cpus=cpus), plugin=plugin) as guest:
            guest.must(f"insmod {guest.push(build_module(kernel, KNOWN, name='known'))}")
            symbols = [watch_known(s) for s in layers.parse_kallsyms(guest.must("cat /proc/kallsyms", LOOP_LIMIT_S))]
            guest.must("mkdir -p /dev/shm && mount -t tmpfs none /dev/shm && touch /dev/shm/copied")
            map_path.write_text(layers.render_map(symbols))
            program = guest.push(compile_program("counted"))
            guest.must([program, "reload"])
            yield Counted(guest, program, symbols, Reader(out_path))


@pytest.fixture
def counted(booted: Counted, request: pytest.FixtureRequest) -> Counted:
    """The guest, whose log is searched when a test ends."""
    watch(request.node, booted.guest, booted.guest.log_mark())
    return booted


def test_a_loop_of_user_space(counted: Counted) -> None:
    """Every instruction is counted, and none twice."""
    (operation,) = counted.run("loop", LOOPS)
    assert operation.cpus[0].layers[USER] == 1 + 2 * LOOPS


def test_loops_on_two_processors_at_the_same_time(counted: Counted) -> None:
    """Each operation has the figures of its own processor, and of the other what it did meanwhile."""
    operations = counted.run("threads", LOOPS)
    loops = {next(iter(operation.cpus)): operation for operation in operations}
    assert {cpu: operation.cpus[cpu].layers[USER] for cpu, operation in loops.items()} == {
        0: 1 + 2 * LOOPS,
        1: 1 + 4 * LOOPS,
    }
    assert loops[1].cpus[0].layers[USER] > 0


def test_what_another_processor_does_for_an_operation(counted: Counted) -> None:
    """The processor that began it sleeps meanwhile: the longer loop is all that makes the difference."""
    short, long = (counted.run("remote", loops)[0].cpus[1].layers[USER] for loops in (LOOPS, 3 * LOOPS))
    assert long - short == 4 * LOOPS


def test_a_function_of_a_module(counted: Counted) -> None:
    """It loops in the kernel, and is called once."""
    (operation,) = counted.run("write", CALL, "loop")
    assert counted.executed(operation)["known_loop"] == 2002


@pytest.mark.parametrize("words", [("loop", LOOPS), ("remote", LOOPS), ("write", CALL, "loop")])
def test_layers_and_functions_have_the_same_total(counted: Counted, words: tuple[object, ...]) -> None:
    """Each instruction of the kernel belongs to one layer and to one function."""
    (operation,) = counted.run(*words)
    by_layer: dict[str, int] = dict.fromkeys(layers.LAYERS, 0)
    for index, count in operation.symbols:
        by_layer[counted.symbols[index].layer] += count
    by_layer[layers.USER] = operation.layers[USER]
    assert tuple(by_layer.values()) == operation.layers[: len(layers.LAYERS)]


@pytest.mark.parametrize(
    ("instruction", "copied", "cleared"),
    [("movsb", PAGE, 0), ("movsq", PAGE, 0), ("single", 4, 0), ("stosb", 0, PAGE), ("stosq", 0, PAGE)],
)
def test_bytes_of_a_string_instruction(counted: Counted, instruction: str, copied: int, cleared: int) -> None:
    """It is one instruction, whatever it moves."""
    operation = counted.run_quietly(instruction, PAGE)
    assert (operation.copied_bytes, operation.cleared_bytes) == (copied, cleared)
    assert operation.layers[USER] == 4


def test_a_long_string_instruction(counted: Counted) -> None:
    """Its bytes are exact; itself counts again each time that QEMU takes it up again."""
    operation = counted.run_quietly("movsb", 4 * ITERATIONS)
    assert operation.copied_bytes == 4 * ITERATIONS
    assert operation.layers[USER] in range(3 + 4, 3 + 6)


def test_bytes_that_plain_instructions_copy(counted: Counted) -> None:
    """The functions of the module have names of one length, so that the calls copy the same besides."""
    copy, loop = (counted.run_quietly("write", CALL, word) for word in ("copy", "loop"))
    assert copy.copied_bytes - loop.copied_bytes == PAGE


def test_bytes_that_the_kernel_copies(counted: Counted) -> None:
    """A write to a file in memory copies each byte once, by whatever way the kernel has chosen for this processor."""
    whole, half = (counted.run_quietly("write", "/dev/shm/copied", "x" * bytes_) for bytes_ in (PAGE, PAGE // 2))
    assert whole.copied_bytes - half.copied_bytes == PAGE // 2
