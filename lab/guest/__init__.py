# SPDX-License-Identifier: GPL-2.0-or-later
"""Guests: the image that they boot, QEMU, the agent, their migration and traffic."""
