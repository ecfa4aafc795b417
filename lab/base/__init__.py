# SPDX-License-Identifier: GPL-2.0-or-later
"""What every other floor stands on: programs, network namespaces, waits, paths, reports."""
