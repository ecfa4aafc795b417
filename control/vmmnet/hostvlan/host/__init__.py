# SPDX-License-Identifier: GPL-2.0-or-later
"""What runs on this host: the agent, the ports of VMs, numbers for Prometheus."""
