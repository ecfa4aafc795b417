# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemons of a host, asked alike: ``vmmnet show``, ``metrics`` and ``log``."""
