# SPDX-License-Identifier: GPL-2.0-or-later
"""The host's side of the hook: claims, keys, host.conf; without libvirt and lxml."""
