# SPDX-License-Identifier: GPL-2.0-or-later
"""The test bed: real guests, real networks and real peers on one machine.

Tests, benchmarks and ``make run`` share it.  ``base`` makes hosts out of network
namespaces and runs programs in them, ``packages`` fetches what Debian and PyPI have,
``guest`` builds what a guest boots and runs it, ``hosts`` and ``peers`` are what it talks
to; above them each room of vmmnet has a floor with its own peers.
"""
