# SPDX-License-Identifier: GPL-2.0-or-later
"""The LNID table of a host: values, octets, readers, writers, text."""
