# SPDX-License-Identifier: GPL-2.0-or-later
"""The daemon: it brings all NICs of a plan to what the plan says, and keeps them there."""
