# SPDX-License-Identifier: MIT
"""All experiments that make a part of the report."""

from chario_lab.experiment.spec import Experiment
from chario_lab.experiments import blocksizes, commands, figure3, isolation, layers, table1

ALL = (
    *(table1.EXPERIMENT, figure3.EXPERIMENT, commands.EXPERIMENT, layers.EXPERIMENT, blocksizes.EXPERIMENT),
    isolation.EXPERIMENT,
)
EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in ALL}
