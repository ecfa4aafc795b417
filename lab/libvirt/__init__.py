# SPDX-License-Identifier: GPL-2.0-or-later
"""libvirt: sessions, systems with our packages, domains and their moves."""
