# SPDX-License-Identifier: GPL-2.0-or-later
"""The LNID table of many hosts, in etcd."""
