# SPDX-License-Identifier: GPL-2.0-or-later
"""A client of etcd, for all rooms that store something there."""
