# SPDX-License-Identifier: MIT
"""Counts the instructions that one call costs, beside Linux's own paths."""

from chario_lab.experiments.bench.command import main

__all__ = ["main"]
