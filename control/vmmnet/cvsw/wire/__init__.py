# SPDX-License-Identifier: GPL-2.0-or-later
"""Communication with switches and NICs: OpenFlow channels with TLS, and control frames."""
