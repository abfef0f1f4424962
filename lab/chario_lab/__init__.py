# SPDX-License-Identifier: MIT
"""The lab of CharIO: kernels, guests, measurements."""
