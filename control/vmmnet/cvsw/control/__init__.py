# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon: it programs all NICs as the plan says, and keeps them so."""
