# SPDX-License-Identifier: GPL-2.0-or-later
"""This host: its agent, the ports of its VMs, metrics for Prometheus."""
