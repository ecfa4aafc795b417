# SPDX-License-Identifier: GPL-2.0-or-later
"""Entries of a NIC's table: flows and groups, from and to OpenFlow's messages."""
