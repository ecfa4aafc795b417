# SPDX-License-Identifier: GPL-2.0-or-later
"""The LNID table of a host: values, file format, readers, writers, CSV and JSON."""
