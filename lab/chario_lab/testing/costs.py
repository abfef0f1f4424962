# SPDX-License-Identifier: MIT
"""What each test file takes: seconds on the wall, seconds of processors, seconds idle.

A pytest plugin.  Every worker measures the files that it runs, the one that
started the workers prints the table, and `--costs FILE` also writes it as JSON.

Processor seconds are those of the worker and of all that it has started, QEMU
above all.  Idle are the seconds of the wall that are not processor seconds: a
test that waits for a deadline is idle, and so is one that waits for a processor
because the machine is busy, so compare tables of one machine and one load.
"""

import json
import time
from collections.abc import Generator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

KEY = "chario_costs"


@dataclass(frozen=True)
class Cost:
    """What one file took in one worker."""

    file: str
    wall_s: float
    cpu_s: float

    @property
    def idle_s(self) -> float:
        """Wall minus processor seconds: two processors that are busy at once hide some of it."""
        return max(0.0, self.wall_s - self.cpu_s)

    @property
    def waits(self) -> bool:
        """Whether it is idle for more than a third of its time, see choice.py."""
        return self.idle_s > self.wall_s / 3


def processor_s() -> float:
    """Processor seconds that this process and everything below it have used."""
    total_s = 0.0
    me = psutil.Process()
    for process in (me, *me.children(recursive=True)):
        try:
            total_s += sum(process.cpu_times()[:4])  # of its own, and of children that have ended
        except psutil.NoSuchProcess:
            continue  # it has just ended and is counted with its parent's
    return total_s


class Costs:
    """Measures in each process that runs tests; collects where they are started from."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._costs: list[Cost] = []
        self._file = ""
        self._since = (0.0, 0.0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """A file is measured from the setup of its first test to the teardown after its last."""
        if file_of(item) != self._file:
            self._file = file_of(item)
            self._since = (time.monotonic(), processor_s())
        outcome = yield
        if nextitem is None or file_of(nextitem) != self._file:
            began_s, cpu_before_s = self._since
            self._costs.append(Cost(self._file, time.monotonic() - began_s, processor_s() - cpu_before_s))
            self._file = ""
        return outcome

    def pytest_sessionfinish(self) -> None:
        """A worker hands over what it has measured."""
        output: dict[str, Any] | None = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[KEY] = [asdict(cost) for cost in self._costs]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker has ended: what it has measured is ours now."""
        self._costs += [Cost(**fields) for fields in getattr(node, "workeroutput", {}).get(KEY, [])]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table, the longest file first."""
        costs = sorted(self._costs, key=lambda cost: -cost.wall_s)
        path = self._config.getoption("--costs")
        if path is not None:
            path.write_text(json.dumps([asdict(cost) for cost in costs], indent=1) + "\n")
        for line in table(costs):
            terminalreporter.write_line(line)


def file_of(item: pytest.Item) -> str:
    """Name of the file that a test stands in."""
    return item.path.name


def table(costs: list[Cost]) -> list[str]:
    """Lines of the table; nothing where nothing was measured."""
    if not costs:
        return []
    width = max(len(cost.file) for cost in costs)
    lines = [f"{'file':<{width}} {'wall s':>8} {'CPU s':>8} {'idle s':>8}"]
    for cost in [*costs, total(costs)]:
        mark = "  waits" if cost.waits and cost.file else ""
        lines.append(f"{cost.file or 'all':<{width}} {cost.wall_s:8.1f} {cost.cpu_s:8.1f} {cost.idle_s:8.1f}{mark}")
    return lines


def total(costs: list[Cost]) -> Cost:
    """All files together, as if they had run one after the other."""
    return Cost("", sum(cost.wall_s for cost in costs), sum(cost.cpu_s for cost in costs))


def add_options(parser: pytest.Parser) -> None:
    """--costs=FILE."""
    parser.addoption("--costs", type=Path, metavar="FILE", help="write what each file took to FILE, as JSON")
