# SPDX-License-Identifier: GPL-2.0-or-later
"""The test bed: real guests, real networks and real peers on one machine.

Tests, benchmarks and ``make run`` share it.  ``image`` and ``kernel`` build
what a guest boots, ``guest`` runs it, ``net`` makes hosts out of network
namespaces, ``peers`` puts servers into them.
"""
