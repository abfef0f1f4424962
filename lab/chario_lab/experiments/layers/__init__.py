# SPDX-License-Identifier: MIT
"""Figures 3 and 4 of "Quantifying the Overheads of the Linux I/O Stack": where direct I/O spends its work."""

from chario_lab.experiment.spec import Experiment
from chario_lab.experiments.layers.plan import plan
from chario_lab.experiments.layers.section import EXCLUDED, EXCLUDED_HERE, section

EXPERIMENT = Experiment(
    name="layers",
    title="The layers of direct I/O, from 4 KiB to 10 MiB",
    paper="Logan and others: the poster on the overheads of the Linux I/O stack, Figures 3 and 4",
    excluded=EXCLUDED,
    excluded_here=EXCLUDED_HERE,
    plan=plan,
    section=section,
)
