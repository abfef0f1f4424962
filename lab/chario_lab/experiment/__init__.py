# SPDX-License-Identifier: MIT
"""How experiments run: a specification, a plan, records, tables."""
