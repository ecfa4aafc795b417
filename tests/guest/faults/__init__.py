# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of faults are made of: puppets, ways to take things away, a report."""
