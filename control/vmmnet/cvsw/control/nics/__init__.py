# SPDX-License-Identifier: GPL-2.0-or-later
"""All NICs of a plan and their keys, without a network; time is passed in."""
