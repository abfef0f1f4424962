# SPDX-License-Identifier: MIT
"""Table I of "Improving Efficiency of Persistent Storage Access in Embedded Linux": speed and CPU usage."""

from chario_lab.experiment.spec import Experiment
from chario_lab.experiments.table1.plan import plan
from chario_lab.experiments.table1.section import EXCLUDED, EXCLUDED_HERE, section

EXPERIMENT = Experiment(
    name="table1",
    title="Storage access transfer speeds and CPU usages",
    paper="Joyce, Audsley: Improving Efficiency of Persistent Storage Access in Embedded Linux, Table I",
    excluded=EXCLUDED,
    excluded_here=EXCLUDED_HERE,
    plan=plan,
    section=section,
)
