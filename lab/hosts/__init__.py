# SPDX-License-Identifier: GPL-2.0-or-later
"""Hosts as namespaces or machines of their own, their bridges, helpers and etcd."""
