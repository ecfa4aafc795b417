# SPDX-License-Identifier: GPL-2.0-or-later
"""The pure part of CVSW's controller: its file of tenants, and the flows of each NIC."""
