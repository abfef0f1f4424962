# SPDX-License-Identifier: MIT
"""The report: what all experiments have shown, as a page, as Markdown and as pictures."""
