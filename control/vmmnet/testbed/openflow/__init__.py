# SPDX-License-Identifier: GPL-2.0-or-later
"""os-ken's parsers and its cases for switches, and the switches that they are held against."""
