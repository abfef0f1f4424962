# SPDX-License-Identifier: MIT
"""How many device commands a call takes: sections II and IV.A of the paper on CharIO say it, without figures."""

from chario_lab.experiment.spec import Experiment
from chario_lab.experiments.commands.plan import plan
from chario_lab.experiments.commands.section import EXCLUDED, section

EXPERIMENT = Experiment(
    name="commands",
    title="Device commands for one call",
    paper="Joyce, Audsley: Improving Efficiency of Persistent Storage Access in Embedded Linux, sections II and IV.A",
    excluded=EXCLUDED,
    excluded_here=EXCLUDED,
    plan=plan,
    section=section,
)
