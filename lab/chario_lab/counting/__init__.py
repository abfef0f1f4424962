# SPDX-License-Identifier: MIT
"""Counts what a guest's processors execute, exactly: the plugin, its map and what it writes."""
