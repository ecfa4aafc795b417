# SPDX-License-Identifier: GPL-2.0-or-later
"""HostVLAN's control plane: each host has a table of MAC addresses and their networks."""
