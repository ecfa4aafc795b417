# SPDX-License-Identifier: GPL-2.0-or-later
"""Mobile IPv6: home networks, foreign networks, mobile nodes, impostors."""
