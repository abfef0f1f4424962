# SPDX-License-Identifier: MIT
"""What an experiment is: what it does, and what is shown of its records."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from chario_lab.experiment.page import Section
from chario_lab.experiment.plan import Plan
from chario_lab.guest.spec import GuestSpec
from chario_lab.records import AnyRecord
from chario_lab.target.machine import THIS_MACHINE, Machine


@dataclass(frozen=True)
class Choice:
    """What a user wants of an experiment.

    `kernels` are those of guests; `here` asks for this machine with its drive instead.  `short` is the form that
    shows that the experiment works; `cases` are patterns of the only ones that are wanted.
    """

    kernels: tuple[str, ...] = ("6.1",)
    short: bool = False
    here: bool = False
    cases: tuple[str, ...] = ()

    def machines(self, guest: GuestSpec, module_parameters: str = "") -> list[Machine]:
        """This machine, or such a guest of each kernel."""
        if self.here:
            return [THIS_MACHINE]
        return [Machine(kernel, replace(guest, kernel=kernel), module_parameters) for kernel in self.kernels]


@dataclass(frozen=True)
class Experiment:
    """One table or figure of a paper, or a promise of CharIO's own.

    `paper` is where it stands, `excluded` what its figures leave out in a guest, `excluded_here` on this machine.
    """

    name: str
    title: str
    paper: str
    excluded: str
    excluded_here: str
    plan: Callable[[Choice], Plan]
    section: Callable[[Sequence[AnyRecord]], Section]
