# SPDX-License-Identifier: MIT
"""Figure 3 of "Improving Efficiency of Persistent Storage Access in Embedded Linux": where a read's time goes."""

from chario_lab.experiment.spec import Experiment
from chario_lab.experiments.figure3.here import EXCLUDED_HERE
from chario_lab.experiments.figure3.plan import plan
from chario_lab.experiments.figure3.section import EXCLUDED, section

EXPERIMENT = Experiment(
    name="figure3",
    title="Latency of periodic reads of 40 and 80 KiB, point by point",
    paper="Joyce, Audsley: Improving Efficiency of Persistent Storage Access in Embedded Linux, Figure 3",
    excluded=EXCLUDED,
    excluded_here=EXCLUDED_HERE,
    plan=plan,
    section=section,
)
