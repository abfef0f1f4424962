# SPDX-License-Identifier: MIT
"""Guests: plan (pure), image, launch, channel."""
