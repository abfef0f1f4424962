# SPDX-License-Identifier: MIT
"""Figures 2 to 4 of "Exploring Storage Bottlenecks in Linux-based Embedded Systems": block sizes."""

from chario_lab.experiment.spec import Experiment
from chario_lab.experiments.blocksizes.plan import plan
from chario_lab.experiments.blocksizes.section import EXCLUDED, EXCLUDED_HERE, section

EXPERIMENT = Experiment(
    name="blocksizes",
    title="Block sizes, from 512 bytes to 768 MiB",
    paper="Joyce, Audsley: Exploring Storage Bottlenecks in Linux-based Embedded Systems, Figures 2 to 4",
    excluded=EXCLUDED,
    excluded_here=EXCLUDED_HERE,
    plan=plan,
    section=section,
)
