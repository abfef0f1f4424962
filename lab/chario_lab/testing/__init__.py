# SPDX-License-Identifier: MIT
"""What the project's own tests run with: pytest plugins, the tables of tests, the tiers."""
