# SPDX-License-Identifier: GPL-2.0-or-later
"""Benchmarks of vmmnet and its peers: the numbers in docs/performance.md."""
