# SPDX-License-Identifier: MIT
"""The plugin that counts, held against code whose instructions are known, in a guest with two processors."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from programs import compile_program
from shared_guest import watch

from chario_lab.counting import layers
from chario_lab.counting.build import build_tools
from chario_lab.counting.series import Operation, Reader
from chario_lab.counting.stats import instructions
from chario_lab.guest.devices import block_device
from chario_lab.guest.launch import Plugin, launch
from chario_lab.guest.session import Guest
from chario_lab.guest.spec import GuestSpec, Namespace, NullCo, Nvme
from chario_lab.kernel import Kernel, build_module

pytestmark = [pytest.mark.area("lab/"), pytest.mark.kernels("6.12"), pytest.mark.cpus(2), pytest.mark.stock]

KNOWN = Path(__file__).resolve().parents[1] / "src/known"
CALL = "/sys/module/known/parameters/call"
USER = layers.LAYERS.index(layers.USER)
CHAIN, END = layers.OWN_POINTS, layers.OWN_POINTS + 1
POINTS = {**layers.CALL_POINTS, "known_chain": CHAIN, "known_end": END}
DRIVE = Nvme("counted", (Namespace(size_mib=64, backing=NullCo()),))
BLOCK_NODE = "/dev/nvme0n1"
# More than four commands of the drive can take.
MANY_COMMANDS = 4 << 20
LOOPS = 1_000_000
LOOP_LIMIT_S = 300
TRIES = 50
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

    def run_until(self, fits: Callable[[Operation], bool], *words: object) -> Operation:
        """The same for one operation, again until it fits: when interrupts come, the host's load decides."""
        for _ in range(TRIES):
            (operation,) = self.run(*words)
            if fits(operation):
                return operation
        raise AssertionError(f"none of {TRIES} operations went undisturbed")

    def run_quietly(self, *words: object) -> Operation:
        """The same for one operation that no interrupt fell into."""
        return self.run_until(lambda operation: not operation.ticks and not operation.irqs, *words)


@contextmanager
def counting_guest(kernel: Kernel, cpus: int, drive: Nvme) -> Iterator[tuple[Guest, Path, Reader]]:
    """A guest with a drive of Linux's driver and the plugin, the file with the plugin's map, and what it counts."""
    with tempfile.TemporaryDirectory(prefix="chario-counter-") as folder:
        map_path, out_path = Path(folder) / "map", Path(folder) / "counts"
        plugin = Plugin(build_tools().plugin, f"map={map_path},out={out_path}")
        with launch(GuestSpec(kernel=kernel.name, cpus=cpus, drives=(drive,)), plugin=plugin) as guest:
            assert block_device(guest, 0) == BLOCK_NODE
            yield guest, map_path, Reader(out_path)


@pytest.fixture(scope="module")
def booted(kernel: Kernel, cpus: int) -> Iterator[Counted]:
    """One guest for all tests of this file."""
    with counting_guest(kernel, cpus, DRIVE) as (guest, map_path, reader):
        guest.must(f"insmod {guest.push(build_module(kernel, KNOWN, name='known'))}")
        symbols = layers.parse_kallsyms(guest.must("cat /proc/kallsyms", LOOP_LIMIT_S), points=POINTS)
        # Functions of the kernel are watched as they are; one of the module copies.
        symbols = [replace(one, watch=layers.WATCH_COPY) if one.name == "known_copy" else one for one in symbols]
        guest.must("mkdir -p /dev/shm && mount -t tmpfs none /dev/shm && touch /dev/shm/copied")
        map_path.write_text(layers.render_map(symbols))
        program = guest.push(compile_program("counted"))
        guest.must([program, "reload"])
        yield Counted(guest, program, symbols, reader)


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
    rounds = counted.guest.must([counted.program, "threads", str(LOOPS)], LOOP_LIMIT_S).split()
    (operations,) = counted.reader.new_segments()
    own = {next(iter(operation.cpus)): operation for operation in operations}
    assert own.keys() == {0, 1}
    for cpu, operation in own.items():
        assert operation.cpus[cpu].layers[USER] == 5 + 2 * (1 + cpu) * LOOPS + 3 * int(rounds[cpu])
        assert operation.cpus[1 - cpu].layers[USER] > 0


def test_what_another_processor_does_for_an_operation(counted: Counted) -> None:
    """The processor that began it sleeps meanwhile: the longer loop is all that makes the difference."""
    short, long = (counted.run("remote", loops)[0].cpus[1].layers[USER] for loops in (LOOPS, 3 * LOOPS))
    assert long - short == 4 * LOOPS


def test_a_function_of_a_module(counted: Counted) -> None:
    """It loops in the kernel, and is called once."""
    (operation,) = counted.run("write", CALL, "loop")
    executed = {counted.symbols[index].name: count for index, count in operation.symbols}
    assert executed["known_loop"] == 2002


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


def test_points_have_known_distances(counted: Counted) -> None:
    """One function of the module jumps to the other after a hundred instructions."""
    operation = counted.run_quietly("write", CALL, "chain")
    chain, end = operation.points
    assert (chain.number, end.number) == (CHAIN, END)
    assert instructions(end) - instructions(chain) == 101
    assert 0 < instructions(chain) < instructions(end) < instructions(operation)


def test_points_of_a_call(counted: Counted) -> None:
    """A call that sleeps submits its command, leaves its halt, enters the interrupt and its handler, and returns."""
    operation = counted.run_until(lambda operation: operation.cpus[0].switches == 2, "read", BLOCK_NODE, PAGE)
    first = {point.number: instructions(point) for point in operation.points if point.occurrence == 1}
    assert operation.sq_doorbells == 1
    wakes = [instructions(point) for point in operation.points if point.number == layers.WAKE and point.cpu == 0]
    assert any(first[layers.DOORBELL] <= wake <= first[layers.INTERRUPT] for wake in wakes)
    assert 0 < first[layers.DOORBELL] < first[layers.INTERRUPT] < first[layers.HANDLER] < instructions(operation)


def test_the_first_and_the_last_doorbell(counted: Counted) -> None:
    """Of a call with more commands than two, the first and the last are kept."""
    (operation,) = counted.run("read", BLOCK_NODE, MANY_COMMANDS)
    doorbells = [point.occurrence for point in operation.points if point.number == layers.DOORBELL]
    assert operation.sq_doorbells > 2
    assert doorbells == [1, operation.sq_doorbells]
