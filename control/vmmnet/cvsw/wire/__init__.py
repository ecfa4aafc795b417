# SPDX-License-Identifier: GPL-2.0-or-later
"""What goes to switches and NICs: OpenFlow channels with TLS, and control frames in them."""
