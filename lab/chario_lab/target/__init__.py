# SPDX-License-Identifier: MIT
"""The machine that an experiment runs on: a guest, or this machine."""
