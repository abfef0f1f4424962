# SPDX-License-Identifier: MIT
"""The experiments: each is a plan, and tables of what was recorded."""
