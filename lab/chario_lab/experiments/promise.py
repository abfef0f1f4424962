# SPDX-License-Identifier: MIT
"""What CharIO says beforehand that a call will take."""

from dataclasses import dataclass

from chario_lab.target.target import Target


@dataclass(frozen=True)
class PlanOf:
    """Asks `chario plan` for the commands of a call."""

    direction: str
    size_bytes: int

    def __call__(self, target: Target) -> str:
        """Its answer, as JSON."""
        option = ["--write"] if self.direction == "write" else []
        words = [target.chario, "plan", "--json", *option, target.place.node, "0", str(self.size_bytes)]
        return target.must(words)
