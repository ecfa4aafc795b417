# SPDX-License-Identifier: GPL-2.0-or-later
"""os-ken's parsers and its test cases for switches, and the switches under test."""
