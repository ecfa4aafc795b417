# SPDX-License-Identifier: GPL-2.0-or-later
"""libvirt: one element in a domain's metadata, and what it becomes there.

``element`` reads it, ``expand`` is the pure function from a domain to a domain, ``command`` is
``vmmnet libvirt``. Python's package libvirt is imported where a daemon is spoken to, in
``connect``, and nowhere else.
"""
