# SPDX-License-Identifier: GPL-2.0-or-later
"""DNS: our server and client, other products, zones that are signed, broken or odd."""
