# SPDX-License-Identifier: MIT
"""All experiments that make a part of the report."""

from __future__ import annotations

from chario_lab.experiment.spec import Experiment
from chario_lab.experiments import commands, table1

EXPERIMENTS: dict[str, Experiment] = {each.EXPERIMENT.name: each.EXPERIMENT for each in (table1, commands)}
