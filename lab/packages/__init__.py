# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian packages, kernels and Python wheels that the tests fetch or build."""
