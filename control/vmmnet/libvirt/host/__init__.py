# SPDX-License-Identifier: GPL-2.0-or-later
"""What a host has for its VMs, and the hook of libvirt claims: no libvirt, no lxml."""
