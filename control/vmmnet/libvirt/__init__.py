# SPDX-License-Identifier: GPL-2.0-or-later
"""libvirt: one element in a domain's metadata, and its expansion.

``element`` reads it, ``expand`` is a pure function from a domain to a domain, ``command`` is
``vmmnet libvirt``. Only ``connect`` imports Python's package libvirt.
"""
