# SPDX-License-Identifier: GPL-2.0-or-later
"""What the benchmarks share: paths, loads, measurements, reports and charts."""
