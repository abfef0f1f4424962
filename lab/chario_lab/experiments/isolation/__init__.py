# SPDX-License-Identifier: MIT
"""What isolation gives an urgent caller, and what it takes from the block side of the same drive."""

from chario_lab.experiment.spec import Experiment
from chario_lab.experiments.isolation.plan import plan
from chario_lab.experiments.isolation.section import EXCLUDED, EXCLUDED_HERE, section

EXPERIMENT = Experiment(
    name="isolation",
    title="Urgent calls beside a busy block side of the same drive",
    paper="CharIO's own: chario(4), BLOCK DISK, on urgent calls",
    excluded=EXCLUDED,
    excluded_here=EXCLUDED_HERE,
    plan=plan,
    section=section,
)
