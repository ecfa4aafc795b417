# SPDX-License-Identifier: GPL-2.0-or-later
"""Audit logs and policies of virtio-vmrpc: ``vmmnet audit``, ``vmmnet policy``."""
